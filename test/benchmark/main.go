// Command benchmark puts Binnacle beside custom resources of the same schema: on one kind of hub, with the same clients and objects, in
// one run. It prints a table of ratios and writes every figure as JSON.
//
// Each side gets a hub of its own, one after the other, so that neither finds the caches and the heap that the other has filled.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options is what the command line says.
type options struct {
	objects, connections, watchers int
	duration                       time.Duration
	rounds                         int
	output, profiles               string

	heartbeats                 bool
	clusters, fleetConnections int
	interval, fleetDuration    time.Duration
}

func main() {
	var o options
	flag.IntVar(&o.objects, "objects", 5000, "ClusterProfiles on each side")
	flag.IntVar(&o.connections, "connections", 16, "connections that write at once")
	flag.IntVar(&o.watchers, "watchers", 100, "watches that are open at once")
	flag.DurationVar(&o.duration, "duration", 8*time.Second, "how long each kind of request is sent")
	flag.IntVar(&o.rounds, "rounds", 3, "how often each list is read and each server started; the median counts")
	flag.BoolVar(&o.heartbeats, "heartbeats", false, "compare heartbeats, instead of everything else")
	flag.IntVar(&o.clusters, "clusters", 10_000, "clusters that report, with -heartbeats")
	flag.IntVar(&o.fleetConnections, "fleet-connections", 200, "connections that the clusters share, with -heartbeats")
	flag.DurationVar(&o.interval, "interval", 10*time.Second, "how often each cluster reports, with -heartbeats")
	flag.DurationVar(&o.fleetDuration, "fleet-duration", 5*time.Minute, "how long they report, with -heartbeats")
	flag.StringVar(&o.output, "output", "_output/benchmark.json", "file for the figures")
	flag.StringVar(&o.profiles, "profiles", "", "folder for processor profiles of the servers while objects are created; none are made if empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Minute)
	defer cancel()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.heartbeats {
		return heartbeats(ctx, o)
	}
	var all []figures
	for _, side := range []side{customResources, binnacle} {
		measured, err := side.measure(ctx, o)
		if err != nil {
			return fmt.Errorf("%s: %w", side.name, err)
		}
		all = append(all, measured...)
	}
	report := newReport(o, all)
	report.print(os.Stdout)
	return report.write(o.output)
}
