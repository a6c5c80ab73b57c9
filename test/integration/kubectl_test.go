package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// cli runs kubectl on the hub in one namespace.
type cli struct {
	t         *testing.T
	kubectl   framework.Kubectl
	namespace string
}

func newCLI(t *testing.T) cli {
	t.Helper()
	kubectl, err := hub.KubectlFor("admin", framework.AdminGroup)
	if err != nil {
		t.Fatal(err)
	}
	return cli{t, kubectl, newNamespace(t)}
}

// run returns everything that kubectl printed, and whether it succeeded.
func (c cli) run(stdin string, args ...string) (string, bool) {
	c.t.Helper()
	k := c.kubectl
	k.Stdin = strings.NewReader(stdin)
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*requestTimeout)
	defer cancel()
	out, errOut, err := k.Run(ctx, append([]string{"-n", c.namespace}, args...)...)
	return out + errOut, err == nil
}

// must runs a command that has to succeed, and returns what it printed.
func (c cli) must(stdin string, args ...string) string {
	c.t.Helper()
	out, ok := c.run(stdin, args...)
	if !ok {
		c.t.Fatalf("kubectl %s: %s", strings.Join(args, " "), out)
	}
	return out
}

// wants checks that output matches each expression, line by line.
func (c cli) wants(what, output string, expressions ...string) {
	c.t.Helper()
	for _, e := range expressions {
		if !regexp.MustCompile("(?m)" + e).MatchString(output) {
			c.t.Errorf("%s: no %q in\n%s", what, e, output)
		}
	}
}

func manifest(version, name, manager, rest string) string {
	return fmt.Sprintf(`
apiVersion: multicluster.x-k8s.io/%s
kind: ClusterProfile
metadata:
  name: %s
  labels: {x-k8s.io/cluster-manager: %s, env: prod}
spec:
  displayName: Cluster %s
  clusterManager: {name: %s}
%s`, version, name, manager, name, manager, rest)
}

func decisionManifest(version, name string, clusters ...string) string {
	text := fmt.Sprintf("apiVersion: multicluster.x-k8s.io/%s\nkind: PlacementDecision\nmetadata: {name: %s, labels: {multicluster.x-k8s.io/decision-key: k, multicluster.x-k8s.io/decision-index: \"0\", multicluster.x-k8s.io/placement-key: app}}\nschedulerName: s\ndecisions:\n", version, name)
	if len(clusters) == 0 {
		return strings.TrimSuffix(text, "\n") + " []\n"
	}
	for _, cluster := range clusters {
		text += "- clusterProfileRef: {name: " + cluster + "}\n"
	}
	return text
}

const healthy = `status:
  version: {kubernetes: v1.37.2}
  conditions: [{type: ControlPlaneHealthy, status: "True", reason: Ready, message: "", lastTransitionTime: "2026-01-02T03:04:05Z"}]
  properties: [{name: location, value: fra}]
  accessProviders: [{name: kubeconfig, cluster: {server: "https://api.example.com"}}]
`

// TestKubectl runs what people type, in both versions (cases.md, 1, 2, 3 and 7).
func TestKubectl(t *testing.T) {
	for _, version := range []string{"v1alpha1", "v1alpha2"} {
		t.Run(version, func(t *testing.T) { testKubectl(t, newCLI(t), version) })
	}
}

func testKubectl(t *testing.T, c cli, version string) {
	resource := "clusterprofiles." + version + "." + ours
	decisions := "placementdecisions." + version + "." + ours

	c.wants("apply", c.must(manifest(version, "a", "m", ""), "apply", "-f", "-"), "clusterprofile.multicluster.x-k8s.io/a created")
	c.wants("apply again", c.must(manifest(version, "a", "m", ""), "apply", "-f", "-"), "a unchanged")
	c.wants("apply strictly", c.must(manifest(version, "b", "m2", ""), "apply", "--validate=strict", "-f", "-"), "b created")
	c.wants("apply by the server", c.must(manifest(version, "b", "m2", ""), "apply", "--server-side", "--force-conflicts", "-f", "-"), "b serverside-applied")
	c.must(manifest(version, "a", "m", healthy), "apply", "--server-side", "--subresource=status", "--field-manager=f", "-f", "-")
	c.must(decisionManifest(version, "d", "a", "b", "c", "e"), "apply", "-f", "-")
	c.must(decisionManifest(version, "empty"), "create", "-f", "-")

	table := c.must("", "get", "cp,pd")
	c.wants("get", table, `^NAME +DISPLAY NAME +MANAGER +VERSION +HEALTHY +AGE$`, `^clusterprofile\S+/a +Cluster a +m +v1.37.2 +True +\d+s$`,
		`^NAME +CLUSTERS +DECISION-KEY +INDEX +SCHEDULER +AGE$`, `^placementdecision\S+/d +4 +k +0 +s +\d+s$`, `/empty +0 `)
	c.wants("get -o wide", c.must("", "get", resource, "-o", "wide"), `^NAME .* AGE +JOINED +MEMBER +PROPERTIES +ACCESS$`, `^a .* +1 +kubeconfig$`)
	c.wants("get -o wide of decisions", c.must("", "get", decisions, "-o", "wide"), `^NAME .* AGE +PLACEMENT-KEY +CLUSTER-NAMES$`, `^d .* app +a,b,c,\+1 more$`)
	c.wants("get -A", c.must("", "get", "cp,pd", "-A"), `^NAMESPACE +NAME +DISPLAY NAME`, `^`+c.namespace+` +clusterprofile\S+/a`)
	c.wants("the category", c.must("", "get", "multicluster"), "clusterprofile.*/a ", "placementdecision.*/d ")
	if strings.Contains(table, "<invalid>") || strings.Contains(table, "<unknown>") {
		t.Errorf("no age: %s", table)
	}
	for format, want := range map[string]string{
		"name": `^clusterprofile\.multicluster\.x-k8s\.io/a$`, "json": `"apiVersion": "multicluster.x-k8s.io/` + version + `"`, "yaml": `^kind: ClusterProfile$`,
		"jsonpath={.spec.clusterManager.name}": "^m$", "custom-columns=N:.metadata.name,V:.status.version.kubernetes": `^a +v1.37.2$`, "go-template={{.spec.displayName}}": "^Cluster a$",
	} {
		c.wants("-o "+format, c.must("", "get", resource, "a", "-o", format), want)
	}
	c.wants("--sort-by", c.must("", "get", resource, "--sort-by=.spec.clusterManager.name", "-o", "name"), `(?s)/a\n.*/b\n`)
	c.wants("--sort-by time", c.must("", "get", resource, "--sort-by=.metadata.creationTimestamp"), `(?s)a +Cluster a.*b +Cluster b`)
	c.wants("--field-selector", c.must("", "get", resource, "--field-selector=spec.clusterManager.name=m2", "-o", "name"), `\A\S+/b\n\z`)
	c.wants("--field-selector of decisions", c.must("", "get", decisions, "--field-selector=schedulerName=s", "-o", "name"), `\A\S+/d\n\S+/empty\n\z`)
	c.wants("-l", c.must("", "get", resource, "-l", "x-k8s.io/cluster-manager in (m)", "-o", "name"), `\A\S+/a\n\z`)
	c.wants("wait", c.must("", "wait", "--for=condition=ControlPlaneHealthy", "--timeout=10s", resource+"/a"), "condition met")
	c.wants("wait for a value", c.must("", "wait", "--for=jsonpath={.status.version.kubernetes}=v1.37.2", "--timeout=10s", resource+"/a"), "condition met")
	c.wants("describe", c.must("", "describe", resource, "a"), `Display Name: +Cluster a`, `Kubernetes: +v1.37.2`)

	diff, same := c.run(manifest(version, "a", "other", ""), "diff", "-f", "-")
	if same || !strings.Contains(diff, "is immutable") {
		t.Errorf("diff of an immutable field: %s", diff)
	}
	diff, same = c.run(strings.Replace(manifest(version, "a", "m", ""), "Cluster a", "Renamed", 1), "diff", "-f", "-")
	c.wants("diff", diff, `^-  displayName: Cluster a$`, `^\+  displayName: Renamed$`)
	if same {
		t.Error("diff says there is none")
	}
	c.wants("dry run", c.must(strings.Replace(manifest(version, "a", "m", ""), "Cluster a", "Renamed", 1), "apply", "--dry-run=server", "-f", "-"), `configured \(server dry run\)`)
	c.wants("no change by a dry run", c.must("", "get", resource, "a", "-o", "jsonpath={.spec.displayName}"), "^Cluster a$")

	for _, p := range [][2]string{{"merge", `{"spec":{"displayName":"Merged"}}`}, {"json", `[{"op":"replace","path":"/spec/displayName","value":"Patched"}]`}} {
		c.wants("patch "+p[0], c.must("", "patch", resource, "a", "--type", p[0], "-p", p[1]), "patched")
	}
	c.wants("patch --subresource", c.must("", "patch", resource, "a", "--subresource=status", "--type=merge", "-p", `{"status":{"version":{"kubernetes":"v1.37.3"}}}`), "patched")
	if out, ok := c.run("", "patch", resource, "a", "--subresource=status", "-p", `{"status":{"properties":[{"name":"a","value":"1"}]}}`); ok || !strings.Contains(out, "application/merge-patch+json") {
		t.Errorf("strategic patch: %s", out)
	}
	c.wants("properties after a refused patch", c.must("", "get", resource, "a", "-o", "jsonpath={.status.properties[*].name}"), "^location$")
	c.wants("label", c.must("", "label", resource, "a", "tier=gold"), "labeled")
	c.wants("annotate", c.must("", "annotate", resource, "a", "note=x"), "annotated")
	c.edit(resource, "a", "Patched", "Edited")
	c.wants("replace", c.must(c.must("", "get", decisions, "d", "-o", "yaml"), "replace", "-f", "-"), "replaced")

	if out, ok := c.run(strings.Replace(manifest(version, "x", "m", ""), "displayName", "dispalyName", 1), "apply", "--validate=strict", "-f", "-"); ok || !strings.Contains(out, `unknown field "spec.dispalyName"`) {
		t.Errorf("misspelled, strict: %s", out)
	}
	c.wants("misspelled, warn", c.must(strings.Replace(manifest(version, "x", "m", ""), "displayName", "dispalyName", 1), "apply", "--validate=warn", "-f", "-"), `Warning: unknown field "spec.dispalyName"`, "created")

	c.explain(resource, decisions)

	c.wants("delete -l", c.must("", "delete", resource, "-l", "x-k8s.io/cluster-manager=m2"), `"b" deleted`)
	c.wants("what delete -l leaves", c.must("", "get", resource, "-o", "name"), `/a$`)
	c.wants("delete", c.must("", "delete", resource+"/a", decisions+"/d"), `"a" deleted`, `"d" deleted`)
	c.wants("delete --all", c.must("", "delete", decisions, "--all"), `"empty" deleted`)
}

// edit runs kubectl edit with an editor that replaces one word.
func (c cli) edit(resource, name, old, new string) {
	c.t.Helper()
	editor := filepath.Join(c.t.TempDir(), "editor")
	script := fmt.Sprintf("#!/bin/sh\nsed -i 's/%s/%s/' \"$1\"\n", old, new)
	if err := os.WriteFile(editor, []byte(script), 0o755); err != nil {
		c.t.Fatal(err)
	}
	c.t.Setenv("KUBE_EDITOR", editor)
	c.wants("edit", c.must("", "edit", resource, name), "edited")
	c.wants("after edit", c.must("", "get", resource, name, "-o", "jsonpath={.spec.displayName}"), "^"+new+"$")
}

// explain wants a type and a description for every field, to the deepest (cases.md, 3).
func (c cli) explain(profiles, decisions string) {
	c.t.Helper()
	version := strings.Split(profiles, ".")[1]
	explain := func(path string, flags ...string) string {
		return c.must("", append([]string{"explain", path, "--api-version=" + ours + "/" + version}, flags...)...)
	}
	c.wants("explain --recursive", explain("clusterprofiles.status.accessProviders.cluster", "--recursive"),
		`certificate-authority-data\s+<string>`, `server\s+<string> -required-`, `extensions\s+<\[\]NamedExtension>`, `\bextension\s+<Object> -required-`)
	fields := regexp.MustCompile(`(?m)^( *)([a-zA-Z-]+)\s+<([^>]+)>`)
	for _, kind := range []string{"clusterprofiles", "placementdecisions"} {
		var path []string
		seen := 0
		for _, m := range fields.FindAllStringSubmatch(explain(kind, "--recursive"), -1) {
			depth := len(m[1]) / 2
			path = append(path[:min(max(depth-1, 0), len(path))], m[2])
			joined := strings.Join(path, ".")
			if joined == "apiVersion" || joined == "kind" || strings.HasPrefix(joined, "metadata") {
				continue
			}
			seen++
			if out := explain(kind + "." + joined); strings.Contains(out, "<empty>") || !strings.Contains(out, "DESCRIPTION:") {
				c.t.Errorf("%s.%s has no description:\n%s", kind, joined, out)
			}
		}
		if seen < 4 {
			c.t.Errorf("%s: only %d fields found", kind, seen)
		}
	}
}

// TestKubectlWatch prints rows that match the header, for each change (cases.md, 1).
func TestKubectlWatch(t *testing.T) {
	c := newCLI(t)
	c.must(manifest("v1alpha2", "a", "m", ""), "apply", "-f", "-")
	done := make(chan string, 1)
	go func() {
		out, _ := c.run("", "get", "cp", "-w", "--request-timeout=2s")
		done <- out
	}()
	wire := newCaller(t, hub.AdminConfig(), ours, c.namespace, "v1alpha2")
	for i := 0; ; i++ {
		select {
		case out := <-done:
			c.wants("get -w", out, `^NAME +DISPLAY NAME +MANAGER +VERSION +HEALTHY +AGE$`, `^a +Cluster a +m +v\d+ +\d+s$`)
			return
		default:
			wire.must(patchStatus("a", fmt.Sprintf(`{"version":{"kubernetes":"v%d"}}`, i)))
		}
	}
}

// TestSamples applies the sample fleet strictly and reads it back (cases.md, 3).
func TestSamples(t *testing.T) {
	c := newCLI(t)
	samples, err := filepath.Abs("../../artifacts/samples")
	if err != nil {
		t.Fatal(err)
	}
	c.must("", "apply", "-f", filepath.Join(samples, "00-namespaces.yaml"))
	kubectl := c.kubectl
	for _, args := range [][]string{{"apply", "--server-side", "--validate=strict", "-f", samples}, {"apply", "--server-side", "--validate=strict", "-f", samples}, {"delete", "-f", samples, "--wait=false"}} {
		out, errOut, err := kubectl.Run(t.Context(), args...)
		if err != nil || strings.Contains(errOut, "Warning") {
			t.Errorf("%v: %v %s%s", args, err, out, errOut)
		}
	}
}
