package apiserver

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"
)

var allAdmissionKinds = []string{
	"mutatingwebhookconfigurations", "validatingwebhookconfigurations", "validatingadmissionpolicies", "validatingadmissionpolicybindings",
	"mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
}

func TestMissingPlugins(t *testing.T) {
	without := func(names ...string) []string {
		return slices.DeleteFunc(slices.Clone(allAdmissionKinds), func(name string) bool { return slices.Contains(names, name) })
	}
	tests := []struct {
		name   string
		served []string
		want   []string
	}{
		{"a current hub", allAdmissionKinds, nil},
		{"before 1.36", without("mutatingadmissionpolicies", "mutatingadmissionpolicybindings"), []string{"MutatingAdmissionPolicy"}},
		{"policies without bindings", without("mutatingadmissionpolicybindings"), []string{"MutatingAdmissionPolicy"}},
		{"no policies at all", allAdmissionKinds[:2], []string{"MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"}},
		{"nothing", nil, []string{"MutatingAdmissionPolicy", "MutatingAdmissionWebhook", "ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			list := &metav1.APIResourceList{GroupVersion: "admissionregistration.k8s.io/v1"}
			for _, name := range test.served {
				list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
			}
			hub := &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{Resources: []*metav1.APIResourceList{list}}}
			got, err := MissingPlugins(hub)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("the hub does not answer", func(t *testing.T) {
		if got, err := MissingPlugins(&fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{}}); err == nil {
			t.Errorf("missing %v without an error", got)
		}
	})
}

// TestEveryPluginIsKnown fails where the library adds a plugin that we say nothing of. Quotas are counted last.
func TestEveryPluginIsKnown(t *testing.T) {
	options := genericoptions.NewRecommendedOptions(EtcdPrefix, nil)
	AddAdmissionPlugins(options)
	order := options.Admission.RecommendedPluginOrder
	if last := order[len(order)-1]; last != "ResourceQuota" {
		t.Errorf("%s comes after the quotas", last)
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(order)), slices.Sorted(maps.Keys(pluginNeeds))); diff != "" {
		t.Errorf("plugins (-of the library +known):\n%s", diff)
	}
}

func TestHubRights(t *testing.T) {
	tests := []struct {
		name     string
		plugins  []string
		fairness bool
		want     []string
	}{
		{name: "nothing but identity", want: []string{
			"create tokenreviews.authentication.k8s.io", "create subjectaccessreviews.authorization.k8s.io", "create,patch events"}},
		{name: "namespace lifecycle", plugins: []string{"NamespaceLifecycle"}, want: []string{
			"create tokenreviews.authentication.k8s.io", "create subjectaccessreviews.authorization.k8s.io", "create,patch events", "list,watch namespaces"}},
		{name: "quotas", plugins: []string{"ResourceQuota"}, want: []string{
			"create tokenreviews.authentication.k8s.io", "create subjectaccessreviews.authorization.k8s.io", "create,patch events",
			"list,watch resourcequotas", "update resourcequotas/status"}},
		{name: "everything, namespaces once", fairness: true, plugins: []string{"NamespaceLifecycle", "MutatingAdmissionPolicy", "ValidatingAdmissionWebhook"}, want: []string{
			"create tokenreviews.authentication.k8s.io", "create subjectaccessreviews.authorization.k8s.io", "create,patch events", "list,watch namespaces",
			"list,watch mutatingadmissionpolicies.admissionregistration.k8s.io", "list,watch mutatingadmissionpolicybindings.admissionregistration.k8s.io",
			"list,watch validatingwebhookconfigurations.admissionregistration.k8s.io",
			"list,watch flowschemas.flowcontrol.apiserver.k8s.io", "list,watch prioritylevelconfigurations.flowcontrol.apiserver.k8s.io"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, right := range HubRights(test.plugins, test.fairness) {
				got = append(got, strings.Join(right.verbs, ",")+" "+right.GroupResource().String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestHubRightAsksForTheSubresource wants a subresource where RBAC looks for it: a webhook authorizer reads nothing else.
func TestHubRightAsksForTheSubresource(t *testing.T) {
	for right, want := range map[*HubRight]authorizationv1.ResourceAttributes{
		new(may("", "resourcequotas/status", "update")): {Verb: "update", Version: "v1", Resource: "resourcequotas", Subresource: "status"},
		new(read("example.com", "things")):              {Verb: "update", Group: "example.com", Version: "v1", Resource: "things"},
	} {
		if diff := cmp.Diff(want, *right.Attributes("update")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestShippedRole compares what the server asks for with the ClusterRole in artifacts/base; the reviews are in the hub's own role
// system:auth-delegator.
func TestShippedRole(t *testing.T) {
	data, err := os.ReadFile("../../artifacts/base/rbac-server.yaml")
	if err != nil {
		t.Fatal(err)
	}
	role := rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict([]byte(strings.Split(string(data), "\n---\n")[0]), &role); err != nil {
		t.Fatal(err)
	}
	granted := map[schema.GroupResource][]string{}
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				granted[schema.GroupResource{Group: group, Resource: resource}] = rule.Verbs
			}
		}
	}
	needed := map[schema.GroupResource][]string{}
	for _, right := range HubRights(slices.Collect(maps.Keys(pluginNeeds)), true) {
		if slices.Equal(right.verbs, []string{"create"}) {
			continue
		}
		verbs := slices.Clone(right.verbs)
		if slices.Contains(verbs, "list") { // Who may list may get: a role that said otherwise would surprise.
			verbs = append([]string{"get"}, verbs...)
		}
		needed[right.GroupResource()] = verbs
	}
	if diff := cmp.Diff(needed, granted); diff != "" {
		t.Errorf("(-needed +granted):\n%s", diff)
	}
}

// reviewer is a hub that allows what allow says; err is its answer where it is not nil.
func reviewer(allow func(*authorizationv1.ResourceAttributes) bool, err *atomic.Pointer[error]) *fake.Clientset {
	hub := fake.NewClientset()
	hub.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if e := err.Load(); e != nil {
			return true, nil, *e
		}
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		review.Status.Allowed = allow(review.Spec.ResourceAttributes)
		return true, review, nil
	})
	return hub
}

func TestAccessCheckTells(t *testing.T) {
	right := HubRight{schema.GroupVersionResource{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Resource: "flowschemas"}, []string{"list", "watch"}}
	status := pluginNeeds["ResourceQuota"][1]
	down := errors.New("connection refused")
	tests := []struct {
		name  string
		right HubRight
		allow func(*authorizationv1.ResourceAttributes) bool
		err   *error
		want  string
	}{
		{name: "a subresource", right: status, allow: func(a *authorizationv1.ResourceAttributes) bool {
			return a.Verb == "update" && a.Group == "" && a.Resource == "resourcequotas" && a.Subresource == "status"
		}},
		{name: "a subresource, not allowed", right: status, allow: func(*authorizationv1.ResourceAttributes) bool { return false },
			want: "not allowed on the hub: update of resourcequotas/status; see the ClusterRole in artifacts/base"},
		{name: "allowed", right: right, allow: func(a *authorizationv1.ResourceAttributes) bool {
			return a.Group == right.Group && a.Version == "v1" && a.Resource == right.Resource && a.Namespace == "" && a.Name == ""
		}},
		{name: "nothing allowed", right: right, allow: func(*authorizationv1.ResourceAttributes) bool { return false },
			want: "not allowed on the hub: list, watch of flowschemas.flowcontrol.apiserver.k8s.io; see the ClusterRole in artifacts/base"},
		{name: "one verb missing", right: right, allow: func(a *authorizationv1.ResourceAttributes) bool { return a.Verb == "list" },
			want: "not allowed on the hub: watch of flowschemas.flowcontrol.apiserver.k8s.io; see the ClusterRole in artifacts/base"},
		{name: "no answer", right: right, err: &down,
			want: "cannot ask the hub whether list of flowschemas.flowcontrol.apiserver.k8s.io is allowed: connection refused"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var failure atomic.Pointer[error]
			failure.Store(test.err)
			access := &hubAccess{right: test.right}
			got := ""
			if err := access.ask(t.Context(), reviewer(test.allow, &failure)); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAccessCheckRecovers grants a right while the server waits for it.
func TestAccessCheckRecovers(t *testing.T) {
	var granted atomic.Bool
	var failure atomic.Pointer[error]
	hub := reviewer(func(*authorizationv1.ResourceAttributes) bool { return granted.Load() }, &failure)
	right := HubRights([]string{"NamespaceLifecycle"}, false)[3]
	access := &hubAccess{pending: newPending(right.name()), right: right}
	if access.Name() != "hub-access-namespaces" {
		t.Errorf("name %q", access.Name())
	}
	if err := access.Check(nil); !errors.Is(err, errNotAsked) {
		t.Errorf("before anybody asked: %v", err)
	}
	done := make(chan struct{})
	go func() {
		access.watch(t.Context(), hub)
		close(done)
	}()
	waitFor(t, "the refusal", func() bool {
		err := access.Check(nil)
		return err != nil && strings.Contains(err.Error(), "list, watch of namespaces")
	})
	granted.Store(true)
	waitFor(t, "the grant", func() bool { return access.Check(nil) == nil })
	// It stops to ask once it has the right.
	<-done
}

func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline:
			t.Fatalf("%s does not come", what)
		case <-tick.C:
		}
	}
}
