// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/binnacle-dev/binnacle/test/framework"
)

func down(_ context.Context, o options) error {
	stopped, err := framework.StopRecorded(o.dir)
	for _, name := range stopped {
		fmt.Println("stopped", name)
	}
	if err != nil {
		return err
	}
	if len(stopped) == 0 {
		fmt.Println("The hub does not run.")
	}
	if o.wipe {
		return wipe(o.dir)
	}
	return nil
}

// wipe removes a state folder, and nothing that is not one.
func wipe(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, "pki", "client-ca.crt")); err != nil {
		return fmt.Errorf("%s does not look like the folder of a hub, left as it is: %w", dir, err)
	}
	return os.RemoveAll(dir)
}

func status(ctx context.Context, o options) error {
	records, err := framework.Records(o.dir)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "PROCESS\tPID\tSTATE\tAGE\tMEMORY")
	for _, name := range processes {
		i := slices.IndexFunc(records, func(r framework.Record) bool { return r.Name == name })
		switch {
		case i < 0:
			fmt.Fprintf(w, "%s\t-\tstopped\t-\t-\n", name)
		case !records[i].Running():
			fmt.Fprintf(w, "%s\t%d\tdied\t-\t-\n", name, records[i].PID)
		default:
			rss, _ := records[i].RSS()
			age := time.Since(records[i].Started).Round(time.Second)
			fmt.Fprintf(w, "%s\t%d\trunning\t%v\t%d MB\n", name, records[i].PID, age, rss/1e6)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if running := runningNames(records); len(running) < len(processes) {
		return fmt.Errorf("%d of %d processes run", len(running), len(processes))
	}
	kubectl := framework.Kubectl{Binary: filepath.Join(filepath.Dir(records[0].Argv[0]), "kubectl"), Kubeconfig: o.kubeconfig()}
	out, _, err := kubectl.Run(ctx, "get", "apiservices", "-l", "app.kubernetes.io/part-of=binnacle")
	fmt.Print("\n", out)
	return err
}
