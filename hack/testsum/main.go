// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

// Command testsum reads what go test -json writes. It prints a line for each package and the output of what failed, and appends a line
// for each test and subtest to a file of results: pass, fail or skip, the package, the test.
//
//	go test -json ./... | go run ./hack/testsum results
//
// It fails where a test failed, where a package failed without one, and where there was nothing to read.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go test -json PACKAGES | testsum RESULTS")
		os.Exit(2)
	}
	results, err := os.OpenFile(os.Args[1], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		err = errors.Join(summarize(os.Stdin, os.Stdout, results), results.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		os.Exit(1)
	}
}

// event is one line of go test -json (go doc test2json).
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// outcome is what is known of one package.
type outcome struct {
	counts  map[string]int
	output  map[string]*strings.Builder
	running map[string]bool
}

func summarize(in io.Reader, out, results io.Writer) error {
	packages := map[string]*outcome{}
	failed := 0
	reader := bufio.NewReader(in)
	for {
		line, err := reader.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil {
				fmt.Fprint(out, line) // what the go command itself says
			} else {
				failed += record(packages, e, out, results)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	switch {
	case len(packages) == 0:
		fmt.Fprintln(results, "fail (no package)")
		return errors.New("go test has tested nothing")
	case failed > 0:
		return fmt.Errorf("%d failed", failed)
	}
	return nil
}

// record takes one event in, and returns how many failures it stands for.
func record(packages map[string]*outcome, e event, out, results io.Writer) (failed int) {
	if e.Package == "" {
		fmt.Fprint(out, e.Output) // of the compiler
		return 0
	}
	p := packages[e.Package]
	if p == nil {
		p = &outcome{counts: map[string]int{}, output: map[string]*strings.Builder{}, running: map[string]bool{}}
		packages[e.Package] = p
	}
	done := func(action, test string) {
		p.counts[action]++
		fmt.Fprintln(results, action, e.Package, test)
		if action == "fail" {
			failed++
			fmt.Fprint(out, p.output[test])
		}
		delete(p.output, test)
		delete(p.running, test)
	}
	switch e.Action {
	case "output":
		if p.output[e.Test] == nil {
			p.output[e.Test] = &strings.Builder{}
		}
		p.output[e.Test].WriteString(e.Output)
	case "run":
		p.running[e.Test] = true
	case "pass", "fail", "skip":
		if e.Test != "" {
			done(e.Action, e.Test)
			return failed
		}
		if e.Action == "fail" {
			// A panic or a time limit ends a package in the middle of its tests.
			for _, test := range slices.Sorted(maps.Keys(p.running)) {
				done("fail", test)
			}
			if p.counts["fail"] == 0 {
				done("fail", "")
			}
		}
		if total := p.counts["pass"] + p.counts["fail"] + p.counts["skip"]; total > 0 {
			fmt.Fprintf(out, "%-5s %-75s %6.1fs  %d passed, %d failed, %d skipped\n",
				map[bool]string{true: "FAIL", false: "ok"}[e.Action == "fail"], e.Package, e.Elapsed, p.counts["pass"], p.counts["fail"], p.counts["skip"])
		}
	}
	return failed
}
