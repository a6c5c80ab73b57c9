package pages

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestHeartbeats has a fleet report for an hour and say the same all the time: no facts are written again.
func TestHeartbeats(t *testing.T) {
	f := newFleet(t).register(100)
	f.publish(f.reportAll(100))
	if f.records != 100 {
		t.Fatalf("%d records for 100 clusters", f.records)
	}
	touched := 0
	for range 360 {
		_, dirty := f.after(10).publish(f.reportAll(100))
		touched += len(dirty)
	}
	if f.records != 100 {
		t.Errorf("%d records were written though nothing changed", f.records-100)
	}
	// The grain is 5 minutes: 12 steps in an hour.
	if touched < 100*11 || touched > 100*13 {
		t.Errorf("the view moved %d times for 100 clusters in an hour of the same reports, want 12 for each", touched)
	}
	f.same()
}

// TestGrainIsSpread looks at how many clusters move in the view at once.
func TestGrainIsSpread(t *testing.T) {
	f := newFleet(t).register(1000)
	f.publish(f.reportAll(1000))
	for range 30 {
		if _, dirty := f.after(10).publish(f.reportAll(1000)); len(dirty) > 120 {
			t.Fatalf("%d of 1000 clusters moved at one moment, which are about 33 in 10 s if they are spread", len(dirty))
		}
	}
}

// TestSilence takes one of two clusters away: it falls silent once, when the grace period is over and not before.
func TestSilence(t *testing.T) {
	f := newFleet(t).register(2)
	f.publish(f.reportAll(2))
	for range 10 {
		_, dirty := f.after(3).publish(Input{Arrivals: []Arrival{f.report(0)}})
		if len(dirty) > 0 {
			t.Fatalf("after %d s the view moves: %v", (f.now-start)/second, dirty)
		}
	}
	p, dirty := f.after(3).publish(Input{Arrivals: []Arrival{f.report(0)}})
	if len(dirty) != 1 || dirty[0] != uid(1) || p.Silenced != 1 {
		t.Fatalf("after 33 s: %v moved, %d silenced", dirty, p.Silenced)
	}
	if s := f.seen(1); !s.Silent || s.Changed != start+30*second || s.LastSeen != start {
		t.Errorf("the silent one: %+v", s)
	}
	if f.seen(0).Silent {
		t.Error("the other one is silent too")
	}
	f.same()
}

// TestNobodyWrites lets a whole fleet fall silent: a publication is due although nothing arrives, and none once all are silent.
func TestNobodyWrites(t *testing.T) {
	f := newFleet(t).register(2)
	f.publish(f.reportAll(2))
	silenced := 0
	for range 20 {
		if p, _ := f.after(3).publish(Input{}); p != nil {
			silenced += p.Silenced
		}
	}
	if silenced != 2 || !f.seen(0).Silent || !f.seen(1).Silent {
		t.Fatalf("%d silenced after a minute", silenced)
	}
	before := f.writes
	for range 20 {
		f.after(3).publish(Input{})
	}
	if f.writes != before {
		t.Errorf("%d publications although nothing can happen any more", f.writes-before)
	}
}

// TestLongInterval keeps to the interval that a cluster was told.
func TestLongInterval(t *testing.T) {
	f := newFleet(t).register(1)
	slow := f.report(0)
	slow.Interval = 300
	f.publish(Input{Arrivals: []Arrival{slow}})
	for f.now < start+899*second {
		f.after(3).publish(Input{})
	}
	if f.seen(0).Silent {
		t.Fatal("silent within three intervals of 300 s")
	}
	f.after(3).publish(Input{})
	f.after(3).publish(Input{})
	if !f.seen(0).Silent {
		t.Error("not silent after three intervals")
	}
}

// TestReturn needs two reports in a row.
func TestReturn(t *testing.T) {
	f := newFleet(t).register(1)
	f.publish(f.reportAll(1))
	for range 20 {
		f.after(3).publish(Input{})
	}
	if !f.seen(0).Silent {
		t.Fatal("not silent")
	}
	// One report each minute is no return.
	for range 3 {
		f.after(60).publish(f.reportAll(1))
		if !f.seen(0).Silent {
			t.Fatal("back after one report")
		}
	}
	at := f.now + 10*second
	if p, _ := f.after(10).publish(f.reportAll(1)); p.Returned != 1 {
		t.Errorf("%d returned with the second report in a row", p.Returned)
	}
	if s := f.seen(0); s.Silent || s.Changed != at {
		t.Errorf("%+v, want back since %d", s, at)
	}
	f.same()
}

// TestFlapping has clusters that miss reports, or say once in a while that they are ill: nothing moves (cases.md, 15).
func TestFlapping(t *testing.T) {
	for name, report := range map[string]func(f *fleet, beat int) Input{
		"every third report is lost": func(f *fleet, beat int) Input {
			if beat%3 == 2 {
				return Input{}
			}
			return f.reportAll(1)
		},
		"two lost in a row": func(f *fleet, beat int) Input {
			if beat%4 > 1 {
				return Input{}
			}
			return f.reportAll(1)
		},
		"ill for one report of six": func(f *fleet, beat int) Input {
			if beat%6 == 3 {
				return f.reportAll(1, healthy(metav1.ConditionFalse))
			}
			return f.reportAll(1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t).register(1)
			f.publish(f.reportAll(1))
			for beat := range 60 {
				f.after(10).publish(report(f, beat))
				e, seen := f.state.Entry(uid(0))
				if seen.Silent || e.Facts.Conditions[0].Status != "True" || e.Facts.Conditions[0].Since != start {
					t.Fatalf("beat %d: %+v, %+v", beat, seen, e.Facts.Conditions[0])
				}
			}
		})
	}
}

// TestConditionMoves needs two reports in a row for either direction, and then moves once.
func TestConditionMoves(t *testing.T) {
	f := newFleet(t).register(1)
	f.publish(f.reportAll(1))
	condition := func() (string, int64) {
		e, _ := f.state.Entry(uid(0))
		return e.Facts.Conditions[0].Status, e.Facts.Conditions[0].Since
	}
	for _, step := range []struct {
		says, counts metav1.ConditionStatus
		since        int64
	}{
		{"False", "True", 0}, {"False", "False", 20}, {"False", "False", 20}, {"True", "False", 20}, {"Unknown", "False", 20},
		{"True", "False", 20}, {"True", "True", 70},
	} {
		f.after(10).publish(f.reportAll(1, healthy(step.says)))
		if status, since := condition(); status != string(step.counts) || since != start+step.since*second {
			t.Fatalf("after %d s: %s since %d s, want %s since %d s", (f.now-start)/second, status, (since-start)/second, step.counts, step.since)
		}
	}
}

// TestGap has all replicas away for ten minutes: nobody is silent because of it, whoever stays away falls silent a grace period after
// the return, and whoever was silent stays so.
func TestGap(t *testing.T) {
	f := newFleet(t).register(3)
	f.publish(f.reportAll(3))
	for range 20 { // The third falls silent.
		f.after(3).publish(f.reportAll(2))
	}
	if !f.seen(2).Silent {
		t.Fatal("the third is not silent")
	}
	f.after(600)
	back := f.now
	p, _ := f.publish(Input{})
	if p.Silenced != 0 || p.Head.GraceFrom != back {
		t.Fatalf("%d silenced at the return, grace from %d s", p.Silenced, (p.Head.GraceFrom-back)/second)
	}
	if !f.seen(2).Silent {
		t.Error("the third is no longer silent")
	}
	for f.now < back+30*second {
		f.after(3).publish(Input{Arrivals: []Arrival{f.report(0)}})
		if f.seen(1).Silent {
			t.Fatalf("silent %d s after the return", (f.now-back)/second)
		}
	}
	f.after(3).publish(Input{Arrivals: []Arrival{f.report(0)}})
	if !f.seen(1).Silent || f.seen(0).Silent {
		t.Errorf("after the grace period: %+v, %+v", f.seen(0), f.seen(1))
	}
	f.same()
}

// TestResumed begins the grace period anew also after a short time in which nobody was there.
func TestResumed(t *testing.T) {
	f := newFleet(t).register(1)
	f.publish(f.reportAll(1))
	f.after(10)
	if p, _ := f.publish(Input{Resumed: true}); p.Head.GraceFrom != f.now {
		t.Errorf("grace from %d s ago", (f.now-p.Head.GraceFrom)/second)
	}
}

// TestReRegistered deletes a cluster and registers another under its name: it begins from nothing, and the pages forget the first.
func TestReRegistered(t *testing.T) {
	f := newFleet(t).register(2)
	f.publish(f.reportAll(2))
	delete(f.profiles, uid(0))
	f.profiles[uid(7)] = true
	f.after(3).publish(Input{Arrivals: []Arrival{f.report(1)}})
	if e, _ := f.state.Entry(uid(0)); e != nil {
		t.Error("the pages still know the one that is gone")
	}
	if e, _ := f.state.Entry(uid(7)); e != nil {
		t.Error("the pages know the new one before it reported")
	}
	// A late report for the old one is dropped, and its slot is the new one's.
	p, _ := f.after(3).publish(Input{Arrivals: []Arrival{f.report(0), f.report(7)}})
	if len(p.Published) != 2 || len(p.Facts.Records) != 1 || p.Facts.Records[0].Slot != 0 {
		t.Errorf("%d published, records %+v", len(p.Published), p.Facts.Records)
	}
	if seen := f.seen(7); seen.Changed != f.now {
		t.Errorf("the new one is reachable since %d s ago", (f.now-seen.Changed)/second)
	}
	f.same()
}

// TestSkew shows a clock that is far off, keeps still where it wavers, and forgets one that was set right.
func TestSkew(t *testing.T) {
	f := newFleet(t).register(1)
	for _, step := range []struct{ measured, shown int64 }{
		{29, 0}, {30, 30}, {35, 30}, {39, 30}, {41, 41}, {25, 25}, {21, 25}, {19, 0}, {25, 0}, {-600, -600}, {-605, -600}, {31536000, 31536000}, {0, 0},
		{-63_000_000_000, -63_000_000_000},
	} {
		a := f.report(0)
		a.Skew = step.measured
		f.after(10).publish(Input{Arrivals: []Arrival{a}})
		if e, _ := f.state.Entry(uid(0)); e.Facts.ClockSkewSeconds != step.shown {
			t.Fatalf("measured %d, shown %d, want %d", step.measured, e.Facts.ClockSkewSeconds, step.shown)
		}
	}
}

// TestPropertyTimes are since when a property has its value, wherever it stands.
func TestPropertyTimes(t *testing.T) {
	f := newFleet(t).register(1)
	f.publish(f.reportAll(1))
	f.after(10).publish(Input{Arrivals: []Arrival{f.report(0, properties("zone", "a", "region", "fra1"))}})
	f.after(10).publish(Input{Arrivals: []Arrival{f.report(0, properties("zone", "b", "region", "fra1"))}})
	e, _ := f.state.Entry(uid(0))
	if got, want := e.Facts.PropertyTimes, []int64{start + 20*second, start}; got[0] != want[0] || got[1] != want[1] {
		t.Errorf("times %v, want %v", got, want)
	}
}

// TestMassSilence takes clusters away from fleets of several sizes, some at once and some one after the other.
func TestMassSilence(t *testing.T) {
	tests := []struct {
		name         string
		total, gone  int
		suspect      bool
		oneByOne     bool
		stillSuspect bool // after 20 minutes
	}{
		{"a third and a bit", 100, 31, true, false, false},
		{"not more than the share", 100, 30, false, false, false},
		{"all of three", 3, 3, true, false, false},
		{"both of two are no mass", 2, 2, false, false, false},
		{"half, but over a long time", 20, 10, false, true, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFleet(t).register(test.total)
			f.publish(f.reportAll(test.total))
			alive := func(beat int) Input {
				var in Input
				for i := range test.total {
					left := test.gone
					if test.oneByOne {
						left = min(test.gone, beat/60) // One in 10 minutes.
					}
					if i >= left {
						in.Arrivals = append(in.Arrivals, f.report(i))
					}
				}
				return in
			}
			suspected := false
			beats := 12
			if test.oneByOne {
				beats = 60 * (test.gone + 1)
			}
			for beat := range beats {
				f.after(10).publish(alive(beat))
				suspected = suspected || f.state.Head.SuspectFrom != 0
			}
			if suspected != test.suspect {
				t.Errorf("suspect %v, want %v", suspected, test.suspect)
			}
			for range 120 {
				f.after(10).publish(alive(beats))
			}
			if f.state.Head.SuspectFrom != 0 {
				t.Error("still suspect after 20 minutes")
			}
		})
	}
}

// TestSuspectEnds with the return of enough clusters, and every silent one is derived again at both ends.
func TestSuspectEnds(t *testing.T) {
	f := newFleet(t).register(10)
	f.publish(f.reportAll(10))
	var dirty []types.UID
	for f.state.Head.SuspectFrom == 0 {
		if f.now > start+60*second {
			t.Fatal("never suspect")
		}
		_, dirty = f.after(3).publish(Input{})
	}
	if len(dirty) != 10 {
		t.Errorf("%d clusters are derived again as it begins", len(dirty))
	}
	f.after(10).publish(f.reportAll(8))
	_, dirty = f.after(10).publish(f.reportAll(8))
	if f.state.Head.SuspectFrom != 0 || len(dirty) != 10 {
		t.Errorf("suspect from %d, %d derived again", f.state.Head.SuspectFrom, len(dirty))
	}
}

// TestEncryptedAnew writes facts anew that are encrypted with a key that is on its way out, though nothing changed in them.
func TestEncryptedAnew(t *testing.T) {
	f := newFleet(t).register(3)
	f.publish(f.reportAll(3))
	f.after(3).publish(f.reportAll(1, gpus(1)))
	for key, value := range f.keys {
		f.write(Change{Key: key, Value: value, Stale: true})
	}
	before := f.state.Head.Sequence
	p, _ := f.after(3).publish(Input{})
	if p == nil || len(p.Drop) != 2 || len(p.Facts.Records) != 3 || len(f.state.stale) != 1 {
		t.Fatalf("%+v, stale %v", p, f.state.stale)
	}
	if p, _ := f.publish(Input{}); p != nil {
		t.Errorf("and again, after %d: %+v", before, p)
	}
	f.same()
}
