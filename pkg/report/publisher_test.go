package report_test

import (
	"context"
	"crypto/aes"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	aestransformer "k8s.io/apiserver/pkg/storage/value/encrypt/aes"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/embeddedetcd"
	"github.com/binnacle-dev/binnacle/pkg/report"
	"github.com/binnacle-dev/binnacle/pkg/report/pages"
)

// TestPublish writes what arrived in one revision, and nothing where there is nothing to say.
func TestPublish(t *testing.T) {
	r := newEtcd(t).replica()
	before := r.view.revision
	r.publish()
	if r.look(); r.view.revision != before {
		t.Error("something was written though nothing arrived")
	}
	r.arrive(1, "v1")
	r.arrive(2, "v2")
	r.publish()
	if r.view.revision != before+1 || r.view.version(uid(1)) != "v1" || r.view.version(uid(2)) != "v2" {
		t.Errorf("%d revisions; %q, %q", r.view.revision-before, r.view.version(uid(1)), r.view.version(uid(2)))
	}
	if left := r.table.Take(); len(left) > 0 {
		t.Errorf("%d are still to be published", len(left))
	}
	want := []string{pages.FactsKey(1), pages.HeadKey, pages.SeenKey(0)}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(r.keys()))); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	// Facts that did not change are not written again.
	r.wall.Step(2 * time.Second)
	r.arrive(1, "v1")
	r.publish()
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(r.keys()))); diff != "" || r.view.revision != before+2 {
		t.Errorf("%d revisions, keys (-want +got):\n%s", r.view.revision-before, diff)
	}
}

// TestNobodyNeedsTheReportOfACluster that is gone: it is dropped, and costs no write.
func TestNobodyNeedsTheReportOfACluster(t *testing.T) {
	r := newEtcd(t).replica()
	before := r.view.revision
	r.view.missing[uid(1)] = true
	r.arrive(1, "v1")
	r.publish()
	if r.look(); r.view.revision != before || len(r.table.Take()) != 0 {
		t.Errorf("%d revisions, %d left", r.view.revision-before, len(r.table.Take()))
	}
}

// TestAnotherReplicaComesFirst plans anew on what that one wrote, and loses nothing of either.
func TestAnotherReplicaComesFirst(t *testing.T) {
	e := newEtcd(t)
	a, b := e.replica(), e.replica()
	a.arrive(1, "v1")
	b.arrive(2, "v2")
	conflicts := metric(t, "binnacle_report_publish_conflicts_total")
	a.view.before = func() { b.publish() }
	a.publish()
	if got := metric(t, "binnacle_report_publish_conflicts_total") - conflicts; got != 1 {
		t.Errorf("%v conflicts, want one", got)
	}
	for _, r := range []*replica{a, b} {
		r.look()
		if r.view.version(uid(1)) != "v1" || r.view.version(uid(2)) != "v2" || r.view.head().Sequence != 2 || len(r.table.Take()) != 0 {
			t.Errorf("%q, %q after %d publications, %d left", r.view.version(uid(1)), r.view.version(uid(2)), r.view.head().Sequence, len(r.table.Take()))
		}
	}
}

// TestAlwaysSecond gives up its turn after some attempts, and keeps what arrived for the next.
func TestAlwaysSecond(t *testing.T) {
	e := newEtcd(t)
	a, b := e.replica(), e.replica()
	a.arrive(1, "v1")
	turns := 0
	var first func()
	first = func() {
		turns++
		e.wall.Step(2 * time.Second)
		b.look()
		b.arrive(2, "v2")
		b.publish()
		a.view.before = first
	}
	a.view.before = first
	a.publish()
	if turns != 8 || len(a.table.Take()) != 1 {
		t.Errorf("%d attempts, %d left", turns, len(a.table.Take()))
	}
	a.view.before = nil
	a.publish()
	if a.view.version(uid(1)) != "v1" || len(a.table.Take()) != 0 {
		t.Errorf("%q, %d left", a.view.version(uid(1)), len(a.table.Take()))
	}
}

// TestViewIsNotServed keeps what arrived, without an error that would be said every few seconds.
func TestViewIsNotServed(t *testing.T) {
	r := newEtcd(t).replica()
	r.arrive(1, "v1")
	r.view.refusal = errors.New("loading")
	r.publish()
	if len(r.table.Take()) != 1 {
		t.Fatal("it is lost")
	}
	r.view.refusal = nil
	r.publish()
	if r.view.version(uid(1)) != "v1" {
		t.Errorf("%q", r.view.version(uid(1)))
	}
}

// TestEtcdIsAway keeps what arrived until it is back.
func TestEtcdIsAway(t *testing.T) {
	e := newEtcd(t)
	r := e.replica()
	r.arrive(1, "v1")
	failed := metric(t, "binnacle_report_publish_errors_total")
	e.stop()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := r.Publish(ctx); err == nil {
		t.Fatal("published without etcd")
	}
	if got := metric(t, "binnacle_report_publish_errors_total") - failed; got != 1 || len(r.table.Take()) != 1 {
		t.Errorf("%v errors counted, %d left", got, len(r.table.Take()))
	}
	again, err := embeddedetcd.Start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(again.Stop)
	// It comes back empty, and elsewhere.
	e.client.SetEndpoints(again.Endpoint())
	e.eventually("the new etcd to answer", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := e.client.Get(ctx, prefix)
		return err == nil
	})
	r.begin()
	r.publish()
	if r.view.version(uid(1)) != "v1" || len(r.table.Take()) != 0 {
		t.Errorf("%q, %d left", r.view.version(uid(1)), len(r.table.Take()))
	}
}

// TestMoreThanOnePublicationHolds writes the rest in the next ones, at once, each small enough for etcd.
func TestMoreThanOnePublicationHolds(t *testing.T) {
	r := newEtcd(t).replica()
	big := strings.Repeat("v", 1024)
	const clusters = 20 // of 60 KiB each
	for n := range clusters {
		var properties []v1alpha1.ReportedProperty
		for i := range 58 {
			properties = append(properties, v1alpha1.ReportedProperty{Name: strings.Repeat("p", i+1), Value: big})
		}
		r.arrive(n, "v1", properties...)
	}
	r.publish()
	if left := len(r.table.Take()); left > 0 || r.view.head().Sequence < 3 {
		t.Errorf("%d publications, %d left", r.view.head().Sequence, left)
	}
	for n := range clusters {
		if r.view.version(uid(n)) != "v1" {
			t.Errorf("cluster %d was not published", n)
		}
	}
	for key, value := range r.keys() {
		if len(value) > 512<<10 {
			t.Errorf("%s has %d bytes", key, len(value))
		}
	}
}

// TestEncryption leaves nothing readable in etcd, and binds each page to its key.
func TestEncryption(t *testing.T) {
	block, err := aes.NewCipher([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	transformer, err := aestransformer.NewGCMTransformer(block)
	if err != nil {
		t.Fatal(err)
	}
	r := newEtcd(t).replica(transformer)
	r.arrive(1, "v1-not-to-be-read")
	r.publish()
	if r.view.version(uid(1)) != "v1-not-to-be-read" {
		t.Fatalf("the view has %q", r.view.version(uid(1)))
	}
	keys := r.keys()
	if len(keys) != 3 {
		t.Errorf("%d keys", len(keys))
	}
	for key, value := range keys {
		if strings.Contains(value, "not-to-be-read") || strings.Contains(value, string(uid(1))) || strings.HasPrefix(value, "B\x01") {
			t.Errorf("%s can be read: %q", key, value)
		}
		if _, _, err := transformer.TransformFromStorage(t.Context(), []byte(value), keyContext(prefix+key+"x")); err == nil {
			t.Errorf("%s can be moved to another key", key)
		}
	}
}

// TestResumed begins the grace period anew for a process that comes after a time without any, and only for its first publication.
func TestResumed(t *testing.T) {
	e := newEtcd(t)
	a := e.replica()
	a.arrive(1, "v1")
	a.publish()
	from := a.view.head().GraceFrom
	e.wall.Step(10 * time.Second) // Shorter than what makes any publication a new beginning.
	next := e.replica()
	next.arrive(1, "v1")
	next.publish()
	if head := next.view.head(); head.GraceFrom != from+10_000 || head.GraceFrom != head.Stamp {
		t.Errorf("the grace period is from %d on, want %d", head.GraceFrom, from+10_000)
	}
	from = next.view.head().GraceFrom
	e.wall.Step(10 * time.Second)
	next.arrive(1, "v1")
	next.publish()
	if head := next.view.head(); head.GraceFrom != from {
		t.Errorf("the second publication moved it by %d", head.GraceFrom-from)
	}
	// One that finds another which publishes is no new beginning.
	third := e.replica()
	third.publish() // It finds the sequence; nothing is due.
	e.wall.Step(2 * time.Second)
	next.arrive(1, "v1")
	next.publish()
	e.wall.Step(10 * time.Second)
	third.look()
	third.arrive(2, "v1")
	third.publish()
	if head := third.view.head(); head.GraceFrom != from {
		t.Errorf("a replica that joins moved it by %d", head.GraceFrom-from)
	}
}

// TestRunTakesTurns publishes once an interval, by the clock, until the context ends.
func TestRunTakesTurns(t *testing.T) {
	r := newEtcd(t).replica()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	r.arrive(1, "v1")
	r.eventually("it to wait for its turn", r.wall.HasWaiters)
	if r.view.head().Sequence != 0 {
		t.Error("it did not wait")
	}
	for turn := range int64(3) {
		r.wall.Step(3 * time.Second)
		r.eventually("a publication", func() bool { return r.view.head().Sequence == turn+1 })
		r.eventually("it to wait again", r.wall.HasWaiters)
		r.wall.Step(time.Second)
		r.arrive(1, "v1")
		r.wall.Step(time.Second)
	}
	cancel()
	<-done
}

// TestPublicationsAreCounted looks at what an operator does.
func TestPublicationsAreCounted(t *testing.T) {
	r := newEtcd(t).replica()
	names := []string{"binnacle_report_pages_written_total", "binnacle_report_page_bytes_total", "binnacle_report_publish_duration_seconds"}
	before := map[string]float64{}
	for _, name := range names {
		before[name] = metric(t, name)
	}
	r.arrive(1, "v1")
	r.publish()
	bytes := 0
	for key, value := range r.keys() {
		bytes += len(prefix) + len(key) + len(value)
	}
	report.RegisterMetrics(r.table)
	r.wall.Step(2 * time.Second)
	r.arrive(2, "v1")
	r.wall.Step(7 * time.Second)
	if age := metric(t, "binnacle_report_oldest_unpublished_seconds"); age != 7 {
		t.Errorf("the oldest report is %v s old, want 7", age)
	}
	for name, want := range map[string]float64{names[0]: 3, names[1]: float64(bytes), names[2]: 1} {
		if got := metric(t, name) - before[name]; got != want {
			t.Errorf("%s grew by %v, want %v", name, got, want)
		}
	}
}

// metric is the sum of a metric over its labels; of a histogram how often it was observed.
func metric(t *testing.T, name string) float64 {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return sum
}
