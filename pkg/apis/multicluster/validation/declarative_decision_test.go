package validation_test

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
)

// TestDeclaredRulesOfPlacementDecision walks every field that has a rule in some version, at the limit and past it.
func TestDeclaredRulesOfPlacementDecision(t *testing.T) {
	const ref = "decisions[1].clusterProfileRef"
	name := func(text *string) func(*multicluster.PlacementDecision) {
		return func(d *multicluster.PlacementDecision) { d.Decisions[1].ClusterProfileRef.Name = text }
	}
	namespace := func(text *string) func(*multicluster.PlacementDecision) {
		return func(d *multicluster.PlacementDecision) { d.Decisions[1].ClusterProfileRef.Namespace = text }
	}
	decisions := func(list multicluster.ClusterDecisions) func(*multicluster.PlacementDecision) {
		return func(d *multicluster.PlacementDecision) { d.Decisions = list }
	}
	// subdomain returns a DNS name of a length, of labels that are short enough each.
	subdomain := func(length int) *string {
		return ptr.To(strings.Repeat(strings.Repeat("a", 62)+".", 5)[:length-1] + "b")
	}
	tests := []struct {
		name   string
		change func(*multicluster.PlacementDecision)
		want   errors
	}{
		{"good", func(*multicluster.PlacementDecision) {}, errors{}},
		{"decisions missing", decisions(nil), both("FieldValueRequired decisions")},
		{"decisions empty", decisions(multicluster.ClusterDecisions{}), errors{}},
		{"one cluster twice", decisions(fullDecision(2).Decisions), errors{}},
		{"100 decisions", decisions(fullDecision(100).Decisions), errors{}},
		{"101 decisions", decisions(fullDecision(101).Decisions), both("FieldValueTooMany decisions")},
		{"scheduler is optional", func(d *multicluster.PlacementDecision) { d.SchedulerName = "" }, errors{}},
		{"scheduler is unbounded", func(d *multicluster.PlacementDecision) { d.SchedulerName = strings.Repeat("ü", 10000) }, errors{}},
		{"reason is optional", func(d *multicluster.PlacementDecision) { d.Decisions[1].Reason = "" }, errors{}},
		{"reason is unbounded", func(d *multicluster.PlacementDecision) { d.Decisions[1].Reason = strings.Repeat("ü", 10000) }, errors{}},

		{"name missing", name(nil), both("FieldValueRequired " + ref + ".name")},
		{"name empty", name(ptr.To("")), strict("FieldValueInvalid " + ref + ".name")},
		{"name in capitals", name(ptr.To("Atlas")), strict("FieldValueInvalid " + ref + ".name")},
		{"name with underscore", name(ptr.To("at_las")), strict("FieldValueInvalid " + ref + ".name")},
		{"name with a dot", name(ptr.To("atlas.eu")), errors{}},
		{"name of 253", name(subdomain(253)), errors{}},
		{"name of 254", name(subdomain(254)), strict("FieldValueTooLong "+ref+".name", "FieldValueInvalid "+ref+".name")},

		{"namespace missing", namespace(nil), errors{}},
		{"namespace empty", namespace(ptr.To("")), strict("FieldValueInvalid " + ref + ".namespace")},
		{"namespace with a dot", namespace(ptr.To("fleet.prod")), strict("FieldValueInvalid " + ref + ".namespace")},
		{"namespace in capitals", namespace(ptr.To("Fleet")), strict("FieldValueInvalid " + ref + ".namespace")},
		{"namespace of 63", namespace(ptr.To(strings.Repeat("a", 63))), errors{}},
		{"namespace of 64", namespace(ptr.To(strings.Repeat("a", 64))), strict("FieldValueTooLong "+ref+".namespace", "FieldValueInvalid "+ref+".namespace")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			decision := fullDecision(3)
			test.change(decision)
			declared(t, decision, nil, "", test.want)
			declared(t, decision, fullDecision(3), "", test.want)
		})
	}
}
