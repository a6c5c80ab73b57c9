package integration

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const rolloutManifest = `
apiVersion: binnacle.dev/v1alpha1
kind: Rollout
metadata: {name: app, labels: {team: payments}}
spec:
  targets: {selector: {namespaces: [%s], labels: {matchLabels: {env: prod}}}}
  output: {decisionKey: app}
  disconnected: Include
  steps:
  - {name: canary, percent: 25}
  - {name: all, percent: 100}
`

// TestRolloutWithKubectl creates, watches, moves, describes and deletes a Rollout as people do.
func TestRolloutWithKubectl(t *testing.T) {
	c := newCLI(t)
	d := newDecider(t, hub.AdminConfig(), c.namespace)
	d.clusters(4)
	manifest := fmt.Sprintf(rolloutManifest, c.namespace)
	c.must(manifest, "create", "-f", "-")
	c.wants("get", c.must("", "get", "rlt"), `^NAME +STEP +CLUSTERS +PHASE +WAITING-FOR +AGE$`, `^app +0/0 +Pending +Start +\d+s$`)
	path := "/apis/binnacle.dev/v1alpha1/namespaces/" + c.namespace + "/rollouts/app/"
	c.wants("preview", c.must("", "get", "--raw", path+"preview?step=all"), `"step":"all","targets":4,"planned":4`)
	c.must(`{}`, "create", "--raw", path+"advance", "-f", "-")
	c.wants("get -o wide", c.must("", "get", "rollouts.binnacle.dev", "-o", "wide"), `^NAME +STEP +CLUSTERS +PHASE +WAITING-FOR +AGE +DECISION-KEY +NEXT$`, `^app +canary +1/4 +Progressing +Advance +\d+s +app +$`)
	if out, ok := c.run(manifest+"  drift: Sideways\n", "apply", "--server-side", "-f", "-"); ok || !strings.Contains(out, "spec.drift") {
		t.Errorf("a wrong spec: %s", out)
	}
	c.must(`{"spec":{"reason":"tested enough"}}`, "create", "--raw", path+"promote", "-f", "-")
	c.must("", "wait", "--for=condition=Complete", "--timeout=10s", "rollout.binnacle.dev/app")
	c.must("", "wait", "--for=jsonpath={.status.phase}=Completed", "--timeout=10s", "rollout.binnacle.dev/app")
	if names := c.must("", "get", "rlt", "-o", "name", "--field-selector", "status.phase=Completed"); strings.TrimSpace(names) != "rollout.binnacle.dev/app" {
		t.Errorf("selected by phase: %q", names)
	}
	if out, ok := c.run("", "get", "rlt", "--field-selector", "status.step.name=all"); ok || !strings.Contains(out, "field label not supported") {
		t.Errorf("selected by another field: %s", out)
	}
	c.wants("explain", c.must("", "explain", "rollout.spec.steps", "--api-version=binnacle.dev/v1alpha1"), `percent\s+<integer>`)
	events := kubernetes.NewForConfigOrDie(hub.AdminConfig()).CoreV1().Events(c.namespace)
	eventually(t, "events of the transitions", func() bool {
		list, err := events.List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=Rollout,involvedObject.name=app"})
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, e := range list.Items {
			found[e.Reason] = e.Message
		}
		return strings.Contains(found["Advance"], "advance by admin: Progressing, step canary, revision 1, 1 of 4 clusters through") &&
			strings.Contains(found["Promote"], "tested enough") && found["Complete"] != ""
	})
	c.wants("describe", c.must("", "describe", "rlt", "app"), `Advance +\d+s +binnacle`)
	c.must("", "delete", "rlt", "app", "--timeout=30s")
	within(t, collected, "the slices to be collected", func() bool { return len(d.slices("app")) == 0 })
}
