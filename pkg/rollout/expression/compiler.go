package expression

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/utils/lru"
)

// maxIssues is how many mistakes of an expression an answer names.
const maxIssues = 3

// Compiler checks and compiles expressions. It may be used by many at once.
type Compiler struct {
	variables map[string]variable
	env       *environment.EnvSet
	// programs are the compiled ones, by their text.
	programs *lru.Cache
}

// NewCompiler returns a Compiler that remembers so many programs.
func NewCompiler(remembered int) (*Compiler, error) {
	variables, err := newVariables()
	if err != nil {
		return nil, fmt.Errorf("the types of expressions: %w", err)
	}
	options := environment.VersionedOptions{IntroducedVersion: version.MajorMinor(1, 0)}
	for name, v := range variables {
		options.DeclTypes = append(options.DeclTypes, v.decl)
		options.EnvOptions = append(options.EnvOptions, cel.Variable(name, v.decl.CelType()))
	}
	env, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(options)
	if err != nil {
		return nil, fmt.Errorf("the environment of expressions: %w", err)
	}
	return &Compiler{variables, env, lru.New(remembered)}, nil
}

// Check says what is wrong with an expression that is written. It knows only what the release before this one knows too, so that one can
// go back.
func (c *Compiler) Check(fldPath *field.Path, expression string) field.ErrorList {
	if _, err := c.check(c.env.NewExpressionsEnv(), expression); err != nil {
		return field.ErrorList{field.Invalid(fldPath, expression, err.Error())}
	}
	return nil
}

// Compile returns the program of an expression that is stored.
func (c *Compiler) Compile(expression string) (*Program, error) {
	if known, ok := c.programs.Get(expression); ok {
		return known.(*Program), nil
	}
	env := c.env.StoredExpressionsEnv()
	ast, err := c.check(env, expression)
	if err != nil {
		return nil, fmt.Errorf("spec.targets.selector.expression: %w", err)
	}
	compiled, err := env.Program(ast, cel.CostLimit(MaxClusterCost), cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return nil, fmt.Errorf("spec.targets.selector.expression: %w", err)
	}
	program := &Program{c.variables, compiled}
	c.programs.Add(expression, program)
	return program, nil
}

// check parses an expression, and wants it to be a bool at a bearable cost.
func (c *Compiler) check(env *cel.Env, expression string) (*cel.Ast, error) {
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		return nil, mistakes(issues)
	}
	if !ast.OutputType().IsExactType(cel.BoolType) {
		return nil, fmt.Errorf("must be a bool, and is %s", ast.OutputType())
	}
	cost, err := env.EstimateCost(ast, &library.CostEstimator{SizeEstimator: sizes(c.variables)})
	if err != nil {
		return nil, err
	}
	if cost.Max > MaxEstimatedCost {
		return nil, fmt.Errorf("may cost %.1f times what is allowed for one cluster: %s", float64(cost.Max)/MaxEstimatedCost, advice)
	}
	return ast, nil
}

// mistakes says where an expression is wrong.
func mistakes(issues *cel.Issues) error {
	var found []string
	for _, issue := range issues.Errors() {
		if len(found) == maxIssues {
			found = append(found, fmt.Sprintf("and %d more", len(issues.Errors())-maxIssues))
			break
		}
		found = append(found, fmt.Sprintf("line %d, column %d: %s", issue.Location.Line(), issue.Location.Column()+1, issue.Message))
	}
	return &apiservercel.Error{Type: apiservercel.ErrorTypeInvalid, Detail: strings.Join(found, "; ")}
}
