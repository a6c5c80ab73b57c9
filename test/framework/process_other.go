// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package framework

import "syscall"

// sysProcAttr takes a child off the terminal, so that a Ctrl-C does not reach it before its owner has ended it in order.
func sysProcAttr(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// paused takes a process for silent at once.
func paused(int) error { return nil }
