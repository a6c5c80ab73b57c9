package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/binnacle-dev/binnacle/test/framework"
)

const reporters = "reporters"

// heartbeats compares what a heartbeat costs: as a status patch of a custom resource at the highest rate that it sustains, and as a
// report, of a fleet that reports on time, past the hub and through it.
func heartbeats(ctx context.Context, o options) error {
	report := newReport(o, nil)
	patched, err := o.onHub(ctx, customResources, (*bench).patches)
	if err != nil {
		return fmt.Errorf("crd: %w", err)
	}
	reported, err := o.onHub(ctx, binnacle, (*bench).reports)
	if err != nil {
		return fmt.Errorf("binnacle: %w", err)
	}
	report.Figures = append(patched, reported...)
	report.Options["clusters"], report.Options["interval"], report.Options["fleet duration"] = o.clusters, o.interval.String(), o.fleetDuration.String()
	report.printHeartbeats(os.Stdout)
	return report.write(o.output)
}

// onHub measures one side on a hub of its own.
func (o options) onHub(ctx context.Context, s side, measure func(*bench, context.Context) ([]figures, error)) (found []figures, err error) {
	dir, err := os.MkdirTemp("", "binnacle-benchmark-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	b, stop, err := s.start(ctx, o, dir)
	if err != nil {
		return nil, err
	}
	defer stop()
	b.say("fill")
	if _, err := b.load(ctx, b.hub.AdminConfig(), o.clusters, func(ctx context.Context, c *caller, i int) error {
		_, err := c.send(ctx, http.MethodPost, "", jsonType, profile(b.group, name(i), i))
		return err
	}); err != nil {
		return nil, err
	}
	return measure(b, ctx)
}

// costs are what all server processes and stores did, at one moment.
type costs struct {
	at                 time.Time
	cpu, writes, bytes map[string]float64
}

// stores are the etcds whose writes count, by name.
func (b *bench) stores() map[string]*framework.Etcd {
	all := map[string]*framework.Etcd{"hub": b.hub.Etcd}
	if b.server != nil {
		all["binnacle"] = b.store
	}
	return all
}

func (b *bench) costs(ctx context.Context) (costs, error) {
	c := costs{at: time.Now(), writes: map[string]float64{}, bytes: map[string]float64{}}
	var err error
	if c.cpu, err = b.cpu(); err != nil {
		return c, err
	}
	for name, store := range b.stores() {
		text, err := store.Metrics(ctx)
		if err != nil {
			return c, err
		}
		if c.writes[name], err = sample(text, "etcd_mvcc_put_total"); err != nil {
			return c, err
		}
		if c.bytes[name], err = sample(text, "etcd_mvcc_total_put_size_in_bytes", "etcd_debugging_mvcc_total_put_size_in_bytes"); err != nil {
			return c, err
		}
	}
	return c, nil
}

// since puts what was done in between into values, in all and for each of n heartbeats.
func (c costs) since(before costs, n int, values map[string]float64) {
	seconds := c.at.Sub(before.at).Seconds()
	values["heartbeats/s"] = float64(n) / seconds
	for name := range c.writes {
		values["etcd writes/s: "+name] = (c.writes[name] - before.writes[name]) / seconds
		values["etcd KB/s: "+name] = (c.bytes[name] - before.bytes[name]) / seconds / 1000
		values["writes per heartbeat"] += (c.writes[name] - before.writes[name]) / float64(n)
		values["bytes per heartbeat"] += (c.bytes[name] - before.bytes[name]) / float64(n)
	}
	for name := range c.cpu {
		values["processor ms per heartbeat"] += (c.cpu[name] - before.cpu[name]) / float64(n) * 1000
		values["processor ms per heartbeat: "+name] = (c.cpu[name] - before.cpu[name]) / float64(n) * 1000
	}
}

// patches has as many status patches as the hub takes.
func (b *bench) patches(ctx context.Context) ([]figures, error) {
	b.say("status patches")
	values := map[string]float64{}
	before, err := b.costs(ctx)
	if err != nil {
		return nil, err
	}
	patching := *b
	patching.duration = min(b.fleetDuration, time.Minute)
	done, err := patching.load(ctx, b.hub.AdminConfig(), 0, func(ctx context.Context, c *caller, i int) error {
		_, err := c.send(ctx, http.MethodPatch, "/"+name(i%b.clusters)+"/status", mergePatch, heartbeatPatch(i%b.clusters, i/b.clusters))
		return err
	})
	if err != nil {
		return nil, err
	}
	after, err := b.costs(ctx)
	if err != nil {
		return nil, err
	}
	after.since(before, done.requests, values)
	values["p50 ms"], values["p99 ms"] = milliseconds(done.p50), milliseconds(done.p99)
	return []figures{{"crd", values}}, nil
}

// reports has the fleet report past the hub for the whole time, and through it for a part of it.
func (b *bench) reports(ctx context.Context) ([]figures, error) {
	tokens, err := b.tokens(ctx)
	if err != nil {
		return nil, err
	}
	idle := map[string]float64{}
	if err := b.during(ctx, 20*time.Second, idle, func(context.Context, time.Duration) (int, error) { return 1, wait(ctx, 20*time.Second) }); err != nil {
		return nil, err
	}
	direct := fleet{bench: b, config: anonymously(b.server.ConfigFor("nobody")), tokens: tokens, gpus: make([]atomic.Int64, b.clusters)}
	through := direct
	through.config = anonymously(b.hub.AdminConfig())
	var all []figures
	for _, way := range []struct {
		name     string
		fleet    fleet
		duration time.Duration
	}{
		{"binnacle direct", direct, b.fleetDuration},
		{"binnacle", through, min(b.fleetDuration, 2*time.Minute)},
	} {
		b.say(way.name + ": first reports")
		values := map[string]float64{}
		way.fleet.values = values
		// The first rounds are another matter: every cluster is new, and every right is asked for.
		warming := way.fleet
		warming.patient = true
		if _, err := warming.run(ctx, 2*b.interval); err != nil {
			return nil, err
		}
		b.say(way.name + ": reports")
		stop, err := b.profile(ctx, way.fleet.config, "reports")
		if err != nil {
			return nil, err
		}
		if err := b.during(ctx, way.duration, values, way.fleet.run); err != nil {
			return nil, err
		}
		if err := stop(); err != nil {
			return nil, err
		}
		values["idle etcd writes/s: hub"] = idle["etcd writes/s: hub"]
		resident, err := b.resident(ctx)
		if err != nil {
			return nil, err
		}
		values["resident MiB: binnacle-apiserver"] = resident["binnacle-apiserver"] / (1 << 20)
		all = append(all, figures{way.name, values})
	}
	fresh, err := b.freshness(ctx, direct)
	all[0].Values["fact to watcher on another replica p50 ms"], all[0].Values["fact to watcher on another replica p99 ms"] = fresh[0], fresh[1]
	return all, err
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// during measures what a load costs. The load returns how many heartbeats it was.
func (b *bench) during(ctx context.Context, d time.Duration, values map[string]float64, load func(context.Context, time.Duration) (int, error)) error {
	before, err := b.costs(ctx)
	if err != nil {
		return err
	}
	n, err := load(ctx, d)
	if err != nil {
		return err
	}
	after, err := b.costs(ctx)
	if err != nil {
		return err
	}
	after.since(before, n, values)
	return nil
}

// heartbeatTargets are promised, as ratios to the status patch.
var heartbeatTargets = map[string]map[string]float64{
	"writes per heartbeat":       {"binnacle direct": 1. / 1000, "binnacle": 1. / 1000},
	"bytes per heartbeat":        {"binnacle direct": 1. / 50, "binnacle": 1. / 50},
	"processor ms per heartbeat": {"binnacle direct": 1. / 20, "binnacle": 1. / 8},
}

// printHeartbeats writes a row for each figure. The hub's own etcd counts in the ratios, with what it writes for itself.
func (r report) printHeartbeats(out io.Writer) {
	crd := r.of("crd")
	names := map[string]bool{}
	for _, f := range r.Figures {
		for name := range f.Values {
			names[name] = true
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tCRD patch\treport direct\tpatch/report\twanted\tthrough the hub\tpatch/report\twanted\t")
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(w, "%s\t%s\t", name, number(crd[name]))
		for _, way := range []string{"binnacle direct", "binnacle"} {
			v := r.of(way)[name]
			wanted := ""
			if limit := heartbeatTargets[name][way]; limit != 0 {
				wanted = fmt.Sprintf("%.0f: %s", 1/limit, map[bool]string{true: "yes", false: "NO"}[v <= crd[name]*limit])
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t", number(v), ratio(crd[name], v), wanted)
		}
		fmt.Fprintln(w)
	}
	w.Flush()
}
