package report

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// TestClock follows the machine, never behind what another replica published and never backwards.
func TestClock(t *testing.T) {
	wall := clocktesting.NewFakePassiveClock(began)
	c := NewClock(wall)
	check := func(step string, want time.Duration, ahead time.Duration) {
		t.Helper()
		if got := time.Duration(c.Now()-began.UnixMilli()) * time.Millisecond; got != want || c.Ahead() != ahead {
			t.Errorf("%s: %s and %s ahead, want %s and %s", step, got, c.Ahead(), want, ahead)
		}
	}
	check("at first", 0, 0)
	wall.SetTime(began.Add(5 * time.Second))
	check("later", 5*time.Second, 0)
	c.Observe(began.UnixMilli() + 3000)
	check("an older publication", 5*time.Second, 0)
	c.Observe(began.UnixMilli() + 15_000)
	check("of a replica that is ahead", 15*time.Second, 10*time.Second)
	for i := range 2000 { // Steps of less than a millisecond add up.
		wall.SetTime(began.Add(5*time.Second + time.Duration(i+1)*500*time.Microsecond))
		c.Now()
	}
	check("time goes on, an eighth slower", 15*time.Second+875*time.Millisecond, 9*time.Second+875*time.Millisecond)
	wall.SetTime(began)
	check("the machine is set back", 15*time.Second+875*time.Millisecond, 15*time.Second+875*time.Millisecond)
	wall.SetTime(began.Add(8 * time.Second))
	check("and goes on", 22*time.Second+875*time.Millisecond, 14*time.Second+875*time.Millisecond)
	for i := range 200 {
		wall.SetTime(began.Add(time.Duration(8+i) * time.Second))
		c.Now()
	}
	check("and is right in the end", 207*time.Second, 0)
}
