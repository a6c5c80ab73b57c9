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
	check("time goes on", 16*time.Second, 10*time.Second)
	wall.SetTime(began)
	check("the machine is set back", 16*time.Second, 16*time.Second)
	wall.SetTime(began.Add(4 * time.Second))
	check("and goes on", 20*time.Second, 16*time.Second)
	wall.SetTime(began.Add(time.Minute))
	check("and is right again", 76*time.Second, 16*time.Second)
}
