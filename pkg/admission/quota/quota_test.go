package quota

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	genericinitializer "k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
)

var (
	counted = schema.GroupVersionResource{Group: "multicluster.x-k8s.io", Version: "v1alpha2", Resource: "clusterprofiles"}
	kind    = counted.GroupVersion().WithKind("ClusterProfile")
	limit   = corev1.ResourceName("count/clusterprofiles.multicluster.x-k8s.io")
)

func creation(operation admission.Operation, subresource string, dryRun bool) admission.Attributes {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}
	return admission.NewAttributesRecord(object, nil, kind, "ns", "a", counted, subresource, operation, &metav1.CreateOptions{}, dryRun, nil)
}

func quotaOf(hard, used int64) *corev1.ResourceQuota {
	list := func(n int64) corev1.ResourceList {
		return corev1.ResourceList{limit: *resource.NewQuantity(n, resource.DecimalSI)}
	}
	return &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "q", ResourceVersion: "1"},
		Spec:       corev1.ResourceQuotaSpec{Hard: list(hard)},
		Status:     corev1.ResourceQuotaStatus{Hard: list(hard), Used: list(used)},
	}
}

// newPlugin returns the plugin as a server runs it. Its informers have seen quotas; what it writes goes to client.
func newPlugin(t *testing.T, client kubernetes.Interface, initialize admission.PluginInitializer, quotas ...*corev1.ResourceQuota) admission.ValidationInterface {
	t.Helper()
	plugins := admission.NewPlugins()
	Register(plugins)
	factory := informers.NewSharedInformerFactory(client, 0)
	generic := genericinitializer.New(client, nil, factory, nil, nil, nil, t.Context().Done(), nil)
	made, err := plugins.InitPlugin(PluginName, nil, admission.PluginInitializers{generic, initialize})
	if err != nil {
		t.Fatal(err)
	}
	for _, quota := range quotas {
		if err := factory.Core().V1().ResourceQuotas().Informer().GetStore().Add(quota); err != nil {
			t.Fatal(err)
		}
	}
	return made.(admission.ValidationInterface)
}

// withClient is the initializer of the server, but for the client.
func withClient(t *testing.T, client kubernetes.Interface) admission.PluginInitializer {
	t.Helper()
	made, err := NewInitializer(&rest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	i := made.(initializer)
	i.client = client
	return i
}

func TestValidate(t *testing.T) {
	const exceeded = "exceeded quota: q, requested: count/clusterprofiles.multicluster.x-k8s.io=1, used: count/clusterprofiles.multicluster.x-k8s.io=2, limited: count/clusterprofiles.multicluster.x-k8s.io=2"
	conflict := apierrors.NewConflict(corev1.Resource("resourcequotas"), "q", errors.New("changed"))
	tests := []struct {
		name        string
		used        int64
		operation   admission.Operation
		subresource string
		dryRun      bool
		hub         []error // what the hub answers to each write of the quota; nothing more is an answer of success
		want        string
		code        int32
		writes      int32
	}{
		{name: "room", used: 1, operation: admission.Create, writes: 1},
		{name: "room, dry run", used: 1, operation: admission.Create, dryRun: true},
		{name: "no room", used: 2, operation: admission.Create, want: exceeded, code: http.StatusForbidden},
		{name: "no room, dry run", used: 2, operation: admission.Create, dryRun: true, want: exceeded, code: http.StatusForbidden},
		{name: "an update needs none", used: 2, operation: admission.Update},
		{name: "a subresource needs none", used: 2, operation: admission.Create, subresource: "report"},
		{name: "somebody else counts too", used: 1, operation: admission.Create, writes: 4, hub: repeat(conflict, 3)},
		{name: "somebody else counts all the time", used: 1, operation: admission.Create, writes: 4, hub: repeat(conflict, 9), code: http.StatusTooManyRequests,
			want: `too many creates count in the quotas of namespace "ns" at once: Operation cannot be fulfilled on resourcequotas "q": changed`},
		{name: "the hub refuses the server", used: 1, operation: admission.Create, writes: 4, code: http.StatusServiceUnavailable,
			hub:  repeat(apierrors.NewForbidden(corev1.Resource("resourcequotas"), "q", errors.New("no right")), 4),
			want: `the quotas of namespace "ns" cannot be counted on the hub now: resourcequotas "q" is forbidden: no right`},
		{name: "the hub is away", used: 1, operation: admission.Create, writes: 4, code: http.StatusServiceUnavailable,
			hub: repeat(errors.New("connection refused"), 4), want: `the quotas of namespace "ns" cannot be counted on the hub now: connection refused`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var writes atomic.Int32
			client := fake.NewClientset(quotaOf(2, test.used))
			client.PrependReactor("update", "resourcequotas", func(action clienttesting.Action) (bool, runtime.Object, error) {
				if action.GetSubresource() != "status" {
					t.Errorf("the server writes the quota itself")
				}
				if n := int(writes.Add(1)); n <= len(test.hub) {
					return true, nil, test.hub[n-1]
				}
				return false, nil, nil
			})
			p := newPlugin(t, client, withClient(t, client), quotaOf(2, test.used))
			err := p.Validate(t.Context(), creation(test.operation, test.subresource, test.dryRun), nil)
			check(t, err, test.want, test.code)
			if writes.Load() != test.writes {
				t.Errorf("%d writes on the hub, want %d", writes.Load(), test.writes)
			}
		})
	}
}

// TestConflictOnOneOfTwoQuotas counts once in the quota whose write succeeded, however often that of the other is tried.
func TestConflictOnOneOfTwoQuotas(t *testing.T) {
	one, two := quotaOf(5, 1), quotaOf(5, 1)
	two.Name = "two"
	client := fake.NewClientset(one, two)
	var tries atomic.Int32
	writes := map[string]int{}
	client.PrependReactor("update", "resourcequotas", func(action clienttesting.Action) (bool, runtime.Object, error) {
		written := action.(clienttesting.UpdateAction).GetObject().(*corev1.ResourceQuota)
		if written.Name == two.Name && tries.Add(1) <= 3 {
			return true, nil, apierrors.NewConflict(corev1.Resource("resourcequotas"), two.Name, errors.New("changed"))
		}
		writes[written.Name]++
		if got := written.Status.Used["count/clusterprofiles.multicluster.x-k8s.io"]; got.Value() != 2 {
			t.Errorf("%s counts %d, want 2", written.Name, got.Value())
		}
		return false, nil, nil
	})
	p := newPlugin(t, client, withClient(t, client), one, two)
	check(t, p.Validate(t.Context(), creation(admission.Create, "", false), nil), "", 0)
	if writes["q"] != 1 || writes["two"] != 1 {
		t.Errorf("%v, want each written once", writes)
	}
}

func repeat(err error, n int) (errs []error) {
	for range n {
		errs = append(errs, err)
	}
	return errs
}

func check(t *testing.T, err error, want string, code int32) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
		return
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code != code || !strings.Contains(err.Error(), want) {
		t.Errorf("%T %v, want %d %s", err, err, code, want)
	}
}

// TestHubThatDoesNotAnswer bounds how long writes wait for a hub that takes a call and says nothing, also behind one another, and goes on
// when the hub answers again, though it never answers those calls.
func TestHubThatDoesNotAnswer(t *testing.T) {
	end := make(chan struct{})
	var answers atomic.Bool
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answers.Load() {
			<-end
			return
		}
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		_, _ = io.Copy(w, r.Body)
	}))
	defer hub.Close()
	defer close(end)
	initialize, err := NewInitializer(&rest.Config{Host: hub.URL})
	if err != nil {
		t.Fatal(err)
	}
	p := newPlugin(t, fake.NewClientset(), initialize, quotaOf(100, 0))
	started := time.Now()
	results := make(chan error)
	for range 3 {
		go func() { results <- p.Validate(t.Context(), creation(admission.Create, "", false), nil) }()
	}
	for range 3 {
		check(t, <-results, "cannot be counted on the hub now", http.StatusServiceUnavailable)
	}
	if took := time.Since(started); took > 20*time.Second {
		t.Errorf("the writes waited %s", took)
	}
	answers.Store(true)
	// One of them may have been taken up late, and be in the way for as long.
	deadline := time.After(30 * time.Second)
	for p.Validate(t.Context(), creation(admission.Create, "", false), nil) != nil {
		select {
		case <-deadline:
			t.Fatal("the hub answers, and writes are still refused")
		default:
		}
	}
}

// TestConfiguration reads what --admission-control-config-file says of the plugin.
func TestConfiguration(t *testing.T) {
	plugins := admission.NewPlugins()
	Register(plugins)
	file := func(resource string) string {
		return fmt.Sprintf(`{"apiVersion":"apiserver.config.k8s.io/v1","kind":"ResourceQuotaConfiguration","limitedResources":[{"apiGroup":"multicluster.x-k8s.io","resource":%q,"matchContains":["count/"]}]}`, resource)
	}
	client := fake.NewClientset()
	for content, want := range map[string]string{file("clusterprofiles"): "", file(""): "limitedResources", `{"kind":"Nonsense"}`: "Nonsense"} {
		_, err := plugins.InitPlugin(PluginName, strings.NewReader(content), admission.PluginInitializers{
			genericinitializer.New(client, nil, informers.NewSharedInformerFactory(client, 0), nil, nil, nil, t.Context().Done(), nil), withClient(t, client)})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", content, err, want)
		}
	}
}
