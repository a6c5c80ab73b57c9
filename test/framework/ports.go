// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Free ports are looked for below the range from which systems take the local ends of outgoing connections, so that nobody gets one
// between our look and the start of the process that it is for.
const firstFreePort, lastFreePort = 20000, 32000

var handedOut sync.Map

// FreePort returns a loopback port on which nobody listens and which this process has not been given before.
func FreePort() (int, error) {
	for range 1000 {
		port := firstFreePort + rand.IntN(lastFreePort-firstFreePort)
		if _, taken := handedOut.LoadOrStore(port, true); !taken && portIsFree(port) == nil {
			return port, nil
		}
	}
	return 0, errors.New("no free port found on 127.0.0.1")
}

// WantPort says what is wrong with a port, 0 for any, on which something is to listen.
func WantPort(port int, what string) error {
	if port == 0 {
		return nil
	}
	if err := portIsFree(port); err != nil {
		return fmt.Errorf("port %d, wanted for %s, is taken; stop what listens there or choose another: %w", port, what, err)
	}
	return nil
}

// portOrFree returns port if nobody listens on it, and a free one for 0.
func portOrFree(port int, what string) (int, error) {
	if port == 0 {
		return FreePort()
	}
	return port, WantPort(port, what)
}

func portIsFree(port int) error {
	l, err := net.Listen("tcp", loopback(port))
	if err != nil {
		return err
	}
	return l.Close()
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
