package rollout

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strconv"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// place is what the order of a cluster depends on, the most important first.
type place struct {
	canary int
	// rank is 0 for a whole number, 1 for another value and 2 for none.
	rank   int
	number int64
	text   string
	hash   [sha256.Size]byte
	ref    binnacle.ClusterReference
}

// placeOf finds the place of a cluster in the order of the spec. The hash makes others first in each rollout; it depends on nothing
// that changes, so that who joins moves nobody else.
func (r *run) placeOf(ref binnacle.ClusterReference) place {
	whole := r.whole(ref)
	p := place{canary: MaxTargets, rank: 2, ref: whole,
		hash: sha256.Sum256([]byte(r.spec.Output.DecisionKey + "\x00" + whole.Namespace + "/" + whole.Name))}
	order := r.spec.Order
	if order == nil {
		return p
	}
	if i := slices.IndexFunc(order.Canaries, func(c binnacle.ClusterReference) bool { return r.whole(c) == whole }); i >= 0 {
		p.canary = i
	}
	target := r.targets[ref]
	if order.Label == "" || target == nil || !target.Labels.Has(order.Label) {
		return p
	}
	p.text, p.rank = target.Labels.Get(order.Label), 1
	if n, err := strconv.ParseInt(p.text, 10, 64); err == nil {
		p.number, p.text, p.rank = n, "", 0
	}
	return p
}

func comparePlaces(a, b place) int {
	return cmp.Or(cmp.Compare(a.canary, b.canary), cmp.Compare(a.rank, b.rank), cmp.Compare(a.number, b.number), cmp.Compare(a.text, b.text),
		slices.Compare(a.hash[:], b.hash[:]), compareReferences(a.ref, b.ref))
}

func compareReferences(a, b binnacle.ClusterReference) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// ordered sorts clusters as the spec says.
func (r *run) ordered(refs []binnacle.ClusterReference) []place {
	places := make([]place, 0, len(refs))
	for _, ref := range refs {
		places = append(places, r.placeOf(ref))
	}
	slices.SortFunc(places, comparePlaces)
	return places
}
