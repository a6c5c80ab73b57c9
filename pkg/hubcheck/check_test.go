package hubcheck

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// What depends on the hub's age and flags: the tests on a hub have only one of each.

func TestHubVersion(t *testing.T) {
	tests := []struct {
		git   string
		level Level
		text  string
	}{
		{"v1.37.2", OK, "Kubernetes v1.37.2"},
		{"v1.33.0", OK, "Kubernetes v1.33.0"},
		{"v1.34.1-eks-1234567", OK, "Kubernetes v1.34.1-eks-1234567"},
		{"v1.33.5+k3s1", OK, "Kubernetes v1.33.5+k3s1"},
		{"v1.32.9", Problem, "1.33 and newer are supported"},
		{"v0.0.0-master+$Format:%H$", Problem, "1.33 and newer are supported"},
		{"latest", Note, `the hub calls itself "latest"`},
	}
	for _, test := range tests {
		t.Run(test.git, func(t *testing.T) {
			hub := fake.NewClientset()
			hub.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion = &version.Info{GitVersion: test.git}
			wantOne(t, (&Checker{Hub: hub}).version, test.level, test.text)
		})
	}
}

func TestAggregationLayer(t *testing.T) {
	published := func(data map[string]string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "extension-apiserver-authentication"}, Data: data}
	}
	tests := []struct {
		name  string
		hub   *fake.Clientset
		level Level
		text  string
	}{
		{"on", fake.NewClientset(published(map[string]string{"requestheader-client-ca-file": "CA"})), OK, "on"},
		{"no front proxy", fake.NewClientset(published(map[string]string{"client-ca-file": "CA"})), Problem, "--requestheader-client-ca-file"},
		{"nothing published", fake.NewClientset(), Problem, "--requestheader-client-ca-file"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { wantOne(t, (&Checker{Hub: test.hub}).aggregationLayer, test.level, test.text) })
	}
}

func wantOne(t *testing.T, look func(context.Context) ([]Finding, error), level Level, text string) {
	t.Helper()
	found, err := look(t.Context())
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if found[0].Level != level || !strings.Contains(found[0].Message, text) {
		t.Errorf("%+v, want %s: %s", found[0], level, text)
	}
}

func TestOwner(t *testing.T) {
	c := &Checker{Service: "binnacle-system/binnacle-apiserver"}
	condition := func(service *apiregistrationv1.APIService, status apiregistrationv1.ConditionStatus) *apiregistrationv1.APIService {
		service.Status.Conditions = []apiregistrationv1.APIServiceCondition{
			{Type: apiregistrationv1.Available, Status: status, Reason: "FailedDiscoveryCheck", Message: "connection refused"}}
		return service
	}
	behind := func(namespace, name string) *apiregistrationv1.APIService {
		return &apiregistrationv1.APIService{Spec: apiregistrationv1.APIServiceSpec{Service: &apiregistrationv1.ServiceReference{Namespace: namespace, Name: name}}}
	}
	tests := []struct {
		name    string
		service *apiregistrationv1.APIService
		want    Level
		text    string
	}{
		{"the hub's own", &apiregistrationv1.APIService{}, Note, "--force-conflicts"},
		{"ours", condition(behind("binnacle-system", "binnacle-apiserver"), apiregistrationv1.ConditionTrue), OK, "registered for binnacle-system/binnacle-apiserver"},
		{"ours, away", condition(behind("binnacle-system", "binnacle-apiserver"), apiregistrationv1.ConditionFalse), Problem,
			"not available: FailedDiscoveryCheck: connection refused"},
		{"ours, not known", condition(behind("binnacle-system", "binnacle-apiserver"), apiregistrationv1.ConditionUnknown), Problem, "not available"},
		{"ours, just made", behind("binnacle-system", "binnacle-apiserver"), Note, "has not looked yet"},
		{"our name elsewhere", behind("other", "binnacle-apiserver"), Problem, "Service other/binnacle-apiserver"},
		{"another's", condition(behind("binnacle-system", "other"), apiregistrationv1.ConditionTrue), Problem, "Service binnacle-system/other"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got, text := c.owner(test.service); got != test.want || !strings.Contains(text, test.text) {
				t.Errorf("%s: %s", got, text)
			}
		})
	}
}
