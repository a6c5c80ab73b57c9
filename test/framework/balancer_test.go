// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"io"
	"net"
	"testing"
)

func TestBalancer(t *testing.T) {
	a, b, dead := answering(t, "a"), answering(t, "b"), mustFreePort(t)
	for _, test := range []struct {
		name     string
		backends []int
		want     string
	}{
		{"in turn", []int{a, b}, "abab"},
		{"past one that is gone", []int{dead, b}, "bbbb"},
		{"to nobody", []int{dead}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			balancer, err := NewBalancer()
			if err != nil {
				t.Fatal(err)
			}
			defer balancer.Close()
			balancer.SetBackends(test.backends...)
			var got string
			for range 4 {
				conn, err := net.Dial("tcp", loopback(balancer.Port))
				if err != nil {
					t.Fatal(err)
				}
				data, _ := io.ReadAll(conn)
				got += string(data)
				_ = conn.Close()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// answering returns a port that answers each connection with a text.
func answering(t *testing.T, text string) int {
	t.Helper()
	port := mustFreePort(t)
	listener, err := net.Listen("tcp", loopback(port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		}
	}()
	return port
}

func mustFreePort(t *testing.T) int {
	t.Helper()
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}
