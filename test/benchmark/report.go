package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// target is a ratio that is promised: Binnacle's figure divided by that of the custom resource.
type target struct {
	figure string
	// of is the figure of the custom resource, where it has another name.
	of string
	// atMost or atLeast, whichever is not 0.
	atMost, atLeast float64
}

// targets are promised for the way through the hub.
var targets = []target{
	{figure: "bytes in etcd per object", atMost: 0.7},
	{figure: "list dynamic ms", atMost: 1.0},
	{figure: "list typed ms", of: "list dynamic ms", atMost: 0.4},
	{figure: "create/s", atLeast: 1.5},
	{figure: "status patch/s", atLeast: 1.5},
	{figure: "resident growth MiB", atMost: 0.7},
}

type report struct {
	Time    time.Time      `json:"time"`
	Go      string         `json:"go"`
	Cores   int            `json:"cores"`
	Options map[string]any `json:"options"`
	Figures []figures      `json:"figures"`
}

func newReport(o options, all []figures) report {
	return report{time.Now().UTC().Truncate(time.Second), runtime.Version(), runtime.NumCPU(), map[string]any{
		"objects": o.objects, "connections": o.connections, "watchers": o.watchers, "duration": o.duration.String(), "rounds": o.rounds,
	}, all}
}

func (r report) of(way string) map[string]float64 {
	for _, f := range r.Figures {
		if f.Way == way {
			return f.Values
		}
	}
	return nil
}

// print writes a row for each figure: the custom resource, Binnacle through the hub and directly, and both as ratios.
func (r report) print(out io.Writer) {
	crd, hub, direct := r.of("crd"), r.of("binnacle"), r.of("binnacle direct")
	names := slices.Sorted(maps.Keys(hub))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tCRD\tBinnacle\tdirect\tratio\tdirect\twanted\t")
	for _, name := range names {
		if strings.Contains(name, ": ") {
			continue // each process by itself is in the JSON
		}
		base, wanted := crd[name], ""
		for _, t := range targets {
			if t.figure == name {
				if t.of != "" {
					base = crd[t.of]
				}
				wanted = t.verdict(hub[name] / base)
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", name, number(base), number(hub[name]), number(direct[name]), ratio(hub[name], base), ratio(direct[name], base), wanted)
	}
	w.Flush()
}

func (t target) verdict(ratio float64) string {
	word, bound, met := "at most", t.atMost, ratio <= t.atMost
	if t.atLeast != 0 {
		word, bound, met = "at least", t.atLeast, ratio >= t.atLeast
	}
	if met {
		return fmt.Sprintf("%s %.1f: yes", word, bound)
	}
	return fmt.Sprintf("%s %.1f: NO", word, bound)
}

func number(v float64) string {
	if v == 0 {
		return "–"
	}
	return fmt.Sprintf("%.4g", v)
}

func ratio(v, base float64) string {
	if v == 0 || base == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", v/base)
}

func (r report) write(path string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}
