// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"errors"
	"io"
	"net"
	"sync"
)

// Balancer stands before several servers as a Service does: it hands each new connection to the next of them, as bytes, so that TLS is
// between the client and the server.
type Balancer struct {
	// Port is where it listens.
	Port int

	listener net.Listener
	mu       sync.Mutex
	backends []int
	next     int
	open     map[net.Conn]bool
	accepted int
}

// NewBalancer listens on a free port and sends connections to the given ports.
func NewBalancer(ports ...int) (*Balancer, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", loopback(port))
	if err != nil {
		return nil, err
	}
	b := &Balancer{Port: port, listener: listener, backends: ports, open: map[net.Conn]bool{}}
	go b.serve()
	return b, nil
}

// SetBackends replaces the ports that get new connections. Connections that exist stay, as they do when an endpoint leaves a Service.
func (b *Balancer) SetBackends(ports ...int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.backends = ports
}

// Accepted returns how many connections there have been.
func (b *Balancer) Accepted() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.accepted
}

// Cut ends all connections that exist, so that new ones have to be made.
func (b *Balancer) Cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for conn := range b.open {
		_ = conn.Close()
	}
}

// Close stops listening. Connections that exist stay.
func (b *Balancer) Close() error { return b.listener.Close() }

func (b *Balancer) serve() {
	for {
		client, err := b.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			go b.forward(client)
		}
	}
}

func (b *Balancer) forward(client net.Conn) {
	defer client.Close()
	server, err := b.dial()
	if err != nil {
		return
	}
	defer server.Close()
	b.mu.Lock()
	b.open[client] = true
	b.accepted++
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.open, client)
	}()
	done := make(chan struct{}, 2)
	pipe := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		// Half a connection is of no use to TLS: either end closes both.
		done <- struct{}{}
	}
	go pipe(server, client)
	go pipe(client, server)
	<-done
}

// dial takes the backends in turn and passes over those that do not answer.
func (b *Balancer) dial() (net.Conn, error) {
	b.mu.Lock()
	backends, first := b.backends, b.next
	b.next++
	b.mu.Unlock()
	err := errors.New("no backends")
	for i := range backends {
		var conn net.Conn
		if conn, err = net.Dial("tcp", loopback(backends[(first+i)%len(backends)])); err == nil {
			return conn, nil
		}
	}
	return nil, err
}
