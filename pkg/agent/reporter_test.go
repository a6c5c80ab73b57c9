package agent

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/klog/v2"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// run runs a reporter for some time of a clock that does not take any, and returns when it posted, in seconds since it began.
func run(t *testing.T, limit time.Duration, r *reporter, post func(n int) (outcome, error)) []float64 {
	t.Helper()
	began := time.Now()
	var posts []float64
	r.post = func(context.Context, *v1alpha1.ClusterReport) (outcome, error) {
		posts = append(posts, time.Since(began).Seconds())
		return post(len(posts))
	}
	ctx, cancel := context.WithTimeout(klog.NewContext(t.Context(), logr.Discard()), limit)
	defer cancel()
	r.run(ctx)
	return posts
}

func newReporter(wish time.Duration) *reporter {
	return &reporter{
		complete: func() bool { return true },
		report:   func() *v1alpha1.ClusterReport { return &v1alpha1.ClusterReport{} },
		metrics:  NewMetrics(),
		pace:     newPace(wish),
	}
}

func TestReportsOnTheIntervalItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		posts := run(t, 200*time.Second, newReporter(time.Hour), func(n int) (outcome, error) {
			if n < 6 {
				return outcome{code: 201, next: 10 * time.Second}, nil
			}
			return outcome{code: 201, next: 50 * time.Second}, nil
		})
		if posts[0] != 0 {
			t.Errorf("the first report after %.1f s", posts[0])
		}
		for n := 1; n < len(posts); n++ {
			least := 10.0
			if n > 5 {
				least = 50
			}
			if wait := posts[n] - posts[n-1]; wait < least || wait > 1.11*least {
				t.Errorf("report %d after %.1f s, want %.0f", n+1, wait, least)
			}
		}
		if len(posts) < 7 {
			t.Errorf("%d reports", len(posts))
		}
	})
}

func TestNoStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		posts := run(t, time.Hour, newReporter(10*time.Second), func(int) (outcome, error) { return outcome{code: 500}, errors.New("broken") })
		// One a minute in the long run, and some at the start.
		if len(posts) < 40 || len(posts) > 130 {
			t.Errorf("%d posts in an hour in which none succeeds", len(posts))
		}
		if inFirstMinute := func() (n int) {
			for _, at := range posts {
				if at < 60 {
					n++
				}
			}
			return n
		}(); inFirstMinute > 10 {
			t.Errorf("%d posts in the first minute", inFirstMinute)
		}
	})
}

func TestRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		posts := run(t, 10*time.Minute, newReporter(10*time.Second), func(n int) (outcome, error) {
			if n <= 8 {
				return outcome{code: 503}, errors.New("away")
			}
			return outcome{code: 201, next: 10 * time.Second}, nil
		})
		last := posts[len(posts)-1] - posts[len(posts)-2]
		if last < 10 || last > 11.1 {
			t.Errorf("%.1f s between reports after the hub is back", last)
		}
	})
}

// TestFirstReportWaits wants the first report to wait for the facts, and not for ever.
func TestFirstReportWaits(t *testing.T) {
	for known, want := range map[time.Duration]float64{3 * time.Second: 3, time.Hour: firstReportWithin.Seconds()} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			r := newReporter(time.Minute)
			r.complete = func() bool { return time.Since(began) > known }
			posts := run(t, 30*time.Second, r, func(int) (outcome, error) { return outcome{code: 201}, nil })
			if len(posts) != 1 || posts[0] < want || posts[0] > want+0.3 {
				t.Errorf("facts known after %s: posts at %v, want one at %.0f", known, posts, want)
			}
		})
	}
}

func TestProbesOfTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReporter(0)
		probed := func(path string) (int, string) {
			w := httptest.NewRecorder()
			r.handler(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			return w.Code, w.Body.String()
		}
		want := func(path string, code int, text string) {
			t.Helper()
			if got, body := probed(path); got != code || !strings.Contains(body, text) {
				t.Errorf("%s: %d %q, want %d with %q", path, got, body, code, text)
			}
		}
		r.expect(time.Now())
		want("/readyz", 503, "not taken a report yet")
		want("/healthz", 200, "ok")
		run(t, 15*time.Second, r, func(int) (outcome, error) { return outcome{code: 201, next: 20 * time.Second}, nil })
		want("/readyz", 200, "ok")
		time.Sleep(44 * time.Second)
		want("/readyz", 200, "ok")
		time.Sleep(2 * time.Second)
		want("/readyz", 503, "wants one every 20s")
		want("/healthz", 200, "ok")
		time.Sleep(time.Minute)
		want("/healthz", 503, "longer than meant")
		want("/other", 404, "")
	})
}

func TestMetrics(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	m := NewMetrics()
	if err := m.Register(registry.Register); err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1_700_000_000, 500_000_000)
	m.answered(outcome{code: 201}, nil, 11*time.Second, 10*time.Second, at)
	m.answered(outcome{code: 201}, nil, 11*time.Second, 10*time.Second, at)
	m.answered(outcome{code: 429}, errors.New("no"), 30*time.Second, 10*time.Second, at.Add(time.Hour))
	m.answered(outcome{}, errors.New("no"), 40*time.Second, 10*time.Second, at.Add(time.Hour))
	m.omitted.Set(2)
	want := `
# HELP binnacle_agent_interval_seconds [ALPHA] Time between reports that the hub asked for last.
# TYPE binnacle_agent_interval_seconds gauge
binnacle_agent_interval_seconds 10
# HELP binnacle_agent_last_success_timestamp_seconds [ALPHA] When the hub took a report last, in seconds since 1970; 0 before the first.
# TYPE binnacle_agent_last_success_timestamp_seconds gauge
binnacle_agent_last_success_timestamp_seconds 1.7000000005e+09
# HELP binnacle_agent_next_report_seconds [ALPHA] In how many seconds the next report was due when the last one was answered.
# TYPE binnacle_agent_next_report_seconds gauge
binnacle_agent_next_report_seconds 40
# HELP binnacle_agent_properties_omitted [ALPHA] Properties that are not reported because a report may not have them: too long, or too many.
# TYPE binnacle_agent_properties_omitted gauge
binnacle_agent_properties_omitted 2
# HELP binnacle_agent_reports_total [ALPHA] Reports that were sent to the hub, by the status code of the answer, or none.
# TYPE binnacle_agent_reports_total counter
binnacle_agent_reports_total{code="201"} 2
binnacle_agent_reports_total{code="429"} 1
binnacle_agent_reports_total{code="none"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
