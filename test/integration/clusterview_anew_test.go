package integration

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	binnaclev1alpha1 "github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/typed/binnacle/v1alpha1"
)

// testRegisteredAnew deletes clusters that report all the time to both replicas, and registers others under their names: nothing of the old
// ones is shown, and their reporters are told.
func testRegisteredAnew(t *testing.T, c crowd, r *reporters, clients []binnaclev1alpha1.ClusterStatusInterface) {
	old := map[string]types.UID{}
	for _, name := range c.names {
		old[name] = c.uid(t, name)
	}
	r.start(t, c.names, func(cluster, n int) string {
		return fmt.Sprintf(`"clusterProfileUID":%q,`, old[c.names[cluster]]) + numbered(cluster, n)
	})
	untilAll(t, clients[0], "all to be Ready", inPhase(v1alpha1.ClusterReady))
	viewers := viewersOf(t, clients)
	profiles := profilesOf(t, c.config, c.namespace)
	for _, name := range c.names {
		if err := profiles.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := profiles.Create(t.Context(), newProfile(name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	within(t, viewPatience, "the old reporters to be told", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.count["409"] >= 3*len(c.names)
	})
	r.stop()
	for _, client := range clients {
		list, err := client.List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) != len(c.names) {
			t.Fatalf("%d clusters: %v", len(list.Items), err)
		}
		for _, s := range list.Items {
			if s.Status.Phase != v1alpha1.ClusterUnknown || s.Status.Nodes != nil || s.Status.LastReportTime != nil || len(s.Status.Properties) > 0 || s.Status.KubernetesVersion != "" {
				t.Errorf("the new %s begins with %+v", s.Name, s.Status)
			}
			if _, err := client.GetReport(t.Context(), s.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("the newest report of the new %s: %v", s.Name, err)
			}
		}
	}
	for _, v := range viewers {
		wantAnew(t, c, v)
	}
	// The new one is taken from its first report on.
	if a := r.send(t.Context(), 1, "c0", fmt.Sprintf(`"clusterProfileUID":%q,`, c.uid(t, "c0"))+numbered(0, 5000)); a.code != 201 {
		t.Fatal(a)
	}
	for _, v := range viewers {
		v.await(t, "c0", "Ready", 0, func(s *v1alpha1.ClusterStatus) bool {
			return numberIn(s) == 5000 && s.Status.Phase == v1alpha1.ClusterReady
		})
	}
	wantSame(t, viewers)
}

// wantAnew wants each cluster to be seen deleted once and added once, and from then on under one other uid.
func wantAnew(t *testing.T, c crowd, v *viewer) {
	t.Helper()
	first, added, deleted := map[string]types.UID{}, map[string]types.UID{}, map[string]int{}
	for _, s := range v.seen() {
		name := s.status.Name
		switch s.kind {
		case watch.Deleted:
			first[name] = s.status.UID
			deleted[name]++
		case watch.Added:
			if added[name] != "" {
				t.Errorf("%s was added twice", name)
			}
			added[name] = s.status.UID
		case watch.Modified:
			if added[name] != "" && s.status.UID != added[name] {
				t.Errorf("%s changed its uid without an end", name)
			}
		}
		if added[name] != "" && numberIn(s.status) >= 0 {
			t.Errorf("%s shows report %d of the one before it", name, numberIn(s.status))
		}
	}
	for _, name := range c.names {
		if deleted[name] != 1 || added[name] == "" || added[name] == first[name] {
			t.Errorf("%s: deleted %d times, uid %s and then %s", name, deleted[name], first[name], added[name])
		}
	}
}

// uid is that of a profile.
func (c crowd) uid(t *testing.T, name string) types.UID {
	t.Helper()
	profile, err := profilesOf(t, c.config, c.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return profile.UID
}
