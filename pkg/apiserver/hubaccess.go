package apiserver

import (
	"context"
	"fmt"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"

	"github.com/binnacle-dev/binnacle/pkg/admission/quota"
)

const admissionGroup = "admissionregistration.k8s.io"

// pluginNeeds says what of the hub each admission plugin uses. Every plugin that has an informer on the hub is here; a test compares
// this table with the role in artifacts/base.
var pluginNeeds = map[string][]HubRight{
	lifecycle.PluginName:         {namespaces},
	mutatingwebhook.PluginName:   {namespaces, read(admissionGroup, "mutatingwebhookconfigurations")},
	validatingwebhook.PluginName: {namespaces, read(admissionGroup, "validatingwebhookconfigurations")},
	mutatingpolicy.PluginName: {namespaces,
		read(admissionGroup, "mutatingadmissionpolicies"), read(admissionGroup, "mutatingadmissionpolicybindings")},
	validatingpolicy.PluginName: {namespaces,
		read(admissionGroup, "validatingadmissionpolicies"), read(admissionGroup, "validatingadmissionpolicybindings")},
	quota.PluginName: {read("", "resourcequotas"), may("", "resourcequotas/status", "update")},
}

var namespaces = read("", "namespaces")

// fairnessNeeds is what priority and fairness reads.
var fairnessNeeds = []HubRight{
	read("flowcontrol.apiserver.k8s.io", "flowschemas"),
	read("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"),
}

// reviews is what delegated authentication and authorization ask the hub.
var reviews = []HubRight{
	may("authentication.k8s.io", "tokenreviews", "create"),
	may("authorization.k8s.io", "subjectaccessreviews", "create"),
}

// kindNeeds is what our own kinds do on the hub: a rollout that moves says so in an event.
var kindNeeds = []HubRight{may("", "events", "create", "patch")}

// read is what an informer does.
func read(group, resource string) HubRight { return may(group, resource, "list", "watch") }

func may(group, resource string, verbs ...string) HubRight {
	return HubRight{schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}, verbs}
}

// MissingPlugins returns the admission plugins whose kinds the hub does not serve, which is so on a hub older than they are. The server
// goes without them rather than refuse every write for ever.
func MissingPlugins(hub discovery.DiscoveryInterface) ([]string, error) {
	served, err := hub.ServerResourcesForGroupVersion(admissionGroup + "/v1")
	if err != nil {
		return nil, fmt.Errorf("cannot ask the hub for its admission kinds: %w", err)
	}
	known := map[string]bool{}
	for _, resource := range served.APIResources {
		known[resource.Name] = true
	}
	var missing []string
	for plugin, needs := range pluginNeeds {
		for _, need := range needs {
			if need.Group == admissionGroup && !known[need.Resource] {
				missing = append(missing, plugin)
				break
			}
		}
	}
	return missing, nil
}

// HubRight is one thing that the server must be allowed on its hub. A subresource is part of the resource's name, as in a role.
type HubRight struct {
	schema.GroupVersionResource
	verbs []string
}

// Verbs are those that it must be allowed.
func (r HubRight) Verbs() []string { return r.verbs }

// Attributes is the question whether a verb of it is allowed.
func (r HubRight) Attributes(verb string) *authorizationv1.ResourceAttributes {
	resource, subresource, _ := strings.Cut(r.Resource, "/")
	return &authorizationv1.ResourceAttributes{Verb: verb, Group: r.Group, Version: r.Version, Resource: resource, Subresource: subresource}
}

func (r HubRight) name() string {
	return "hub-access-" + r.GroupResource().String()
}

// HubRights lists what a server with the given admission plugins must be allowed on the hub.
func HubRights(plugins []string, fairness bool) []HubRight {
	seen := map[schema.GroupVersionResource]bool{}
	var rights []HubRight
	add := func(needs []HubRight) {
		for _, need := range needs {
			if !seen[need.GroupVersionResource] {
				seen[need.GroupVersionResource] = true
				rights = append(rights, need)
			}
		}
	}
	add(reviews)
	add(kindNeeds)
	for _, plugin := range plugins {
		add(pluginNeeds[plugin])
	}
	if fairness {
		add(fairnessNeeds)
	}
	return rights
}

// hubAccess asks the hub, while the server is not ready, whether it is allowed what it needs.
type hubAccess struct {
	pending
	right HubRight
}

// recheck is how often a missing right is asked for again.
const recheck = 2 * time.Second

// watch asks until everything is allowed.
func (a *hubAccess) watch(ctx context.Context, hub kubernetes.Interface) {
	a.poll(ctx, recheck, func(ctx context.Context) error { return a.ask(ctx, hub) })
}

func (a *hubAccess) ask(ctx context.Context, hub kubernetes.Interface) error {
	var denied []string
	for _, verb := range a.right.verbs {
		review, err := hub.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: a.right.Attributes(verb)},
		}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("cannot ask the hub whether %s of %s is allowed: %w", verb, a.right.GroupResource(), err)
		}
		if !review.Status.Allowed {
			denied = append(denied, verb)
		}
	}
	if len(denied) > 0 {
		return fmt.Errorf("not allowed on the hub: %s of %s; see the ClusterRole in artifacts/base", strings.Join(denied, ", "), a.right.GroupResource())
	}
	return nil
}

// AddHubAccessChecks makes readiness of the server depend on its rights on the hub, one check a resource.
func AddHubAccessChecks(server *genericapiserver.GenericAPIServer, hub kubernetes.Interface, rights []HubRight) error {
	var checks []healthz.HealthChecker
	var accesses []*hubAccess
	for _, right := range rights {
		access := &hubAccess{pending: newPending(right.name()), right: right}
		accesses, checks = append(accesses, access), append(checks, access)
	}
	if err := server.AddReadyzChecks(checks...); err != nil {
		return err
	}
	return server.AddPostStartHook("ask-hub-for-access", func(ctx genericapiserver.PostStartHookContext) error {
		for _, access := range accesses {
			go access.watch(ctx, hub)
		}
		return nil
	})
}
