package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// A hook before a node may close a gate that the node asks, and the hook after it open that again: a turn after
// the other would end before its node has begun. Such a turn is kept after its end, and counted.

const (
	// maxUnused is how many turns of a node in a row may end for the same gate before a person has to act.
	maxUnused = 3
	// maxUnusedTurns is how many turns are kept after their end, the newest.
	maxUnusedTurns = 32
)

// endUnused notes in a turn that ends whether its node was kept from beginning by a gate after hooks had run.
func (a *allocation) endUnused(t *v1alpha1.HookTurn, n *node, hold clusterstate.Hold) {
	last, times, generation := t.Gate, t.Unused, a.cluster.reading.snapshot.Policy.Generation
	if t.PolicyGeneration != generation {
		last = ""
	}
	t.Gate, t.Unused, t.PolicyGeneration = "", 0, 0
	if t.TookSlot || !hasBegun(t) || !a.cluster.target.isFor(&t.Upgrade) {
		return
	}
	switch hold.Reason {
	case v1alpha1.ReasonExternalGateClosed, v1alpha1.ReasonExternalGateUnknown, v1alpha1.ReasonNotSoaked:
		t.Gate, _ = a.survey.closedGate(n)
		t.PolicyGeneration = generation
	}
	switch t.Gate {
	case "":
	case last:
		t.Unused = times + 1
	default:
		t.Unused = 1
	}
}

// noteSlot notes that the turn's node has taken its slot: the gate of its former turns does not count any more.
func noteSlot(t *v1alpha1.HookTurn) {
	t.TookSlot, t.Gate, t.Unused, t.PolicyGeneration = true, "", 0, 0
}

// countUnused notes in a turn that begins for which gate the node's last turns ended, and how many of them did.
func (a *allocation) countUnused(t *v1alpha1.HookTurn, n *node) {
	last := a.turns.newest[n.Owner()]
	if last != nil && last.Upgrade == t.Upgrade && last.PolicyGeneration == a.cluster.reading.snapshot.Policy.Generation {
		t.Gate, t.Unused, t.PolicyGeneration = last.Gate, last.Unused, last.PolicyGeneration
	}
}

// unused returns the turns that ended unused and are to be kept: the last ones of their nodes, while their
// upgrade has not ended.
func (all turns) unused() (list []*v1alpha1.HookTurn) {
	for _, t := range slices.Backward(all.list) {
		ended := t.Unused > 0 && !isOpen(t)
		if ended && all.newest[clusterstate.Owner{Node: t.Node, UID: t.NodeUID}] == t && all.reading.upgradeOutcome(t) == "" && len(list) < maxUnusedTurns {
			list = append(list, t)
		}
	}
	return list
}

// closedByHook holds a node whose turns have ended unused for the same gate again and again, until the policy is
// changed or the node does not ask that gate any more.
func (s *survey) closedByHook(n *node) clusterstate.Hold {
	t, policy := s.cluster.turns.newest[n.Owner()], s.cluster.reading.snapshot.Policy
	if t == nil || t.Unused < maxUnused || isOpen(t) || !s.cluster.target.isFor(&t.Upgrade) || t.PolicyGeneration != policy.Generation {
		return clusterstate.Hold{}
	}
	var names []string
	for _, run := range t.Hooks {
		if run.When == v1alpha1.BeforeNode && run.StartTime != nil && policy.Hook(run.Name) != nil {
			names = append(names, run.Name)
		}
	}
	asked := slices.ContainsFunc(s.cluster.gates, func(g v1alpha1.Gate) bool { return g.Name == t.Gate && s.asks(n, &g) })
	if !asked || len(names) == 0 {
		return clusterstate.Hold{}
	}
	message := fmt.Sprintf("gate %s has kept the node from beginning %d times in a row after hook %s had run: if the hook closes the gate, have the gate ask for nothing that the hook changes, in the UpgradePolicy; or ignore the gate: `kubectl edit clusterupgrade %s`, spec.ignoreGates",
		t.Gate, t.Unused, strings.Join(names, ", "), s.cluster.target.Name)
	return clusterstate.Hold{Reason: v1alpha1.ReasonExternalGateClosed, Message: message, Stays: true}
}
