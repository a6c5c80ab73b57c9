package rollout

import (
	"encoding/binary"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// MaxClusterBytes is how much room the clusters of a status take at most, as it is stored. etcd takes 1.5 MiB at once by default; the rest is
// for metadata, spec and what else the status has. It is enough for 10,000 clusters whose names have 49 characters, or 47 together with their
// namespaces where these are others than the Rollout's.
const MaxClusterBytes = 900 * 1000

const (
	// frameBytes is what protobuf needs for an entry around its fields, and shortBytes for a small number or a short text around it.
	frameBytes, shortBytes = 3, 2
	// stateBytes is room for every state with every reason that the server gives itself.
	stateBytes = shortBytes + len(binnacle.ClusterSucceeded) + shortBytes + len(binnacle.ReasonDisconnected)
	// sliceBytes is room for the index of a slice, and historyBytes for the two moves that are needed when every revision is forgotten.
	sliceBytes, historyBytes = 3, 2 * 4
)

// roomOf is how many bytes a cluster may take while the run goes on, without the reason why it failed.
func roomOf(namespace, name string, history []int64) int {
	n := frameBytes + textBytes(name) + textBytes(namespace) + stateBytes + sliceBytes
	moves := 0
	for _, revision := range history {
		moves += 1 + len(binary.AppendUvarint(nil, uint64(revision)))
	}
	return n + max(historyBytes, moves)
}

func textBytes(text string) int {
	switch {
	case text == "":
		return 0
	case len(text) > 127:
		return shortBytes + 1 + len(text)
	}
	return shortBytes + len(text)
}

// room is how many bytes all clusters may take.
func (r *run) room() int {
	n := 0
	for i := range r.status.Clusters {
		c := &r.status.Clusters[i]
		n += roomOf(c.Namespace, c.Name, c.History)
	}
	return n
}

// hasRoomFor says whether clusters that joined may be targets too.
func (r *run) hasRoomFor(joined []place) bool {
	if len(r.status.Clusters)+len(joined) > MaxTargets {
		return false
	}
	n := r.room()
	for _, p := range joined {
		ref := r.ref(p.ref.Namespace, p.ref.Name)
		n += roomOf(ref.Namespace, ref.Name, nil)
	}
	return n <= MaxClusterBytes
}

// dropReasons forgets why clusters failed where there is no room for it, so that no outcome is refused for want of room: those that come first
// in the order keep theirs.
func (r *run) dropReasons() {
	left := MaxClusterBytes - r.room()
	for i := range r.status.Clusters {
		c := &r.status.Clusters[i]
		if c.State != binnacle.ClusterFailed {
			continue
		}
		more := max(0, shortBytes+len(c.State)+textBytes(c.Reason)-stateBytes)
		if more > left {
			c.Reason = ""
			continue
		}
		left -= more
	}
}
