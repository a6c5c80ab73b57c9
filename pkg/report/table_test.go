package report

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/report/pages"
)

var began = time.Unix(1_800_000_000, 0)

func newTable(perSecond int) (*Table, *clocktesting.FakeClock) {
	wall := clocktesting.NewFakeClock(began)
	return NewTable(Limits{Interval: 10 * time.Second, PerSecond: perSecond}, NewClock(wall)), wall
}

func spec(version string) *v1alpha1.ClusterReportSpec {
	return &v1alpha1.ClusterReportSpec{KubernetesVersion: version}
}

func (t *Table) accept(uid types.UID, report *v1alpha1.ClusterReportSpec, dryRun bool) (Answer, error) {
	digest, err := pages.Digest(report)
	if err != nil {
		return Answer{}, err
	}
	return t.Accept(uid, report, digest, dryRun)
}

func retryAfter(t *testing.T, err error) int32 {
	t.Helper()
	if !apierrors.IsTooManyRequests(err) {
		t.Fatalf("error %v, want 429", err)
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		t.Fatalf("%v has no details", err)
	}
	return status.Status().Details.RetryAfterSeconds
}

// TestOncePerSecond refuses a cluster that reports too often, and no other.
func TestOncePerSecond(t *testing.T) {
	table, wall := newTable(1000)
	accept := func(uid types.UID) error { _, err := table.accept(uid, spec("v1"), false); return err }
	if err := accept("a"); err != nil {
		t.Fatal(err)
	}
	wall.Step(999 * time.Millisecond)
	if seconds := retryAfter(t, accept("a")); seconds != 1 {
		t.Errorf("try again after %d s", seconds)
	}
	if err := accept("b"); err != nil {
		t.Errorf("another cluster: %v", err)
	}
	wall.Step(time.Millisecond)
	if err := accept("a"); err != nil {
		t.Errorf("after a second: %v", err)
	}
}

// TestDryRun leaves nothing behind, and says what a report would be told.
func TestDryRun(t *testing.T) {
	table, _ := newTable(1000)
	answer, err := table.accept("a", spec("v1"), true)
	if err != nil || answer.Next < 9 || answer.Next > 11 || answer.Received != began.UnixMilli() {
		t.Errorf("%+v, %v", answer, err)
	}
	if arrivals := table.Take(); len(arrivals) != 0 {
		t.Errorf("%d arrivals", len(arrivals))
	}
	if _, err := table.accept("a", spec("v1"), false); err != nil {
		t.Errorf("the report after the dry run: %v", err)
	}
	if _, err := table.accept("a", spec("v1"), true); !apierrors.IsTooManyRequests(err) {
		t.Errorf("a dry run right after a report: %v", err)
	}
}

// TestOverload spreads a fleet over what a replica takes, and refuses what is above with a time to come back.
func TestOverload(t *testing.T) {
	table, wall := newTable(100)
	refusals := 0
	for i := range 2000 {
		if i%100 == 0 {
			wall.Step(time.Second)
		}
		if _, err := table.accept(types.UID(fmt.Sprint(i)), spec("v1"), false); err != nil {
			refusals++
		}
	}
	if refusals > 0 {
		t.Errorf("%d of 100 reports a second were refused", refusals)
	}
	wall.Step(time.Second)
	answer, err := table.accept("0", spec("v1"), false)
	if err != nil || answer.Next < 22 || answer.Next > 28 {
		t.Errorf("2000 clusters and 100 reports a second: %+v, %v, want to report again after about 25 s", answer, err)
	}
	// Those that wish for less often are let be.
	slow := spec("v1")
	slow.IntervalSeconds = ptr.To[int32](600)
	if answer, err = table.accept("1", slow, false); err != nil || answer.Next < 540 || answer.Next > 660 {
		t.Errorf("%+v, %v", answer, err)
	}
	var last error
	for i := range 200 {
		if _, err := table.accept(types.UID(fmt.Sprint(100+i)), spec("v1"), false); err != nil {
			last = err
		}
	}
	if seconds := retryAfter(t, last); seconds < 22 || seconds > 28 {
		t.Errorf("try again after %d s", seconds)
	}
}

// TestJitter spreads clusters that came at one moment.
func TestJitter(t *testing.T) {
	table, _ := newTable(100_000)
	told := map[int32]int{}
	for i := range 1000 {
		wish := spec("v1")
		wish.IntervalSeconds = ptr.To[int32](60)
		answer, err := table.accept(types.UID(fmt.Sprint(i)), wish, false)
		if err != nil {
			t.Fatal(err)
		}
		told[answer.Next]++
	}
	for seconds, n := range told {
		if seconds < 54 || seconds > 66 || n > 300 {
			t.Errorf("%d of 1000 are told %d s", n, seconds)
		}
	}
	if len(told) < 10 {
		t.Errorf("only %d different times", len(told))
	}
}

// TestSkew measures clocks, the absurd ones too, and never takes a time from them.
func TestSkew(t *testing.T) {
	table, _ := newTable(100_000)
	at := func(year int) *metav1.Time { return &metav1.Time{Time: time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)} }
	for name, test := range map[string]struct {
		time *metav1.Time
		skew *int64
	}{
		"none":      {nil, nil},
		"empty":     {&metav1.Time{}, nil},
		"right":     {&metav1.Time{Time: began}, ptr.To[int64](0)},
		"behind":    {&metav1.Time{Time: began.Add(-10 * time.Minute)}, ptr.To[int64](-600)},
		"ahead":     {&metav1.Time{Time: began.AddDate(1, 0, 0)}, ptr.To[int64](31536000)},
		"year 0":    {at(0), ptr.To(at(0).Unix() - began.Unix())},
		"year 9999": {at(9999), ptr.To(at(9999).Unix() - began.Unix())},
	} {
		report := spec("v1")
		report.Time = test.time
		answer, err := table.accept(types.UID(name), report, false)
		if err != nil || answer.Received != began.UnixMilli() || !ptr.Equal(answer.Skew, test.skew) {
			t.Errorf("%s: received %d, skew %d, %v", name, answer.Received, ptr.Deref(answer.Skew, -1), err)
		}
	}
}

// TestNewerThanPublished keeps a report that came while an older one was written.
func TestNewerThanPublished(t *testing.T) {
	table, wall := newTable(100)
	_, _ = table.accept("a", spec("v1"), false)
	taken := table.Take()
	wall.Step(2 * time.Second)
	_, _ = table.accept("a", spec("v2"), false)
	if age := table.Oldest(); age != 2*time.Second {
		t.Errorf("the oldest has waited for %s", age)
	}
	wall.Step(3 * time.Second)
	table.Published(taken)
	newest, ok := table.Newest("a")
	if !ok || newest.Report.KubernetesVersion != "v2" || table.Oldest() != 3*time.Second {
		t.Errorf("newest %+v, %v, %s old", newest, ok, table.Oldest())
	}
	table.Published(table.Take())
	if _, ok := table.Newest("a"); ok || table.Oldest() != 0 {
		t.Error("it is still to be published")
	}
	wall.Step(remembered + time.Second)
	table.Published(nil)
	if len(table.clusters) != 0 {
		t.Error("a cluster that stays away is remembered")
	}
}

// TestLongestWaitIsFirst publishes less than what arrives: every cluster has its turn, however often it reports meanwhile.
func TestLongestWaitIsFirst(t *testing.T) {
	table, wall := newTable(1000)
	const clusters, room = 10, 3
	published := map[types.UID]int{}
	for range 20 {
		for n := range clusters {
			if _, err := table.accept(types.UID(fmt.Sprint("cluster-", n)), spec("v1"), false); err != nil {
				t.Fatal(err)
			}
		}
		wall.Step(2 * time.Second)
		taken := table.Take()
		if len(taken) != clusters {
			t.Fatalf("%d arrivals", len(taken))
		}
		for _, a := range taken[:room] {
			published[a.UID]++
		}
		table.Published(taken[:room])
		if table.Oldest() > 8*time.Second {
			t.Fatalf("somebody has waited for %s", table.Oldest())
		}
	}
	for uid, n := range published {
		if n < 5 {
			t.Errorf("%s was published %d times", uid, n)
		}
	}
	if len(published) != clusters {
		t.Errorf("only %d clusters were published", len(published))
	}
}
