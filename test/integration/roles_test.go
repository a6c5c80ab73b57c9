package integration

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

var (
	reading  = []string{"get", "list", "watch"}
	writing  = append(slices.Clone(reading), "create", "delete", "patch", "update")
	emptying = append(slices.Clone(writing), "deletecollection")
	posting  = []string{"create"}
	getting  = []string{"get"}
)

// viewing is what who reads may do, and more what is changed of that.
func viewing(more map[string][]string) map[string][]string {
	may := map[string][]string{
		"clusterprofiles": reading, "clusterprofiles/status": getting, "placementdecisions": reading,
		"clusterstatuses": reading, "clusterstatuses/report": getting, "rollouts": reading, "rollouts/preview": getting,
	}
	for resource, verbs := range more {
		may[resource] = verbs
	}
	return may
}

// roles are the roles that are shipped, and everything that each may do.
var roles = map[string]map[string][]string{
	"binnacle-view":              viewing(nil),
	"binnacle-edit":              viewing(map[string][]string{"clusterprofiles": writing, "placementdecisions": writing, "rollouts": writing}),
	"binnacle-admin":             viewing(map[string][]string{"clusterprofiles": emptying, "placementdecisions": emptying, "rollouts": emptying}),
	"binnacle-inventory-manager": {"clusterprofiles": writing, "clusterprofiles/status": {"get", "patch", "update"}},
	"binnacle-status-viewer":     {"clusterstatuses": reading},
	"binnacle-scheduler":         {"clusterprofiles": reading, "clusterstatuses": reading, "placementdecisions": writing},
	"binnacle-rollout-operator": {"rollouts": reading, "rollouts/preview": getting, "rollouts/advance": posting, "rollouts/pause": posting, "rollouts/resume": posting,
		"rollouts/promote": posting, "rollouts/abort": posting, "rollouts/rollback": posting, "rollouts/retry": posting},
	"binnacle-rollout-approver": {"rollouts": reading, "rollouts/preview": getting, "rollouts/approve": posting},
	"binnacle-rollout-consumer": {"clusterprofiles": reading, "placementdecisions": reading, "rollouts/feedback": posting},
}

// partsOfTheHubs are the hub's own roles that some of ours are part of.
var partsOfTheHubs = map[string]string{"view": "binnacle-view", "edit": "binnacle-edit", "admin": "binnacle-admin"}

// forbidden asks the hub for something, as a dry run, and says whether it is refused for want of a right. The object does not exist, and the
// body is none: what is allowed fails for that.
func forbidden(t *testing.T, client *http.Client, namespace, name, resource, verb string) bool {
	t.Helper()
	resource, subresource, _ := strings.Cut(resource, "/")
	group := ownGroup + "/v1alpha1"
	if resource == "clusterprofiles" || resource == "placementdecisions" {
		group = "multicluster.x-k8s.io/v1alpha2"
	}
	url := hub.URL() + "/apis/" + group + "/namespaces/" + namespace + "/" + resource
	if subresource != "" || slices.Contains([]string{"get", "update", "patch", "delete"}, verb) {
		url += "/" + name
	}
	if subresource != "" {
		url += "/" + subresource
	}
	method := map[string]string{"create": http.MethodPost, "update": http.MethodPut, "patch": http.MethodPatch, "delete": http.MethodDelete, "deletecollection": http.MethodDelete}[verb]
	switch {
	case verb == "watch":
		url += "?watch=true"
	case method != "":
		url += "?dryRun=All"
	}
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if verb == "patch" {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusUnauthorized || response.StatusCode >= http.StatusInternalServerError {
		t.Errorf("%s %s: %s", verb, url, response.Status)
	}
	return response.StatusCode == http.StatusForbidden
}

// TestRoles has the holder of each shipped role, and of the hub's roles that they are part of, try everything that there is.
func TestRoles(t *testing.T) {
	namespace := newNamespace(t)
	resources := []string{"clusterprofiles", "clusterprofiles/status", "placementdecisions", "clusterstatuses", "clusterstatuses/report", "rollouts", "rollouts/preview"}
	for _, verb := range binnacleapi.RolloutVerbs {
		resources = append(resources, "rollouts/"+string(verb))
	}
	held := map[string]map[string][]string{}
	for role, may := range roles {
		held[role] = may
	}
	for role, part := range partsOfTheHubs {
		held[role] = roles[part]
	}
	for role, may := range held {
		t.Run(role, func(t *testing.T) {
			user := "holder-of-" + role + "-" + namespace
			letBe(t, namespace, user, role)
			client, err := rest.HTTPClientFor(hub.ConfigFor(user))
			if err != nil {
				t.Fatal(err)
			}
			for resource, verbs := range may {
				eventually(t, role+" to be bound", func() bool { return !forbidden(t, client, namespace, "x", resource, verbs[0]) })
			}
			for _, resource := range resources {
				verbs := emptying
				if strings.Contains(resource, "/") {
					verbs = []string{"get", "create", "update", "patch"}
				}
				for _, verb := range verbs {
					if got, want := !forbidden(t, client, namespace, "x", resource, verb), slices.Contains(may[resource], verb); got != want {
						t.Errorf("may %s %s: %v, want %v", verb, resource, got, want)
					}
				}
			}
		})
	}
}

// TestReporterReportsForOneCluster has a reporter try everything: it may report for its cluster, and do nothing else.
func TestReporterReportsForOneCluster(t *testing.T) {
	namespace := newNamespace(t)
	user := "reporter-" + namespace
	letDo(t, namespace, user, "reporter", rbacv1.PolicyRule{APIGroups: []string{ownGroup}, Resources: []string{"clusterstatuses/report"}, ResourceNames: []string{"x"}, Verbs: posting})
	client, err := rest.HTTPClientFor(hub.ConfigFor(user))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the reporter to be bound", func() bool { return !forbidden(t, client, namespace, "x", "clusterstatuses/report", "create") })
	for resource, verbs := range map[string][]string{
		"clusterstatuses": reading, "clusterstatuses/report": getting, "clusterprofiles": emptying, "clusterprofiles/status": {"get", "update", "patch"},
		"placementdecisions": emptying, "rollouts": emptying, "rollouts/advance": posting, "rollouts/feedback": posting, "rollouts/preview": getting,
	} {
		for _, verb := range verbs {
			if !forbidden(t, client, namespace, "x", resource, verb) {
				t.Errorf("a reporter may %s %s", verb, resource)
			}
		}
	}
	if !forbidden(t, client, namespace, "y", "clusterstatuses/report", "create") {
		t.Error("a reporter may report for another cluster")
	}
}

// TestRolesPage holds what docs/roles.md says of each role against what the hub tells the holder of the role.
func TestRolesPage(t *testing.T) {
	data, err := os.ReadFile("../../docs/roles.md")
	if err != nil {
		t.Fatal(err)
	}
	namespace, page := newNamespace(t), string(data)
	for role := range roles {
		t.Run(role, func(t *testing.T) {
			user := "reader-of-" + role + "-" + namespace
			letBe(t, namespace, user, role)
			kubectl, err := hub.KubectlFor(user)
			if err != nil {
				t.Fatal(err)
			}
			text := ""
			eventually(t, "the right to be told", func() bool {
				text, _, err = kubectl.Run(t.Context(), "auth", "can-i", "--list", "--no-headers", "-n", namespace)
				return err == nil && strings.Contains(text, "binnacle.dev") || strings.Contains(text, "multicluster.x-k8s.io")
			})
			var lines []string
			for line := range strings.Lines(text) {
				if strings.Contains(line, ".binnacle.dev") || strings.Contains(line, "multicluster.x-k8s.io") {
					resource, verbs := line[:strings.Index(line, " ")], line[strings.LastIndex(line, "["):]
					lines = append(lines, fmt.Sprintf("%-46s%s", resource, strings.TrimSpace(verbs)))
				}
			}
			slices.Sort(lines)
			want := strings.Join(lines, "\n")
			block := regexp.MustCompile("(?s)### `" + role + "`\n.*?```text\n(.*?)\n```").FindStringSubmatch(page)
			if block == nil || block[1] != want {
				t.Errorf("docs/roles.md does not say of %s:\n%s", role, want)
			}
		})
	}
}
