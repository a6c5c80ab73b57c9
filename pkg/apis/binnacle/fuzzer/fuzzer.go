// Package fuzzer fills Binnacle's own kinds with random content for tests.
//
// It may import apimachinery and pkg/apis/binnacle only, and nothing but tests may import it.
package fuzzer

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/randfill"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// Funcs returns what the kinds need beyond random values of each Go type.
func Funcs(serializer.CodecFactory) []any {
	return []any{
		func(list *corev1.ResourceList, c randfill.Continue) {
			// As the wire spells it, which is what a round trip gives back: an amount remembers its spelling.
			*list = corev1.ResourceList{}
			for range 1 + c.Intn(3) {
				(*list)[corev1.ResourceName("r"+c.String(8))] = randomAmount(c)
			}
		},
		// A pointer to a time is left nil unless it is filled here: the method of the type that fills it does nothing with a nil.
		func(t **metav1.Time, c randfill.Continue) {
			*t = &metav1.Time{}
			c.Fill(*t)
		},
		func(t **metav1.MicroTime, c randfill.Continue) {
			*t = &metav1.MicroTime{}
			c.Fill(*t)
		},
		func(spec *binnacle.RolloutSpec, c randfill.Continue) {
			c.FillNoCustom(spec)
			// What is left out has another value after a round trip.
			setDefault(&spec.Drift, binnacle.DriftFreeze)
			setDefault(&spec.Disconnected, binnacle.DisconnectedHold)
			setDefault(&spec.Progression, binnacle.ProgressionManual)
			setDefault(&spec.Output.SchedulerName, "binnacle.dev/rollout")
			if spec.FailureBudget == nil {
				spec.FailureBudget = &binnacle.RolloutBudget{Count: ptr.To[int32](0)}
			}
		},
	}
}

func setDefault[T comparable](value *T, other T) {
	if *value == *new(T) {
		*value = other
	}
}

func randomAmount(c randfill.Continue) resource.Quantity {
	formats := []resource.Format{resource.DecimalSI, resource.BinarySI, resource.DecimalExponent}
	amount := resource.NewQuantity(c.Int63n(1<<40), formats[c.Intn(len(formats))])
	if c.Bool() {
		amount = resource.NewMilliQuantity(c.Int63n(1<<40), resource.DecimalSI)
	}
	return resource.MustParse(amount.String())
}
