// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// pollInterval is the time between two looks at a state that is waited for.
	pollInterval = 100 * time.Millisecond
	// callTimeout bounds one such look.
	callTimeout = 5 * time.Second
	// startTimeout is how long a process may take to become ready.
	startTimeout = 2 * time.Minute
)

// until returns when cond does not fail any more. It gives up when ctx ends or the process does; process may be nil.
func until(ctx context.Context, process *Process, what string, cond func(context.Context) error) error {
	var exited <-chan struct{}
	if process != nil {
		exited = process.Exited()
	}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		err := cond(call)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
			continue
		case <-exited:
			err = fmt.Errorf("ended: %w", exitError(process.waitErr))
		case <-ctx.Done():
			err = fmt.Errorf("%w; last answer: %w", context.Cause(ctx), err)
		}
		err = fmt.Errorf("waiting for %s: %w", what, err)
		if process != nil {
			err = process.failure(err)
		}
		return err
	}
}

// healthy asks a health path and returns an error unless the answer is 200.
func healthy(ctx context.Context, config *rest.Config, path string) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	body, status, err := get(ctx, client, config.Host+path)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("%s answers %d: %s", path, status, body)
	}
	return nil
}

func withTimeout(ctx context.Context, what string) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, startTimeout, errors.New(what+" took more than "+startTimeout.String()))
}

func get(ctx context.Context, client *http.Client, url string) (body []byte, status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, 0, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	return body, response.StatusCode, err
}
