package agent

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	binnaclev1alpha1 "github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/typed/binnacle/v1alpha1"
)

// hub is where reports go.
type hub struct {
	kubeconfig      string
	namespace, name string
	userAgent       string

	// content is what the kubeconfig held when the client was made of it.
	content []byte
	client  binnaclev1alpha1.BinnacleV1alpha1Interface
	// connections are those of the client.
	connections http.RoundTripper
}

// outcome is what came of a report.
type outcome struct {
	// code is the status of the answer, 0 where there was none.
	code int
	// next is when the hub asks for the next report, retryAfter when for another attempt.
	next, retryAfter time.Duration
}

// post sends a report. Credentials are read again when they change: the kubeconfig before each report, a file that it names by client-go
// within a minute, and everything after an answer of 401.
func (h *hub) post(ctx context.Context, report *v1alpha1.ClusterReport) (o outcome, err error) {
	if err := h.load(ctx); err != nil {
		return o, err
	}
	ctx = context.WithValue(ctx, outcomeKey{}, &o)
	answer, err := h.client.ClusterStatuses(h.namespace).Report(ctx, h.name, report, metav1.CreateOptions{})
	if err != nil {
		if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
			o.retryAfter = max(o.retryAfter, time.Duration(seconds)*time.Second)
		}
		if o.code == http.StatusUnauthorized {
			// An open connection goes on showing the client certificate that it was opened with.
			utilnet.CloseIdleConnectionsFor(h.connections)
			h.client = nil
		}
		return o, err
	}
	o.next = time.Duration(answer.Status.NextReportSeconds) * time.Second
	return o, nil
}

// load makes the client anew if it has to. What cannot be used, such as a file that is half written, does not replace what works.
func (h *hub) load(ctx context.Context) error {
	content, err := os.ReadFile(h.kubeconfig)
	if err == nil && h.client != nil && bytes.Equal(content, h.content) {
		return nil
	}
	if err == nil {
		err = h.connect(content)
	}
	if err == nil {
		return nil
	}
	if h.client == nil {
		return fmt.Errorf("credentials for the hub: %w", err)
	}
	klog.FromContext(ctx).Error(err, "The kubeconfig for the hub cannot be read again; going on with what it held before")
	return nil
}

func (h *hub) connect(content []byte) error {
	config, err := clientcmd.BuildConfigFromFlags("", h.kubeconfig)
	if err != nil {
		return err
	}
	config.UserAgent = h.userAgent
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return answers{next} })
	connections, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	client, err := binnaclev1alpha1.NewForConfigAndClient(config, connections)
	if err != nil {
		return err
	}
	h.client, h.connections, h.content = client, connections.Transport, content
	return nil
}

type outcomeKey struct{}

// answers notes the status and Retry-After of an answer, and takes the latter out: with it client-go would wait and send the same report
// again, up to ten times and without a spread, while it is the pace of the reports that has to change.
type answers struct{ next http.RoundTripper }

// WrappedRoundTripper returns what is behind it, where the connections are.
func (a answers) WrappedRoundTripper() http.RoundTripper { return a.next }

// RoundTrip implements http.RoundTripper.
func (a answers) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := a.next.RoundTrip(request)
	if err != nil {
		return response, err
	}
	if o, ok := request.Context().Value(outcomeKey{}).(*outcome); ok {
		o.code = response.StatusCode
		if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
			o.retryAfter = time.Duration(min(seconds, int(maxRetryAfter.Seconds()))) * time.Second
		}
		response.Header.Del("Retry-After")
	}
	return response, nil
}
