package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// caller sends requests of one side one way, over connections of its own.
type caller struct {
	client *http.Client
	base   string
}

// newCaller has a connection of its own: HTTP/1.1, one request at a time.
func newCaller(config *rest.Config, group string) (*caller, error) {
	own := rest.CopyConfig(config)
	own.NextProtos = []string{"http/1.1"}
	transport, err := rest.HTTPClientFor(own)
	if err != nil {
		return nil, err
	}
	return &caller{transport, fmt.Sprintf("%s/apis/%s/v1alpha1/namespaces/%s/clusterprofiles", config.Host, group, namespace)}, nil
}

// send does one request and reads the whole answer. Anything but success is an error.
func (c *caller) send(ctx context.Context, method, path, contentType, body string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := c.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %d %s", method, path, resp.StatusCode, data[:min(len(data), 300)])
	}
	return string(data), err
}

// work is one kind of request; i counts from 0.
type work func(ctx context.Context, c *caller, i int) error

// result is what a load did.
type result struct {
	perSecond    float64
	p50, p99     time.Duration
	requests     int
	cpuPerSecond map[string]float64
}

// load sends work over several connections until n were sent or the time is over, whichever comes first; n of 0 is no limit.
func (b *bench) load(ctx context.Context, config *rest.Config, n int, work work) (result, error) {
	var next atomic.Int64
	var mu sync.Mutex
	var took []time.Duration
	var failed error
	callers := make([]*caller, b.connections)
	for i := range callers {
		var err error
		if callers[i], err = newCaller(config, b.group); err != nil {
			return result{}, err
		}
	}
	before, err := b.cpu()
	if err != nil {
		return result{}, err
	}
	started := time.Now()
	var wg sync.WaitGroup
	for _, c := range callers {
		wg.Go(func() {
			for n != 0 || time.Since(started) < b.duration {
				i := int(next.Add(1)) - 1
				if n != 0 && i >= n {
					return
				}
				sent := time.Now()
				err := work(ctx, c, i)
				mu.Lock()
				took = append(took, time.Since(sent))
				if err != nil && failed == nil {
					failed = err
				}
				stop := failed != nil
				mu.Unlock()
				if stop {
					return
				}
			}
		})
	}
	wg.Wait()
	elapsed := time.Since(started)
	after, err := b.cpu()
	if err != nil || failed != nil {
		return result{}, firstError(failed, err)
	}
	slices.Sort(took)
	r := result{perSecond: float64(len(took)) / elapsed.Seconds(), p50: took[len(took)/2], p99: took[len(took)*99/100], requests: len(took), cpuPerSecond: map[string]float64{}}
	for process, seconds := range after {
		r.cpuPerSecond[process] = (seconds - before[process]) / float64(len(took))
	}
	return r, nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
