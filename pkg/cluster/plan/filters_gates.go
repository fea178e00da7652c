package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// gateClosed holds a node until every gate that it asks is open. Gates count until the node has
// taken its slot: draining it may fire alerts, and may move what a gate asks.
func gateClosed(s *survey, n *node) clusterstate.Hold {
	if n.hasSlot() {
		return clusterstate.Hold{}
	}
	if hold := s.closedByHook(n); hold.Holds() {
		return hold
	}
	_, hold := s.closedGate(n)
	return hold
}

// closedGate returns the first gate that the node asks and that is not open, with its hold.
func (s *survey) closedGate(n *node) (name string, hold clusterstate.Hold) {
	c := s.cluster
	for i := range c.gates {
		gate := &c.gates[i]
		if !s.asks(n, gate) {
			continue
		}
		hold := c.gateHold(gate.Name)
		if !hold.Holds() && gate.Cluster != nil {
			hold = c.followHold(gate)
		}
		if hold.Holds() {
			return gate.Name, hold
		}
	}
	return "", clusterstate.Hold{}
}

// asks reports whether the node waits for the gate before it takes its slot.
func (s *survey) asks(n *node, gate *v1alpha1.Gate) bool {
	c, group := s.cluster, s.cluster.groups[n.group]
	if gate.Cluster != nil && (!c.target.runsKubeadmUpgrade() || c.target.forLateNodes) {
		return false // they bring no version that is new here
	}
	ignored := slices.Contains(group.ignoreGates, gate.Name) || c.target.Spec.IgnoresGate(gate.Name)
	return !ignored && gate.IsAt(s.gatePoints(n)...)
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

// gateHold returns the hold of a gate that is not open.
func (c *cluster) gateHold(name string) clusterstate.Hold {
	status := c.reading.snapshot.Policy.GateStatus(name)
	without := fmt.Sprintf("; upgrade %s goes on without it once its spec.ignoreGates names it: `kubectl edit clusterupgrade %s`", c.target.Name, c.target.Name)
	switch {
	case status == nil:
		return clusterstate.Hold{Reason: v1alpha1.ReasonExternalGateUnknown, Message: fmt.Sprintf("gate %s has not been asked yet", name)}
	case status.State == v1alpha1.GateOpen:
		return clusterstate.Hold{}
	case status.State == v1alpha1.GateClosed:
		message := fmt.Sprintf("gate %s has been closed since %s: %s", name, clusterstate.FormatTime(status.SinceTime.Time), status.Message)
		return clusterstate.Hold{Reason: v1alpha1.ReasonExternalGateClosed, Message: message + without}
	}
	message := fmt.Sprintf("gate %s has not answered since %s, and counts as closed: %s", name, clusterstate.FormatTime(status.SinceTime.Time), status.Message)
	return clusterstate.Hold{Reason: v1alpha1.ReasonExternalGateUnknown, Message: message + without, Stays: hasLasted(&status.SinceTime.Time, c.now)}
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

// A cluster that follows another one takes a version once the other one has run it for a while, with
// the same images.

// followHold returns why the upgrade's version has not soaked in the cluster that the gate follows.
func (c *cluster) followHold(g *v1alpha1.Gate) clusterstate.Hold {
	return soakHold(c.reading.snapshot.Policy.GateStatus(g.Name), g, c.target.Spec.Version, c.target.Status.Images, c.reading.now)
}

// FollowHold returns why a version with these images may not come yet by a gate that follows another
// cluster: that has not been asked, or the version has not soaked there.
func FollowHold(policy *v1alpha1.UpgradePolicy, g *v1alpha1.Gate, to string, images []v1alpha1.Image, now time.Time) clusterstate.Hold {
	status := policy.GateStatus(g.Name)
	if status != nil && status.State == v1alpha1.GateOpen {
		return soakHold(status, g, to, images, now)
	}
	hold := clusterstate.Hold{Reason: v1alpha1.ReasonExternalGateUnknown, Message: fmt.Sprintf("gate %s has not been asked yet", g.Name)}
	if status != nil {
		hold.Message, hold.Stays = fmt.Sprintf("gate %s cannot be asked: %s", g.Name, status.Message), hasLasted(&status.SinceTime.Time, now)
	}
	return hold
}

// soakHold returns why a version with these images has not soaked in the cluster that the gate follows,
// which has been read. It stays where the other cluster does not get there by itself.
func soakHold(status *v1alpha1.GateStatus, g *v1alpha1.Gate, to string, images []v1alpha1.Image, now time.Time) clusterstate.Hold {
	because := func(stays bool, format string, args ...any) clusterstate.Hold {
		message := fmt.Sprintf("gate %s follows a cluster that %s", g.Name, fmt.Sprintf(format, args...))
		return clusterstate.Hold{Reason: v1alpha1.ReasonNotSoaked, Message: message, Stays: stays}
	}
	i := slices.IndexFunc(status.Ran, func(one v1alpha1.RanVersion) bool { return one.Version == to })
	if i < 0 {
		return because(isPast(status.Ran, to), "has not run %s (%s)", to, status.Message)
	}
	one := &status.Ran[i]
	switch {
	case one.Blocked != "":
		return because(true, "blocks %s: %s", to, one.Blocked)
	case one.Problem != "":
		return because(true, "has a problem with %s: %s", to, one.Problem)
	case one.SinceTime == nil:
		return because(one.UntilTime != nil, "has not brought %s to every node yet", to)
	case one.Behind > 0:
		return because(false, "has %d nodes that do not run %s", one.Behind, to)
	}
	if g.Cluster.SameDigests == nil || *g.Cluster.SameDigests {
		if why := digestsDiffer(one, images); why != "" {
			return because(true, "has run %s with %s", to, why)
		}
	}
	soak := time.Duration(g.Cluster.SoakSeconds) * time.Second
	opens := one.SinceTime.Add(soak)
	switch {
	case one.UntilTime != nil && one.UntilTime.Time.Before(opens):
		return because(true, "ran %s for %s only, from %s on, and %s are asked for", to, one.UntilTime.Sub(one.SinceTime.Time), clusterstate.FormatTime(one.SinceTime.Time), soak)
	case now.Before(opens):
		hold := because(false, "has run %s since %s, and has to do so until %s", to, clusterstate.FormatTime(one.SinceTime.Time), clusterstate.FormatTime(opens))
		hold.Until = &opens
		return hold
	}
	return clusterstate.Hold{}
}

// isPast reports whether a cluster that has run these versions is past that version.
func isPast(ran []v1alpha1.RanVersion, to string) bool {
	return slices.ContainsFunc(ran, func(one v1alpha1.RanVersion) bool { return parsed(to).Less(parsed(one.Version)) })
}

// cannotSoak reports whether a cluster that is followed does not get to the upgrade's version by
// itself: the next patch goes before it.
func (t *target) cannotSoak(r *reading) bool {
	for i := range r.policySpec().Gates {
		g := &r.policySpec().Gates[i]
		status := r.snapshot.Policy.GateStatus(g.Name)
		if g.Cluster == nil || !t.runsKubeadmUpgrade() || t.Spec.IgnoresGate(g.Name) || status == nil || status.State != v1alpha1.GateOpen {
			continue
		}
		if soakHold(status, g, t.Spec.Version, t.Status.Images, r.now).Stays {
			return true
		}
	}
	return false
}

// digestsDiffer returns which of the images the other cluster has not run.
func digestsDiffer(one *v1alpha1.RanVersion, images []v1alpha1.Image) string {
	for _, image := range images {
		i := slices.IndexFunc(one.Digests, func(d v1alpha1.ImageDigest) bool { return d.Architecture == image.Architecture })
		switch {
		case i < 0:
			return "no image for " + string(image.Architecture)
		case one.Digests[i].Digest != image.Digest:
			return fmt.Sprintf("another image for %s: %s there, and %s here", image.Architecture, one.Digests[i].Digest, image.Digest)
		}
	}
	return ""
}

// notSoaked returns why an automatic patch to that version is not created yet: a cluster that this one
// follows has not been asked, or the version has not soaked there.
func (r *reading) notSoaked(v version.Version) clusterstate.Hold {
	for i := range r.policySpec().Gates {
		g := &r.policySpec().Gates[i]
		if g.Cluster == nil {
			continue
		}
		if hold := FollowHold(r.snapshot.Policy, g, v.String(), r.snapshot.Source.Images(v.String()), r.now); hold.Holds() {
			return hold
		}
	}
	return clusterstate.Hold{}
}

// gatesToAsk returns the gates that have to be asked: all of them while an upgrade is active, and the
// clusters that are followed also while `automatic` asks for patches.
func (c *cluster) gatesToAsk() []v1alpha1.Gate {
	gates := c.reading.policySpec().Gates
	switch {
	case c.asksGates():
		return gates
	case c.reading.automaticSpec(v1alpha1.TypePatch) == nil:
		return nil
	}
	return slices.DeleteFunc(slices.Clone(gates), func(g v1alpha1.Gate) bool { return g.Cluster == nil })
}
