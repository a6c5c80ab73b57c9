package viewlog

import (
	"math"
	"testing"
)

func TestRV(t *testing.T) {
	for name, tc := range map[string]struct {
		revision int64
		ordinal  int
		want     uint64
		refused  bool
	}{
		"first of the first revision":   {revision: 1, ordinal: 1, want: 1<<20 + 1},
		"last that fits":                {revision: 7, ordinal: MaxOrdinal, want: 8<<20 - 2},
		"the marker's place":            {revision: 7, ordinal: MaxOrdinal + 1, refused: true},
		"one that would be the next's":  {revision: 7, ordinal: MaxOrdinal + 2, refused: true},
		"none":                          {revision: 7, ordinal: 0, refused: true},
		"last revision":                 {revision: MaxRevision, ordinal: MaxOrdinal, want: math.MaxInt64 - 1},
		"revision beyond a token's int": {revision: MaxRevision + 1, ordinal: 1, refused: true},
		"revision below zero":           {revision: -1, ordinal: 1, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := RV(tc.revision, tc.ordinal)
			if (err != nil) != tc.refused || got != tc.want {
				t.Fatalf("RV(%d, %d) = %d, %v", tc.revision, tc.ordinal, got, err)
			}
			if err == nil && (Revision(got) != tc.revision || got >= Marker(tc.revision) || got <= Marker(tc.revision-1)) {
				t.Errorf("%d is of revision %d; its marker is %d and that before %d", got, Revision(got), Marker(tc.revision), Marker(tc.revision-1))
			}
		})
	}
}

func TestMarkerStaysInRange(t *testing.T) {
	for revision, want := range map[int64]uint64{0: 1<<20 - 1, 3: 4<<20 - 1, -5: 1<<20 - 1, MaxRevision: math.MaxInt64, math.MaxInt64: math.MaxInt64} {
		if got := Marker(revision); got != want {
			t.Errorf("Marker(%d) = %d, want %d", revision, got, want)
		}
	}
}
