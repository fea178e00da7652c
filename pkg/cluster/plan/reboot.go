package plan

import (
	"fmt"
	"slices"

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
	return n.silent() || n.status.Reboot.Required && !t.rebooted(n)
}

// unlooked reports whether the node's agent has not looked, since a person asked for the Reboot, whether the node needs
// one. What it said before may be minutes old, and the person may just have changed that. An automatic Reboot is not
// held: another one follows.
func (t *target) unlooked(n *node) bool {
	_, byItself := t.Annotations[v1alpha1.CreatedByAnnotation]
	return t.reboot && !byItself && t.concerns(n) && !t.isFor(n.status.Upgrade)
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
