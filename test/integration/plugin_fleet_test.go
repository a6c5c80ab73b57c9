package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestPluginFleet sums up a fleet of several pages, of which two clusters report.
func TestPluginFleet(t *testing.T) {
	f, s := standaloneFleet(t)
	p := newPlugin(t, adminOf(t, s), f.namespace)
	p.wants(0, "status", `^No clusters found in fleet namespace\.$`)
	f.addMany(1100, func(i int) string {
		labels := fmt.Sprintf(`"labels":{"topology.kubernetes.io/region":"r%d"}`, i%2)
		return strings.Replace(profileNamed(fmt.Sprint("c", i), managed), `"metadata":{`, `"metadata":{`+labels+`,`, 1)
	})
	for i, spec := range []string{`"kubernetesVersion":"v1.37.2"`, `"kubernetesVersion":"v1.9.3"`} {
		f.report(fmt.Sprint("c", i), rarely+`,`+spec+`,"resources":{"allocatable":{"nvidia.com/gpu":"8","memory":"64Gi"},"available":{"nvidia.com/gpu":"3","memory":"20Gi"}}`)
		f.untilPhase(fmt.Sprint("c", i), "Ready")
	}
	out := p.wants(0, "status", `\ACLUSTERS +READY +NOTREADY +UNREACHABLE +UNKNOWN\n1100 +2 +0 +0 +1098\n\nVERSION +CLUSTERS\nv1.37 +1\nv1.9 +1\n<none> +1098\n\n`+
		`REGION +CLUSTERS +READY +GPU-FREE +GPU-TOTAL\nr0 +550 +1 +3 +8\nr1 +550 +1 +3 +8\n\(all\) +1100 +2 +6 +16\n\nOldest report: fleet/c\d, \d+s ago \(Ready\)\n\z`)
	if again := p.wants(0, "status --chunk-size=0 -A", "^1100 "); again[:200] != out[:200] {
		t.Errorf("in one page:\n%s\nin pages:\n%s", again, out)
	}
	p.wants(0, "status --resource=memory --group-by=none -l topology.kubernetes.io/region=r0", `^NONE +CLUSTERS +READY +MEMORY-FREE +MEMORY-TOTAL\n<none> +550 +1 +20Gi +64Gi$`)
	p.wants(1, "status -o jsonpath={.clusters}", `^error: unable to match a printer`)
	p.wants(0, "status --field-selector=status.phase=Ready -o json", `"clusters": 2,`)
	p.wants(0, "status -o yaml", `^kind: FleetSummary$`)
}

// TestPluginRights is about people who may look and not move, and people who may only approve.
func TestPluginRights(t *testing.T) {
	admin := newDecider(t, hub.AdminConfig(), newNamespace(t))
	admin.clusters(2)
	plan := admin.plan("web", 50, 100)
	plan.Spec.Steps[0].Gate = &v1alpha1.RolloutGate{Approval: ptr.To[int32](1)}
	admin.create(plan)
	admin.must("web", binnacleapi.VerbAdvance)
	user := "approver-" + admin.namespace
	letBe(t, admin.namespace, user, "binnacle-rollout-approver")
	p := newPlugin(t, hub.ConfigFor(user), admin.namespace)
	eventually(t, "the right to look", func() bool {
		_, _, code := p.run("rollout", "status", "web", "--watch=false")
		return code == 0
	})
	p.wants(1, "rollout advance web", `^Error from server \(Forbidden\): .*cannot create resource "rollouts/advance"`)
	p.wants(0, "rollout status web --watch=false", `^Waits for: approvals: 0 of 1 given$`)
	p.wants(0, "rollout approve web --reason=fine", `^rollout.binnacle.dev/web approved\n.*waits for Advance$`)
	p.wants(1, "rollout approve web", `^Error from server \(Conflict\): .*has approved already`)
	p.wants(1, "status -A", `^Error from server \(Forbidden\): `)
}

// TestPluginCompletes runs the plugin, and the completion of its command line, by kubectl.
func TestPluginCompletes(t *testing.T) {
	d := newDecider(t, hub.AdminConfig(), newNamespace(t))
	d.clusters(4)
	d.create(d.plan("web", 25, 50, 100))
	d.create(d.plan("api", 25, 100))
	d.must("web", binnacleapi.VerbAdvance)
	kubectl, err := hub.KubectlFor("admin", framework.AdminGroup)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(binary(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
	for line, want := range map[string]string{
		"rollout adv":                           "advance\tTake the next step; start a rollout with its first\n",
		"rollout advance ":                      "api\nweb\n",
		"rollout preview web --step ":           "p50\np100\n",
		"rollout advance web --observed-step ":  "p25\np50\np100\n",
		"rollout rollback web --to-revision ":   "1\tp25 1 cluster\n",
		"rollout status web --wait=":            "complete\nstep\nstep=p25\nstep=p50\nstep=p100\nphase=Pending\nphase=Progressing\nphase=Paused\nphase=Stopped\nphase=Completed\nphase=Aborted\nphase=RolledBack\n",
		"rollout pause web --dry-run ":          "none\nserver\n",
		"rollout advance web ":                  "",
		"rollout preview none --step ":          "",
		"status --resource ":                    "nvidia.com/gpu\ncpu\nmemory\n",
		"rollout retry web --clusters ":         "",
		"status --output ":                      "json\nyaml\n",
		"rollout history web --observed-step= ": "",
	} {
		args := append([]string{"__complete", "binnacle", "--namespace=" + d.namespace}, strings.Split(line, " ")...)
		out, errOut, err := kubectl.Run(t.Context(), args...)
		if got := out[:max(0, strings.LastIndex(out, ":"))]; err != nil || got != want {
			t.Errorf("%q completes to %q, want %q (%v)\n%s", line, got, want, err, errOut)
		}
	}
	out, _, err := kubectl.Run(t.Context(), "__complete", "binnacle", "rollout", "status", "--namespace", "kube-s")
	if err != nil || !strings.Contains("\n"+out, "\nkube-system\n") {
		t.Errorf("a namespace completes to %q (%v)", out, err)
	}
	out, errOut, err := kubectl.Run(t.Context(), "binnacle", "rollout", "history", "web", "--namespace="+d.namespace)
	if err != nil || !strings.Contains(out, "advance") {
		t.Errorf("by kubectl: %v %s%s", err, out, errOut)
	}
}
