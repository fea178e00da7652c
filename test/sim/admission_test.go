package sim

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"cel.dev/cel-go/cel"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/manifests/admission"
)

// turnsPolicy is the admission policy that keeps an UpgradePolicy with open turns of hooks from being deleted: its
// variables and its validations, in their order.
var turnsPolicy = sync.OnceValue(func() (rules [][]rule) {
	environment, err := cel.NewEnv(cel.OptionalTypes(), cel.Variable("oldObject", cel.DynType), cel.Variable("variables", cel.DynType))
	if err != nil {
		panic(err)
	}
	compiled := func(name, expression string) rule {
		checked, issues := environment.Compile(expression)
		if issues.Err() != nil {
			panic(fmt.Sprintf("%s: %v", name, issues.Err()))
		}
		program, err := environment.Program(checked)
		if err != nil {
			panic(err)
		}
		return rule{name, program}
	}
	rules = make([][]rule, 2)
	for _, document := range bytes.Split(admission.UpgradePolicies, []byte("\n---\n")) {
		var policy admissionv1.ValidatingAdmissionPolicy
		if err := yaml.Unmarshal(document, &policy); err != nil {
			panic(err)
		}
		if policy.Kind != "ValidatingAdmissionPolicy" || policy.Name != "kubectl-upgrade-upgradepolicy-turns" {
			continue
		}
		for _, v := range policy.Spec.Variables {
			rules[0] = append(rules[0], compiled(v.Name, v.Expression))
		}
		for _, v := range policy.Spec.Validations {
			rules[1] = append(rules[1], compiled("validation", v.Expression))
		}
	}
	if len(rules[1]) == 0 {
		panic("the admission policy of open turns is not in manifests/admission")
	}
	return rules
})

// rule is a compiled expression of an admission policy.
type rule struct {
	name    string
	program cel.Program
}

// admitDeletion refuses to delete an UpgradePolicy as the API server does by our admission policy. No other
// is modelled.
func admitDeletion(k key, before *stored) error {
	if k.Resource != policyKey.Resource {
		return nil
	}
	variables := map[string]any{}
	given := map[string]any{"oldObject": before.tree, "variables": variables}
	for _, v := range turnsPolicy()[0] {
		value, _, err := v.program.Eval(given)
		if err != nil {
			return apierrors.NewForbidden(groupResource(k.Resource), k.Name, err) // failurePolicy: Fail
		}
		variables[v.name] = value
	}
	for _, v := range turnsPolicy()[1] {
		value, _, err := v.program.Eval(given)
		if err == nil && value.Value() != true {
			err = errors.New("hooks have not ended")
		}
		if err != nil {
			return apierrors.NewForbidden(groupResource(k.Resource), k.Name, err)
		}
	}
	return nil
}
