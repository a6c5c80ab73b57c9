package validation_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/validation"
)

func goodCondition() metav1.Condition {
	return metav1.Condition{
		Type: "ControlPlaneHealthy", Status: metav1.ConditionTrue, ObservedGeneration: 1, Reason: "AllChecksPassed",
		LastTransitionTime: metav1.Date(2026, 11, 2, 6, 30, 0, 0, time.UTC),
	}
}

// TestValidateConditions walks the limits of the schema that controller-gen writes for metav1.Condition.
func TestValidateConditions(t *testing.T) {
	repeat := strings.Repeat
	tests := []struct {
		name   string
		change func(*metav1.Condition)
		want   []string
	}{
		{name: "good", change: func(*metav1.Condition) {}},
		{name: "status False", change: func(c *metav1.Condition) { c.Status = metav1.ConditionFalse }},
		{name: "status Unknown", change: func(c *metav1.Condition) { c.Status = metav1.ConditionUnknown }},
		{name: "status empty", change: func(c *metav1.Condition) { c.Status = "" }, want: []string{"FieldValueNotSupported field[0].status"}},
		{name: "status lower case", change: func(c *metav1.Condition) { c.Status = "true" }, want: []string{"FieldValueNotSupported field[0].status"}},
		{name: "type empty", change: func(c *metav1.Condition) { c.Type = "" }, want: []string{"FieldValueInvalid field[0].type"}},
		{name: "type qualified", change: func(c *metav1.Condition) { c.Type = "example.com/Ready_now-1.x" }},
		{name: "type of one letter", change: func(c *metav1.Condition) { c.Type = "a" }},
		{name: "type ends in a dash", change: func(c *metav1.Condition) { c.Type = "Ready-" }, want: []string{"FieldValueInvalid field[0].type"}},
		{name: "type with a space", change: func(c *metav1.Condition) { c.Type = "Control Plane" }, want: []string{"FieldValueInvalid field[0].type"}},
		{name: "type with prefix in capitals", change: func(c *metav1.Condition) { c.Type = "Example.com/Ready" }, want: []string{"FieldValueInvalid field[0].type"}},
		{name: "type on two lines", change: func(c *metav1.Condition) { c.Type = "Ready\nSet" }, want: []string{"FieldValueInvalid field[0].type"}},
		{name: "type of 316", change: func(c *metav1.Condition) { c.Type = repeat("a", 316) }},
		{name: "type of 317", change: func(c *metav1.Condition) { c.Type = repeat("a", 317) }, want: []string{"FieldValueTooLong field[0].type"}},
		{name: "generation 0", change: func(c *metav1.Condition) { c.ObservedGeneration = 0 }},
		{name: "generation below 0", change: func(c *metav1.Condition) { c.ObservedGeneration = -1 }, want: []string{"FieldValueInvalid field[0].observedGeneration"}},
		{name: "no time", change: func(c *metav1.Condition) { c.LastTransitionTime = metav1.Time{} }, want: []string{"FieldValueRequired field[0].lastTransitionTime"}},
		{name: "reason empty", change: func(c *metav1.Condition) { c.Reason = "" }, want: []string{"FieldValueInvalid field[0].reason"}},
		{name: "reason of one letter", change: func(c *metav1.Condition) { c.Reason = "A" }},
		{name: "reason with colon and comma", change: func(c *metav1.Condition) { c.Reason = "Ready:a,b_1" }},
		{name: "reason ends in a colon", change: func(c *metav1.Condition) { c.Reason = "Ready:" }, want: []string{"FieldValueInvalid field[0].reason"}},
		{name: "reason starts with a digit", change: func(c *metav1.Condition) { c.Reason = "1Ready" }, want: []string{"FieldValueInvalid field[0].reason"}},
		{name: "reason of two words", change: func(c *metav1.Condition) { c.Reason = "All good" }, want: []string{"FieldValueInvalid field[0].reason"}},
		{name: "reason of 1024", change: func(c *metav1.Condition) { c.Reason = repeat("a", 1024) }},
		{name: "reason of 1025", change: func(c *metav1.Condition) { c.Reason = repeat("a", 1025) }, want: []string{"FieldValueTooLong field[0].reason"}},
		{name: "message empty", change: func(c *metav1.Condition) { c.Message = "" }},
		{name: "message of 32768 two-byte characters", change: func(c *metav1.Condition) { c.Message = repeat("ü", 32768) }},
		{name: "message of 32769", change: func(c *metav1.Condition) { c.Message = repeat("a", 32769) }, want: []string{"FieldValueTooLong field[0].message"}},
		{name: "everything wrong at once", change: func(c *metav1.Condition) { *c = metav1.Condition{ObservedGeneration: -1} }, want: []string{
			"FieldValueInvalid field[0].type", "FieldValueNotSupported field[0].status", "FieldValueInvalid field[0].observedGeneration",
			"FieldValueRequired field[0].lastTransitionTime", "FieldValueInvalid field[0].reason"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			condition := goodCondition()
			test.change(&condition)
			expect(t, validation.ValidateConditions(root, []metav1.Condition{condition}, nil), test.want...)
		})
	}
}

// TestValidateConditionsLeavesOldOnesAlone changes one condition beside another that is bad already.
func TestValidateConditionsLeavesOldOnesAlone(t *testing.T) {
	good, bad, worse := goodCondition(), goodCondition(), goodCondition()
	bad.Type, bad.Reason = "Joined", ""
	worse.Type, worse.Reason = "Joined", "not a reason"
	list := func(conditions ...metav1.Condition) []metav1.Condition { return conditions }
	tests := []struct {
		name     string
		new, old []metav1.Condition
		want     []string
	}{
		{name: "none", new: nil, old: list(bad)},
		{name: "unchanged", new: list(bad), old: list(bad)},
		{name: "moved", new: list(good, bad), old: list(bad)},
		{name: "bad one added", new: list(good, bad), old: list(good), want: []string{"FieldValueInvalid field[1].reason"}},
		{name: "bad one made worse", new: list(worse, good), old: list(bad, good), want: []string{"FieldValueInvalid field[0].reason"}},
		{name: "bad one in another place too", new: list(bad, worse), old: list(bad), want: []string{"FieldValueInvalid field[1].reason"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			expect(t, validation.ValidateConditions(root, test.new, test.old), test.want...)
		})
	}
	t.Run("same time in another zone is unchanged", func(t *testing.T) {
		moved := bad
		moved.LastTransitionTime = metav1.NewTime(bad.LastTransitionTime.In(time.FixedZone("", 3600)))
		expect(t, validation.ValidateConditions(root, list(moved), list(bad)))
	})
}
