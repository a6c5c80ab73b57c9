package pages

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	pagesv1 "github.com/binnacle-dev/binnacle/pkg/apis/pages/v1"
)

func properties(namesAndValues ...string) func(*v1alpha1.ClusterReportSpec) {
	return func(s *v1alpha1.ClusterReportSpec) {
		s.Properties = nil
		for i := 0; i < len(namesAndValues); i += 2 {
			s.Properties = append(s.Properties, v1alpha1.ReportedProperty{Name: namesAndValues[i], Value: namesAndValues[i+1]})
		}
	}
}

// TestRandomFleet lets clusters come and go, report or not and change their facts at random, for hours, and looks again and again at
// whether a replica that loads the pages sees what one that followed sees, and whether the pages stay small.
func TestRandomFleet(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 7))
		f := newFleet(t)
		const most = 300
		for step := range 2000 {
			f.now += 1 + r.Int64N(8*second)
			if r.IntN(500) == 0 {
				f.now += 60 * second // All replicas are away.
			}
			var in Input
			for i := range most {
				switch p := r.IntN(1000); {
				case p < 3:
					f.profiles[uid(i)] = true
				case p < 4:
					delete(f.profiles, uid(i))
				case p < 300:
					in.Arrivals = append(in.Arrivals, f.report(i))
				case p < 330:
					in.Arrivals = append(in.Arrivals, f.report(i, gpus(r.IntN(9))))
				}
			}
			f.publish(in)
			if step%200 != 0 {
				continue
			}
			f.same()
			live, records := len(f.shown(f.state)), 0
			for _, page := range f.state.facts {
				records += len(page)
			}
			if records > 2*live+spareRecords+most || len(f.state.facts) > maxPages+1 {
				t.Fatalf("seed %d, step %d: %d records in %d pages for %d clusters", seed, step, records, len(f.state.facts), live)
			}
		}
	}
}

// TestBudget holds the bytes of a large fleet, uncompressed, against what the design allows after compression: 10,000 clusters that report every 10 s, a
// tenth of them with changed facts in each 30 s.
func TestBudget(t *testing.T) {
	const clusters, every = 10_000, 3
	r := rand.New(rand.NewPCG(1, 2))
	f := newFleet(t).register(clusters)
	for in := f.reportAll(clusters); len(in.Arrivals) > 0; {
		p, _ := f.publish(in)
		in.Arrivals = in.Arrivals[len(p.Published):]
	}
	f.bytes, f.writes, f.records = 0, 0, 0
	const rounds = 100
	for range rounds {
		f.after(every)
		var in Input
		for i := range clusters {
			switch p := r.Float64(); {
			case p < 0.1*every/30:
				in.Arrivals = append(in.Arrivals, f.report(i, gpus(r.IntN(1000))))
			case p < float64(every)/interval:
				in.Arrivals = append(in.Arrivals, f.report(i))
			}
		}
		f.publish(in)
	}
	seconds := float64(rounds * every)
	t.Logf("%.1f transactions/s, %.1f KB/s uncompressed, %.1f records/s", float64(f.writes)/seconds, float64(f.bytes)/seconds/1000, float64(f.records)/seconds)
	if perSecond := float64(f.bytes) / seconds; perSecond > 100_000 {
		t.Errorf("%.0f bytes/s", perSecond)
	}
	if f.writes > rounds {
		t.Errorf("%d publications in %d turns", f.writes, rounds)
	}
}

// TestTooMuchForOne splits what is too large for one request to etcd.
func TestTooMuchForOne(t *testing.T) {
	f := newFleet(t).register(20)
	var long []string
	for i := range 50 {
		long = append(long, string(rune('a'+i%26))+string(rune('a'+i/26)), string(make([]byte, 1000)))
	}
	in := f.reportAll(20, properties(long...))
	publications := 0
	for len(in.Arrivals) > 0 {
		p, _ := f.publish(in)
		if size := p.Facts.Size(); size > maxFactsBytes+64<<10 {
			t.Fatalf("a page of %d bytes", size)
		}
		in.Arrivals = in.Arrivals[len(p.Published):]
		publications++
	}
	if publications != 3 || len(f.shown(f.state)) != 20 {
		t.Errorf("%d publications for 1 MB, %d clusters", publications, len(f.shown(f.state)))
	}
	f.same()
}

// TestColumns takes slots through a page.
func TestColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		slots := make([]Seen, r.IntN(50)+1)
		for i := range slots {
			if r.IntN(3) > 0 {
				slots[i] = Seen{
					LastSeen: start - r.Int64N(1e9), Changed: (start - r.Int64N(1e9)) / second * second, Interval: r.Int32N(3600) + 1, Silent: r.IntN(2) == 0,
				}
			}
		}
		slots[len(slots)-1] = Seen{LastSeen: start, Changed: start, Interval: 1}
		got, err := decodeSeen(encodeSeen(slots))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(slots, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		again, err := decodeSeen(encodeSeen(append(got, Seen{})))
		if err != nil || !cmp.Equal(got, again) {
			t.Fatalf("a free slot at the end: %v", err)
		}
	}
}

// TestDamaged has pages that nobody wrote like that: none is taken for something else.
func TestDamaged(t *testing.T) {
	valid, err := Encode(encodeSeen([]Seen{{LastSeen: start, Changed: start, Interval: 1}}))
	if err != nil {
		t.Fatal(err)
	}
	mixed, err := Encode(&pagesv1.SeenPage{LastSeen: []byte{2}, Interval: []byte{2, 2}, Changed: []byte{2}})
	if err != nil {
		t.Fatal(err)
	}
	large, err := Encode(&pagesv1.SeenPage{LastSeen: make([]byte, SlotsPerPage+1), Interval: make([]byte, SlotsPerPage+1), Changed: make([]byte, SlotsPerPage+1)})
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]Change{
		"an unknown key":     {Key: "other", Value: valid},
		"a bad number":       {Key: "seen/xyz", Value: valid},
		"not a page":         {Key: SeenKey(0), Value: []byte("k8s")},
		"empty":              {Key: SeenKey(0), Value: []byte{}},
		"no protobuf":        {Key: SeenKey(0), Value: append([]byte{magic, Format}, 0xff, 0xff)},
		"columns of two":     {Key: SeenKey(0), Value: mixed},
		"too many slots":     {Key: SeenKey(0), Value: large},
		"a head of a format": {Key: HeadKey, Value: []byte{magic, Format + 1}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewState().Apply([]Change{change})
			var unknown *UnknownFormatError
			if err == nil || errors.As(err, &unknown) != (name == "a head of a format") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// FuzzPages reads anything as two pages, and publishes on whatever that came to: what is written then can be read.
// Inputs that are found are minimized for a minute each unless -fuzzminimizetime says otherwise, during which the number of executions
// stands still.
func FuzzPages(f *testing.F) {
	encode := func(page Message) []byte {
		value, err := Encode(page)
		if err != nil {
			f.Fatal(err)
		}
		return value
	}
	seen := encode(encodeSeen([]Seen{{LastSeen: start, Changed: start, Interval: 1}, {}, {LastSeen: start, Changed: start, Silent: true}}))
	facts := encode(&pagesv1.FactsPage{Records: []pagesv1.Facts{{UID: "a"}, {UID: "b", Slot: 2}, {UID: string(uid(0)), Slot: SlotsPerPage}}})
	f.Add(SeenKey(0), seen, FactsKey(3), facts)
	f.Add(HeadKey, encode(&pagesv1.Head{Sequence: 3, Stamp: start, Parameters: parameters}), FactsKey(3), facts)
	f.Add(FactsKey(3), facts, FactsKey(4), facts)
	f.Add(SeenKey(1), seen, HeadKey, []byte{magic, Format})
	f.Fuzz(func(t *testing.T, key string, value []byte, other string, second []byte) {
		s := NewState()
		if _, err := s.Apply([]Change{{Key: key, Value: value}, {Key: other, Value: second}}); err != nil {
			return
		}
		report := &v1alpha1.ClusterReportSpec{KubernetesVersion: "v1"}
		digest, err := Digest(report)
		if err != nil {
			t.Fatal(err)
		}
		p := s.Plan(Input{
			Now: max(start, s.Head.Stamp), Exists: func(uid types.UID) bool { return uid != "a" }, KeepAlive: 3000,
			Arrivals: []Arrival{{UID: uid(0), Received: max(start, s.Head.Stamp), Interval: interval, Report: report, Digest: digest}},
		})
		changes := []Change{{Key: HeadKey, Value: mustEncode(t, &p.Head)}}
		if p.Facts != nil {
			changes = append(changes, Change{Key: FactsKey(p.Head.Sequence), Value: mustEncode(t, p.Facts)})
		}
		for number, page := range p.Seen {
			changes = append(changes, Change{Key: SeenKey(number), Value: mustEncode(t, page)})
		}
		for _, sequence := range p.Drop {
			changes = append(changes, Change{Key: FactsKey(sequence)})
		}
		if _, err := s.Apply(changes); err != nil {
			t.Fatalf("what was published cannot be read: %v", err)
		}
	})
}

func mustEncode(t *testing.T, page Message) []byte {
	t.Helper()
	value, err := Encode(page)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// TestFactsWaitButNotTheirCluster has a fleet that changes more facts than its publications take: nobody falls silent for that.
func TestFactsWaitButNotTheirCluster(t *testing.T) {
	const clusters = 400
	f := newFleet(t).register(clusters)
	long := func(round, i int) func(*v1alpha1.ClusterReportSpec) {
		return properties("a", string(make([]byte, 1000)), "b", string(make([]byte, 1000)), "round", string(rune('a'+round))+string(rune('A'+i%26)))
	}
	report := func(round int) Input {
		var in Input
		for i := range clusters {
			in.Arrivals = append(in.Arrivals, f.report(i, long(round, i)))
		}
		return in
	}
	for in := report(0); len(in.Arrivals) > 0; {
		p, _ := f.publish(in)
		in.Arrivals = in.Arrivals[len(p.Published):]
	}
	for round := range 12 { // One publication for each round, which takes half of it.
		if p, _ := f.after(5).publish(report(round + 1)); len(p.Published) == clusters {
			t.Fatalf("%d clusters fit one publication", clusters)
		}
	}
	for i := range clusters {
		if f.seen(i).Silent {
			t.Fatalf("cluster %d fell silent though it reports", i)
		}
	}
	f.same()
}
