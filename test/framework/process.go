// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

// stopTimeout is how long a process may take to end by itself once it was asked to.
const stopTimeout = 30 * time.Second

// command says what to run. Its log is dir/logs/name.log, its record dir/run/name.json.
type command struct {
	name     string
	path     string
	args     []string
	dir      string
	detached bool
}

// Process is a child process.
type Process struct {
	command
	cmd     *exec.Cmd
	exited  chan struct{}
	waitErr error
	asked   atomic.Bool
}

func (c command) logPath() string { return filepath.Join(c.dir, "logs", c.name+".log") }

func (c command) start() (*Process, error) {
	if err := os.MkdirAll(filepath.Dir(c.logPath()), 0o755); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(c.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()

	p := &Process{command: c, cmd: exec.Command(c.path, c.args...), exited: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = sysProcAttr(c.detached)
	started := make(chan error)
	go func() {
		// The kernel ends a child that is tied to us when the thread that made it ends, so that thread is kept until the child ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.waitErr = p.cmd.Wait()
			close(p.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	if err := c.record(p.cmd.Process.Pid); err != nil {
		return nil, errors.Join(err, p.Kill())
	}
	return p, nil
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// LogPath returns the file that holds what the process wrote, over all its starts.
func (p *Process) LogPath() string { return p.logPath() }

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Stop asks the process to end and waits for it. A process that ended before it was asked, or that had to be killed, is an error.
func (p *Process) Stop() error {
	select {
	case <-p.exited:
		if p.asked.Load() {
			return nil
		}
		return p.failure(fmt.Errorf("ended by itself: %w", exitError(p.waitErr)))
	default:
	}
	p.asked.Store(true)
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-p.exited:
		return p.forget()
	case <-timer.C:
		err := fmt.Errorf("still running %v after SIGTERM, killed", stopTimeout)
		return errors.Join(p.failure(err), p.Kill())
	}
}

// Kill ends the process at once, as a crash would (SIGKILL), and waits until it is gone.
func (p *Process) Kill() error {
	p.asked.Store(true)
	_ = p.cmd.Process.Kill()
	<-p.exited
	return p.forget()
}

// RSS returns the resident memory of the process in bytes.
func (p *Process) RSS() (int64, error) { return residentBytes(p.PID()) }

// failure adds the process's name and the end of its log to err.
func (p *Process) failure(err error) error {
	return fmt.Errorf("%s: %w\n--- end of %s\n%s", p.name, err, p.logPath(), tail(p.logPath(), 20))
}

func exitError(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

func tail(path string, lines int) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}

func residentBytes(pid int) (int64, error) {
	out, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0, fmt.Errorf("resident memory of process %d: %w", pid, err)
	}
	kib, err := strconv.ParseInt(string(bytes.TrimSpace(out)), 10, 64)
	return kib << 10, err
}
