package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// gateClosed holds a node until every gate that it asks is open. Gates count until the node has
// taken its slot: draining it may fire alerts, and may move what a gate asks.
func gateClosed(s *survey, n *node) fleet.Hold {
	if n.hasSlot() {
		return fleet.Hold{}
	}
	c, group := s.cluster, s.cluster.groups[n.group]
	for i := range c.gates {
		gate := &c.gates[i]
		named := group.gates == nil || slices.Contains(group.gates, gate.Name)
		if gate.Cluster != nil && (c.target.kubeletsOnly() || c.target.forLateNodes) {
			continue // they bring no version that is new here
		}
		if !named || c.target.Spec.IgnoresGate(gate.Name) || !gate.IsAt(s.gatePoints(n)...) {
			continue
		}
		hold := c.gateHold(gate.Name)
		if !hold.Holds() && gate.Cluster != nil {
			hold = c.followHold(gate)
		}
		if hold.Holds() {
			return hold
		}
	}
	return c.gateMissing(group)
}

// gateMissing returns the hold of a group that names a gate which the policy does not have.
func (c *cluster) gateMissing(group *group) fleet.Hold {
	for _, name := range group.gates {
		there := slices.ContainsFunc(c.reading.policySpec().Gates, func(g v1alpha1.Gate) bool { return g.Name == name })
		if there || c.target.Spec.IgnoresGate(name) {
			continue
		}
		message := fmt.Sprintf("group %s waits for gate %s, which the UpgradePolicy does not have: add it, or take it out of the group", group.name, name)
		return fleet.Hold{Reason: v1alpha1.ReasonExternalGateUnknown, Message: message, Stays: true}
	}
	return fleet.Hold{}
}

// gatePoints returns at which points the gates count that the node waits for.
func (s *survey) gatePoints(n *node) []v1alpha1.GatePoint {
	points := []v1alpha1.GatePoint{v1alpha1.GateAtNode}
	if n.ControlPlane {
		points = append(points, v1alpha1.GateAtControlPlane)
	}
	if !s.tookSlot {
		points = append(points, v1alpha1.GateAtUpgrade)
	}
	return points
}

// hasSlot reports whether the node has taken its slot.
func (n *node) hasSlot() bool { return n.tookSlot || n.holdsLease() || n.marked() }

// hadSlot reports whether the node has, or had, a slot in this upgrade.
func (t *target) hadSlot(n *node) bool {
	return n.hasSlot() || t.isFor(n.status.Upgrade) &&
		slices.ContainsFunc(n.status.Steps, func(s v1alpha1.StepTime) bool { return s.Step == v1alpha1.StepUnlocking })
}

// gateHold returns the hold of a gate that is not open.
func (c *cluster) gateHold(name string) fleet.Hold {
	status := c.reading.snapshot.Policy.GateStatus(name)
	without := fmt.Sprintf("; upgrade %s goes on without it once its spec.ignoreGates names it: `kubectl edit clusterupgrade %s`", c.target.Name, c.target.Name)
	switch {
	case status == nil:
		return fleet.Hold{Reason: v1alpha1.ReasonExternalGateUnknown, Message: fmt.Sprintf("gate %s has not been asked yet", name)}
	case status.State == v1alpha1.GateOpen:
		return fleet.Hold{}
	case status.State == v1alpha1.GateClosed:
		message := fmt.Sprintf("gate %s is closed since %s: %s", name, fleet.FormatTime(status.SinceTime.Time), status.Message)
		return fleet.Hold{Reason: v1alpha1.ReasonExternalGateClosed, Message: message + without}
	}
	message := fmt.Sprintf("gate %s cannot be asked since %s, and counts as closed: %s", name, fleet.FormatTime(status.SinceTime.Time), status.Message)
	return fleet.Hold{Reason: v1alpha1.ReasonExternalGateUnknown, Message: message + without, Stays: hasLasted(&status.SinceTime.Time, c.now)}
}

// askedGates returns the gates that have been asked. A prediction assumes that the others are open.
func (c *cluster) askedGates() []v1alpha1.Gate {
	return slices.DeleteFunc(slices.Clone(c.gates), func(g v1alpha1.Gate) bool {
		return c.reading.snapshot.Policy.GateStatus(g.Name) == nil
	})
}

// asksGates reports whether gates have to be asked: an upgrade is active that people do not hold, and
// a node has yet to take its slot.
func (c *cluster) asksGates() bool {
	return c.target != nil && len(c.gates) > 0 && !c.target.hold.Holds() && !c.held.Holds() &&
		slices.ContainsFunc(c.nodes, func(n *node) bool { return n.concerned && !n.upToDate && !n.hasSlot() })
}

// GateAnswer is a gate with its last answer.
type GateAnswer struct {
	Name string `json:"name"`
	// State is Open, Closed or Unknown. Empty: it has not been asked yet.
	State   v1alpha1.GateState `json:"state,omitempty"`
	Message string             `json:"message,omitempty"`
	// Since is when it was found in this state first, and Asked when it was asked last.
	Since *time.Time `json:"since,omitempty"`
	Asked *time.Time `json:"asked,omitempty"`
	// Ignored reports whether the upgrade does not wait for it.
	Ignored bool `json:"ignored,omitempty"`
}

// Gates returns the gates of the policy, which may be nil, for an upgrade.
func Gates(policy *v1alpha1.UpgradePolicy, upgrade v1alpha1.ClusterUpgradeSpec) []GateAnswer {
	if policy == nil {
		return nil
	}
	var list []GateAnswer
	for _, g := range policy.Spec.Gates {
		one := GateAnswer{Name: g.Name, Ignored: upgrade.IgnoresGate(g.Name)}
		if status := policy.GateStatus(g.Name); status != nil {
			since, asked := status.SinceTime.UTC(), status.AskedTime.UTC()
			one.State, one.Message, one.Since, one.Asked = status.State, status.Message, &since, &asked
		}
		list = append(list, one)
	}
	return list
}
