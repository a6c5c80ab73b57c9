package agent

import (
	"math"
	"strings"
	"unique"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// sums are amounts of resources by name, in the units in which the scheduler counts them: thousandths of a processor, and one of anything
// else. A fraction counts as a whole unit.
type sums map[corev1.ResourceName]int64

func amountOf(name corev1.ResourceName, quantity resource.Quantity) int64 {
	switch {
	case name != corev1.ResourceCPU:
		return quantity.Value()
	case quantity.CmpInt64(math.MaxInt64/1000) >= 0: // of which the thousandths are no number any more
		return math.MaxInt64
	}
	return quantity.MilliValue()
}

func quantityOf(name corev1.ResourceName, amount int64) resource.Quantity {
	switch {
	case name == corev1.ResourceCPU:
		return *resource.NewMilliQuantity(amount, resource.DecimalSI)
	case name == corev1.ResourceMemory, name == corev1.ResourceEphemeralStorage, strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
		return *resource.NewQuantity(amount, resource.BinarySI)
	}
	return *resource.NewQuantity(amount, resource.DecimalSI)
}

func (s sums) add(list corev1.ResourceList) {
	for name, quantity := range list {
		s[name] = plus(s[name], amountOf(name, quantity))
	}
}

// raise makes each amount at least that of another.
func (s sums) raise(other sums) {
	for name, amount := range other {
		if has, ok := s[name]; !ok || amount > has {
			s[name] = amount
		}
	}
}

func (s sums) raiseTo(list corev1.ResourceList) {
	for name, quantity := range list {
		amount := amountOf(name, quantity)
		if has, ok := s[name]; !ok || amount > has {
			s[name] = amount
		}
	}
}

// plus adds without turning round at the end of the numbers.
func plus(a, b int64) int64 {
	switch sum := a + b; {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	default:
		return sum
	}
}

// amount is how much there is of one resource. Names are the same few in thousands of objects, and each is kept once.
type amount struct {
	name  unique.Handle[corev1.ResourceName]
	value int64
}

// amounts are what is kept of the resources of a node or a pod: a fifth of what a ResourceList takes.
type amounts []amount

func (s sums) kept() amounts {
	if len(s) == 0 {
		return nil
	}
	kept := make(amounts, 0, len(s))
	for name, value := range s {
		kept = append(kept, amount{unique.Make(name), value})
	}
	return kept
}

func amountsOf(list corev1.ResourceList) amounts {
	s := make(sums, len(list))
	s.add(list)
	return s.kept()
}
