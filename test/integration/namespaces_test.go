package integration

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// namespaceEnds bounds the end of a namespace after nothing holds its objects any more (cases.md, 8).
const namespaceEnds = 30 * time.Second

// TestNamespaceDeletion empties a namespace of both kinds, waits for what finalizers hold, and ends soon after the last of them.
func TestNamespaceDeletion(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	namespaces := kubernetes.NewForConfigOrDie(hub.AdminConfig()).CoreV1().Namespaces()
	created, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "ending-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := newCaller(t, hub.AdminConfig(), ours, created.Name, "v1alpha2")
	finalizers := `,"finalizers":["example.com/hold"]`
	for i := range 20 {
		c.must(post("clusterprofiles", profileNamed(fmt.Sprint("c", i), managed)))
		c.must(post("placementdecisions", decisionNamed(fmt.Sprint("d", i), `,"decisions":[]`)))
	}
	held := []string{"clusterprofiles/held", "placementdecisions/held"}
	c.must(post("clusterprofiles", strings.Replace(profileNamed("held", managed), `"name":"held"`, `"name":"held"`+finalizers, 1)))
	c.must(post("placementdecisions", strings.Replace(decisionNamed("held", `,"decisions":[]`), `"name":"held"`, `"name":"held"`+finalizers, 1)))

	if err := namespaces.Delete(ctx, created.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "only what is held to be left", func() bool {
		return len(c.must(get("clusterprofiles")).field("items").([]any)) == 1 && len(c.must(get("placementdecisions")).field("items").([]any)) == 1
	})
	eventually(t, "the hub to say what it waits for", func() bool {
		ns, err := namespaces.Get(ctx, created.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, condition := range ns.Status.Conditions {
			if condition.Status == corev1.ConditionTrue {
				said += condition.Message + "\n"
			}
		}
		return strings.Contains(said, "clusterprofiles."+ours+" has 1 resource instances") && strings.Contains(said, "placementdecisions."+ours+" has 1 resource instances") &&
			strings.Contains(said, "example.com/hold in 2 resource instances")
	})
	if a := c.do(post("clusterprofiles", profileNamed("late", managed))); a.code != http.StatusForbidden || !strings.Contains(a.status.Message, "because it is being terminated") {
		t.Errorf("a create in a namespace that ends: %s", a.raw)
	}
	for _, path := range held {
		c.must(patch(path, `{"metadata":{"finalizers":null}}`))
	}
	released := time.Now()
	within(t, namespaceEnds, "the namespace to be gone", func() bool {
		_, err := namespaces.Get(ctx, created.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	t.Logf("gone %s after the last finalizer", time.Since(released).Round(time.Millisecond))
}

// resources maps each resource that a discovery names to its verbs.
type resources map[string][]string

// TestDiscoveryForms fetches discovery in its legacy and its aggregated form, from the hub and from the server, and wants the same in each:
// who deletes a namespace relies on one of them (cases.md, 8).
func TestDiscoveryForms(t *testing.T) {
	for group, names := range map[string][]string{
		ours:     {"v1alpha1 clusterprofiles", "v1alpha1 clusterprofiles/status", "v1alpha2 clusterprofiles", "v1alpha2 clusterprofiles/status", "v1alpha1 placementdecisions", "v1alpha2 placementdecisions"},
		ownGroup: {"v1alpha1 clusterstatuses", "v1alpha1 clusterstatuses/report"},
	} {
		forms := map[string]resources{}
		for where, config := range map[string]caller{
			"hub":    newCaller(t, hub.AdminConfig(), group, "default", ""),
			"server": newCaller(t, server.ConfigFor("admin", framework.AdminGroup), group, "default", ""),
		} {
			forms["legacy, "+where] = legacyDiscovery(config)
			forms["aggregated, "+where] = aggregatedDiscovery(config)
		}
		want := forms["legacy, server"]
		for _, name := range names {
			if len(want[name]) < 2 {
				t.Errorf("%s has the verbs %v", name, want[name])
			}
		}
		for form, got := range forms {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s of %s (-legacy, server +got):\n%s", form, group, diff)
			}
		}
	}
}

func legacyDiscovery(c caller) resources {
	c.t.Helper()
	found := resources{}
	for _, entry := range c.must(get("/apis/GROUP")).field("versions").([]any) {
		version := entry.(map[string]any)["version"]
		for _, entry := range c.must(get(fmt.Sprint("/apis/GROUP/", version))).field("resources").([]any) {
			found.add(version, entry.(map[string]any)["name"], entry.(map[string]any)["verbs"])
		}
	}
	return found
}

func aggregatedDiscovery(c caller) resources {
	c.t.Helper()
	found := resources{}
	all := c.must(request{method: "GET", path: "/apis", accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"})
	for _, item := range all.field("items").([]any) {
		group := item.(map[string]any)
		if group["metadata"].(map[string]any)["name"] != c.group {
			continue
		}
		for _, v := range group["versions"].([]any) {
			version := v.(map[string]any)
			if version["freshness"] != "Current" {
				c.t.Errorf("%v is %v", version["version"], version["freshness"])
			}
			for _, r := range version["resources"].([]any) {
				resource := r.(map[string]any)
				found.add(version["version"], resource["resource"], resource["verbs"])
				subresources, _ := resource["subresources"].([]any)
				for _, s := range subresources {
					sub := s.(map[string]any)
					found.add(version["version"], fmt.Sprint(resource["resource"], "/", sub["subresource"]), sub["verbs"])
				}
			}
		}
	}
	return found
}

func (r resources) add(version, name, verbs any) {
	var sorted []string
	for _, verb := range verbs.([]any) {
		sorted = append(sorted, fmt.Sprint(verb))
	}
	slices.Sort(sorted)
	r[fmt.Sprint(version, " ", name)] = sorted
}
