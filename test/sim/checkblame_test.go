package sim

import (
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Whose fault it is that a node did not become healthy. What the policy's status holds against a version, clusters that
// follow wait for.

const (
	theNode    = "the node"
	theVersion = "the version"
)

// findCulprit returns whose fault it is that the guard does not find the node healthy; empty: several may have a part
// in it, or something else.
func (n *node) findCulprit() string {
	to := n.guardRecord.To
	bad := n.broken[to] != ""
	switch {
	case bad && n.merged == to && !n.noRuntime:
		return theVersion
	case bad || n.installed[to] == "":
	case n.noRuntime && n.merged == to, n.oddBoot && n.odd:
		return theNode
	}
	return ""
}

// isAtFault reports whether the node failed in the upgrade by its own fault.
func (n *node) isAtFault(upgrade string) bool {
	return n.rollback != nil && n.rollback.Upgrade == upgrade && n.culprit == theNode
}

// noteSuspect notes that a node has failed in an upgrade for what may be the version's fault.
func (w *world) noteSuspect(name string, step v1alpha1.Step, upgrade string) {
	if n := w.node(name); n != nil && step.Info().Phase == v1alpha1.PhaseStopped && !n.isAtFault(upgrade) {
		w.suspects[upgrade] = append(w.suspects[upgrade], name)
	}
}

// checkBlamed checks what a coordinator begins to hold against versions.
func (w *world) checkBlamed(by string, before, after *stored) {
	if !strings.Contains(by, "coordinator") || after == nil {
		return
	}
	held := func(s *stored) []v1alpha1.RanVersion {
		return s.object(policyKey.Resource).(*v1alpha1.UpgradePolicy).Status.Ran
	}
	var was []v1alpha1.RanVersion
	if before != nil {
		was = held(before)
	}
	for _, one := range held(after) {
		known := func(former v1alpha1.RanVersion) bool {
			return former.Upgrade.UID == one.Upgrade.UID && former.Problem == one.Problem
		}
		if one.Problem != "" && !slices.ContainsFunc(was, known) {
			w.note("%s holds against %s: %s", by, one.Version, one.Problem)
			w.checkProblem(one)
		}
	}
}

// checkProblem checks that a version is not blamed for nodes that failed by their own fault alone. What an agent lies
// about its node may be held against a version; and an upgrade may also end by a hook that failed.
func (w *world) checkProblem(one v1alpha1.RanVersion) {
	suspects := w.suspects[one.Upgrade.UID]
	innocent := strings.HasPrefix(one.Problem, "upgrade ") && len(suspects) == 0 && !w.script.Hooks
	if match := nodeFailed.FindStringSubmatch(one.Problem); match != nil {
		innocent = !slices.Contains(suspects, match[1])
	}
	if innocent && !w.script.has("lie") {
		w.broken("blame", "%s is blamed for what is a node's own fault: %s", one.Version, one.Problem)
	}
}

// nodeFailed matches what is held against a version with which a node failed.
var nodeFailed = regexp.MustCompile(`^node (\S+) failed \(`)

// checkBlamedEnd checks that the version is blamed where it alone is why a node has failed.
func (w *world) checkBlamedEnd() {
	policy := w.livePolicy()
	if policy == nil || len(policy.Status.Ran) == 0 || w.script.has("lie") {
		return
	}
	newest := policy.Status.Ran[0]
	for _, n := range w.nodes {
		failed := w.stopped(n.owner()) && n.rollback != nil && n.rollback.Upgrade == newest.Upgrade.UID && n.culprit == theVersion
		if failed && !n.removed && newest.UntilTime == nil && newest.Problem == "" {
			w.broken("blame", "%s failed with %s, and that is not held against the version", n.name, newest.Version)
		}
	}
}
