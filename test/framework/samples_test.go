// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"slices"
	"strings"
	"testing"
)

func TestSplitManifests(t *testing.T) {
	for _, test := range []struct {
		name, manifest string
		want           []string
		wantErr        string
	}{
		{name: "several, with comments and empty documents",
			manifest: "# a fleet\n---\nkind: A\nmetadata: {name: a}\n---\n# nothing\n---\nkind: B\nmetadata: {name: b}\n",
			want:     []string{"A/a", "B/b"}},
		{name: "nothing but a comment", manifest: "# nothing\n"},
		{name: "not YAML", manifest: "kind: [", wantErr: "yaml"},
	} {
		t.Run(test.name, func(t *testing.T) {
			objects, err := SplitManifests([]byte(test.manifest))
			if (err != nil) != (test.wantErr != "") || err != nil && !strings.Contains(err.Error(), test.wantErr) {
				t.Fatalf("got error %v, want %q", err, test.wantErr)
			}
			var got []string
			for _, o := range objects {
				got = append(got, o.GetKind()+"/"+o.GetName())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
