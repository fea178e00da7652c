package plan_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// The promises hold for whatever is read, not only for what an upgrade that
// went by the book leaves behind.
func TestAnySnapshot(t *testing.T) {
	now := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		s := anySnapshot(t, now)
		before := copied(s)
		p := plan.Predict(s, now)
		// The same snapshot and instant give the same plan, and stay as they were.
		if diff := cmp.Diff(before, s, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("the snapshot was changed:\n%s", diff)
		}
		if diff := cmp.Diff(p, plan.Predict(before, now)); diff != "" {
			t.Fatalf("two plans:\n%s", diff)
		}
		if len(p.Nodes) != len(s.Nodes) {
			t.Fatalf("%d nodes, %d in the plan", len(s.Nodes), len(p.Nodes))
		}
		c := &claims{T: t, s: s, now: now, p: p}
		c.room()
		for _, n := range p.Nodes {
			c.saysWhy(n)
			if n.Slot != "" {
				c.mayBegin(n)
			}
		}
	})
}

// claims are what a plan promises of a snapshot.
type claims struct {
	*rapid.T
	s   fleet.Snapshot
	now time.Time
	p   plan.Plan
}

func (c *claims) node(name string) (fleet.Node, v1alpha1.NodeUpgrade) {
	var nodeUpgrade v1alpha1.NodeUpgrade
	for _, one := range c.s.NodeUpgrades {
		if one.Name == name {
			nodeUpgrade = one
		}
	}
	for _, n := range c.s.Nodes {
		if n.Name == name {
			return n, nodeUpgrade
		}
	}
	c.Fatalf("the plan has a node %s that is not there", name)
	return fleet.Node{}, nodeUpgrade
}

// out reports whether a node is out of service, or may be. A node that is left as it is
// counts only where it is at work.
func (c *claims) out(n fleet.Node, nodeUpgrade v1alpha1.NodeUpgrade) bool {
	switch nodeUpgrade.Status.Step {
	case "", v1alpha1.StepIdle, v1alpha1.StepStaging, v1alpha1.StepWaiting:
	default:
		return true
	}
	for _, slot := range c.s.Slots {
		if slot.Holder == n.Owner() {
			return true
		}
	}
	return !n.Ready && !c.left(n) || n.Slot != "" && n.Slot == nodeUpgrade.Spec.Slot
}

// left reports whether policy or upgrade skip the node.
func (c *claims) left(n fleet.Node) bool {
	selectors := []*v1alpha1.LabelSelector{c.upgrade().Spec.NodeSelector}
	if c.s.Policy != nil {
		selectors = append(selectors, c.s.Policy.Spec.NodeSelector)
	}
	return slices.ContainsFunc(selectors, func(s *v1alpha1.LabelSelector) bool {
		if s == nil {
			return false
		}
		matcher, err := s.AsSelector()
		return err != nil || !matcher.Matches(labels.Set(n.Labels))
	})
}

// upgrade is the one that the plan is for, as the plan leaves it.
func (c *claims) upgrade() *v1alpha1.ClusterUpgrade {
	u := &v1alpha1.ClusterUpgrade{}
	for i := range c.s.Upgrades {
		if c.s.Upgrades[i].Name == c.p.Upgrade {
			u = c.s.Upgrades[i].DeepCopy()
		}
	}
	for _, status := range c.p.Statuses {
		if status.Name == u.Name {
			u.Status = status.Status // its type may have been found out just now
		}
	}
	return u
}

// wanted is what people and failures have to say about a node that begins.
func (c *claims) wanted(n fleet.Node, u *v1alpha1.ClusterUpgrade) {
	if _, held := n.Labels[v1alpha1.HoldLabel]; held || c.left(n) {
		c.Fatalf("%s begins, and people leave it out: %v", n.Name, n.Labels)
	}
	for _, g := range u.Status.Strategy.Groups {
		if over := u.Status.Outcome != ""; !over && g.Approval == v1alpha1.ApprovalRequired && n.Labels["pool"] == g.Name && !n.ControlPlane {
			c.Fatalf("%s begins, and its group is not approved", n.Name)
		}
	}
	failed := int32(0)
	for _, other := range c.s.Nodes {
		_, nodeUpgrade := c.node(other.Name)
		if nodeUpgrade.Status.Step.Info().Phase == v1alpha1.PhaseStopped && nodeUpgrade.Abandoned == nil && !c.left(other) {
			failed++
			if other.ControlPlane || upgradeNamed(nodeUpgrade.Status.Upgrade) != c.p.Upgrade && nodeUpgrade.Status.Upgrade != nil {
				c.Fatalf("%s begins after %s failed", n.Name, other.Name)
			}
		}
	}
	if limit := c.p.Upgrade != "" && u.Status.Outcome == ""; limit && failed > *u.Spec.Strategy.MaxFailures {
		c.Fatalf("%s begins after %d failed", n.Name, failed)
	}
}

// room is promise 1: no more nodes are released than the budget allows.
func (c *claims) room() {
	away, begin, controlPlanes := 0, 0, 0
	slots := map[string]bool{}
	for _, planned := range c.p.Nodes {
		n, nodeUpgrade := c.node(planned.Name)
		ignored := nodeUpgrade.Status.Step == v1alpha1.StepUnsupported || nodeUpgrade.Abandoned != nil
		out := !ignored && c.out(n, nodeUpgrade)
		if out {
			away++
		}
		if planned.Slot != "" {
			begin++
			if slots[planned.Slot] {
				c.Fatalf("promise 1: %s is kept for two", planned.Slot)
			}
			slots[planned.Slot] = true
		}
		if n.ControlPlane && (planned.Slot != "" || out && n.Ready) {
			controlPlanes++
		}
		if n.ControlPlane && planned.Slot != "" && controlPlanes > 1 {
			c.Fatal("promise 1: two control planes")
		}
	}
	if begin > 0 && away+begin > c.p.Slots.Count {
		c.Fatalf("promise 1: %d are away and %d begin, of %d", away, begin, c.p.Slots.Count)
	}
}

// mayBegin is what holds of a node that a slot is kept for.
func (c *claims) mayBegin(planned plan.NodePlan) {
	n, _ := c.node(planned.Name)
	if n.ControlPlane {
		if planned.Slot != fleet.ControlPlaneSlot {
			c.Fatalf("promise 1: control plane %s with %s", n.Name, planned.Slot)
		}
		if hold := plan.EtcdGate(c.s.Etcd, 0, n.Name); hold.Reason != "" {
			c.Fatalf("promise 1: %s: %s", n.Name, hold.Message)
		}
	}
	u := c.upgrade()
	c.wanted(n, u)
	if planned.Spec.ExpectedSeconds == nil {
		c.Fatalf("%s begins, and its agent is not told how long it is expected to need", n.Name)
	}
	// What the agent asks: planner and agent never disagree about the same moment.
	if hold := plan.Gate(u, planned.Spec.Type, c.s.Schedules, n.Labels, c.now, time.Duration(*planned.Spec.ExpectedSeconds)*time.Second); hold.Reason != "" {
		c.Fatalf("promise 2: %s begins, and %s: %s", n.Name, hold.Reason, hold.Message)
	}
	c.checked(n, planned)
	if len(c.s.RebootManagers) > 0 {
		c.Fatalf("%s begins beside %s", n.Name, c.s.RebootManagers[0].Name)
	}
	c.skew(n, planned)
}

// checked is that preflight has nothing against n, and that no webhook loses its
// last backend.
func (c *claims) checked(n fleet.Node, planned plan.NodePlan) {
	if follows := c.upgrade().Status.Outcome != ""; !follows {
		report := c.s.Preflight
		_, nodeUpgrade := c.node(n.Name)
		goesOn := upgradeNamed(nodeUpgrade.Spec.Upgrade) == c.p.Upgrade && nodeUpgrade.Spec.Release.Granted()
		if current := report != nil && report.Key == c.p.PreflightKey; !current && !goesOn {
			c.Fatalf("%s begins unchecked: %+v", n.Name, report)
		}
		if report != nil && report.Upgrade.Name == c.p.Upgrade && slices.ContainsFunc(report.Findings, blocks(n.Name)) {
			c.Fatalf("%s begins in spite of %v", n.Name, report.Findings)
		}
	}
	_, nodeUpgrade := c.node(n.Name)
	mounted := slices.ContainsFunc(c.s.Inventories, func(i v1alpha1.NodeInventory) bool { return i.Name == n.Name })
	if planned.Spec.Method == v1alpha1.MethodRestart && !mounted && nodeUpgrade.Status.Method != v1alpha1.MethodReboot {
		return // its pods stay
	}
	for _, w := range c.s.Webhooks {
		answers := func(name string) bool {
			i := slices.IndexFunc(c.p.Nodes, func(p plan.NodePlan) bool { return p.Name == name })
			other, nodeUpgrade := c.node(name)
			return c.p.Nodes[i].Slot == "" && !c.out(other, nodeUpgrade)
		}
		if planned.Release == v1alpha1.ReleaseNode && slices.Contains(w.Nodes, n.Name) && !slices.ContainsFunc(w.Nodes, answers) {
			c.Fatalf("%s begins, and no node answers for a webhook on %v", n.Name, w.Nodes)
		}
	}
}

// skew is promise 3.
func (c *claims) skew(n fleet.Node, planned plan.NodePlan) {
	if planned.Spec.Type == v1alpha1.TypeReboot {
		_, nodeUpgrade := c.node(n.Name)
		s := nodeUpgrade.Status
		if !s.Reboot.Required || s.Versions.NextBoot != "" && s.Versions.NextBoot != n.Kubelet || s.Reboot.FromBootID == "boot-0" && upgradeNamed(s.Upgrade) == c.p.Upgrade {
			c.Fatalf("%s is rebooted: %+v", n.Name, s)
		}
		return
	}
	to, err := version.Parse(planned.To)
	if err != nil {
		c.Fatalf("promise 3: %s begins, to %q", n.Name, planned.To)
	}
	from, err := version.Parse(n.Kubelet)
	if err == nil {
		err = version.CheckStep(from, to)
	}
	if err != nil {
		c.Fatalf("promise 3: %s begins: %v", n.Name, err)
	}
	for _, pod := range c.s.APIServers {
		server, err := version.Parse(pod.Version)
		if err == nil && planned.Release == v1alpha1.ReleaseNode {
			err = version.CheckKubelet(to, server)
		}
		if err == nil {
			err = version.CheckAPIServers(to, server)
		}
		if err != nil {
			c.Fatalf("promise 3: %s begins beside the apiserver on %s: %v", n.Name, pod.Node, err)
		}
	}
}

// saysWhy is promise 8.
func (c *claims) saysWhy(n plan.NodePlan) {
	if n.Decision == "" || n.Reason == "" || n.Message == "" {
		c.Fatalf("promise 8: %s is %q with no reason (%q, %q)", n.Name, n.Decision, n.Reason, n.Message)
	}
	if present, admitted := n.Admission(); present == (n.Decision == plan.Done) || admitted != (n.Decision == plan.Go) {
		c.Fatalf("promise 8: %s is %s, and the condition is there: %t, true: %t", n.Name, n.Decision, present, admitted)
	}
	if n.PredictedStart != nil && n.PredictedEnd.Before(*n.PredictedStart) {
		c.Fatalf("%s ends before it begins", n.Name)
	}
}
