package kubectl

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// screen shows a rollout as it changes: a terminal is drawn anew, elsewhere each change is a line.
type screen struct {
	out      io.Writer
	width    int
	terminal bool

	shown  string
	header bool
}

// show shows the rollout where something about it changed.
func (s *screen) show(rollout *v1alpha1.Rollout, now time.Time) {
	if s.terminal {
		s.draw(describe(rollout, now, s.width))
		return
	}
	s.line(rollout, now)
}

// draw puts a block over the one before.
func (s *screen) draw(block string) {
	if block == s.shown {
		return
	}
	if s.shown != "" {
		fmt.Fprintf(s.out, "\x1b[%dA\x1b[J", strings.Count(s.shown, "\n")+1)
	}
	fmt.Fprintln(s.out, block)
	s.shown = block
}

// above leaves a line of another stream that the next block does not overwrite.
func (s *screen) above(to io.Writer, text string) {
	fmt.Fprintln(to, text)
	s.shown = ""
}

// line prints what changed, in columns of fixed widths, since the rows that follow are not known.
func (s *screen) line(rollout *v1alpha1.Rollout, now time.Time) {
	width := 0
	for _, name := range stepNames(rollout) {
		width = max(width, min(16, utf8.RuneCountInString(name)))
	}
	width += len(" (10/50)")
	row := func(time, clusters, step, phase, revision, waits string) string {
		return strings.TrimRight(fmt.Sprintf("%-9s  %-11s  %-*s  %-11s  %-3s  %s", time, clusters, width, step, phase, revision, waits), " ")
	}
	state := row("", fmt.Sprintf("%d/%d", rollout.Status.Counts.In, rollout.Status.Counts.Targets), shortStep(rollout), string(phaseOf(rollout)),
		fmt.Sprint(rollout.Status.Revision), shortWait(rollout, now))
	if state == s.shown {
		return
	}
	s.shown = state
	if !s.header {
		s.header = true
		fmt.Fprintln(s.out, row("TIME", "CLUSTERS", "STEP", "PHASE", "REV", "WAITS-FOR"))
	}
	fmt.Fprintln(s.out, now.UTC().Format("15:04:05Z")+state[len("15:04:05Z"):])
}

func shortStep(rollout *v1alpha1.Rollout) string {
	name := stepName(rollout)
	if name == "" {
		return "-"
	}
	return fmt.Sprintf("%s (%d/%d)", shorten(name, 16), stepNumber(rollout), len(rollout.Spec.Steps))
}

// shortWait is what a rollout waits for in a few words, and what is wrong.
func shortWait(rollout *v1alpha1.Rollout, now time.Time) string {
	status := &rollout.Status
	wait := waitingFor(rollout, now)
	parts := []string{string(wait)}
	if wait == v1alpha1.WaitSoak && status.Step != nil && status.Step.Soak != nil && status.Step.Soak.EndTime != nil {
		parts[0] += " until " + status.Step.Soak.EndTime.UTC().Format("15:04:05Z")
	}
	if status.Counts.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", status.Counts.Failed))
	}
	if status.Counts.Held > 0 {
		parts = append(parts, fmt.Sprintf("%d held", status.Counts.Held))
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ", ")
}
