package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"
)

// maxCost is what all evaluations of one question may cost, in CEL's own units: Kubernetes allows
// that for all rules of an object (k8s.io/apiserver/pkg/apis/cel/config.go).
const maxCost = 10_000_000

// variable is what conditions are about.
const variable = "object"

// environment is what conditions may use: CEL itself, its functions for strings, and optional
// values, as in object.?status.?phase.orValue("").
var environment, errEnvironment = cel.NewEnv(cel.Variable(variable, cel.DynType), cel.OptionalTypes(), ext.Strings())

// condition is a compiled CEL expression.
type condition struct {
	program cel.Program
	ast     *cel.Ast
}

// compiled compiles a condition. The error says where in the expression it is wrong.
func compiled(expression string) (*condition, error) {
	if errEnvironment != nil {
		return nil, errEnvironment
	}
	checked, issues := environment.Compile(expression)
	if issues.Err() != nil {
		var texts []string
		for _, one := range issues.Errors() {
			texts = append(texts, fmt.Sprintf("line %d, column %d: %s", one.Location.Line(), one.Location.Column()+1, one.Message))
		}
		return nil, errors.New(oneLine(strings.Join(texts, "; ")))
	}
	if t := checked.OutputType(); t.Kind() != types.BoolKind && t.Kind() != types.DynKind {
		return nil, fmt.Errorf("line 1, column 1: it is of type %s, and must be true or false", t)
	}
	program, err := environment.Program(checked, cel.EvalOptions(cel.OptTrackState), cel.CostLimit(maxCost), cel.InterruptCheckFrequency(100))
	if err != nil {
		return nil, fmt.Errorf("preparing the condition: %w", err)
	}
	return &condition{program: program, ast: checked}, nil
}

// holds reports whether an object meets the condition, the values of fields that it is about, and
// the cost.
func (c *condition) holds(ctx context.Context, object map[string]any) (met bool, values string, cost uint64, err error) {
	result, details, err := c.program.ContextEval(ctx, map[string]any{variable: object})
	if details != nil && details.ActualCost() != nil {
		cost = *details.ActualCost()
	}
	if err != nil {
		return false, "", cost, err //nolint:wrapcheck // it is shown as it is
	}
	met, is := result.Value().(bool)
	if !is {
		return false, "", cost, fmt.Errorf("it is %v, and must be true or false", result.Type())
	}
	return met, c.values(details), cost, nil
}

// maxValues is how many values of fields are shown.
const maxValues = 4

// values returns the values of the fields that the condition read, such as
// "object.spec.replicas is 3".
func (c *condition) values(details *cel.EvalDetails) string {
	var texts []string
	seen := map[string]bool{}
	visit := func(e ast.Expr) {
		path := fieldPath(e)
		value, known := details.State().Value(e.ID())
		if path == "" || !known || seen[path] || len(texts) == maxValues || !isScalar(value) {
			return
		}
		seen[path] = true
		texts = append(texts, fmt.Sprintf("%s is %v", path, value.Value()))
	}
	ast.PreOrderVisit(c.ast.NativeRep().Expr(), ast.NewExprVisitor(visit))
	return strings.Join(texts, ", ")
}

func isScalar(value ref.Val) bool {
	switch value.(type) {
	case types.Bool, types.Int, types.Uint, types.Double, types.String:
		return true
	}
	return false
}

// fieldPath returns the path of a field of the object; empty: e is none.
func fieldPath(e ast.Expr) string {
	switch {
	case e.Kind() == ast.IdentKind && e.AsIdent() == variable:
		return variable
	case e.Kind() == ast.SelectKind && !e.AsSelect().IsTestOnly():
		if from := fieldPath(e.AsSelect().Operand()); from != "" {
			return from + "." + e.AsSelect().FieldName()
		}
	}
	return ""
}
