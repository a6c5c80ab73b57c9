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
}

func main() {
	var o options
	flag.IntVar(&o.objects, "objects", 5000, "ClusterProfiles on each side")
	flag.IntVar(&o.connections, "connections", 16, "connections that write at once")
	flag.IntVar(&o.watchers, "watchers", 100, "watches that are open at once")
	flag.DurationVar(&o.duration, "duration", 8*time.Second, "how long each kind of request is sent")
	flag.IntVar(&o.rounds, "rounds", 3, "how often each list is read and each server started; the median counts")
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
