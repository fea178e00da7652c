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
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// TestAnySnapshot checks the promises on random snapshots, also on ones that no
// ordinary upgrade leaves behind.
func TestAnySnapshot(t *testing.T) {
	now := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		s := anySnapshot(t, now)
		before := copied(s)
		p := plan.Predict(s, now)
		if diff := cmp.Diff(before, s, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("Predict changed the snapshot (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(p, plan.Predict(before, now)); diff != "" {
			t.Fatalf("the same snapshot gave two plans (-first +second):\n%s", diff)
		}
		if len(p.Nodes) != len(s.Nodes) {
			t.Fatalf("the plan has %d nodes, want %d", len(p.Nodes), len(s.Nodes))
		}
		c := &planChecker{T: t, s: s, now: now, p: p}
		c.checkBudget()
		for _, n := range p.Nodes {
			c.checkReason(n)
			if n.Slot != "" {
				c.checkRelease(n)
			}
		}
	})
}

// planChecker checks that a plan keeps the promises for its snapshot.
type planChecker struct {
	*rapid.T
	s   clusterstate.Snapshot
	now time.Time
	p   plan.Plan
}

func (c *planChecker) node(name string) (clusterstate.Node, v1alpha1.NodeUpgrade) {
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
	c.Fatalf("the plan has node %s, which the snapshot has not", name)
	return clusterstate.Node{}, nodeUpgrade
}

// outOfService reports whether a node is out of service, or may be. A node that policy
// or upgrade skip, or whose versions it cannot change, counts only while it works.
func (c *planChecker) outOfService(n clusterstate.Node, nodeUpgrade v1alpha1.NodeUpgrade) bool {
	switch nodeUpgrade.Status.Step {
	case "", v1alpha1.StepIdle, v1alpha1.StepUnsupported, v1alpha1.StepStaging, v1alpha1.StepWaiting:
	default:
		return true
	}
	for _, slot := range c.s.Slots {
		if slot.Holder == n.Owner() {
			return true
		}
	}
	leftOut := c.skipped(n) || nodeUpgrade.Status.LacksImage() && rules.TypeOf(c.upgrade()) != v1alpha1.TypeReboot
	return !n.Ready && !leftOut || n.SlotAnnotation != "" && n.SlotAnnotation == nodeUpgrade.Spec.Slot
}

// skipped reports whether policy or upgrade skip the node.
func (c *planChecker) skipped(n clusterstate.Node) bool {
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

// upgrade returns the upgrade that the plan is for, with the status that the plan gives it.
func (c *planChecker) upgrade() *v1alpha1.ClusterUpgrade {
	u := &v1alpha1.ClusterUpgrade{}
	for i := range c.s.Upgrades {
		if c.s.Upgrades[i].Name == c.p.Upgrade {
			u = c.s.Upgrades[i].DeepCopy()
		}
	}
	for _, status := range c.p.Statuses {
		if status.Name == u.Name {
			u.Status = status.Status // the plan may have just set its type
		}
	}
	return u
}

// checkPeopleAndFailures checks that neither a person nor a failed node holds n, which begins.
func (c *planChecker) checkPeopleAndFailures(n clusterstate.Node, u *v1alpha1.ClusterUpgrade) {
	if _, held := n.Labels[v1alpha1.HoldLabel]; held || c.skipped(n) {
		c.Fatalf("%s begins, but a person holds or deselects it: labels %v", n.Name, n.Labels)
	}
	for _, g := range u.Status.Strategy.Groups {
		if g.Approval == v1alpha1.ApprovalRequired && n.Labels["pool"] == g.Name && !n.ControlPlane {
			c.Fatalf("%s begins before its group is approved", n.Name)
		}
	}
	failed := int32(0)
	for _, other := range c.s.Nodes {
		_, nodeUpgrade := c.node(other.Name)
		if nodeUpgrade.Status.Step.Info().Phase == v1alpha1.PhaseStopped && nodeUpgrade.Abandoned == nil && !c.skipped(other) {
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

// checkBudget checks promise 1: no more nodes are released than the budget allows.
func (c *planChecker) checkBudget() {
	away, begin, controlPlanes := 0, 0, 0
	slots := map[string]bool{}
	for _, planned := range c.p.Nodes {
		n, nodeUpgrade := c.node(planned.Name)
		out := nodeUpgrade.Abandoned == nil && c.outOfService(n, nodeUpgrade)
		if out {
			away++
		}
		if planned.Slot != "" {
			begin++
			if slots[planned.Slot] {
				c.Fatalf("promise 1: %s is reserved for two nodes", planned.Slot)
			}
			slots[planned.Slot] = true
		}
		if n.ControlPlane && (planned.Slot != "" || out && n.Ready) {
			controlPlanes++
		}
		if n.ControlPlane && planned.Slot != "" && controlPlanes > 1 {
			c.Fatal("promise 1: two control planes are out of service or begin")
		}
	}
	if begin > 0 && away+begin > c.p.Slots.Count {
		c.Fatalf("promise 1: %d nodes are out of service and %d begin, want at most %d", away, begin, c.p.Slots.Count)
	}
}

// checkRelease checks that a node for which a slot is reserved may begin.
func (c *planChecker) checkRelease(planned plan.NodePlan) {
	n, _ := c.node(planned.Name)
	if n.ControlPlane {
		if planned.Slot != clusterstate.ControlPlaneSlot {
			c.Fatalf("promise 1: control plane %s has %s", n.Name, planned.Slot)
		}
		if hold := rules.Etcd(c.s.Etcd, 0, n.Name); hold.Reason != "" {
			c.Fatalf("promise 1: %s: %s", n.Name, hold.Message)
		}
	}
	u := c.upgrade()
	c.checkPeopleAndFailures(n, u)
	if planned.Spec.ExpectedSeconds == nil {
		c.Fatalf("%s begins, and its spec has no expectedSeconds", n.Name)
	}
	// The agent asks the same gate: planner and agent must agree about the same moment.
	if hold := rules.Window(u, planned.Spec.Type, c.s.Schedules, n.Labels, c.now, time.Duration(*planned.Spec.ExpectedSeconds)*time.Second); hold.Reason != "" {
		c.Fatalf("promise 2: %s begins while the gate is closed: %s: %s", n.Name, hold.Reason, hold.Message)
	}
	c.checkPreflight(n, planned)
	if len(c.s.RebootManagers) > 0 {
		c.Fatalf("%s begins while %s may reboot nodes", n.Name, c.s.RebootManagers[0].Name)
	}
	c.checkSkew(n, planned)
}

// checkPreflight checks that no finding of preflight blocks n, and that no webhook loses
// its last backend.
func (c *planChecker) checkPreflight(n clusterstate.Node, planned plan.NodePlan) {
	report := c.s.Preflight
	_, nodeUpgrade := c.node(n.Name)
	goesOn := upgradeNamed(nodeUpgrade.Spec.Upgrade) == c.p.Upgrade && nodeUpgrade.Spec.Release.Granted()
	if current := report != nil && report.Key == c.p.PreflightKey && c.now.Sub(report.At) < 10*time.Minute; !current && !goesOn {
		c.Fatalf("%s begins without a current report of preflight: %+v", n.Name, report)
	}
	if report != nil && report.Upgrade.Name == c.p.Upgrade && slices.ContainsFunc(report.Findings, blocks(n.Name)) {
		c.Fatalf("%s begins in spite of %v", n.Name, report.Findings)
	}
	mounted := slices.ContainsFunc(c.s.Inventories, func(i v1alpha1.NodeInventory) bool { return i.Name == n.Name })
	if planned.Spec.Method == v1alpha1.MethodRestart && !mounted && nodeUpgrade.Status.Method != v1alpha1.MethodReboot {
		return // its pods stay
	}
	for _, w := range c.s.Webhooks {
		answers := func(name string) bool {
			i := slices.IndexFunc(c.p.Nodes, func(p plan.NodePlan) bool { return p.Name == name })
			other, nodeUpgrade := c.node(name)
			return c.p.Nodes[i].Slot == "" && !c.outOfService(other, nodeUpgrade)
		}
		if planned.Release == v1alpha1.ReleaseNode && slices.Contains(w.Nodes, n.Name) && !slices.ContainsFunc(w.Nodes, answers) {
			c.Fatalf("%s begins, and no backend remains for a webhook on %v", n.Name, w.Nodes)
		}
	}
}

// checkSkew checks promise 3: versions stay within Kubernetes' skew.
func (c *planChecker) checkSkew(n clusterstate.Node, planned plan.NodePlan) {
	if planned.Spec.Type == v1alpha1.TypeReboot {
		_, nodeUpgrade := c.node(n.Name)
		s := nodeUpgrade.Status
		due := s.Reboot.Required
		if from := planned.Spec.FromBootID; from != "" {
			due = from == n.BootID
		}
		if !due || s.Versions.NextBoot != "" && s.Versions.NextBoot != n.Kubelet || s.Reboot.FromBootID == "boot-0" && upgradeNamed(s.Upgrade) == c.p.Upgrade {
			c.Fatalf("%s begins a reboot that it must not make: %+v", n.Name, s)
		}
		return
	}
	if _, nodeUpgrade := c.node(n.Name); nodeUpgrade.Status.LacksImage() {
		c.Fatalf("%s begins an upgrade to %s without a sysext image", n.Name, planned.To)
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

// checkReason checks promise 8: every decision has a reason.
func (c *planChecker) checkReason(n plan.NodePlan) {
	if n.Decision == "" || n.Reason == "" || n.Message == "" {
		c.Fatalf("promise 8: %s is %q with no reason (%q, %q)", n.Name, n.Decision, n.Reason, n.Message)
	}
	untouched := n.Reason == v1alpha1.ReasonUnmanaged || n.Reason == v1alpha1.ReasonObserved || n.Reason == v1alpha1.ReasonPolicyMissing
	if untouched && n.Slot != "" || n.Slot != "" && !n.Managed {
		c.Fatalf("%s begins, and is not managed (%s)", n.Name, n.Reason)
	}
	waits := n.Decision != plan.Done && (n.Decision != plan.Go || !n.Began)
	if present, admitted := n.Admission(); present != (waits || untouched) || admitted != (n.Decision == plan.Go) {
		c.Fatalf("promise 8: %s is %s, but its condition Admitted has present %t, admitted %t", n.Name, n.Decision, present, admitted)
	}
	if n.PredictedStart != nil && n.PredictedEnd.Before(*n.PredictedStart) {
		c.Fatalf("%s has a predicted end before its predicted start", n.Name)
	}
}
