package agent

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/version"
)

// lookAgain is how often a kubeconfig of the member is read to see whether it changed.
const lookAgain = 30 * time.Second

// Config says whom to report on, and to whom.
type Config struct {
	// Kubeconfig is the file with the member's API server. Empty for the cluster that the agent runs in.
	Kubeconfig string
	// HubKubeconfig is the file with the hub and the credentials for it.
	HubKubeconfig string
	// Namespace and Name are those of the ClusterProfile on the hub.
	Namespace, Name string
	// ProfileUID is the uid that the ClusterProfile has to have. Empty for any.
	ProfileUID string
	// Interval is how often the cluster would like to report. 0 leaves it to the hub.
	Interval time.Duration
	// Resources are the names of the resources that are reported. Empty for all.
	Resources []string
	// Listener is where probes and metrics are answered, by MetricsHandler for the latter. Nil for nowhere.
	Listener       net.Listener
	MetricsHandler http.Handler
	// Metrics are told what happens.
	Metrics *Metrics
}

// Run reports until ctx ends. An error is one that trying again cannot mend.
func Run(ctx context.Context, c Config) error {
	f := facts{newInventory(), &properties{}, newHealth()}
	userAgent := "binnacle-agent/" + version.Release
	h := &hub{kubeconfig: c.HubKubeconfig, namespace: c.Namespace, name: c.Name, userAgent: userAgent}
	if err := h.load(ctx); err != nil {
		return err
	}
	m, err := loadMember(c.Kubeconfig, userAgent)
	if err != nil {
		return err
	}
	r := &reporter{complete: f.complete, post: h.post, metrics: c.Metrics, pace: newPace(c.Interval)}
	told := 0
	r.report = func() *v1alpha1.ClusterReport {
		report, omitted := f.report(c, time.Now())
		c.Metrics.omitted.Set(float64(omitted))
		if omitted != told {
			klog.FromContext(ctx).Info("Properties are left out of the report: too long, or too many", "omitted", omitted)
			told = omitted
		}
		return report
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return m.run(ctx, f) })
	group.Go(func() error {
		r.run(ctx)
		return nil
	})
	if c.Listener != nil {
		group.Go(func() error { return serve(ctx, c.Listener, r.handler(c.MetricsHandler)) })
	}
	return group.Wait()
}

// member is the cluster that is reported on.
type member struct {
	path, userAgent string
	content         []byte
	config          *rest.Config
	// look is how often the file is read again.
	look time.Duration
}

func loadMember(path, userAgent string) (*member, error) {
	m := &member{path: path, userAgent: userAgent, look: lookAgain}
	var err error
	if path == "" {
		m.config, err = rest.InClusterConfig()
	} else if m.content, err = os.ReadFile(path); err == nil {
		m.config, err = clientcmd.BuildConfigFromFlags("", path)
	}
	if err != nil {
		return nil, fmt.Errorf("credentials for the cluster itself: %w", err)
	}
	m.config.UserAgent = userAgent
	return m, nil
}

// run watches and probes until ctx ends, and begins anew when the kubeconfig changes. Files that it names are client-go's to read again.
func (m *member) run(ctx context.Context, f facts) error {
	for {
		watched, err := watchers(m.config, f.inventory, f.properties)
		if err != nil {
			return err
		}
		p, err := newProber(m.config)
		if err != nil {
			return err
		}
		group, inner := errgroup.WithContext(ctx)
		inner, stop := context.WithCancel(inner)
		for _, w := range watched {
			group.Go(func() error {
				w.run(inner)
				return nil
			})
		}
		group.Go(func() error {
			p.run(inner, f.health)
			return nil
		})
		next := m.changed(inner)
		stop()
		if err := group.Wait(); err != nil || next == nil {
			return err
		}
		klog.FromContext(ctx).Info("The kubeconfig of the cluster changed; watching with what it holds now")
		m = next
	}
}

// changed waits until the kubeconfig holds something else that can be used. It is nil when ctx ends.
func (m *member) changed(ctx context.Context) *member {
	for sleep(ctx, m.look) {
		if m.path == "" {
			continue
		}
		if content, err := os.ReadFile(m.path); err != nil || bytes.Equal(content, m.content) {
			continue
		}
		next, err := loadMember(m.path, m.userAgent)
		if err == nil {
			next.look = m.look
			return next
		}
		klog.FromContext(ctx).Error(err, "The kubeconfig of the cluster cannot be read again; going on with what it held before")
	}
	return nil
}
