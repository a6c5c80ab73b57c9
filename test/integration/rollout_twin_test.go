package integration

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// rolloutTwin is the group of a custom resource that is a Rollout as far as these tests look. It is not the group of the other twins, whose kinds
// are held against those of the upstream group.
const rolloutTwin = "rollout.twin.binnacle.dev"

const rolloutTwinCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: rollouts.rollout.twin.binnacle.dev}
spec:
  group: rollout.twin.binnacle.dev
  scope: Namespaced
  names: {kind: Rollout, listKind: RolloutList, plural: rollouts, singular: rollout}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties:
              steps:
                type: array
                items:
                  type: object
                  x-kubernetes-preserve-unknown-fields: true
                  properties: {percent: {type: integer, format: int32, minimum: 1, maximum: 100}}
`

// rolloutPair is Rollout, and a custom resource like it on the same hub for as long as the test runs.
func rolloutPair(t *testing.T) pair {
	t.Helper()
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(rolloutTwinCRD), crd); err != nil {
		t.Fatal(err)
	}
	crds := dynamic.NewForConfigOrDie(hub.AdminConfig()).Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := crds.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	namespace := newNamespace(t)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := crds.Delete(ctx, crd.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		within(t, collected, "the custom resource to be gone", func() bool {
			_, err := crds.Get(ctx, crd.GetName(), metav1.GetOptions{})
			return err != nil
		})
	})
	both := pair{newCaller(t, hub.AdminConfig(), ownGroup, namespace, "v1alpha1"), newCaller(t, hub.AdminConfig(), rolloutTwin, namespace, "v1alpha1")}
	within(t, collected, "the custom resource to be served", func() bool { return both.twin.do(get("rollouts")).code == http.StatusOK })
	return both
}

// TestPutsOfRollouts answers PUTs from no resourceVersion and from one that is over as a custom resource on the same hub does, and lets one of fifty
// win that all start from one resourceVersion (cases.md, 22).
func TestPutsOfRollouts(t *testing.T) {
	both := rolloutPair(t)
	both.must(post("rollouts", rolloutNamed("x")))
	started := map[string]answer{}
	for _, c := range []caller{both.ours, both.twin} {
		started[c.group] = c.must(get("rollouts/x"))
		c.must(patch("rollouts/x", `{"metadata":{"labels":{"a":"b"}}}`))
	}
	for name, edit := range map[string]func(a answer) []string{
		"no resourceVersion":      func(a answer) []string { return []string{fmt.Sprintf(`"resourceVersion":"%v",`, a.versionOf()), ""} },
		"an empty one":            func(a answer) []string { return []string{fmt.Sprintf(`"%v"`, a.versionOf()), `""`} },
		"one that is over":        func(answer) []string { return nil },
		"one that is no number":   func(a answer) []string { return []string{fmt.Sprintf(`"%v"`, a.versionOf()), `"abc"`} },
		"one that is still ahead": func(a answer) []string { return []string{fmt.Sprintf(`"%v"`, a.versionOf()), `"99999999"`} },
		"another uid":             func(a answer) []string { return []string{fmt.Sprint(a.field("metadata", "uid")), "another"} },
	} {
		answers := map[string]answer{}
		for _, c := range []caller{both.ours, both.twin} {
			answers[c.group] = c.do(put("rollouts/x", started[c.group], append(edit(started[c.group]), `"percent":100`, `"percent":100,"name":"other"`)...))
		}
		mine, theirs := answers[ownGroup], answers[rolloutTwin]
		if mine.summary() != theirs.summary() || mine.code == http.StatusOK {
			t.Errorf("%s: %s %s; a custom resource: %s %s", name, mine.summary(), mine.status.Message, theirs.summary(), theirs.status.Message)
		}
	}
	// What a CRD creates on PUT, we do, and what it does not, we do not.
	fresh := request{method: http.MethodPut, path: "rollouts/fresh", contentType: jsonType, body: rolloutNamed("fresh")}
	if mine, theirs := both.ours.do(fresh), both.twin.do(fresh); mine.summary() != theirs.summary() {
		t.Errorf("a PUT of one that is not there: %s; a custom resource: %s", mine.summary(), theirs.summary())
	}

	start := both.ours.must(get("rollouts/x"))
	codes := make([]int, 50)
	each(len(codes), len(codes), func(i int) {
		codes[i] = both.ours.do(put("rollouts/x", start, `"name":"all"`, fmt.Sprintf(`"name":"all-%d"`, i))).code
	})
	won := -1
	for i, code := range codes {
		if code == http.StatusOK && won < 0 {
			won = i
		} else if code != http.StatusConflict {
			t.Errorf("writer %d: %d", i, code)
		}
	}
	if now := both.ours.must(get("rollouts/x")); !strings.Contains(string(now.raw), fmt.Sprintf(`"name":"all-%d"`, won)) || now.field("status", "phase") != string(v1alpha1.RolloutPending) {
		t.Errorf("writer %d won, and there is %s", won, now.raw)
	}
}
