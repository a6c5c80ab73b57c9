// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// TestChildrenDieWithTheirOwner runs itself as an owner, which is killed before it can end its child.
func TestChildrenDieWithTheirOwner(t *testing.T) {
	const ownerEnv = "BINNACLE_TEST_OWNER_DIR"
	if dir := os.Getenv(ownerEnv); dir != "" {
		mustStart(t, shellIn(t, dir, "child", forever))
		select {}
	}
	dir := t.TempDir()
	owner := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	owner.Env = append(os.Environ(), ownerEnv+"="+dir)
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	var child Record
	eventually(t, func() error {
		records, err := Records(dir)
		if err == nil && len(records) == 0 {
			err = errors.New("no child yet")
		}
		if err == nil {
			child = records[0]
		}
		return err
	})
	if !child.Running() {
		t.Fatal("the child does not run")
	}
	_ = owner.Process.Kill()
	_ = owner.Wait()
	eventually(t, func() error {
		if child.Running() {
			return errors.New("process " + strconv.Itoa(child.PID) + " still runs")
		}
		return nil
	})
}
