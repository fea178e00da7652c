package plan

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// automatic returns the upgrade that the policy's `automatic` asks for now, or nil, and the hold if
// no patch can be chosen. A
// patch goes before a Reboot, because its reboot also serves the operating system: it
// is created even while a Reboot is queued. While an upgrade to a version is queued, an
// automatic one is created only if the queued one can neither begin nor continue for
// now. The same holds for the upgrade of late control planes, for which `automatic` need
// not ask.
func (c *cluster) automatic(q queue, wake *wakeTime) (create *v1alpha1.ClusterUpgrade, hold fleet.Hold) {
	idle := len(q.targets) == 0
	if idle || q.targets[0].reboot || q.noneCanProceed {
		if create, hold = c.automaticPatch(wake); create != nil {
			return create, hold
		}
		if own := c.reading.upgradeOfControlPlanes(q); own != nil {
			return own, hold
		}
	}
	reboot := func(t *target) bool { return t.reboot }
	if idle || q.noneCanProceed && !slices.ContainsFunc(q.targets, reboot) {
		create = c.automaticReboot(wake)
	}
	return create, hold
}

// newAutomatic returns an upgrade for the coordinator to create.
func newAutomatic(name string, kind v1alpha1.UpgradeType) *v1alpha1.ClusterUpgrade {
	return &v1alpha1.ClusterUpgrade{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterUpgrade"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{v1alpha1.CreatedByAnnotation: v1alpha1.CreatedByCoordinator},
		},
		Spec: v1alpha1.ClusterUpgradeSpec{Type: kind},
	}
}

// automaticSpec returns the policy's entry for automatic upgrades of that type, or nil.
func (r *reading) automaticSpec(kind v1alpha1.UpgradeType) *v1alpha1.AutomaticUpgrade {
	for _, automatic := range r.policySpec().Automatic {
		if automatic.Type == kind && !r.policyHold.Holds() {
			return &automatic
		}
	}
	return nil
}

// automaticPatch returns what `automatic: [{type: Patch}]` asks for: the newest patch
// of the minor that every part of the cluster runs, available for every architecture. It
// is named after the version, so that two coordinators create the same one, and an
// upgrade that has ended is not created again.
func (c *cluster) automaticPatch(wake *wakeTime) (create *v1alpha1.ClusterUpgrade, hold fleet.Hold) {
	wanted := c.reading.automaticSpec(v1alpha1.TypePatch)
	if wanted == nil {
		return nil, fleet.Hold{}
	}
	oldest, newest, problem := c.running()
	if problem != "" {
		return nil, fleet.Hold{Reason: v1alpha1.ReasonSkew, Message: "no automatic patch is created: " + problem}
	}
	best, ok := c.newestPatch(oldest, seconds(wanted.MinAgeSeconds), wake)
	if !ok || !oldest.Less(best) || best.Less(newest) || c.reading.alreadyRequested(best) {
		return nil, fleet.Hold{}
	}
	u := newAutomatic(best.Name(), v1alpha1.TypePatch)
	u.Spec.Version = best.String()
	return u, fleet.Hold{}
}

// running returns the oldest and the newest version of any part, or the problem that one
// cannot be parsed or that they are of different minors: it may be a pod or a version that
// a node forged. Nodes that are stuck do not count: a dead one may be a minor behind.
func (c *cluster) running() (oldest, newest version.Version, problem string) {
	type part struct{ name, version string }
	var all []part
	for _, pod := range c.apiServers {
		all = append(all, part{"the kube-apiserver of node " + pod.Node, pod.Version})
	}
	if len(all) == 0 {
		return oldest, newest, "no kube-apiserver is known"
	}
	for _, n := range c.nodes {
		if n.eligible() && !n.status.LacksImage() && !(&target{}).isStuck(n, c.now) {
			all = append(all, part{"the kubelet of node " + n.Name, n.Kubelet})
		}
	}
	var first, last part // those that run oldest and newest
	for i, one := range all {
		v, err := version.Parse(one.version)
		if err != nil {
			return oldest, newest, fmt.Sprintf("%s: %v", one.name, err)
		}
		if i == 0 || v.Less(oldest) {
			oldest, first = v, one
		}
		if i == 0 || newest.Less(v) {
			newest, last = v, one
		}
	}
	if !oldest.SameLine(newest) {
		return oldest, newest, fmt.Sprintf("%s runs %s, and %s runs %s, which is another minor", first.name, first.version, last.name, last.version)
	}
	return oldest, newest, ""
}

// newestPatch returns the newest version of the line that is not blocked and that the source has
// offered for minAge, with an image for the architecture of every node that needs one.
func (c *cluster) newestPatch(line version.Version, minAge time.Duration, wake *wakeTime) (best version.Version, ok bool) {
	offered := map[version.Version][]string{}
	for _, offer := range c.reading.snapshot.Source.Offers {
		if v, err := version.Parse(offer.Version); err == nil && v.SameLine(line) && v.Pre == "" {
			offered[v] = append(offered[v], offer.Image.Architecture)
		}
	}
	for v, architectures := range offered {
		if c.reading.policySpec().Blocked(v.String()) != nil {
			continue
		}
		patch := &target{ClusterUpgrade: &v1alpha1.ClusterUpgrade{}, to: v}
		old := c.reading.oldEnough(v, minAge)
		wake.at(old)
		oldEnough := old != nil && !c.now.Before(*old)
		complete := !slices.ContainsFunc(c.nodes, func(n *node) bool {
			return n.eligible() && !n.status.LacksImage() && !patch.upToDate(n) && !slices.Contains(architectures, n.Architecture)
		})
		if complete && oldEnough && (!ok || best.Less(v)) {
			best, ok = v, true
		}
	}
	return best, ok
}

// alreadyRequested reports whether there is an upgrade of every node to v, finished or
// not, or the record of an automatic one.
func (r *reading) alreadyRequested(v version.Version) bool {
	return slices.ContainsFunc(r.snapshot.Upgrades, func(u v1alpha1.ClusterUpgrade) bool {
		return u.Name == v.Name() || u.Spec.Version == v.String() && u.Spec.NodeSelector == nil
	}) || slices.ContainsFunc(r.snapshot.Records, func(r v1alpha1.UpgradeRecord) bool { return r.Upgrade.Name == v.Name() })
}

// oldEnough returns when the source will have offered each image of v for minAge, according to
// the policy's status, which has the digest of each. It returns nil if one has another digest
// there, or none: the coordinator has not seen it before. An image that late nodes get anyway
// needs no age.
func (r *reading) oldEnough(v version.Version, minAge time.Duration) *time.Time {
	old := r.now
	if minAge == 0 {
		return &old
	}
	for _, image := range r.snapshot.Source.Images(v.String()) {
		if r.follows(v, image) {
			continue
		}
		first := r.firstSeen(v, image)
		if first == nil {
			return nil
		}
		if at := first.Add(minAge); at.After(old) {
			old = at
		}
	}
	return &old
}

// follows reports whether nodes that join late get the image.
func (r *reading) follows(v version.Version, image v1alpha1.Image) bool {
	return r.snapshot.Policy != nil && r.snapshot.Policy.Status.Version == v.String() &&
		slices.ContainsFunc(r.snapshot.Policy.Status.Images, func(i v1alpha1.Image) bool { return i.Architecture == image.Architecture && i.Digest == image.Digest })
}

// firstSeen returns when the coordinator first saw an image; nil: it has not.
func (r *reading) firstSeen(v version.Version, image v1alpha1.Image) *time.Time {
	if r.snapshot.Policy == nil {
		return nil
	}
	for _, offered := range r.snapshot.Policy.Status.Offered {
		for _, seen := range offered.Images {
			if offered.Version == v.String() && seen.Architecture == image.Architecture && seen.Digest == image.Digest {
				return &seen.FirstSeenTime.Time
			}
		}
	}
	return nil
}

// Nodes that join late or return, and nodes that the policy begins to select, are brought to
// the version of the last upgrade that succeeded. They pass all filters. kubeadm on a control
// plane changes the whole cluster, and that upgrade's trigger, approval and snapshot of etcd
// were about other control planes: if one is behind, an upgrade of its own is created.

// lateTarget returns the upgrade to whose version late nodes are brought. Nil: there is
// none.
func (r *reading) lateTarget() *target {
	u := r.followed()
	if u == nil {
		return nil
	}
	t := r.newTarget(u)
	t.forLateNodes, t.hold = true, r.policyHold
	return t
}

// hasWork reports whether a late worker may be upgraded at some time, and does not wait for a
// late control plane.
func (t *target) hasWork(r *reading) bool {
	windows := newWindows(t.ClusterUpgrade, r.snapshot.Schedules)
	return slices.ContainsFunc(t.remaining(r), func(n *node) bool { return !n.ControlPlane && t.isBehind(r, n, windows) })
}

// isBehind reports whether the late node is not up to date and may be upgraded at some time.
func (t *target) isBehind(r *reading, n *node, windows *windows) bool {
	return t.concerns(n) && !t.upToDate(n) && !never(t.mayGo(n, windows, r.now))
}

// lateControlPlane holds a control-plane node that is late. It says why the node gets no
// upgrade of its own, if it gets none.
func lateControlPlane(c *cluster, n *node) fleet.Hold {
	if !c.target.forLateNodes || !n.ControlPlane {
		return fleet.Hold{}
	}
	for _, hold := range []fleet.Hold{onHold(c, n), windowClosed(c, n)} {
		if never(hold) {
			return hold
		}
	}
	if hold := c.reading.noneOfItsOwn(c.target); hold.Holds() {
		return hold
	}
	message := fmt.Sprintf("a control plane gets %s by a ClusterUpgrade of its own, with its checks and approvals", c.target.to)
	return fleet.Hold{Reason: v1alpha1.ReasonQueued, Message: message}
}

// noneOfItsOwn returns why no upgrade is created for late control planes. One that cannot
// succeed would be created again and again; one that did not succeed is retried by a person.
func (r *reading) noneOfItsOwn(late *target) fleet.Hold {
	if blocked := r.policySpec().Blocked(late.Spec.Version); blocked != nil {
		message := fmt.Sprintf("nodes that join late get %s, which the UpgradePolicy blocks (%s): request an upgrade of every node to a version that it does not block", blocked.Version, blocked.Reason)
		return fleet.Hold{Reason: v1alpha1.ReasonQueued, Message: message, Stays: true}
	}
	if newer := r.newerAPIServer(late); newer != nil {
		message := fmt.Sprintf("kube-apiserver on %s runs %s, and nodes that join late get %s, which is older: request an upgrade of every node to %s or later", newer.Node, newer.Version, late.to, newer.Version)
		return fleet.Hold{Reason: v1alpha1.ReasonSkew, Message: message}
	}
	if name, outcome := r.lastEnded(late.Spec.Version); outcome != v1alpha1.OutcomeSucceeded && outcome != "" {
		message := fmt.Sprintf("upgrade %s ended as %s, and none is created again for this control plane: solve its problem, then `kubectl upgrade apply %s`", name, outcome, late.to)
		return fleet.Hold{Reason: v1alpha1.ReasonQueued, Message: message, Stays: true}
	}
	for _, n := range r.nodes {
		if n.busy() && late.concerns(n) {
			message := fmt.Sprintf("a control plane gets %s by a ClusterUpgrade of its own, once node %s is in service again", late.to, n.Name)
			return fleet.Hold{Reason: v1alpha1.ReasonQueued, Message: message}
		}
	}
	return fleet.Hold{}
}

// lastEnded returns the upgrade to the version that ended last, and how; empty: there is none.
func (r *reading) lastEnded(to string) (name string, outcome v1alpha1.Outcome) {
	var last time.Time
	note := func(upgrade, version string, ended v1alpha1.Outcome, at *metav1.Time) {
		if version == to && ended != "" && at != nil && !at.Time.Before(last) {
			name, outcome, last = upgrade, ended, at.Time
		}
	}
	for i := range r.snapshot.Upgrades {
		u := &r.snapshot.Upgrades[i]
		note(u.Name, u.Spec.Version, u.Status.Outcome, u.Status.CompletionTime)
	}
	for i := range r.snapshot.Records {
		record := &r.snapshot.Records[i]
		note(record.Upgrade.Name, record.Version, record.Outcome, &record.CompletionTime)
	}
	return name, outcome
}

// upgradeOfControlPlanes returns the upgrade of its own that a late control plane needs. Nil:
// none is needed or possible, or an upgrade in the queue brings the version.
func (r *reading) upgradeOfControlPlanes(q queue) *v1alpha1.ClusterUpgrade {
	late := r.lateTarget()
	if late == nil || late.hold.Holds() || r.noneOfItsOwn(late).Holds() {
		return nil
	}
	windows := newWindows(late.ClusterUpgrade, r.snapshot.Schedules)
	i := slices.IndexFunc(r.nodes, func(n *node) bool { return n.labelled && n.Ready && late.isBehind(r, n, windows) })
	if i < 0 || slices.ContainsFunc(q.targets, func(t *target) bool { return !t.to.Less(late.to) && t.concerns(r.nodes[i]) }) {
		return nil
	}
	u := newAutomatic(late.to.Name()+"-control-planes", v1alpha1.TypePatch)
	base := u.Name
	for number := 2; r.isNamed(u.Name); number++ {
		u.Name = fmt.Sprintf("%s-%d", base, number)
	}
	u.Spec.Type, u.Spec.Version = "", late.Spec.Version
	return u
}

// isNamed reports whether there is an upgrade of that name, or the record of one.
func (r *reading) isNamed(name string) bool {
	return upgradeNamed(r.snapshot.Upgrades, name) != nil ||
		slices.ContainsFunc(r.snapshot.Records, func(r v1alpha1.UpgradeRecord) bool { return r.Upgrade.Name == name })
}

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
	return "; a reboot is due: " + n.status.Reboot.Reason
}

// automaticReboot returns what `automatic: [{type: Reboot}]` asks for, as soon as a
// node that asks for a reboot could begin. It is not created before, so that a patch
// that appears meanwhile goes first. It is named after the day, in UTC, so that two
// coordinators create the same one, and there is at most one a day.
func (c *cluster) automaticReboot(wake *wakeTime) *v1alpha1.ClusterUpgrade {
	if c.reading.automaticSpec(v1alpha1.TypeReboot) == nil || slices.ContainsFunc(c.nodes, func(n *node) bool { return n.busy() || n.released() }) {
		return nil
	}
	u := newAutomatic("reboot-"+c.now.UTC().Format(time.DateOnly), v1alpha1.TypeReboot)
	windows := newWindows(u, c.reading.snapshot.Schedules)
	for _, n := range c.nodes {
		if !c.asksForReboot(n) {
			continue
		}
		class := windows.classOf(n.Labels, v1alpha1.TypeReboot)
		available := windows.lookup(class, c.now)
		wake.at(available.changes())
		if !available.hold.Holds() && available.fits(c.now, c.expected(n, nodePart(n.ControlPlane))) {
			return c.unlessExists(u, wake)
		}
	}
	return nil
}

// asksForReboot reports whether a Reboot could serve the node. A node that is still to
// be brought to the version of an upgrade that has ended is rebooted by that.
func (c *cluster) asksForReboot(n *node) bool {
	behind := c.target != nil && c.target.forLateNodes && n.concerned && !n.upToDate
	return n.eligible() && n.Ready && n.status.Reboot.Required && !n.nextBootDiffers() && !behind
}

// unlessExists returns u, or nil if today's Reboot exists; wake then gets the next day.
func (c *cluster) unlessExists(u *v1alpha1.ClusterUpgrade, wake *wakeTime) *v1alpha1.ClusterUpgrade {
	if slices.ContainsFunc(c.reading.snapshot.Upgrades, func(other v1alpha1.ClusterUpgrade) bool { return other.Name == u.Name }) {
		tomorrow := c.now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
		wake.at(&tomorrow)
		return nil
	}
	return u
}
