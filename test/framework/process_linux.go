// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import "syscall"

// sysProcAttr takes a child off the terminal, so that a Ctrl-C does not reach it before its owner has ended it in order. A child that
// is not detached does not survive its owner, not even one that was killed.
func sysProcAttr(detached bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if !detached {
		attr.Pdeathsig = syscall.SIGKILL
	}
	return attr
}
