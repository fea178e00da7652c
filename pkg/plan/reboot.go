package plan

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// isReboot is whether the upgrade that is planned brings no version, only the
// reboots that operating systems ask for.
func (d *decider) isReboot() bool {
	return d.target != nil && isReboot(d.target)
}

// triggerReboot makes a Reboot the active upgrade: there is nothing to fix.
func (d *decider) triggerReboot(u *v1alpha1.ClusterUpgrade) (hold fleet.Hold, stalled bool) {
	if !slices.ContainsFunc(d.nodes, (*node).counts) {
		return nobodyCounts, true
	}
	u.Status.Type = v1alpha1.TypeReboot
	u.Status.TriggerTime = &metav1.Time{Time: d.now.Truncate(time.Second)}
	return fleet.Hold{}, false
}

// readNeeds finds out which nodes a Reboot is to reboot. One that came by itself
// leaves those alone that it cannot serve, as it does when it comes: others would
// wait behind it until somebody has looked. Whoever asks for one is told.
func (d *decider) readNeeds() {
	if !d.isReboot() {
		return
	}
	_, byItself := d.target.Annotations[v1alpha1.CreatedByAnnotation]
	for _, n := range d.nodes {
		n.reboot = true
		leftAlone := byItself && n.nextBootDiffers()
		n.due = n.status.Reboot.Required && !n.rebootedFor(d.target) && !leftAlone
	}
}

// rebootedFor is whether that upgrade has rebooted the node already. Once is all:
// one that asks again right away is left to the next upgrade.
func (n *node) rebootedFor(u *v1alpha1.ClusterUpgrade) bool {
	left := n.status.Reboot.FromBootID
	return isFor(n.status.Upgrade, u) && left != "" && n.BootID != left
}

// nextBootDiffers is whether a reboot would change the node's Kubernetes.
func (n *node) nextBootDiffers() bool {
	return n.status.Versions.NextBoot != "" && n.status.Versions.NextBoot != n.Kubelet
}

// rebootStep is why a Reboot leaves a node alone.
func (n *node) rebootStep() error {
	if n.nextBootDiffers() {
		return fmt.Errorf("%s runs, and the next boot would bring %s: a Reboot changes no version; ask for an upgrade, or point the symlink back", n.Kubelet, n.status.Versions.NextBoot)
	}
	return nil
}

func (n *node) nextBootHold() fleet.Hold {
	return fleet.Hold{Reason: v1alpha1.ReasonNextBootDiffers, Message: n.rebootStep().Error()}
}

// asItShould says why nothing is left to do for n.
func (d *decider) asItShould(n *node) string {
	switch {
	case !n.reboot:
		return "runs " + n.Kubelet + n.stillDue()
	case n.rebootedFor(d.target):
		return "was rebooted"
	case n.status.Reboot.Required && n.nextBootDiffers():
		return "is left alone: " + n.rebootStep().Error()
	}
	return "needs no reboot"
}

// stillDue is for a node about which nothing is decided, and that asks for a
// reboot.
func (n *node) stillDue() string {
	if !n.status.Reboot.Required {
		return ""
	}
	return "; a reboot is due: " + n.status.Reboot.Reason
}

// automaticReboot is what `automatic: [Reboot]` asks for: as soon as a node that
// asks for a reboot could begin, and not before. So a patch that turns up until
// then goes first. It bears the day, in UTC, as its name, so that two
// coordinators create the same one, and there is one a day at most, whatever an
// operating system says after its reboot.
func (d *decider) automaticReboot() *v1alpha1.ClusterUpgrade {
	if d.wants(v1alpha1.TypeReboot) == nil || slices.ContainsFunc(d.nodes, func(n *node) bool { return n.busy() || n.released() }) {
		return nil
	}
	u := d.byItself("reboot-"+d.now.UTC().Format(time.DateOnly), v1alpha1.TypeReboot)
	gates := newGates(u, d.Schedules, d.now)
	for _, n := range d.nodes {
		if !d.asksForReboot(n) {
			continue
		}
		c := gates.classOf(n.Labels, v1alpha1.TypeReboot)
		gates.look(c)
		d.wakeAt(c.changes())
		if c.hold.Reason == "" && c.fits(d.now, d.expected(n, false)) {
			return d.unlessThere(u)
		}
	}
	return nil
}

// asksForReboot is whether a Reboot could serve n. A node that is behind is about
// to be rebooted anyway.
func (d *decider) asksForReboot(n *node) bool {
	behind := d.converging && !n.asWanted(d.to)
	return n.counts() && n.Ready && n.status.Reboot.Required && !n.nextBootDiffers() && !behind
}

// unlessThere waits for the next day where today's Reboot was there already.
func (d *decider) unlessThere(u *v1alpha1.ClusterUpgrade) *v1alpha1.ClusterUpgrade {
	if slices.ContainsFunc(d.Upgrades, func(other v1alpha1.ClusterUpgrade) bool { return other.Name == u.Name }) {
		tomorrow := d.now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
		d.wakeAt(&tomorrow)
		return nil
	}
	return u
}

// restarts is whether n is expected to go without drain and boot.
func (d *decider) restarts(n *node) bool {
	if d.target == nil || d.strategy.Method != v1alpha1.MethodRestart || kindFor(d.target, n.runs.kubelet) != v1alpha1.TypePatch {
		return false
	}
	decided := isFor(n.status.Upgrade, d.target) && n.status.Method == v1alpha1.MethodReboot
	return !decided && (n.facts == nil || len(n.facts.RefreshBlockers) == 0)
}
