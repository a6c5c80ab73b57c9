package rollout

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/binnacle-dev/binnacle/pkg/clusterstatus"
)

// expressions evaluates spec.targets.selector.expression. None is evaluated yet: a Rollout with one is refused.
type expressions struct{}

// check says what is wrong with an expression.
func (expressions) check(fldPath *field.Path, _ string) field.ErrorList {
	return field.ErrorList{field.Forbidden(fldPath, "not supported yet")}
}

// program returns whether a cluster is taken.
func (expressions) program(expression string) (func(clusterstatus.Cluster) bool, error) {
	if expression != "" {
		return nil, errors.New("expressions are not supported yet")
	}
	return func(clusterstatus.Cluster) bool { return true }, nil
}
