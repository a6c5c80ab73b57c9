// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func shell(t *testing.T, name, script string) command {
	t.Helper()
	return shellIn(t, t.TempDir(), name, script)
}

func shellIn(t *testing.T, dir, name, script string) command {
	t.Helper()
	path, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	return command{name: name, path: path, args: []string{"-c", script}, dir: dir}
}

// forever is a script that only a signal ends.
const forever = "while :; do sleep 1; done"

func mustStart(t *testing.T, c command) *Process {
	t.Helper()
	p, err := c.start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill() })
	return p
}

func TestWaitEndsWithTheProcess(t *testing.T) {
	p := mustStart(t, shell(t, "broken", "echo the disk is on fire >&2; exit 3"))
	err := until(t.Context(), p, "a miracle", func(context.Context) error { return errors.New("not yet") })
	for _, want := range []string{"broken", "a miracle", "exit status 3", "the disk is on fire"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to contain %q", err, want)
		}
	}
}

func TestWaitEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	err := until(ctx, nil, "a miracle", func(context.Context) error {
		cancel(errors.New("no patience"))
		return errors.New("not yet")
	})
	for _, want := range []string{"a miracle", "no patience", "not yet"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to contain %q", err, want)
		}
	}
}

func TestStop(t *testing.T) {
	t.Run("a running process", func(t *testing.T) {
		p := mustStart(t, shell(t, "a", forever))
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
		if err := p.Stop(); err != nil {
			t.Errorf("again: %v", err)
		}
		if records, err := Records(p.dir); err != nil || len(records) > 0 {
			t.Errorf("got records %v, %v", records, err)
		}
	})
	t.Run("one that was killed on purpose", func(t *testing.T) {
		p := mustStart(t, shell(t, "a", forever))
		if err := errors.Join(p.Kill(), p.Stop()); err != nil {
			t.Error(err)
		}
	})
	t.Run("one that ended by itself", func(t *testing.T) {
		p := mustStart(t, shell(t, "a", "exit 0"))
		<-p.Exited()
		if err := p.Stop(); err == nil || !strings.Contains(err.Error(), "ended by itself") {
			t.Errorf("got %v", err)
		}
	})
}

func TestStopRecorded(t *testing.T) {
	first := shell(t, "first", forever)
	second := first
	second.name = "second"
	processes := []*Process{mustStart(t, first), mustStart(t, second)}

	// The id of a process that is not ours: stopping it would end this test.
	stranger := command{name: "stranger", path: "/bin/stranger", dir: first.dir}
	if err := stranger.record(os.Getpid()); err != nil {
		t.Fatal(err)
	}
	records, err := Records(first.dir)
	if err != nil || len(records) != 3 || !records[0].Running() || !records[1].Running() || records[2].Running() {
		t.Fatalf("got %v, %v", records, err)
	}
	stopped, err := StopRecorded(first.dir)
	if want := []string{"second", "first"}; err != nil || !slices.Equal(stopped, want) {
		t.Errorf("stopped %v, %v, want %v", stopped, err, want)
	}
	for _, p := range processes {
		<-p.Exited()
	}
	if records, err := Records(first.dir); err != nil || len(records) > 0 {
		t.Errorf("got records %v, %v", records, err)
	}
}

func TestRSS(t *testing.T) {
	p := mustStart(t, shell(t, "a", forever))
	if rss, err := p.RSS(); err != nil || rss < 1<<16 {
		t.Errorf("got %d bytes, %v", rss, err)
	}
}
