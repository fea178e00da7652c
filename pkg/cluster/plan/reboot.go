package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// Which nodes a Reboot reboots, and how long it waits to learn that.

// rebootDue reports whether a Reboot has to reboot the node, or waits to learn whether it
// has to. An automatic Reboot skips nodes that it must not reboot, and those that report
// nothing, because otherwise later upgrades would wait until a person acts. A Reboot that a
// person asked for is held instead.
func (t *target) rebootDue(n *node) bool {
	_, byItself := t.Annotations[v1alpha1.CreatedByAnnotation]
	if byItself && (n.silent() || n.nextBootDiffers()) {
		return false
	}
	if t.endsBoot(n) {
		return t.Status.TriggerTime == nil || n.BootID == t.Status.BootOf(n.Name)
	}
	return n.silent() || n.status.Reboot.Required && !t.rebooted(n)
}

// endsBoot reports whether the Reboot ends the boot that the node was in at its trigger, or will if it is triggered,
// whether the node's operating system asks for it or not. One that has joined since asks, or has nothing to do.
func (t *target) endsBoot(n *node) bool {
	if t.Status.TriggerTime == nil {
		return t.Spec.AlwaysReboots() && n.boot() != ""
	}
	return t.Status.BootOf(n.Name) != ""
}

// boots returns the boots that the upgrade ends, sorted by the nodes' names. One that retries another ends the boots of
// that one: the nodes that it has rebooted are not rebooted again, unless they failed.
func (t *target) boots(r *reading) (list []v1alpha1.NodeBoot) {
	if !t.Spec.AlwaysReboots() {
		return nil
	}
	former := r.retriedBy(t.ClusterUpgrade)
	for _, n := range r.nodes {
		boot := v1alpha1.NodeBoot{Name: n.Name, BootID: n.boot()}
		if failed := n.failed() && n.status.Upgrade != nil && former != nil && n.status.Upgrade.UID == string(former.UID); former != nil && !failed {
			boot.BootID = former.Status.BootOf(n.Name)
		}
		if boot.BootID != "" && t.concerns(n) {
			list = append(list, boot)
		}
	}
	slices.SortFunc(list, func(a, b v1alpha1.NodeBoot) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// boot returns the ID of the boot that the node is in. Empty: its kubelet reports none, or what is none.
func (n *node) boot() string {
	if len(n.BootID) > v1alpha1.MaxBootID {
		return ""
	}
	return n.BootID
}

// tooManyBoots holds a Reboot that would end more boots than a ClusterUpgrade has room for.
func tooManyBoots(r *reading, t *target) clusterstate.Hold {
	count := len(t.boots(r))
	if count <= v1alpha1.MaxBoots {
		return clusterstate.Hold{}
	}
	message := fmt.Sprintf("rebootPolicy Always is for at most %d nodes, and this upgrade selects %d: select fewer with nodeSelector", v1alpha1.MaxBoots, count)
	return clusterstate.Hold{Reason: v1alpha1.ReasonUpgradeInvalid, Message: message, Stays: true}
}

// retriedBy returns the Reboot that the upgrade retries, if that one was triggered and rebooted nodes whether they asked
// for it or not; or nil.
func (r *reading) retriedBy(u *v1alpha1.ClusterUpgrade) *v1alpha1.ClusterUpgrade {
	for i := range r.snapshot.Upgrades {
		if other := &r.snapshot.Upgrades[i]; u.Spec.Retries(other) && other.Spec.AlwaysReboots() && other.Status.TriggerTime != nil {
			return other
		}
	}
	return nil
}

// unlooked reports whether the node's agent has not looked, since a person asked for the Reboot, whether the node needs
// one. What it said before may be minutes old, and the person may just have changed that. An automatic Reboot is not
// held: another one follows.
func (t *target) unlooked(n *node) bool {
	_, byItself := t.Annotations[v1alpha1.CreatedByAnnotation]
	return t.reboot && !byItself && t.concerns(n) && !t.endsBoot(n) && !t.isFor(n.status.Upgrade)
}

// unlooked returns a node for whose agent a Reboot waits so; or nil.
func (c *cluster) unlooked(t *target) *node {
	i := slices.IndexFunc(c.nodes, t.unlooked)
	if i < 0 {
		return nil
	}
	return c.nodes[i]
}

// lookOverdue reports whether a Reboot waits so for an agent that does not answer, and has for a while.
func (t *target) lookOverdue(n *node, r *reading) bool {
	return t.unlooked(n) && (!n.answered || t.isStuck(n, r.now)) && t.unlookedForLong(r)
}

// unlookedForLong reports whether agents have had a while to look. They learn of a Reboot when it becomes active,
// which may be long after it was triggered: when the last upgrade before it ended.
func (t *target) unlookedForLong(r *reading) bool {
	since := t.Status.TriggerTime
	if since == nil {
		return false
	}
	for i := range r.snapshot.Upgrades {
		if ended := r.snapshot.Upgrades[i].Status.EndTime; since.Before(ended) {
			since = ended
		}
	}
	return hasLasted(&since.Time, r.now)
}

// unlookedHold returns the hold of a Reboot that waits for that node.
func (c *cluster) unlookedHold(n *node) clusterstate.Hold {
	message := fmt.Sprintf("node %s: its agent has not looked since the request whether the node needs a reboot", n.Name)
	return clusterstate.Hold{Reason: v1alpha1.ReasonAgentNotAnswering, Message: message, Stays: c.target.unlookedForLong(c.reading)}
}

// rebooted reports whether the upgrade has rebooted the node. It does so only once: a
// node that needs another reboot right away waits for the next upgrade.
func (t *target) rebooted(n *node) bool {
	previousBootID := n.status.Reboot.FromBootID
	return t.isFor(n.status.Upgrade) && previousBootID != "" && n.BootID != previousBootID
}

// rebootNote returns a note for a node that asks for a reboot although nothing is
// decided about it.
func (n *node) rebootNote() string {
	if !n.status.Reboot.Required {
		return ""
	}
	return "; a reboot is due: " + n.status.Reboot.Message
}

// rebooted returns the status of a node that no longer asks for a reboot.
func rebooted(status *v1alpha1.NodeUpgradeStatus) *v1alpha1.NodeUpgradeStatus {
	out := *status
	out.Reboot = v1alpha1.NodeReboot{}
	return &out
}
