package agent

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

const (
	// postTimeout is how long the hub may take to answer a report.
	postTimeout = 15 * time.Second
	// firstReportWithin is how long the first report waits for the facts. A report is whole, so one without them would take away what
	// the hub knows from before the agent was restarted.
	firstReportWithin = 10 * time.Second
	// intervalsUntilNotReady is how many intervals without a report that was taken make the agent not ready. The hub calls a cluster
	// silent after as many.
	intervalsUntilNotReady = 3
)

// reporter posts reports, one after the other.
type reporter struct {
	// complete says whether all facts are known, report what they are now, post where they go.
	complete func() bool
	report   func() *v1alpha1.ClusterReport
	post     func(context.Context, *v1alpha1.ClusterReport) (outcome, error)
	metrics  *Metrics
	pace     pace

	mu       sync.Mutex
	accepted time.Time
	interval time.Duration
	// due is when the loop should be at work again.
	due time.Time
}

// run reports until ctx ends.
func (r *reporter) run(ctx context.Context) {
	r.expect(time.Now().Add(firstReportWithin))
	for began := time.Now(); !r.complete() && time.Since(began) < firstReportWithin; {
		if !sleep(ctx, 100*time.Millisecond) {
			return
		}
	}
	for {
		r.expect(time.Now())
		delay := r.once(ctx)
		r.expect(time.Now().Add(delay))
		if !sleep(ctx, delay) {
			return
		}
	}
}

// once posts one report and returns when the next one is due.
func (r *reporter) once(ctx context.Context) time.Duration {
	logger := klog.FromContext(ctx)
	posting, cancel := context.WithTimeout(ctx, postTimeout)
	o, err := r.post(posting, r.report())
	cancel()
	if ctx.Err() != nil {
		return 0
	}
	var delay time.Duration
	if err == nil {
		failures := r.pace.failures
		delay = r.pace.accepted(o.next)
		r.took(time.Now())
		logger.V(2).Info("Reported", "next", seconds(delay))
		if failures > 0 {
			logger.Info("The hub takes reports again", "failures", failures)
		}
	} else {
		delay = r.pace.failed(o.retryAfter)
		logger.Error(explained(err), "The hub did not take a report", "code", o.code, "failures", r.pace.failures, "retryAfter", seconds(delay))
	}
	r.metrics.answered(o, err, delay, r.pace.interval, time.Now())
	return delay
}

// explained adds what an answer means here, and what to do about it.
func explained(err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("no ClusterProfile of this name and namespace is registered on the hub: %w", err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("these credentials may not report for this cluster: %w", err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the hub does not know these credentials; they are read again: %w", err)
	case apierrors.IsConflict(err):
		return fmt.Errorf("the ClusterProfile is not the one of --cluster-profile-uid: %w", err)
	}
	return err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }

func (r *reporter) took(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.accepted, r.interval = now, r.pace.interval
}

func (r *reporter) expect(due time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due = due
}

// ready says why the hub does not know how the cluster is now.
func (r *reporter) ready(now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.accepted.IsZero():
		return fmt.Errorf("the hub has not taken a report yet")
	case now.Sub(r.accepted) > intervalsUntilNotReady*r.interval:
		return fmt.Errorf("the hub took the last report %s ago, and wants one every %s", now.Sub(r.accepted).Round(time.Second), r.interval)
	}
	return nil
}

// healthy says why a restart would help: the loop is not where it should be.
func (r *reporter) healthy(now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if late := now.Sub(r.due); late > 4*postTimeout {
		return fmt.Errorf("nothing was posted for %s longer than meant", late.Round(time.Second))
	}
	return nil
}
