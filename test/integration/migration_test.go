package integration

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	svmv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// migrated bounds a migration: the hub waits with it for the next bookmark of ours.
const migrated = 3 * time.Minute

// TestStorageVersionMigration has the hub rewrite all objects after the server has got another encoding, and rewrite nothing the next time.
func TestStorageVersionMigration(t *testing.T) {
	t.Parallel() // It mostly waits.
	own := startOwnHub(t, framework.HubOptions{}, 1)
	y := newYard(t, own.AdminConfig(), own.namespace(t, "inventory"))
	warm(t, y)
	former := own.replica(t, "former", "--storage-media-type=application/json")
	c := newCaller(t, former.ConfigFor("admin", framework.AdminGroup), ours, y.namespace, "v1alpha1")
	for i := range 20 {
		c.must(post("clusterprofiles", profileNamed(fmt.Sprint("c", i), managed)))
		c.must(post("placementdecisions", decisionNamed(fmt.Sprint("d", i), `,"decisions":`+decisionList(5*i))))
	}
	c.must(patchStatus("c1", `{"version":{"kubernetes":"v1.37.2"},"properties":[{"name":"p","value":"v","lastObservedTime":"2026-01-02T03:04:05.5+01:00"}]}`))
	// What only one version has, and what the other would not let in: the hub migrates through the version that it prefers.
	c.must(patchStatus("c2", `{"credentialProviders":[{"name":"former","cluster":{"server":"https://f"}}],"accessProviders":[{"name":"","cluster":{"server":""}}]}`))
	c.must(applyAs("f", "clusterprofiles/c3", strings.Replace(profileNamed("c3", managed), `"name":"c3"`, `"name":"c3","labels":{"x":"y"},"finalizers":["example.com/hold"]`, 1)))
	c.must(post("placementdecisions", decisionNamed("lenient", `,"decisions":[{"clusterProfileRef":{"name":""}}]`)))

	before, revisions := own.everything(t, y.namespace), own.revisions(t)
	own.migrate(t, "first")
	after, rewritten := own.everything(t, y.namespace), own.revisions(t)
	if len(before) != 2*41 || len(rewritten) != 41 {
		t.Fatalf("%d objects in two versions, %d in etcd", len(before), len(rewritten))
	}
	for key, revision := range revisions {
		if rewritten[key] <= revision {
			t.Errorf("%s was not rewritten", key)
		}
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("objects (-before +after):\n%s", diff)
	}

	own.migrate(t, "second")
	if diff := cmp.Diff(rewritten, own.revisions(t)); diff != "" {
		t.Errorf("a migration of what is in its form already writes (-before +after):\n%s", diff)
	}
}

// migrate has the hub migrate both kinds.
func (own ownHub) migrate(t *testing.T, name string) {
	t.Helper()
	migrations := kubernetes.NewForConfigOrDie(own.AdminConfig()).StoragemigrationV1().StorageVersionMigrations()
	started := time.Now()
	for _, kind := range ownables[1:] {
		migration := &svmv1.StorageVersionMigration{ObjectMeta: metav1.ObjectMeta{Name: name + "-" + kind.resource.Resource},
			Spec: svmv1.StorageVersionMigrationSpec{Resource: metav1.GroupResource{Group: ours, Resource: kind.resource.Resource}}}
		if _, err := migrations.Create(t.Context(), migration, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range ownables[1:] {
		within(t, migrated, "the migration of "+kind.resource.Resource, func() bool {
			m, err := migrations.Get(t.Context(), name+"-"+kind.resource.Resource, metav1.GetOptions{})
			if err != nil {
				return false
			}
			if failed := meta.FindStatusCondition(m.Status.Conditions, string(svmv1.MigrationFailed)); failed != nil && failed.Status == metav1.ConditionTrue {
				t.Fatalf("%s: %s", kind.resource.Resource, failed.Message)
			}
			return meta.IsStatusConditionTrue(m.Status.Conditions, string(svmv1.MigrationSucceeded))
		})
	}
	t.Logf("%s migration: %s", name, time.Since(started).Round(time.Second))
}

// everything is each object in each version, without its resourceVersion.
func (own ownHub) everything(t *testing.T, namespace string) map[string]string {
	t.Helper()
	c, found := own.through(t, namespace), map[string]string{}
	for _, version := range []string{"v1alpha1", "v1alpha2"} {
		for _, kind := range ownables[1:] {
			list := c.must(get("/apis/GROUP/" + version + "/namespaces/NS/" + kind.resource.Resource))
			for _, item := range list.field("items").([]any) {
				metadata := item.(map[string]any)["metadata"].(map[string]any)
				delete(metadata, "resourceVersion")
				data, err := json.MarshalIndent(item, "", " ")
				if err != nil {
					t.Fatal(err)
				}
				found[fmt.Sprint(version, "/", kind.resource.Resource, "/", metadata["name"])] = string(data)
			}
		}
	}
	return found
}

// revisions says of each object in etcd when it was written last.
func (own ownHub) revisions(t *testing.T) map[string]int64 {
	t.Helper()
	resp, err := own.stored.Get(t.Context(), "/registry/binnacle/"+ours+"/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int64{}
	for _, kv := range resp.Kvs {
		found[string(kv.Key)] = kv.ModRevision
	}
	return found
}
