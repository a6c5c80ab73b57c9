package expression

import (
	"fmt"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// Limits, in the library's units of cost: about one for each access to a field, each element of a list that is looked at and each ten
// characters.
const (
	// MaxEstimatedCost is what an expression may cost for one cluster at the most, as estimated from its text and the sizes below.
	MaxEstimatedCost = 1_000_000
	// MaxClusterCost is what it may cost for one cluster. One that costs more is not taken, and is reported.
	MaxClusterCost = 100_000
	// MaxFleetCost is what it may cost for all clusters of a selection together, some seconds of one processor: at 10,000 clusters, 1,000
	// for each, which is enough to look at 150 properties.
	MaxFleetCost = celconfig.RuntimeCELCostBudget
)

// Sizes that costs are estimated from where the schema has no limit, or none so small. Nothing depends on that they hold: MaxClusterCost
// stands in any case.
const (
	maxElements = 1000
	maxBytes    = 1024
)

// advice is what to do about an expression that costs too much.
const advice = "select by labels or fewer namespaces first, and do not go through a list within a list"

// sizes estimates how large what an expression looks at can be.
type sizes map[string]variable

// EstimateSize implements checker.CostEstimator.
func (s sizes) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	bound := uint64(maxElements)
	if kind := node.Type().Kind(); kind == types.StringKind || kind == types.BytesKind {
		bound = maxBytes
	}
	if decl := s.at(node.Path()); decl != nil && decl.MaxElements > 0 {
		bound = min(bound, uint64(decl.MaxElements))
	}
	return &checker.SizeEstimate{Max: bound}
}

// EstimateCallCost implements checker.CostEstimator.
func (sizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

// at returns the type that a path leads to, nil where it leads out of what is declared.
func (s sizes) at(path []string) *apiservercel.DeclType {
	if len(path) == 0 {
		return nil
	}
	decl := s[path[0]].decl
	for _, name := range path[1:] {
		if decl == nil {
			return nil
		}
		switch name {
		case "@items", "@values":
			decl = decl.ElemType
		case "@keys":
			decl = decl.KeyType
		default:
			field, ok := decl.Fields[name]
			if !ok {
				return nil
			}
			decl = field.Type
		}
	}
	return decl
}

// BudgetError says that an expression costs too much for the clusters that it is asked about. None of them is taken then.
type BudgetError struct {
	// Clusters is how many it was evaluated for.
	Clusters int
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("spec.targets.selector.expression used up the cost limit of %d after %d clusters: %s", MaxFleetCost, e.Clusters, advice)
}
