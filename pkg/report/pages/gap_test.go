package pages

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	pagesv1 "github.com/binnacle-dev/binnacle/pkg/apis/pages/v1"
)

// TestShortGap lets everybody be away for longer than a short grace period, and wants nobody to be blamed.
func TestShortGap(t *testing.T) {
	for _, c := range []struct{ grace, keepAlive, away int64 }{
		{grace: 4, keepAlive: 200, away: 6},
		{grace: 4, keepAlive: 200, away: 60},
		{grace: 30, keepAlive: 5000, away: 16},
		{grace: 30, keepAlive: 5000, away: 31},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			f := newFleet(t).register(3)
			f.state.Head.Parameters = pagesv1.Parameters{GraceSeconds: c.grace, GraceIntervals: 0}
			f.publish(f.reportAll(3))
			f.after(c.away)
			plan := f.state.Plan(Input{Now: f.now, KeepAlive: c.keepAlive, Exists: func(uid types.UID) bool { return f.profiles[uid] }})
			if plan.Silenced != 0 || plan.Head.GraceFrom != f.now {
				t.Errorf("%d silenced, grace from %d ms ago", plan.Silenced, f.now-plan.Head.GraceFrom)
			}
			// Publications that come as they should are no gap.
			regular := Input{Now: f.state.Head.Stamp + c.keepAlive*3/2, KeepAlive: c.keepAlive, Exists: func(uid types.UID) bool { return f.profiles[uid] }}
			if p := f.state.Plan(regular); p.Head.GraceFrom != f.state.Head.GraceFrom {
				t.Error("a publication in time begins the grace period anew")
			}
		})
	}
}
