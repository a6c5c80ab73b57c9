package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const statusHeader = `NAME +PHASE +VERSION +NODES +CPU +MEMORY +GPU +PLACEMENTS +LAST.REPORT +AGE`

// TestClusterStatusKubectl runs what people type (cases.md, 1, 2 and 3).
func TestClusterStatusKubectl(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	f := newFleet(t, hub.AdminConfig(), c.namespace)
	c.must(manifest("v1alpha2", "a", "m", ""), "apply", "-f", "-")
	c.must(manifest("v1alpha2", "b", "m2", ""), "apply", "-f", "-")
	c.must(decisionManifest("v1alpha2", "d", "a"), "apply", "-f", "-")
	report := fmt.Sprintf(`{"apiVersion":"binnacle.dev/v1alpha1","kind":"ClusterReport","spec":{"time":%q,`, time.Now().Add(10*time.Minute).UTC().Format(time.RFC3339)) + rarely +
		`,"kubernetesVersion":"v1.37.2","nodes":{"total":3,"ready":2},"resources":{"allocatable":{"cpu":"12","memory":"48Gi","nvidia.com/gpu":"8"},"available":{"cpu":"7500m","memory":"20Gi","nvidia.com/gpu":"2"}},` +
		`"properties":[{"name":"where","value":"fra"}]}}`
	path := "/apis/binnacle.dev/v1alpha1/namespaces/" + c.namespace + "/clusterstatuses/a/report"
	c.wants("report", c.must(report, "create", "--raw", path, "-f", "-"), `"nextReportSeconds":3\d\d\d`, `"clockSkewSeconds":(59|60)\d`)
	c.wants("wait", c.must("", "wait", "--for=condition=Ready", "--timeout=30s", "clusterstatus/a"), "condition met")
	c.wants("wait for a value", c.must("", "wait", "--for=jsonpath={.status.phase}=Ready", "--timeout=30s", "cst/a"), "condition met")
	c.wants("the newest report", c.must("", "get", "--raw", path), `"name":"where","value":"fra"`)
	eventually(t, "the decision to be seen", func() bool { return f.status("a").field("status", "placements", "count") == float64(1) })

	for _, args := range [][]string{{"get", "cst"}, {"get", "clusterstatus"}, {"get", "clusterstatuses.binnacle.dev"}, {"get", "clusterstatuses.v1alpha1.binnacle.dev"}} {
		c.wants(strings.Join(args, " "), c.must("", args...), `^`+statusHeader+`$`, `^a +Ready +v1\.37\.2 +2/3 +7/12 +20Gi/48Gi +2/8 +1 +\d+m?\d*s +\d+m?\d*s$`, `^b +Unknown +0 +\d+m?\d*s$`)
	}
	c.wants("wide", c.must("", "get", "cst", "-o", "wide"), `^`+statusHeader+` +MANAGER +REASON +INTERVAL$`, `^a .* m +Reporting +60m$`, `^b .* m2 +NeverReported *$`)
	c.wants("everywhere", c.must("", "get", "cst", "-A"), `^NAMESPACE +`+statusHeader+`$`, `^`+c.namespace+` +a +Ready`)
	c.wants("the category", c.must("", "get", "multicluster"), `clusterstatus.binnacle.dev/a +Ready`, `clusterprofile.*/a `)
	for format, want := range map[string]string{
		"name": `\Aclusterstatus\.binnacle\.dev/a\n\z`, "json": `"apiVersion": "binnacle.dev/v1alpha1"`, "yaml": `^kind: ClusterStatus$`, "jsonpath={.status.nodes.ready}": `\A2\z`,
		"custom-columns=N:.metadata.name,V:.status.kubernetesVersion,G:.status.resources.allocatable.nvidia\\.com/gpu": `^a +v1.37.2 +8$`, "go-template={{.status.phase}}": `\AReady\z`,
	} {
		out := c.must("", "get", "cst", "a", "-o", format)
		c.wants("-o "+format, out, want)
		if strings.Contains(out, "<invalid>") || strings.Contains(out, "0001-01-01") || strings.Contains(out, "null") {
			t.Errorf("-o %s: a time is none: %s", format, out)
		}
	}
	for _, sort := range []string{".metadata.creationTimestamp", ".status.phase", ".metadata.name"} {
		c.wants("--sort-by="+sort, c.must("", "get", "cst", "--sort-by="+sort, "-o", "name"), `(?s)/a\n.*/b\n`)
	}
	for _, selection := range []string{"--field-selector=status.phase=Ready", "--field-selector=status.kubernetesVersion=v1.37.2", "--field-selector=spec.clusterManager.name=m", "-lx-k8s.io/cluster-manager=m"} {
		c.wants(selection, c.must("", "get", "cst", selection, "-o", "name"), `\A\S+/a\n\z`)
	}
	described := c.must("", "describe", "cst", "a")
	c.wants("describe", described, `Phase: +Ready`, `Kubernetes Version: +v1.37.2`, `Clock Skew Seconds: +(59|60)\d`, `nvidia.com/gpu: +8`)
	c.wants("events", c.must("", "events", "--for=clusterstatus/a"), "No events found")

	for _, refused := range [][]string{
		{"delete", "cst", "a"}, {"delete", "cst", "--all"}, {"label", "cst", "a", "x=y"}, {"annotate", "cst", "a", "x=y"}, {"patch", "cst", "a", "--type=merge", "-p", `{"status":{"phase":"Unknown"}}`},
		{"patch", "cst", "a", "--type=merge", "--subresource=status", "-p", `{"status":{"phase":"Unknown"}}`},
	} {
		if out, ok := c.run("", refused...); ok || !strings.Contains(out, "MethodNotAllowed") && !strings.Contains(out, "does not allow this method") && !strings.Contains(out, "could not find the requested resource") {
			t.Errorf("kubectl %v: %s", refused, out)
		}
	}
	object := c.must("", "get", "cst", "a", "-o", "yaml")
	for _, verb := range []string{"create", "replace", "apply"} {
		if out, ok := c.run(strings.ReplaceAll(object, "name: a", "name: new"), verb, "-f", "-"); ok {
			t.Errorf("kubectl %s: %s", verb, out)
		}
	}
	explained := c.must("", "explain", "clusterstatus", "--recursive")
	c.wants("explain", explained, `^KIND: +ClusterStatus$`, `^VERSION: +v1alpha1$`, `lastTransitionTime\s+<string> -required-`, `allocatable\s+<map\[string\]Object>|allocatable\s+<map\[string\]`, `keys\s+<\[\]string>`)
	for _, field := range []string{"status.phase", "status.conditions.reason", "status.resources.available", "status.properties.source", "status.placements.keys", "status.nodes.total"} {
		c.wants("explain "+field, c.must("", "explain", "cst."+field), `DESCRIPTION:`)
	}
}

// TestClusterStatusKubectlWatch prints rows that match the header, for each change (cases.md, 1).
func TestClusterStatusKubectlWatch(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	f := newFleet(t, hub.AdminConfig(), c.namespace)
	f.add("a")
	done := make(chan string, 1)
	go func() {
		out, _ := c.run("", "get", "cst", "-w", "-o", "wide", "--request-timeout=15s")
		done <- out
	}()
	for i := 0; ; i++ {
		select {
		case out := <-done:
			c.wants("get -w", out, `^`+statusHeader+` +MANAGER +REASON +INTERVAL$`, `^a +Unknown +0 +\d+s +m +NeverReported *$`, `^a +Ready +v\d+ +0 +\d+s +\d+s +m +Reporting +60m$`)
			for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
				if strings.Contains(line, "<") || strings.Contains(line, "0001") {
					t.Errorf("a time is none: %s", line)
				}
			}
			return
		case <-time.After(100 * time.Millisecond): // A pace, and no wait for anything.
			f.statuses.do(reportOf("a", rarely+fmt.Sprintf(`,"kubernetesVersion":"v%d"`, i)))
		}
	}
}
