package agent

import (
	"testing"
	"time"
)

// TestPace draws each delay many times, since it is spread at random.
func TestPace(t *testing.T) {
	const never = 0
	type bounds struct{ least, most time.Duration }
	tests := []struct {
		name   string
		wish   time.Duration
		before func(*pace)
		delay  func(*pace) time.Duration
		want   bounds
	}{
		{"nobody says when", 0, nil, accepts(never), bounds{30 * time.Second, 33 * time.Second}},
		{"as wished", 10 * time.Second, nil, accepts(never), bounds{10 * time.Second, 11 * time.Second}},
		{"as told, not as wished", 10 * time.Second, nil, accepts(40 * time.Second), bounds{40 * time.Second, 44 * time.Second}},
		{"told before", 10 * time.Second, func(p *pace) { p.accepted(20 * time.Second) }, accepts(never), bounds{20 * time.Second, 22 * time.Second}},
		{"told too much", 0, nil, accepts(48 * time.Hour), bounds{time.Hour, 66 * time.Minute}},
		{"first failure", 10 * time.Second, nil, fails(0), bounds{time.Second / 2, 3 * time.Second / 2}},
		{"fourth", 10 * time.Second, failed(3), fails(0), bounds{4 * time.Second, 12 * time.Second}},
		{"hundredth", 10 * time.Second, failed(99), fails(0), bounds{30 * time.Second, 90 * time.Second}},
		{"hundredth of a slow one", time.Hour, failed(99), fails(0), bounds{30 * time.Minute, 90 * time.Minute}},
		{"after a success", 10 * time.Second, func(p *pace) { failed(5)(p); p.accepted(0) }, fails(0), bounds{time.Second / 2, 3 * time.Second / 2}},
		{"not before the hub wants it", 10 * time.Second, nil, fails(20 * time.Second), bounds{20 * time.Second, 30 * time.Second}},
		{"the hub wants it earlier", 10 * time.Second, failed(99), fails(time.Second), bounds{30 * time.Second, 90 * time.Second}},
		{"the hub wants it next year", 10 * time.Second, nil, fails(8760 * time.Hour), bounds{10 * time.Minute, 15 * time.Minute}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			least, most := time.Duration(1<<62), time.Duration(0)
			for range 2000 {
				p := newPace(test.wish)
				if test.before != nil {
					test.before(&p)
				}
				delay := test.delay(&p)
				least, most = min(least, delay), max(most, delay)
			}
			if least < test.want.least || most > test.want.most {
				t.Errorf("between %s and %s, want between %s and %s", least, most, test.want.least, test.want.most)
			}
			if width := test.want.most - test.want.least; most-least < width/2 {
				t.Errorf("hardly spread: between %s and %s", least, most)
			}
		})
	}
}

func accepts(told time.Duration) func(*pace) time.Duration {
	return func(p *pace) time.Duration { return p.accepted(told) }
}

func fails(retryAfter time.Duration) func(*pace) time.Duration {
	return func(p *pace) time.Duration { return p.failed(retryAfter) }
}

func failed(times int) func(*pace) {
	return func(p *pace) {
		for range times {
			p.failed(0)
		}
	}
}
