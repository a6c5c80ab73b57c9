// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// sysProcAttr takes a child off the terminal, so that a Ctrl-C does not reach it before its owner has ended it in order. A child that
// is not detached does not survive its owner, not even one that was killed.
func sysProcAttr(detached bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if !detached {
		attr.Pdeathsig = syscall.SIGKILL
	}
	return attr
}

// paused is an error as long as some thread of a process has not stopped: a signal takes its time to each of them.
func paused(pid int) error {
	states, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return err
	}
	for _, path := range states {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // a thread that has ended meanwhile
		}
		// The state comes after the name, which is in parentheses and may hold some itself (proc_pid_stat(5)).
		if after := stat[bytes.LastIndexByte(stat, ')')+1:]; !bytes.HasPrefix(after, []byte(" T")) {
			return fmt.Errorf("a thread is in state %.2s", after)
		}
	}
	return nil
}
