package pages

import (
	"fmt"
	"testing"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// TestPublishedTwice publishes a report again, as after an answer of etcd that was lost: it is no second report of a cluster that was
// silent.
func TestPublishedTwice(t *testing.T) {
	f := newFleet(t).register(1)
	f.publish(f.reportAll(1))
	for range 20 {
		f.after(3).publish(Input{})
	}
	in := f.reportAll(1)
	for range 3 {
		f.publish(in)
		f.after(1)
		if !f.seen(0).Silent {
			t.Fatal("it is back after one report")
		}
	}
	f.after(7).publish(f.reportAll(1))
	if f.seen(0).Silent {
		t.Error("it is not back after two")
	}
}

// TestHeadIsLost has somebody delete the head alone, as the view then begins it anew: what is published afterwards counts, although the
// pages of before are still there.
func TestHeadIsLost(t *testing.T) {
	f := newFleet(t).register(1)
	version := func(v string) func(*v1alpha1.ClusterReportSpec) {
		return func(s *v1alpha1.ClusterReportSpec) { s.KubernetesVersion = v }
	}
	for n := range 5 {
		f.after(5).publish(f.reportAll(1, version(fmt.Sprint("v", n))))
	}
	f.write(Change{Key: HeadKey})
	head := f.state.Head
	head.Epoch, head.Derivation, head.Parameters = 1, 1, parameters
	value, err := Encode(&head)
	if err != nil {
		t.Fatal(err)
	}
	f.write(Change{Key: HeadKey, Value: value})
	f.after(5).publish(f.reportAll(1, version("v-after")))
	entry, _ := f.state.Entry(uid(0))
	if entry == nil || entry.Facts.Report.KubernetesVersion != "v-after" {
		t.Errorf("the newest report does not count: %+v", entry)
	}
	f.same()
}
