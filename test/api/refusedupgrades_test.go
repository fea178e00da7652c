package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

func TestWrongClusterUpgradesAreRefused(t *testing.T) {
	version := func(name, version string) refusal {
		return refusal{name, `spec: {version: "` + version + `"}`, "spec.version", "must be a version of Kubernetes in full, such as v1.34.4"}
	}
	spec := func(name, fields, field, words string) refusal {
		return refusal{name, "spec: {version: v1.34.4, " + fields + "}", field, words}
	}
	refuse(t, "ClusterUpgrade", []refusal{
		{"no spec", "{}", "spec", "Required value"},
		{"neither version nor type", "spec: {suspend: true}", "spec.version", "is needed, such as v1.34.4"},
		{"a patch without a version", "spec: {type: Patch}", "spec.version", "is needed"},
		{"a reboot with a version", "spec: {type: Reboot, version: v1.34.4}", "spec.version", "must be absent where type is Reboot"},
		{"a reboot by another policy", "spec: {type: Reboot, rebootPolicy: Never}", "spec.rebootPolicy", `"IfRequired", "Always"`},
		spec("a patch that always reboots", "rebootPolicy: Always", "spec.rebootPolicy", "is for type Reboot only"),
		{"a Rollback without a version", "spec: {type: Rollback, comment: it crashes}", "spec.version", "is needed"},
		{"a Rollback without a reason", "spec: {type: Rollback, version: v1.34.3}", "spec.comment", "is needed where type is Rollback"},
		{"a Rollback with a blank reason", `spec: {type: Rollback, version: v1.34.3, comment: " "}`, "spec.comment", "is needed where type is Rollback"},
		spec("a novel as reason of all", "comment: "+strings.Repeat("a", 257), "spec.comment", "256"),
		{"an unknown type", "spec: {type: Major, version: v1.34.4}", "spec.type", `"Patch", "Minor", "Reboot", "Rollback"`},
		spec("an unknown field", "start: now", `"spec.start"`, "unknown field"),
		version("no v", "1.34.4"),
		version("a minor", "v1.34"),
		version("leading zeros", "v1.034.4"),
		version("a line more", `v1.34.4\n`),
		version("empty", ""),
		version("v2", "v2.0.0"),
		version("a pre-release of nothing", "v1.34.4-"),
		version("a pre-release with an empty part", "v1.34.4-rc..1"),
		version("a pre-release with an underscore", "v1.34.4-rc_1"),
		version("a build of nothing", "v1.34.4+"),
		version("two builds", "v1.34.4+a+b"),
		version("a path", "v1.34.4-a/../b"),
		version("a fourth number", "v1.34.4.1"),
		{"a long version", "spec: {version: v1.34.4-" + strings.Repeat("a", 64) + "}", "spec.version", "64"},
		spec("a time that is none", "startTime: tonight", "spec.startTime", "date-time"),
		spec("suspend as a word", `suspend: "yes"`, "spec.suspend", "boolean"),
		spec("windows ignored as a truth", `windowPolicy: true`, "spec.windowPolicy", "string"),
		spec("a long name to retry", "retryOf: {name: "+strings.Repeat("a", 254)+"}", "spec.retryOf.name", "253"),

		spec("a check without an id", "ignoreChecks: [{comment: x}]", "spec.ignoreChecks[0].id", "Required value"),
		spec("an empty check", `ignoreChecks: [{id: ""}]`, "spec.ignoreChecks[0].id", "at least 1"),
		spec("a long check", `ignoreChecks: [{id: `+strings.Repeat("a", 65)+`}]`, "spec.ignoreChecks[0].id", "64"),
		spec("a check as a word", "ignoreChecks: [a]", "spec.ignoreChecks[0]", "must be of type object"),
		spec("a check twice", `ignoreChecks: [{id: a, comment: x}, {id: a}]`, "spec.ignoreChecks[1]", "Duplicate value"),
		spec("a novel as reason", `ignoreChecks: [{id: a, comment: `+strings.Repeat("a", 257)+`}]`, "spec.ignoreChecks[0].comment", "256"),

		spec("an approval as a word", `approved: {upgrade: "yes"}`, "spec.approved.upgrade", "boolean"),
		spec("a group approved twice", "approved: {groups: [a, a]}", "spec.approved.groups[1]", "Duplicate value"),
		spec("a long group approved", "approved: {groups: ["+strings.Repeat("a", 64)+"]}", "spec.approved.groups[0]", "63"),

		{"a minor without a reboot", "spec: {type: Minor, version: v1.35.4, strategy: {method: Restart}}", "spec.strategy.method", "Restart is for patches"},
		{"an empty comment", `spec: {version: v1.34.4, comment: ""}`, "spec.comment", "at least 1"},
		{"an approved group without a name", `spec: {version: v1.34.4, approved: {groups: [""]}}`, "spec.approved.groups[0]", "at least 1"},
		{"a reboot that keeps the kernel", "spec: {type: Reboot, strategy: {method: SoftReboot}}", "spec.strategy.method", "SoftReboot keeps the kernel"},
		{"a reboot without a reboot", "spec: {type: Reboot, strategy: {method: Restart}}", "spec.strategy.method", "Restart is for patches"},
	})
}

func TestWrongStrategiesAreRefused(t *testing.T) {
	strategy := func(name, fields, field, words string) refusal {
		return refusal{name, "spec: {version: v1.34.4, strategy: {" + fields + "}}", "spec.strategy." + field, words}
	}
	const rest = ", nodeSelector: {}}]"
	rows := []refusal{
		strategy("an unknown method", "method: Reload", "method", `"Reboot", "SoftReboot", "Restart"`),
		strategy("no node at once", "maxUnavailable: 0", "maxUnavailable", "must be a number from 1"),
		strategy("fewer than none", "maxUnavailable: -1", "maxUnavailable", "must be a number from 1"),
		strategy("0%", `maxUnavailable: "0%"`, "maxUnavailable", "should match '^([1-9][0-9]?|100)%$'"),
		strategy("150%", `maxUnavailable: "150%"`, "maxUnavailable", "should match '^([1-9][0-9]?|100)%$'"),
		strategy("a word for a number", "maxUnavailable: abc", "maxUnavailable", "should match '^([1-9][0-9]?|100)%$'"),
		strategy("a number in quotes", `maxUnavailable: "2"`, "maxUnavailable", "should match '^([1-9][0-9]?|100)%$'"),
		strategy("a fraction", "maxUnavailable: 1.5", "maxUnavailable", "integer"),
		strategy("a long word for a number", "maxUnavailable: "+strings.Repeat("9", 9)+"%", "maxUnavailable", "should match"),
		strategy("a negative number of failures", "maxFailures: -1", "maxFailures", "greater than or equal to 0"),
		strategy("a percentage of failures", "maxFailures: 10%", "maxFailures", "integer"),
		strategy("an unknown approval", "approval: Maybe", "approval", `"NotRequired", "Required"`),
		strategy("an unknown policy for snapshots", "etcdSnapshotPolicy: Maybe", "etcdSnapshotPolicy", `"Required", "Skip"`),

		strategy("a group without a name", "groups: [{nodeSelector: {}}]", "groups[0].name", "Required value"),
		strategy("a group with an empty name", `groups: [{name: ""`+rest, "groups[0].name", "must be of lower-case letters"),
		strategy("a group with capitals", `groups: [{name: Canary`+rest, "groups[0].name", "must be of lower-case letters"),
		strategy("a group with a long name", `groups: [{name: `+strings.Repeat("a", 64)+rest, "groups[0].name", "63"),
		strategy("the control plane as a group", `groups: [{name: control-plane`+rest, "groups[0].name", "control-plane is the group of the control-plane nodes"),
		strategy("a group without a selector", "groups: [{name: a}]", "groups[0].nodeSelector", "Required value"),
		strategy("two groups of one name", "groups: [{name: a, nodeSelector: {}}, {name: a, nodeSelector: {}}]", "groups[1]", "Duplicate value"),
		strategy("a group of no nodes at once", "groups: [{name: a, maxUnavailable: 0"+rest, "groups[0].maxUnavailable", "must be a number from 1"),
		strategy("a group with an unknown approval", "groups: [{name: a, approval: Maybe"+rest, "groups[0].approval", `"NotRequired", "Required"`),
		strategy("a group with a method", "groups: [{name: a, method: Reboot"+rest, "groups[0].method", "unknown field"),
	}
	for _, wrong := range wrongPaces {
		rows = append(rows, strategy(wrong.name, wrong.spec, wrong.field, wrong.words),
			strategy(wrong.name+" of a group", "groups: [{name: a, nodeSelector: {}, "+wrong.spec+"}]", "groups[0]."+wrong.field, wrong.words))
	}
	refuse(t, "ClusterUpgrade", rows)
}

// wrongPaces are invalid fields of a strategy, a group or an order.
var wrongPaces = []refusal{
	{"a negative settle", "settleSeconds: -1", "settleSeconds", "greater than or equal to 0"},
	{"a settle of two days", "settleSeconds: 172800", "settleSeconds", "86400"},
	{"a guard longer than the constant", fmt.Sprintf("guardSeconds: %d", v1alpha1.MaxGuardSeconds+1), "guardSeconds", fmt.Sprint("less than or equal to ", v1alpha1.MaxGuardSeconds)},
	{"a settle with a unit", "settleSeconds: 2m", "settleSeconds", "integer"},
	{"a settle in quotes", `settleSeconds: "120"`, "settleSeconds", "integer"},
	{"a negative minReady", "minReadySeconds: -1", "minReadySeconds", "greater than or equal to 0"},
	{"a minReady of two days", "minReadySeconds: 172800", "minReadySeconds", "86400"},
	{"no time to be whole", "whole: {timeoutSeconds: 0}", "whole.timeoutSeconds", "greater than or equal to 1"},
	{"two days to be whole", "whole: {timeoutSeconds: 172800}", "whole.timeoutSeconds", "86400"},
	{"a part that is neither", "whole: {taints: Maybe}", "whole.taints", "Unsupported value"},
	{"a drain without a limit", "drain: {timeoutSeconds: 0}", "drain.timeoutSeconds", "greater than or equal to 1"},
	{"a drain of two days", "drain: {timeoutSeconds: 172800}", "drain.timeoutSeconds", "86400"},
	{"a drain with a unit", "drain: {timeoutSeconds: 15m}", "drain.timeoutSeconds", "integer"},
	{"an unknown onTimeout", "drain: {onTimeout: Force}", "drain.onTimeout", `"Abort", "Delete"`},
	{"an unknown grace", "drain: {gracePeriodSeconds: -2}", "drain.gracePeriodSeconds", "greater than or equal to -1"},
	{"unmanaged pods skipped", "drain: {unmanagedPods: Skip}", "drain.unmanagedPods", `"Block", "Evict"`},
	{"emptyDir pods skipped", "drain: {emptyDirPods: Skip}", "drain.emptyDirPods", `"Block", "Evict"`},
	{"force", "drain: {force: true}", "drain.force", "unknown field"},
	{"a rule without a name", "drain: {rules: [{podSelector: {}, behavior: Skip}]}", "drain.rules[0].name", "Required value"},
	{"a rule with an empty name", `drain: {rules: [{name: "", podSelector: {}, behavior: Skip}]}`, "drain.rules[0].name", "at least 1"},
	{"a rule with a long name", `drain: {rules: [{name: ` + strings.Repeat("a", 64) + `, podSelector: {}, behavior: Skip}]}`, "drain.rules[0].name", "63"},
	{"a rule without a selector", "drain: {rules: [{name: a, behavior: Skip}]}", "drain.rules[0].podSelector", "Required value"},
	{"a rule without a behavior", "drain: {rules: [{name: a, podSelector: {}}]}", "drain.rules[0].behavior", "Required value"},
	{"a rule with an unknown behavior", "drain: {rules: [{name: a, podSelector: {}, behavior: Delete}]}", "drain.rules[0].behavior", `"Drain", "Skip", "WaitCompleted"`},
	{"two rules of one name", "drain: {rules: [{name: a, podSelector: {}, behavior: Skip}, {name: a, podSelector: {}, behavior: Drain}]}", "drain.rules[1]", "Duplicate value"},
	{"a rule for a namespace twice", "drain: {rules: [{name: a, podSelector: {}, namespaces: [b, b], behavior: Skip}]}", "drain.rules[0].namespaces[1]", "Duplicate value"},
	{"a rule for an empty namespace", `drain: {rules: [{name: a, podSelector: {}, namespaces: [""], behavior: Skip}]}`, "drain.rules[0].namespaces[0]", "at least 1"},
	{"a rule for a long namespace", "drain: {rules: [{name: a, podSelector: {}, namespaces: [" + strings.Repeat("a", 64) + "], behavior: Skip}]}", "drain.rules[0].namespaces[0]", "63"},
	{"nine rules", "drain: {rules: [" + nineRules() + "]}", "drain.rules", "at most 8"},
}

func nineRules() string {
	var rules []string
	for _, name := range strings.Split("abcdefghi", "") {
		rules = append(rules, "{name: r"+name+", podSelector: {}, behavior: Skip}")
	}
	return strings.Join(rules, ", ")
}
