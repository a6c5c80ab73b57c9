// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestSummarize(t *testing.T) {
	for name, tc := range map[string]struct {
		in      []string
		results string // what is appended, a line each
		out     string // a part of what is printed
		fails   bool
	}{
		"passed, with a subtest": {
			in: []string{
				`{"Action":"run","Package":"p","Test":"T"}`, `{"Action":"run","Package":"p","Test":"T/a b"}`,
				`{"Action":"output","Package":"p","Test":"T","Output":"noise\n"}`,
				`{"Action":"pass","Package":"p","Test":"T/a b"}`, `{"Action":"pass","Package":"p","Test":"T"}`, `{"Action":"pass","Package":"p","Elapsed":1.5}`,
			},
			results: "pass p T/a b\npass p T\n", out: "ok    p",
		},
		"failed": {
			in: []string{
				`{"Action":"run","Package":"p","Test":"T"}`, `{"Action":"output","Package":"p","Test":"T","Output":"got 1, want 2\n"}`,
				`{"Action":"fail","Package":"p","Test":"T"}`, `{"Action":"fail","Package":"p"}`,
			},
			results: "fail p T\n", out: "got 1, want 2\nFAIL  p", fails: true,
		},
		"skipped": {
			in:      []string{`{"Action":"skip","Package":"p","Test":"T"}`, `{"Action":"pass","Package":"p"}`},
			results: "skip p T\n", out: "1 skipped",
		},
		"ended in the middle": {
			in: []string{
				`{"Action":"run","Package":"p","Test":"A"}`, `{"Action":"pass","Package":"p","Test":"A"}`, `{"Action":"run","Package":"p","Test":"B"}`,
				`{"Action":"output","Package":"p","Test":"B","Output":"panic: test timed out\n"}`, `{"Action":"fail","Package":"p"}`,
			},
			results: "pass p A\nfail p B\n", out: "panic: test timed out", fails: true,
		},
		"does not build": {
			in: []string{
				`{"ImportPath":"p [p.test]","Action":"build-output","Output":"undefined: x\n"}`, `{"ImportPath":"p [p.test]","Action":"build-fail"}`,
				`{"Action":"start","Package":"p"}`, `{"Action":"output","Package":"p","Output":"FAIL p [build failed]\n"}`, `{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}`,
			},
			results: "fail p \n", out: "undefined: x\nFAIL p [build failed]", fails: true,
		},
		"failed outside of a test": {
			in: []string{
				`{"Action":"pass","Package":"p","Test":"A"}`, `{"Action":"output","Package":"p","Output":"cannot set the hub up\n"}`, `{"Action":"fail","Package":"p"}`,
			},
			results: "pass p A\nfail p \n", out: "cannot set the hub up", fails: true,
		},
		"one package of two": {
			in:      []string{`{"Action":"pass","Package":"p","Test":"A"}`, `{"Action":"pass","Package":"p"}`, `{"Action":"fail","Package":"q","Test":"B"}`, `{"Action":"fail","Package":"q"}`},
			results: "pass p A\nfail q B\n", fails: true,
		},
		"without a test":     {in: []string{`{"Action":"skip","Package":"p"}`}},
		"not from go test":   {in: []string{"go: updates to go.mod needed"}, results: "fail (no package)\n", out: "go: updates to go.mod needed", fails: true},
		"nothing was tested": {results: "fail (no package)\n", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			var out, results bytes.Buffer
			err := summarize(strings.NewReader(strings.Join(tc.in, "\n")), &out, &results)
			if (err != nil) != tc.fails {
				t.Errorf("error %v, want one: %v", err, tc.fails)
			}
			if results.String() != tc.results {
				t.Errorf("results %q, want %q", &results, tc.results)
			}
			if !strings.Contains(out.String(), tc.out) {
				t.Errorf("printed %q, want %q in it", &out, tc.out)
			}
		})
	}
}
