package plan

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// automatic is the upgrade that a schedule's `automatic` asks for now, or nil. A
// patch goes first, as its reboot is the one that the operating system asks for;
// so it is asked for beside a Reboot too, and a Reboot only beside an upgrade that
// people hold back.
func (d *decider) automatic() *v1alpha1.ClusterUpgrade {
	idle := d.target == nil || d.converging
	if idle || d.isReboot() {
		if patch := d.automaticPatch(); patch != nil {
			return patch
		}
	}
	if idle || !d.isReboot() && len(d.queue) == 1 && d.heldBack(d.target) {
		return d.automaticReboot()
	}
	return nil
}

// automaticPatch is what `automatic: [Patch]` asks for: the newest patch of the
// minor that every part of the cluster runs, on offer for every architecture. It
// bears the version as its name, so that two coordinators create the same one,
// and one that ended, however it ended, is not begun again.
func (d *decider) automaticPatch() *v1alpha1.ClusterUpgrade {
	wanted := d.wants(v1alpha1.TypePatch)
	if wanted == nil {
		return nil
	}
	oldest, newest, ok := d.running()
	if !ok || !oldest.SameLine(newest) {
		return nil
	}
	best, ok := d.newestPatch(oldest, seconds(wanted.MinAgeSeconds))
	if !ok || !oldest.Less(best) || best.Less(newest) || d.wasAsked(best) {
		return nil
	}
	u := d.byItself(best.String(), v1alpha1.TypePatch)
	u.Spec.Version = best.String()
	return u
}

// byItself is an upgrade that the coordinator creates.
func (d *decider) byItself(name string, kind v1alpha1.UpgradeType) *v1alpha1.ClusterUpgrade {
	return &v1alpha1.ClusterUpgrade{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterUpgrade"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{v1alpha1.CreatedByAnnotation: v1alpha1.CreatedByCoordinator},
		},
		Spec: v1alpha1.ClusterUpgradeSpec{
			Type: kind,
		},
	}
}

// wants returns what the policy says of upgrades of that type that come by
// themselves; nil: they do not.
func (d *decider) wants(kind v1alpha1.UpgradeType) *v1alpha1.AutomaticUpgrade {
	for _, automatic := range d.policySpec().Automatic {
		if automatic.Type == kind && d.policyHold.Reason == "" {
			return &automatic
		}
	}
	return nil
}

// running is the oldest and the newest version of any part; not ok when one
// cannot be read.
func (d *decider) running() (oldest, newest version.Version, ok bool) {
	var all []string
	for _, pod := range d.APIServers {
		all = append(all, pod.Version)
	}
	if len(all) == 0 {
		return oldest, newest, false
	}
	for _, n := range d.nodes {
		if n.counts() {
			all = append(all, n.Kubelet)
		}
	}
	for i, text := range all {
		v, err := version.Parse(text)
		if err != nil {
			return oldest, newest, false
		}
		if i == 0 || v.Less(oldest) {
			oldest = v
		}
		if i == 0 || newest.Less(v) {
			newest = v
		}
	}
	return oldest, newest, true
}

// newestPatch is the newest release of the line that is on offer for every node
// that counts, and has been for that long.
func (d *decider) newestPatch(line version.Version, minAge time.Duration) (best version.Version, ok bool) {
	offered := map[version.Version][]string{}
	for _, offer := range d.Source.Offers {
		if v, err := version.Parse(offer.Version); err == nil && v.SameLine(line) && !strings.Contains(offer.Version, "-") {
			offered[v] = append(offered[v], offer.Image.Architecture)
		}
	}
	for v, architectures := range offered {
		complete := !slices.ContainsFunc(d.nodes, func(n *node) bool {
			return n.counts() && !n.asWanted(v) && !slices.Contains(architectures, n.Architecture)
		})
		if complete && (!ok || best.Less(v)) && d.oldEnough(v, minAge) {
			best, ok = v, true
		}
	}
	return best, ok
}

// wasAsked reports whether there is an upgrade to v already, finished or not, or
// the record of one.
func (d *decider) wasAsked(v version.Version) bool {
	return slices.ContainsFunc(d.Upgrades, func(u v1alpha1.ClusterUpgrade) bool {
		return u.Name == v.String() || u.Spec.Version == v.String()
	}) || slices.ContainsFunc(d.Records, func(r v1alpha1.UpgradeRecord) bool { return r.Version == v.String() })
}

// oldEnough reports whether v has been on offer for minAge, as far as the policy's
// status knows. The planner looks again when it has.
func (d *decider) oldEnough(v version.Version, minAge time.Duration) bool {
	if minAge == 0 {
		return true
	}
	if d.Policy == nil {
		return false
	}
	for _, offered := range d.Policy.Status.Offered {
		if offered.Version == v.String() {
			old := offered.FirstSeenTime.Add(minAge)
			d.wakeAt(&old)
			return !d.now.Before(old)
		}
	}
	return false
}
