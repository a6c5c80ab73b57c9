// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Record is what a state folder remembers of a process, so that another run of the program can stop it.
type Record struct {
	Name    string    `json:"name"`
	PID     int       `json:"pid"`
	Argv    []string  `json:"argv"`
	Started time.Time `json:"started"`
}

func (c command) recordPath() string { return filepath.Join(c.dir, "run", c.name+".json") }

func (c command) record(pid int) error {
	data, err := json.MarshalIndent(Record{c.name, pid, append([]string{c.path}, c.args...), time.Now()}, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(c.recordPath(), append(data, '\n'), 0o644)
}

func (c command) forget() error {
	if err := os.Remove(c.recordPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Records returns the processes that were started in a state folder and not stopped yet, in the order in which they were started.
func Records(dir string) ([]Record, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "run", "*.json"))
	if err != nil {
		return nil, err
	}
	var records []Record
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var r Record
		if err := json.Unmarshal(data, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		records = append(records, r)
	}
	slices.SortFunc(records, func(a, b Record) int { return a.Started.Compare(b.Started) })
	return records, nil
}

// Running tells whether the process of the record runs. Another process that has got the same id since is not that process.
func (r Record) Running() bool {
	argv, err := commandLine(r.PID)
	return err == nil && slices.Equal(argv, r.Argv)
}

// RSS returns the resident memory of the process in bytes.
func (r Record) RSS() (int64, error) { return residentBytes(r.PID) }

// StopRecorded stops what Records returns, the youngest first, and returns the names of those that ran.
func StopRecorded(dir string) ([]string, error) {
	records, err := Records(dir)
	if err != nil {
		return nil, err
	}
	slices.Reverse(records)
	var stopped []string
	for _, r := range records {
		if r.Running() {
			if err := r.stop(); err != nil {
				return stopped, err
			}
			stopped = append(stopped, r.Name)
		}
		if err := (command{name: r.Name, dir: dir}).forget(); err != nil {
			return stopped, err
		}
	}
	return stopped, nil
}

func (r Record) stop() error {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := syscall.Kill(r.PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stop %s (process %d): %w", r.Name, r.PID, err)
		}
		for end := time.Now().Add(stopTimeout); time.Now().Before(end); time.Sleep(pollInterval) {
			if !r.Running() {
				return nil
			}
		}
	}
	return fmt.Errorf("%s (process %d) does not end", r.Name, r.PID)
}

// commandLine returns the arguments of a running process. One that has ended and waits for its parent has none.
func commandLine(pid int) ([]string, error) {
	if data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline")); err == nil {
		return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00"), nil
	}
	out, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(out)), nil
}
