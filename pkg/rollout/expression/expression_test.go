package expression_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/rollout/expression"
)

// TestTakes evaluates expressions for one cluster. failure is what is said of those that fail for it.
func TestTakes(t *testing.T) {
	for _, c := range []struct {
		expression string
		want       bool
		failure    string
	}{
		{`true`, true, ""},
		{`false`, false, ""},
		{`quantity(status.status.resources.available["nvidia.com/gpu"]).isGreaterThan(quantity("7"))`, true, ""},
		{`quantity(status.status.resources.available["nvidia.com/gpu"]).isGreaterThan(quantity("8"))`, false, ""},
		{`quantity(status.status.resources.available.memory).compareTo(quantity("10240Mi")) == 0`, true, ""},
		{`profile.metadata.labels["env"] == "prod" && profile.metadata.labels["example.com/tier"] in ["0", "1"]`, true, ""},
		{`profile.metadata.namespace == "fleet" && profile.metadata.name.startsWith("gpu-")`, true, ""},
		{`profile.kind == "ClusterProfile" && profile.apiVersion == "multicluster.x-k8s.io/v1alpha1"`, true, ""},
		{`status.kind == "ClusterStatus" && status.apiVersion == "binnacle.dev/v1alpha1"`, true, ""},
		{`profile.spec.clusterManager.name == "m" && profile.spec.displayName == "The gpu-1"`, true, ""},
		{`semver(status.status.kubernetesVersion, true).isGreaterThan(semver("1.37.0"))`, true, ""},
		{`semver(profile.status.version.kubernetes, true).isLessThan(semver("1.36.0"))`, false, ""},
		{`status.status.phase == "Ready" && status.status.nodes.ready * 3 >= status.status.nodes.total * 2`, true, ""},
		{`status.status.properties.exists(p, p.name == "region" && p.value.startsWith("eu-") && p.source == "ClusterProfile")`, true, ""},
		{`profile.status.conditions.exists(c, c.type == "Joined" && c.status == "True")`, true, ""},
		{`profile.metadata.creationTimestamp < timestamp("2026-04-01T00:00:00Z")`, true, ""},
		{`status.status.lastReportTime - profile.metadata.creationTimestamp == duration("1h")`, true, ""},
		{`timestamp(profile.status.properties[0].lastObservedTime).getFullYear() == 2026`, true, ""},
		{`status.status.placements.count == 1 && "fleet/gpu" in status.status.placements.keys`, true, ""},
		// What is not set can be asked for.
		{`"gpu" in profile.metadata.labels`, false, ""},
		{`has(status.status.clockSkewSeconds)`, false, ""},
		{`quantity(status.status.resources.capacity[?"amd.com/gpu"].orValue("0")).isGreaterThan(quantity("0"))`, false, "no such key: capacity"},
		{`quantity(status.status.resources.?capacity[?"amd.com/gpu"].orValue("0")).isGreaterThan(quantity("0"))`, false, ""},
		{`profile.metadata.?labels["env"].orValue("") == "prod"`, true, ""},
		// Otherwise it is an error of this cluster, as what the values make of it is.
		{`profile.metadata.labels["gpu"] == "yes"`, false, "no such key: gpu"},
		{`quantity(status.status.resources.available["nvidia.com/gpus"]).isGreaterThan(quantity("7"))`, false, "no such key: nvidia.com/gpus"},
		{`semver(profile.metadata.name).isLessThan(semver("1.0.0"))`, false, "No Major.Minor.Patch elements found"},
		{`1 / (status.status.nodes.total - 3) == 1`, false, "division by zero"},
		{`profile.metadata.labels["gpu"] == "yes" || true`, true, ""},
	} {
		gpu := newCluster("gpu-1", 8)
		before, _ := json.Marshal([]any{gpu.profile, gpu.status})
		fleet := compile(t, c.expression).Fleet()
		got, err := fleet.Takes(t.Context(), gpu.profile, gpu.status)
		if err != nil || got != c.want {
			t.Errorf("%s: %v, %v", c.expression, got, err)
		}
		failed, message := fleet.Failures()
		if (failed != 0) != (c.failure != "") || !strings.Contains(message, c.failure) || failed > 0 && !strings.Contains(message, "fleet/gpu-1 (") {
			t.Errorf("%s: %d failures: %q, want %q", c.expression, failed, message, c.failure)
		}
		if after, _ := json.Marshal([]any{gpu.profile, gpu.status}); string(after) != string(before) {
			t.Errorf("%s changed the cluster", c.expression)
		}
	}
}

// TestNothingIsKnown has a cluster of which nothing is known: only asking helps.
func TestNothingIsKnown(t *testing.T) {
	unknown := newCluster("a", 8)
	for text, fails := range map[string]bool{`status.status.phase == "Ready"`: true, `!has(status.status.phase)`: false, `profile.metadata.name == "a"`: false} {
		for _, status := range []*binnacle.ClusterStatus{nil, {}} {
			fleet := compile(t, text).Fleet()
			taken, err := fleet.Takes(t.Context(), unknown.profile, status)
			if failed, _ := fleet.Failures(); err != nil || taken == fails || (failed == 1) != fails {
				t.Errorf("%s: %v, %v, %d failures", text, taken, err, failed)
			}
		}
	}
}

// TestCheck refuses expressions when they are written, with the place of the mistake.
func TestCheck(t *testing.T) {
	compiler, at := newCompiler(t), field.NewPath("spec", "targets", "selector", "expression")
	for _, c := range []struct{ expression, want string }{
		{`status.status.propertees.size() == 0`, "line 1, column 14: undefined field 'propertees'"},
		{"true &&\n  profile.spec.name == 'a'", "line 2, column 15: undefined field 'name'"},
		{`status.status.nodes.total == "3"`, "line 1, column 27: found no matching overload for '_==_' applied to '(int, string)'"},
		{`quantity(status.status.nodes.total).isGreaterThan(quantity("3"))`, "found no matching overload for 'quantity'"},
		{`object.metadata.name == "a"`, "line 1, column 1: undeclared reference to 'object'"},
		{`status.status.phase ==`, "line 1, column 23: Syntax error"},
		{`a + b + c + d + e`, "; and 2 more"},
		{`status.status.phase`, "must be a bool, and is string"},
		{`dyn(true)`, "must be a bool, and is dyn"},
		{`profile.metadata.labels`, "must be a bool, and is map(string, string)"},
		{`profile.metadata.name.matches("(")`, "invalid matches argument"},
		// What the view does not keep.
		{`profile.metadata.annotations["secret"] == "s"`, "undefined field 'annotations'"},
		{`profile.status.accessProviders.size() > 0`, "undefined field 'accessProviders'"},
		{`profile.status.credentialProviders.size() > 0`, "undefined field 'credentialProviders'"},
		{`profile.metadata.managedFields.size() > 0`, "undefined field 'managedFields'"},
		{`status.status.properties.all(a, status.status.properties.all(b, profile.status.properties.exists(c, c.name == a.name && c.name == b.name)))`,
			"times what is allowed for one cluster: select by labels"},
	} {
		errs := compiler.Check(at, c.expression)
		if len(errs) != 1 || errs[0].Type != field.ErrorTypeInvalid || errs[0].Field != "spec.targets.selector.expression" || !strings.Contains(errs[0].Detail, c.want) {
			t.Errorf("%s: %v, want %s", c.expression, errs, c.want)
		}
		if _, err := compiler.Compile(c.expression); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "spec.targets.selector.expression: ") {
			t.Errorf("%s: compiled with %v", c.expression, err)
		}
	}
	if errs := compiler.Check(at, `status.status.properties.exists(p, p.name == "region" && p.value.matches("^eu-[0-9]+$"))`); len(errs) != 0 {
		t.Error(errs)
	}
}

// TestCompileRemembers wants one program for one text, of the last few texts.
func TestCompileRemembers(t *testing.T) {
	compiler, err := expression.NewCompiler(2)
	if err != nil {
		t.Fatal(err)
	}
	get := func(text string) *expression.Program {
		program, err := compiler.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		return program
	}
	first := get("true")
	if get("false"); get("true") != first {
		t.Error("a program that is known was compiled again")
	}
	if get("true && true"); get("false") == nil || get("true") == first {
		t.Error("more programs are kept than asked for")
	}
}

// TestManyAtOnce has many ask one compiler, one program and one fleet.
func TestManyAtOnce(t *testing.T) {
	compiler := newCompiler(t)
	texts := []string{`status.status.properties.exists(p, p.name == "kernel")`, `profile.metadata.labels["env"] == "prod"`, `profile.metadata.labels["no"] == "prod"`}
	shared := newCluster("a", 8)
	fleets := make([]*expression.Fleet, len(texts))
	for i, text := range texts {
		fleets[i] = compile(t, text).Fleet()
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i, text := range texts {
				program, err := compiler.Compile(text)
				if err != nil {
					t.Error(err)
					return
				}
				for _, fleet := range []*expression.Fleet{program.Fleet(), fleets[i]} {
					if taken, err := fleet.Takes(t.Context(), shared.profile, shared.status); err != nil || taken != (i < 2) {
						t.Errorf("%s: %v, %v", text, taken, err)
					}
				}
			}
		})
	}
	group.Wait()
	if failed, message := fleets[2].Failures(); failed != 8 || !strings.HasSuffix(message, " and 3 more") {
		t.Errorf("%d failures: %s", failed, message)
	}
}
