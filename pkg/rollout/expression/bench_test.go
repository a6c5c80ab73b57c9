package expression_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// examples are expressions as the documentation shows them.
var examples = []string{
	`quantity(status.status.resources.available["nvidia.com/gpu"]).isGreaterThan(quantity("7"))`,
	`profile.metadata.labels["env"] == "prod" && profile.metadata.labels["example.com/tier"] in ["0", "1"]`,
	`semver(status.status.kubernetesVersion, true).isGreaterThan(semver("1.37.0"))`,
	`status.status.properties.exists(p, p.name == "kernel" && p.value.startsWith("6."))`,
}

// BenchmarkFleet selects among 10,000 clusters of 30 properties.
func BenchmarkFleet(b *testing.B) {
	clusters := make([]cluster, 10_000)
	for i := range clusters {
		clusters[i] = withProperties(fmt.Sprintf("c-%d", i), 30)
		clusters[i].status.Status.Resources.Available = newCluster("a", int64(i%16)).status.Status.Resources.Available
	}
	for i, text := range examples {
		b.Run(fmt.Sprint(i), func(b *testing.B) {
			program := compile(b, text)
			b.ReportAllocs()
			for b.Loop() {
				fleet := program.Fleet()
				for _, c := range clusters {
					if _, err := fleet.Takes(b.Context(), c.profile, c.status); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkCheck compiles anew each time.
func BenchmarkCheck(b *testing.B) {
	compiler := newCompiler(b)
	for b.Loop() {
		if errs := compiler.Check(field.NewPath("e"), examples[0]); len(errs) != 0 {
			b.Fatal(errs)
		}
	}
}

// FuzzExpression wants an answer to any text, and the same one twice.
func FuzzExpression(f *testing.F) {
	for _, text := range append(examples, everyPair, `status.status.`, `profile.metadata.labels["no"] == "a"`, `[1, 2].map(x, x * 2).sum() > 3`,
		`status.status.properties.map(p, p.value).join(",").size() > 10`, `dyn(profile) == dyn(status)`, `type(profile) == type(status)`,
		`profile.status.conditions == status.status.conditions`, `cel.bind(x, status.status, x.phase == "Ready")`, `"%s".format([profile]) == ""`) {
		f.Add(text)
	}
	compiler, c := newCompiler(f), withProperties("a", 3)
	f.Fuzz(func(t *testing.T, text string) {
		errs := compiler.Check(field.NewPath("e"), text)
		program, err := compiler.Compile(text)
		if len(errs) == 0 && err != nil {
			t.Fatalf("it may be written and not be run: %v", err)
		}
		if err != nil {
			return
		}
		one, another := program.Fleet(), program.Fleet()
		first, err := one.Takes(t.Context(), c.profile, c.status)
		second, again := another.Takes(t.Context(), c.profile, c.status)
		failed, _ := one.Failures()
		failedAgain, _ := another.Failures()
		if err != nil || again != nil || first != second || failed != failedAgain {
			t.Fatalf("%v, %v, %d failures; then %v, %v, %d", first, err, failed, second, again, failedAgain)
		}
	})
}
