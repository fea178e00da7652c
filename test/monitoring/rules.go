package monitoring

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// Rules is a file of Prometheus rules.
type Rules struct {
	Groups []Group `json:"groups"`
}

// Group is a group of rules.
type Group struct {
	Name  string `json:"name"`
	Rules []Rule `json:"rules"`
}

// Rule is an alert, or a series that is recorded.
type Rule struct {
	Alert       string            `json:"alert,omitempty"`
	Record      string            `json:"record,omitempty"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ParseRules parses a file of rules.
func ParseRules(text []byte) (Rules, error) {
	var rules Rules
	if err := yaml.UnmarshalStrict(text, &rules); err != nil {
		return Rules{}, fmt.Errorf("parsing rules: %w", err)
	}
	return rules, nil
}

// Alerts returns the alerts.
func (r Rules) Alerts() []Rule {
	var list []Rule
	for _, group := range r.Groups {
		for _, rule := range group.Rules {
			if rule.Alert != "" {
				list = append(list, rule)
			}
		}
	}
	return list
}

// PrometheusRule returns the rules as an object for the Prometheus operator.
func (r Rules) PrometheusRule() ([]byte, error) {
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "monitoring.coreos.com/v1",
		"kind":       "PrometheusRule",
		"metadata": map[string]any{
			"name": "kubectl-upgrade", "namespace": "kubectl-upgrade",
			"labels": map[string]string{"app.kubernetes.io/name": "kubectl-upgrade"},
		},
		"spec": r,
	})
	if err != nil {
		return nil, fmt.Errorf("writing the PrometheusRule: %w", err)
	}
	return append([]byte("# Generated from rules.yaml by `go test ./test/monitoring -update`.\n"), text...), nil
}
