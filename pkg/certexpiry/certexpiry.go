// Package certexpiry tells when the certificates end that the server shows and trusts: in a metric, in the log when one was replaced, and
// in the log at start when one has ended.
//
// It may import apiserver and component-base only.
package certexpiry

import (
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
)

// Certificate is one whose end is told.
type Certificate struct {
	// Name is the label of the metric.
	Name string
	// Content returns the PEM that counts now.
	Content func() []byte
	// Bundle is set for the CAs that are trusted: the next one to end counts, not one that a bundle keeps although it has ended. Otherwise
	// the first certificate counts, that of whoever shows it, and not those that signed it.
	Bundle bool
	// Notifier calls when the content may have changed; nil if nobody does.
	Notifier dynamiccertificates.Notifier
}

// File is the certificate that a client or a server reads from a file each time that it shows it.
func File(name, path string) Certificate {
	return Certificate{Name: name, Content: func() []byte {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil // what needs the file says so
		}
		return data
	}}
}

// Serving is the certificate that a server shows.
func Serving(name string, provider dynamiccertificates.CertKeyContentProvider) Certificate {
	return Certificate{Name: name, Notifier: provider, Content: func() []byte {
		cert, _ := provider.CurrentCertKeyContent()
		return cert
	}}
}

// Trusted are the CAs that a server trusts.
func Trusted(name string, provider dynamiccertificates.CAContentProvider) Certificate {
	return Certificate{Name: name, Notifier: provider, Content: provider.CurrentCABundleContent, Bundle: true}
}

// Without leaves out of a bundle what another has: a server may keep the CAs of several purposes in one.
func (c Certificate) Without(other Certificate) Certificate {
	all := c.Content
	c.Content = func() []byte {
		known := map[string]bool{}
		for _, block := range blocks(other.Content()) {
			known[string(block.Bytes)] = true
		}
		var left []byte
		for _, block := range blocks(all()) {
			if !known[string(block.Bytes)] {
				left = append(left, pem.EncodeToMemory(block)...)
			}
		}
		return left
	}
	return c
}

func blocks(data []byte) (found []*pem.Block) {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		found = append(found, block)
	}
	return found
}

// end is when a certificate ends, or the next one of a bundle.
func (c Certificate) end(now time.Time) (time.Time, error) {
	found, err := certutil.ParseCertsPEM(c.Content())
	if err != nil {
		return time.Time{}, fmt.Errorf("%s: %w", c.Name, err)
	}
	end := found[0].NotAfter
	for _, cert := range found {
		ended, next := now.After(end), cert.NotAfter
		if c.Bundle && (ended && next.After(end) || next.After(now) && next.Before(end)) {
			end = next
		}
	}
	return end, nil
}

// Observe begins to tell of the certificates, instead of those that were observed before in this process.
func Observe(certificates ...Certificate) error {
	now := time.Now()
	for _, c := range certificates {
		// Bundles that a hub publishes are empty until they have been read.
		if end, err := c.end(now); err == nil && !c.Bundle && now.After(end) {
			klog.ErrorS(errors.New("the certificate has ended: whoever checks it refuses the connection; put a valid one in its place, it is read without a restart"),
				"Certificate", "certificate", c.Name, "end", end)
		}
		if c.Notifier != nil {
			c.Notifier.AddListener(&logger{Certificate: c})
		}
	}
	observed.certificates.Store(&certificates)
	return register()
}

// logger says in the log when the content has changed.
type logger struct {
	Certificate
	last atomic.Pointer[time.Time]
}

// Enqueue implements dynamiccertificates.Listener.
func (l *logger) Enqueue() {
	end, err := l.end(time.Now())
	if err != nil {
		return // what reads the content says so
	}
	if last := l.last.Swap(&end); last == nil || !last.Equal(end) {
		klog.InfoS("Certificate was loaded", "certificate", l.Name, "end", end)
	}
}

// The registry of metrics belongs to the process, and so does what is registered in it.
var (
	observed = &collector{}
	register = registerOnce()
)

func registerOnce() func() error {
	var done atomic.Bool
	return func() error {
		if done.Swap(true) {
			return nil
		}
		return legacyregistry.CustomRegister(observed)
	}
}

var endDesc = metrics.NewDesc("binnacle_certificate_expiration_timestamp_seconds",
	"When a certificate ends that the server shows (serving, etcd-client), or the next of the CAs that it trusts (client-ca, front-proxy-ca), in seconds since 1970.",
	[]string{"certificate"}, nil, metrics.ALPHA, "")

// collector looks at the certificates each time that the metrics are read.
type collector struct {
	metrics.BaseStableCollector
	certificates atomic.Pointer[[]Certificate]
}

// DescribeWithStability implements metrics.StableCollector.
func (c *collector) DescribeWithStability(ch chan<- *metrics.Desc) { ch <- endDesc }

// CollectWithStability implements metrics.StableCollector.
func (c *collector) CollectWithStability(ch chan<- metrics.Metric) {
	certificates := c.certificates.Load()
	if certificates == nil {
		return
	}
	for _, certificate := range *certificates {
		if end, err := certificate.end(time.Now()); err == nil {
			ch <- metrics.NewLazyConstMetric(endDesc, metrics.GaugeValue, float64(end.Unix()), certificate.Name)
		}
	}
}
