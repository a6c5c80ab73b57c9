package bodycheck_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/binnacle-dev/binnacle/pkg/apiserver/bodycheck"
)

// counter is a resolver that counts its questions.
type counter struct{ asked int }

func (c *counter) ResolveSchema(gvk schema.GroupVersionKind) (*spec.Schema, error) {
	c.asked++
	return schemas.ResolveSchema(gvk)
}

func TestCheckApply(t *testing.T) {
	const head = "apiVersion: multicluster.x-k8s.io/v1alpha1\nkind: ClusterProfile\nmetadata: {name: atlas}\n"
	provider := func(data string) string {
		return head + "status: {accessProviders: [{name: a}, {name: b, cluster: {certificate-authority-data: '" + data + "'}}]}\n"
	}
	condition := func(date string) string {
		return head + "status: {conditions: [{type: A, lastTransitionTime: " + date + "}]}\n"
	}
	tests := []struct {
		name, body, kind string
		want             []string
	}{
		{"good", provider("QQ=="), "ClusterProfile", nil},
		{"bad base64", provider("%%"), "ClusterProfile", []string{typeInvalid + "status.accessProviders[1].cluster.certificate-authority-data"}},
		{"good date", condition(`"2026-11-02T06:30:00Z"`), "ClusterProfile", nil},
		{"bad date", condition("yesterday"), "ClusterProfile", []string{typeInvalid + "status.conditions[0].lastTransitionTime"}},
		{"bad observed time", head + "status: {properties: [{name: a, value: b, lastObservedTime: never}]}\n", "ClusterProfile",
			[]string{typeInvalid + "status.properties[0].lastObservedTime"}},
		{"text in a field of no format", head + "spec: {displayName: yesterday}\n", "ClusterProfile", nil},
		{"unknown fields are for somebody else", head + "colour: {hue: 5}\n", "ClusterProfile", nil},
		{"metadata is for somebody else", strings.Replace(head, "name: atlas", "creationTimestamp: x", 1), "ClusterProfile", nil},
		{"JSON", `{"apiVersion":"multicluster.x-k8s.io/v1alpha2","kind":"ClusterProfile","status":{"accessProviders":[{"cluster":{"certificate-authority-data":"%"}}]}}`,
			"ClusterProfile", []string{typeInvalid + "status.accessProviders[0].cluster.certificate-authority-data"}},
		{"what an extension holds is free", head + "status: {accessProviders: [{name: a, cluster: {extensions: [{name: e, extension: {lastTransitionTime: x}}]}}]}\n",
			"ClusterProfile", nil},
		{"nulls", head + "status: {conditions: null, accessProviders: [{cluster: {certificate-authority-data: null}}]}\n", "ClusterProfile", nil},
		{"what is required may be in what is merged with", head + "status: {properties: [{name: a}], accessProviders: [{cluster: {}}]}\n", "ClusterProfile", nil},
		{"empty text is for the rules", head + "status: {properties: [{name: a, value: ''}]}\n", "ClusterProfile", nil},
		{"no object", "- a\n", "", nil},
		{"no YAML", "{", "", nil},
		{"another group", "apiVersion: example.com/v1\nkind: ClusterProfile\n", "", nil},
		{"no kind", "apiVersion: multicluster.x-k8s.io/v1alpha1\n", "", nil},
		{"empty", "", "", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found, kind := bodycheck.CheckApply(schemas, []byte(test.body))
			if diff := cmp.Diff(test.want, brief(found)); diff != "" {
				t.Errorf("findings (-want +got):\n%s%v", diff, found)
			}
			if kind != test.kind {
				t.Errorf("kind %q, want %q", kind, test.kind)
			}
		})
	}
}
