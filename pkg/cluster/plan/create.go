package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// automatic returns the upgrade that the policy's `automatic` asks for now, or nil, and the hold if
// no patch can be chosen, or what it asks for waits for minIntervalSeconds. A
// patch goes before a Reboot, because its reboot also serves the operating system: it
// is created even while a Reboot is queued. While an upgrade to a version is queued, an
// automatic one is created only if the queued one can neither begin nor continue for
// now. The same holds for the upgrade of late control planes, for which `automatic` need
// not ask. The renewal of certificates waits for none of them.
func (c *cluster) automatic(q queue, wake *wakeTime) (create *v1alpha1.ClusterUpgrade, hold clusterstate.Hold) {
	certificates, certificatesHold := c.automaticCertificates(q, wake)
	if certificates != nil {
		return certificates, certificatesHold
	}
	idle := len(q.targets) == 0
	if idle || q.targets[0].reboot || q.noneCanProceed {
		if create, hold = c.automaticPatch(wake); create != nil {
			return create, hold
		}
		if own := c.reading.upgradeOfControlPlanes(q, wake); own != nil {
			return own, hold
		}
	}
	reboot := func(t *target) bool { return t.reboot }
	if idle || q.noneCanProceed && !slices.ContainsFunc(q.targets, reboot) {
		var rebootHold clusterstate.Hold
		if create, rebootHold = c.automaticReboot(wake); !hold.Holds() {
			hold = rebootHold
		}
	}
	if create == nil && !hold.Holds() {
		hold = certificatesHold
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
func (c *cluster) automaticPatch(wake *wakeTime) (create *v1alpha1.ClusterUpgrade, hold clusterstate.Hold) {
	wanted := c.reading.automaticSpec(v1alpha1.TypePatch)
	if wanted == nil {
		return nil, clusterstate.Hold{}
	}
	if rules.ClusterAPIDecides(c.reading.snapshot.Policy) {
		return nil, clusterstate.Hold{Reason: v1alpha1.ReasonNotRequested,
			Message: "no automatic patch is created: Cluster API decides on versions here (versionsFrom of the UpgradePolicy)"}
	}
	oldest, newest, problem := c.running()
	if problem != "" {
		return nil, clusterstate.Hold{Reason: v1alpha1.ReasonSkew, Message: "no automatic patch is created: " + problem}
	}
	best, ok, hold := c.newestPatch(oldest, clusterstate.Seconds(wanted.MinAgeSeconds), wake)
	if hold.Holds() && (!ok || !oldest.Less(best)) {
		return nil, hold
	}
	if !ok || !oldest.Less(best) || best.Less(newest) || c.reading.alreadyRequested(best) {
		return nil, clusterstate.Hold{}
	}
	u := newAutomatic(best.Name(), v1alpha1.TypePatch)
	u.Spec.Version = best.String()
	return c.unlessTooSoon(u, wanted, wake)
}

// running returns the oldest and the newest version of any part, or the problem that one
// cannot be parsed or that they are of different minors: it may be a pod or a version that
// a node forged. Dead nodes do not count: one may be a minor behind.
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
		if n.eligible() && !n.status.LacksImage() && !n.isDead(c.now) {
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
// offered for minAge, with an image for the architecture of every node that needs one, and that has
// soaked in the clusters that this one follows. The hold is that of the newest one that has not.
func (c *cluster) newestPatch(line version.Version, minAge time.Duration, wake *wakeTime) (best version.Version, ok bool, hold clusterstate.Hold) {
	var held version.Version
	offered := map[version.Version][]string{}
	for _, offer := range c.reading.snapshot.Source.Offers {
		if v, err := version.Parse(offer.Version); err == nil && v.SameLine(line) && v.Pre == "" {
			offered[v] = append(offered[v], string(offer.Image.Architecture))
		}
	}
	for v, architectures := range offered {
		if c.reading.snapshot.Policy.Blocked(v.String()) != nil {
			continue
		}
		patch := &target{ClusterUpgrade: &v1alpha1.ClusterUpgrade{}, to: v}
		old := c.reading.oldEnough(v, minAge)
		wake.at(old)
		oldEnough := old != nil && !c.now.Before(*old)
		complete := !slices.ContainsFunc(c.nodes, func(n *node) bool {
			return n.eligible() && !n.status.LacksImage() && !patch.upToDate(n) && !slices.Contains(architectures, n.Architecture)
		})
		if !complete || !oldEnough {
			continue
		}
		if waits := c.reading.notSoaked(v); waits.Holds() {
			wake.at(waits.Until)
			if line.Less(v) && (!hold.Holds() || held.Less(v)) {
				hold, held = waits, v
			}
			continue
		}
		if !ok || best.Less(v) {
			best, ok = v, true
		}
	}
	return best, ok, hold
}

// alreadyRequested reports whether there is an upgrade of every node to v, finished or
// not, or the record of an automatic one that was not deleted before its end.
func (r *reading) alreadyRequested(v version.Version) bool {
	return slices.ContainsFunc(r.snapshot.Upgrades, func(u v1alpha1.ClusterUpgrade) bool {
		return u.Name == v.Name() || u.Spec.Version == v.String() && u.Spec.NodeSelector == nil
	}) || slices.ContainsFunc(r.snapshot.Records, func(r v1alpha1.UpgradeRecord) bool {
		return r.Spec.Upgrade.Name == v.Name() && r.Spec.Outcome != v1alpha1.OutcomeCanceled
	})
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

// automaticReboot returns what `automatic: [{type: Reboot}]` asks for, as soon as a
// node that asks for a reboot could begin, or could do so after the notice time. It is not created
// before, so that a patch that appears meanwhile goes first. It is named after the day on which it
// starts, in UTC, so that two coordinators create the same one, and there is at most one a day.
func (c *cluster) automaticReboot(wake *wakeTime) (create *v1alpha1.ClusterUpgrade, hold clusterstate.Hold) {
	wanted := c.reading.automaticSpec(v1alpha1.TypeReboot)
	if wanted == nil || slices.ContainsFunc(c.nodes, func(n *node) bool { return n.busy() || n.released() }) {
		return nil, clusterstate.Hold{}
	}
	notice := clusterstate.Seconds(wanted.NoticeSeconds)
	start := c.now.Add(notice)
	u := newAutomatic(automaticPrefix[v1alpha1.TypeReboot]+start.UTC().Format(time.DateOnly), v1alpha1.TypeReboot)
	windows := rules.NewWindows(u, c.reading.snapshot.Schedules)
	for _, n := range c.nodes {
		if !c.asksForReboot(n) {
			continue
		}
		class := windows.ClassOf(n.Labels, v1alpha1.TypeReboot)
		available := windows.Lookup(class, start)
		if changes := available.Changes(); changes != nil {
			wake.at(new(changes.Add(-notice)))
		}
		if !available.Hold.Holds() && available.Fits(start, c.expected(n, nodePart(n.ControlPlane))) {
			if create, hold = c.unlessTooSoon(u, wanted, wake); create != nil && upgradeNamed(c.reading.snapshot.Upgrades, u.Name) != nil {
				nextDay := start.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
				wake.at(new(c.now.Add(nextDay.Sub(start))))
				create = nil
			}
			return create, hold
		}
	}
	return nil, clusterstate.Hold{}
}

// asksForReboot reports whether a Reboot could serve the node. A node that is still to
// be brought to the version of an upgrade that has ended is rebooted by that.
func (c *cluster) asksForReboot(n *node) bool {
	behind := c.target != nil && c.target.forLateNodes && n.concerned && !n.upToDate
	return n.eligible() && n.Ready && n.status.Reboot.Required && !n.nextBootDiffers() && !behind
}

// When an automatic upgrade starts: noticeSeconds after it is created, and minIntervalSeconds after
// the last one ended.

// unlessTooSoon returns the upgrade u with its start time, or why it is not created yet.
func (c *cluster) unlessTooSoon(u *v1alpha1.ClusterUpgrade, wanted *v1alpha1.AutomaticUpgrade, wake *wakeTime) (*v1alpha1.ClusterUpgrade, clusterstate.Hold) {
	notice := clusterstate.Seconds(wanted.NoticeSeconds)
	if hold := c.reading.interval(wanted, c.now.Add(notice)); hold.Holds() {
		hold.Until = new(hold.Until.Add(-notice))
		wake.at(hold.Until)
		return nil, hold
	}
	if notice > 0 {
		u.Spec.StartTime = &metav1.Time{Time: c.now.UTC().Truncate(time.Second).Add(notice)}
	}
	return u, clusterstate.Hold{}
}

// tooSoon holds an automatic upgrade that was created before the last one ended, and is not triggered.
func tooSoon(r *reading, t *target) clusterstate.Hold {
	kind := rules.TypeOf(t.ClusterUpgrade)
	wanted := r.automaticSpec(kind)
	if wanted == nil || !isAutomatic(kind, t.Annotations[v1alpha1.CreatedByAnnotation], t.Name, t.Spec.Version) {
		return clusterstate.Hold{}
	}
	start := r.now
	if announced := t.Spec.StartTime; announced != nil && announced.After(start) {
		start = announced.Time
	}
	return r.interval(wanted, start)
}

// interval holds an automatic upgrade of that type that would start too soon after the last one ended.
func (r *reading) interval(wanted *v1alpha1.AutomaticUpgrade, start time.Time) clusterstate.Hold {
	last, ended := r.lastAutomatic(wanted.Type)
	least := clusterstate.Seconds(wanted.MinIntervalSeconds)
	earliest := ended.Add(least)
	if last == "" || least == 0 || !start.Before(earliest) {
		return clusterstate.Hold{}
	}
	message := fmt.Sprintf("the next automatic %s may start %s: %s ended %s, and minIntervalSeconds is %d",
		wanted.Type, clusterstate.FormatTime(earliest), last, clusterstate.FormatTime(ended), *wanted.MinIntervalSeconds)
	return clusterstate.Hold{Reason: v1alpha1.ReasonAutomaticInterval, Message: message, Until: &earliest}
}

// lastAutomatic returns the automatic upgrade of that type that ended last, and when; empty: none has.
// A superseded one does not count, nor one that was deleted before its end.
func (r *reading) lastAutomatic(kind v1alpha1.UpgradeType) (name string, ended time.Time) {
	note := func(upgrade, createdBy, version string, outcome v1alpha1.Outcome, at *metav1.Time) {
		counts := outcome != "" && outcome != v1alpha1.OutcomeSuperseded && outcome != v1alpha1.OutcomeCanceled
		if counts && at != nil && at.After(ended) && isAutomatic(kind, createdBy, upgrade, version) {
			name, ended = upgrade, at.Time
		}
	}
	for i := range r.snapshot.Upgrades {
		u := &r.snapshot.Upgrades[i]
		note(u.Name, u.Annotations[v1alpha1.CreatedByAnnotation], u.Spec.Version, u.Status.Outcome, u.Status.EndTime)
	}
	for i := range r.snapshot.Records {
		record := &r.snapshot.Records[i]
		note(record.Spec.Upgrade.Name, record.Spec.CreatedBy, record.Spec.Version, record.Spec.Outcome, &record.Spec.EndTime)
	}
	return name, ended
}

// isAutomatic reports whether the policy's `automatic` asked for the upgrade of that type. The upgrade of
// a late control plane has another name.
func isAutomatic(kind v1alpha1.UpgradeType, createdBy, name, to string) bool {
	switch {
	case createdBy != v1alpha1.CreatedByCoordinator:
		return false
	case !kind.HasVersion():
		return to == "" && strings.HasPrefix(name, automaticPrefix[kind])
	}
	return to != "" && name == parsed(to).Name()
}
