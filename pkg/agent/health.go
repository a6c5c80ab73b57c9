package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

const (
	// probePeriod is the time from one probe of the API server to the next, probeTimeout what one may take.
	probePeriod, probeTimeout = 5 * time.Second, 5 * time.Second
	// failuresUntilUnhealthy is how many probes in a row have to fail: one lost packet is no news.
	failuresUntilUnhealthy = 2
	// maxVersion is how long the version in a report may be.
	maxVersion = 253
)

// Reasons of the condition ControlPlaneHealthy.
const (
	// ReasonAPIServerReady says that the API server says that it is ready.
	ReasonAPIServerReady = "APIServerReady"
	// ReasonAPIServerNotReady says that the API server answers that it is not ready.
	ReasonAPIServerNotReady = "APIServerNotReady"
	// ReasonAPIServerUnreachable says that the API server does not answer.
	ReasonAPIServerUnreachable = "APIServerUnreachable"
	// ReasonNotProbed says that there was no answer yet since the agent started.
	ReasonNotProbed = "NotProbed"
)

// health is what the last probes of the member's API server say.
type health struct {
	mu       sync.Mutex
	verdict  v1alpha1.ReportedCondition
	failures int
	version  string
}

func newHealth() *health {
	return &health{verdict: v1alpha1.ReportedCondition{
		Type: v1alpha1.ConditionControlPlaneHealthy, Status: metav1.ConditionUnknown, Reason: ReasonNotProbed,
	}}
}

// probed takes the outcome of a probe. Messages have no detail that differs from one failure to the next: each change would be an event
// for everybody who watches the hub.
func (h *health) probed(err error, version string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		h.failures = 0
		h.verdict.Status, h.verdict.Reason, h.verdict.Message = metav1.ConditionTrue, ReasonAPIServerReady, ""
		if version != "" && len(version) <= maxVersion {
			h.version = version
		}
		return
	}
	if h.failures++; h.failures < failuresUntilUnhealthy {
		return
	}
	h.verdict.Status = metav1.ConditionFalse
	var answered statusError
	if errors.As(err, &answered) {
		h.verdict.Reason, h.verdict.Message = ReasonAPIServerNotReady, answered.Error()
		return
	}
	h.verdict.Reason, h.verdict.Message = ReasonAPIServerUnreachable, "The API server of the cluster does not answer its agent."
}

func (h *health) state() (condition v1alpha1.ReportedCondition, version string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.verdict, h.version
}

// isProbed says whether anything is known.
func (h *health) isProbed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.verdict.Status != metav1.ConditionUnknown
}

// statusError is an answer that is not 200.
type statusError int

// Error implements error.
func (e statusError) Error() string {
	return fmt.Sprintf("The API server of the cluster answers %d to /readyz.", int(e))
}

// prober asks an API server for its health and its version.
type prober struct {
	client *http.Client
	host   string
}

func newProber(config *rest.Config) (prober, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return prober{}, err
	}
	host, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return prober{}, err
	}
	return prober{client, strings.TrimSuffix(host.String(), "/")}, nil
}

// run probes until ctx ends.
func (p prober) run(ctx context.Context, h *health) {
	logger := klog.FromContext(ctx)
	for {
		err := p.get(ctx, "/readyz", nil)
		var found apimachineryversion.Info
		if err == nil {
			// The API server that answers now may be another one than before. Without the answer the last version stays.
			if err := p.get(ctx, "/version", &found); err != nil && ctx.Err() == nil {
				logger.Error(err, "The API server does not tell its version")
			}
		}
		if ctx.Err() != nil {
			return
		}
		before, _ := h.state()
		h.probed(err, found.GitVersion)
		if after, _ := h.state(); after.Status != before.Status {
			logger.Info("The API server of the cluster is seen differently", "healthy", after.Status, "reason", after.Reason, "err", err)
		} else if err != nil {
			logger.V(2).Info("A probe of the API server failed", "err", err)
		}
		if !sleep(ctx, probePeriod) {
			return
		}
	}
}

// get asks for a path, and decodes the answer if it is wanted.
func (p prober) get(ctx context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.host+path, nil)
	if err != nil {
		return err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body := http.MaxBytesReader(nil, response.Body, 1<<20)
	defer func() { _, _ = io.Copy(io.Discard, body) }() // so that the connection is used again
	if response.StatusCode != http.StatusOK {
		return statusError(response.StatusCode)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(body).Decode(into)
}
