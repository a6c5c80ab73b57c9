// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"k8s.io/client-go/rest"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// processes are what a complete hub consists of.
var processes = []string{"etcd", "kube-apiserver", "kube-controller-manager", "binnacle-apiserver"}

func up(ctx context.Context, o options) error {
	records, err := framework.Records(o.dir)
	if err != nil {
		return err
	}
	if running := runningNames(records); len(running) == len(processes) {
		fmt.Println("The hub runs already.")
		warnIfStale(records)
		printHowTo(o, filepath.Dir(records[0].Argv[0]))
		return nil
	}
	if err := checkPorts(o, records); err != nil {
		return err
	}
	if running := runningNames(records); len(running) > 0 {
		fmt.Printf("Only %v still run; starting all anew.\n", running)
	}
	if _, err := os.Stat(o.binary); err != nil {
		return fmt.Errorf("the server is not built: go build -o %s ./cmd/apiserver", o.binary)
	}
	if _, err := framework.StopRecorded(o.dir); err != nil {
		return err
	}
	start := time.Now()
	hub, err := framework.StartHub(ctx, framework.HubOptions{
		Dir: o.dir, BinDir: o.binDir, Port: o.hubPort, Detached: true, Log: os.Stdout,
	})
	if err != nil {
		return err
	}
	if err := populate(ctx, o, hub); err != nil {
		return errors.Join(err, hub.Stop())
	}
	fmt.Printf("\nUp after %.1fs.\n", time.Since(start).Seconds())
	printHowTo(o, hub.BinDir())
	return nil
}

// checkPorts looks at the ports before anything is stopped or started. What still runs of this hub may have them: it will be stopped.
func checkPorts(o options, records []framework.Record) error {
	if o.hubPort == o.serverPort && o.hubPort != 0 {
		return fmt.Errorf("-port and -server-port are both %d", o.hubPort)
	}
	for _, wanted := range []struct {
		process, flag string
		port          int
	}{{"kube-apiserver", "-port", o.hubPort}, {"binnacle-apiserver", "-server-port", o.serverPort}} {
		ours := slices.ContainsFunc(records, func(r framework.Record) bool {
			return r.Running() && slices.Contains(r.Argv, "--secure-port="+strconv.Itoa(wanted.port))
		})
		if err := framework.WantPort(wanted.port, wanted.process); err != nil && !ours {
			return fmt.Errorf("%w (make hub HUB_FLAGS=\"%s 0\" takes a free one)", err, wanted.flag)
		}
	}
	return nil
}

// populate puts the server and the samples on a hub that has just started.
func populate(ctx context.Context, o options, hub *framework.Hub) error {
	if _, err := hub.StartBinnacle(ctx, framework.ServerOptions{Binary: o.binary, Port: o.serverPort}); err != nil {
		return err
	}
	if err := framework.WriteKubeconfig(o.kubeconfig(), hub.AdminConfig()); err != nil {
		return err
	}
	if o.samples == "" {
		return nil
	}
	start := time.Now()
	config := hub.AdminConfig()
	config.WarningHandler = rest.NewWarningWriter(os.Stderr, rest.WarningWriterOptions{Deduplicate: true})
	count, err := framework.LoadSamples(ctx, config, o.samples)
	if err != nil {
		return err
	}
	fmt.Printf("%-40s %6.1fs\n", fmt.Sprintf("%d sample objects loaded", count), time.Since(start).Seconds())
	return nil
}

func runningNames(records []framework.Record) []string {
	var names []string
	for _, r := range records {
		if slices.Contains(processes, r.Name) && r.Running() {
			names = append(names, r.Name)
		}
	}
	return names
}

// warnIfStale helps those who have just built the server and wonder why nothing changed.
func warnIfStale(records []framework.Record) {
	for _, r := range records {
		if info, err := os.Stat(r.Argv[0]); err == nil && info.ModTime().After(r.Started) {
			fmt.Printf("%s was built after it was started: take the hub down and up to run the new one.\n", r.Name)
		}
	}
}

func printHowTo(o options, binDir string) {
	fmt.Printf("\n  export KUBECONFIG=%s\n", o.kubeconfig())
	if _, err := exec.LookPath("kubectl"); err != nil {
		fmt.Printf("  export PATH=%s:$PATH\n", binDir)
	}
	fmt.Print(`
  kubectl get apiservices -l app.kubernetes.io/part-of=binnacle
  kubectl get cp,pd -A
  kubectl get pd -A -o wide
  kubectl explain clusterprofile.status
  kubectl get cp -A --as=alice                   # forbidden: nobody has granted her anything

Logs are in ` + filepath.Join(o.dir, "logs") + `. Stop with: go run ./hack/hub down -dir ` + o.dir + `
`)
}
