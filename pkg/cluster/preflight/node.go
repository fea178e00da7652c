package preflight

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// node is a Node together with what its agent reported.
type node struct {
	*corev1.Node
	name         string
	controlPlane bool
	status       v1alpha1.NodeUpgradeStatus
	facts        *v1alpha1.NodeFacts
	kubelet      version.Version
	kubeletError error
	// abandoned reports whether a person declared that the node will not come back.
	abandoned bool
	// moves reports whether the upgrade has still to change the node, and drains
	// whether its pods have to be evicted for that.
	moves, drains bool
	drain         drainOrder
}

// sortNodes sorts the nodes by whether the upgrade concerns them: it concerns
// neither those on which it is not possible, nor those that are abandoned, nor those
// that the policy or the upgrade leaves out.
func (c *checker) sortNodes() {
	upgrades := make(map[string]*v1alpha1.NodeUpgrade, len(c.NodeUpgrades))
	for i := range c.NodeUpgrades {
		upgrades[c.NodeUpgrades[i].Name] = &c.NodeUpgrades[i]
	}
	inventories := make(map[string]*v1alpha1.NodeInventory, len(c.Inventories))
	for i := range c.Inventories {
		inventories[c.Inventories[i].Name] = &c.Inventories[i]
	}
	for i := range c.Nodes {
		n := newNode(&c.Nodes[i])
		if own := upgrades[n.name]; own != nil && own.OwnedBy(n.UID) {
			n.status, n.abandoned = own.Status, own.Abandoned != nil
		}
		if own := inventories[n.name]; own != nil && own.OwnedBy(n.UID) {
			n.facts = &own.NodeFacts
		}
		n.controlPlane = n.facts.OnControlPlane(clusterstate.HasControlPlaneLabel(n.Labels))
		c.all = append(c.all, n)
		os := n.Node.Status.NodeInfo.OperatingSystem
		switch {
		case !c.managed.Matches(labels.Set(n.Labels)) || !c.selected.Matches(labels.Set(n.Labels)):
			c.leftOut = append(c.leftOut, n)
		case os != "" && os != "linux" || (c.kubeadm || c.back) && n.status.LacksImage():
			c.unsupported = append(c.unsupported, n)
		case !n.abandoned:
			n.moves = c.toMove(n)
			n.drains, n.drain = n.moves && !c.staysInService(n), c.drainOf(n)
			c.nodes = append(c.nodes, n)
		}
	}
	for _, list := range [][]*node{c.all, c.nodes, c.unsupported, c.leftOut} {
		slices.SortFunc(list, func(a, b *node) int { return cmp.Compare(a.name, b.name) })
	}
}

// toMove reports whether something is left to do for the node. An upgrade of type
// Certificates is for control planes, until it has renewed theirs. One of type
// Reboot is for nodes that ask for one or, by its rebootPolicy, are still in the boot that it ends,
// and reboots each of them once.
func (c *checker) toMove(n *node) bool {
	switch {
	case c.back:
		return n.kubeletError == nil && c.to.Less(n.kubelet)
	case c.kubeadm:
		return !c.upToDate(n)
	case c.renews:
		renewed := n.status.CertificatesRenewed
		done := renewed != nil && renewed.Upgrade.UID == string(c.Upgrade.UID)
		return n.controlPlane && !done && (n.facts == nil || len(rules.Renewable(n.facts)) > 0)
	}
	boot, fixed := n.Node.Status.NodeInfo.BootID, c.Upgrade.Status.BootOf(n.name)
	if c.Upgrade.Spec.AlwaysReboots() && (c.Upgrade.Status.TriggerTime == nil || fixed != "") {
		return c.Upgrade.Status.TriggerTime == nil || boot == fixed
	}
	from := n.status.Reboot.FromBootID
	rebooted := c.isFor(n) && from != "" && boot != from
	return n.status.Reboot.Required && !rebooted
}

// isFor reports whether the node's status is about this upgrade, and not about the
// one before.
func (c *checker) isFor(n *node) bool {
	return n.status.Upgrade != nil && n.status.Upgrade.UID == string(c.Upgrade.UID)
}

// staysInService reports whether the node stays in service: only certificates are renewed; or the
// method is Restart, which is for patches, and no mount is known that a refresh of the merged image breaks.
func (c *checker) staysInService(n *node) bool {
	if c.renews {
		return true
	}
	kind := cmp.Or(c.Upgrade.Status.Type, c.Upgrade.Spec.Type)
	if c.strategy.Method != v1alpha1.MethodRestart || !kind.RunsKubeadmUpgrade() || !n.kubelet.SameLine(c.to) {
		return false
	}
	decided := c.isFor(n) && n.status.Method == v1alpha1.MethodReboot
	return !decided && (n.facts == nil || len(n.facts.RefreshBlockers) == 0)
}

func newNode(n *corev1.Node) *node {
	out := &node{Node: n, name: n.Name}
	out.kubelet, out.kubeletError = version.Parse(n.Status.NodeInfo.KubeletVersion)
	return out
}

// upToDate reports whether nothing is left to do for the node.
func (c *checker) upToDate(n *node) bool { return n.kubeletAt(c.to) && !c.runsKubeadm(n) }

// runsKubeadm reports whether kubeadm upgrade has still to run on the node: on a
// worker it runs just before the kubelet is upgraded.
func (c *checker) runsKubeadm(n *node) bool {
	done := n.kubeletAt(c.to)
	if n.controlPlane {
		done = version.Reached(n.status.Versions.Kubeadm, c.to) || done && version.Reached(n.status.Versions.ControlPlane, c.to)
	}
	return c.kubeadm && !done
}

// kubeletAt reports whether the kubelet runs v or a later version.
func (n *node) kubeletAt(v version.Version) bool {
	return n.kubeletError == nil && !n.kubelet.Less(v)
}

func (n *node) ready() bool {
	return slices.ContainsFunc(n.Node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// isAway reports whether an upgrade that goes on has the node out of service, or restarts its control plane's pods. What
// is not healthy there meanwhile is the upgrade's own doing, and it waits for that itself; but not of one that a person has
// abandoned.
func (n *node) isAway() bool {
	step := n.status.Step
	return !n.abandoned && (step.Info().Phase == v1alpha1.PhaseCommitted || step == v1alpha1.StepKubeadm || step == v1alpha1.StepChecking)
}

// away returns the names of the nodes that are.
func (c *checker) away() map[string]bool {
	names := map[string]bool{}
	for _, n := range c.all {
		if n.isAway() {
			names[n.name] = true
		}
	}
	return names
}

// drainsNow reports whether an upgrade that goes on has evicted a node's pods, or is about to.
func (c *checker) drainsNow() bool {
	return slices.ContainsFunc(c.all, func(n *node) bool {
		phase := n.status.Step.Info().Phase
		return phase == v1alpha1.PhaseRevocable || phase == v1alpha1.PhaseCommitted
	})
}

func (n *node) object() v1alpha1.ObjectReference {
	return v1alpha1.ObjectReference{Kind: "Node", Name: n.name}
}

// controlPlanes returns the control-plane nodes that the upgrade concerns.
func (c *checker) controlPlanes() []*node {
	var list []*node
	for _, n := range c.nodes {
		if n.controlPlane {
			list = append(list, n)
		}
	}
	return list
}

// controlPlaneMoves reports whether something is left to do for one of them.
func (c *checker) controlPlaneMoves() bool {
	return slices.ContainsFunc(c.controlPlanes(), func(n *node) bool { return n.moves })
}
