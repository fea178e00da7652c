package api_test

import (
	"fmt"
	"strings"
	"testing"
)

// selectors are the fields that are selectors.
var selectors = []struct{ kind, text, field string }{
	{"MaintenanceSchedule", "spec: {nodeSelector: %s}", "spec.nodeSelector"},
	{"UpgradePolicy", "{metadata: {name: cluster}, spec: {nodeSelector: %s}}", "spec.nodeSelector"},
	{"UpgradePolicy", "{metadata: {name: cluster}, spec: {strategy: {groups: [{name: a, nodeSelector: %s}]}}}", "spec.strategy.groups[0].nodeSelector"},
	{"UpgradePolicy", "{metadata: {name: cluster}, spec: {strategy: {drain: {rules: [{name: a, behavior: Skip, podSelector: %s}]}}}}", "spec.strategy.drain.rules[0].podSelector"},
	{"ClusterUpgrade", "spec: {version: v1.34.4, nodeSelector: %s}", "spec.nodeSelector"},
	{"ClusterUpgrade", "spec: {version: v1.34.4, strategy: {groups: [{name: a, nodeSelector: %s}]}}", "spec.strategy.groups[0].nodeSelector"},
	{"ClusterUpgrade", "spec: {version: v1.34.4, strategy: {groups: [{name: a, nodeSelector: {}, drain: {rules: [{name: a, behavior: Skip, podSelector: %s}]}}]}}", "spec.strategy.groups[0].drain.rules[0].podSelector"},
	{"NodeUpgrade", "spec: {drain: {rules: [{name: a, behavior: Skip, podSelector: %s}]}}", "spec.drain.rules[0].podSelector"},
}

// TestWrongSelectorsAreRefused checks that typos in selectors are refused: they would match no
// node, or close every window.
func TestWrongSelectorsAreRefused(t *testing.T) {
	expression := func(fields string) string { return "{matchExpressions: [{" + fields + "}]}" }
	many := func(format string, n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(format, i))
		}
		return strings.Join(list, ", ")
	}
	const key, operator = "a label's key is a name such as pool", "In or NotIn with values, or Exists or DoesNotExist without"
	for _, at := range selectors {
		var rows []refusal
		for _, wrong := range []refusal{
			{"a label's key with a space", `{matchLabels: {"no such key": a}}`, ".matchLabels", key},
			{"an empty key", `{matchLabels: {"": a}}`, ".matchLabels", key},
			{"a key with two slashes", `{matchLabels: {a/b/c: d}}`, ".matchLabels", key},
			{"a key with capitals before its slash", `{matchLabels: {Example.com/c: d}}`, ".matchLabels", key},
			{"a long key", `{matchLabels: {` + strings.Repeat("a", 64) + `: d}}`, ".matchLabels", key},
			{"a value with a space", `{matchLabels: {pool: my gpus}}`, ".matchLabels.pool", "should match"},
			{"a value that ends with a dash", `{matchLabels: {pool: gpu-}}`, ".matchLabels.pool", "should match"},
			{"a long value", `{matchLabels: {pool: ` + strings.Repeat("a", 64) + `}}`, ".matchLabels.pool", "63"},
			{"nine labels", `{matchLabels: {` + many("a%d: b", 9) + `}}`, ".matchLabels", "at most 8"},
			{"an expression without a key", expression("operator: Exists"), ".matchExpressions[0].key", "Required value"},
			{"an expression's key with a space", expression(`key: no such key, operator: Exists`), ".matchExpressions[0].key", key},
			{"an expression's value with a space", expression(`key: a, operator: In, values: [b, no such value]`), ".matchExpressions[0].values[1]", "should match"},
			{"an unknown operator", expression("key: a, operator: Near, values: [b]"), ".matchExpressions[0].operator", `"In", "NotIn", "Exists", "DoesNotExist"`},
			{"no operator", expression("key: a"), ".matchExpressions[0].operator", "Required value"},
			{"In without values", expression("key: a, operator: In"), ".matchExpressions", operator},
			{"NotIn with none", expression("key: a, operator: NotIn, values: []"), ".matchExpressions", operator},
			{"Exists with values", expression("key: a, operator: Exists, values: [b]"), ".matchExpressions", operator},
			{"nine expressions", `{matchExpressions: [` + many("{key: a%d, operator: Exists}", 9) + `]}`, ".matchExpressions", "at most 8"},
			{"33 values", expression("key: a, operator: In, values: [" + many("b%d", 33) + "]"), ".matchExpressions[0].values", "at most 32"},
			{"an unknown field", "{matchlabels: {a: b}}", ".matchlabels", "unknown field"},
		} {
			rows = append(rows, refusal{wrong.name, fmt.Sprintf(at.text, wrong.spec), at.field + wrong.field, wrong.words})
		}
		t.Run(at.kind+" "+at.field, func(t *testing.T) { refuse(t, at.kind, rows) })
	}
}
