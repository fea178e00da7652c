package plan

import (
	"slices"

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
	if !d.wants(v1alpha1.TypePatch) {
		return nil
	}
	oldest, newest, ok := d.running()
	if !ok || !oldest.SameLine(newest) {
		return nil
	}
	best, ok := d.newestPatch(oldest)
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
			Type:     kind,
			Schedule: v1alpha1.ScheduleRespect,
			Strategy: withDefaults(d.Strategy),
		},
	}
}

// wants is whether a schedule for every node asks for that kind.
func (d *decider) wants(kind v1alpha1.UpgradeType) bool {
	return slices.ContainsFunc(d.Schedules, func(s v1alpha1.MaintenanceSchedule) bool {
		return s.Spec.NodeSelector == nil && s.DeletionTimestamp == nil && slices.Contains(s.Spec.Automatic, kind)
	})
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

// newestPatch is the newest version of the line that is on offer for every
// node that counts.
func (d *decider) newestPatch(line version.Version) (best version.Version, ok bool) {
	offered := map[version.Version][]string{}
	for _, offer := range d.Source.Offers {
		if v, err := version.Parse(offer.Version); err == nil && v.SameLine(line) {
			offered[v] = append(offered[v], offer.Image.Architecture)
		}
	}
	for v, architectures := range offered {
		complete := !slices.ContainsFunc(d.nodes, func(n *node) bool {
			return n.counts() && !n.asWanted(v) && !slices.Contains(architectures, n.Architecture)
		})
		if complete && (!ok || best.Less(v)) {
			best, ok = v, true
		}
	}
	return best, ok
}

// wasAsked is whether there is an upgrade to v already, finished or not.
func (d *decider) wasAsked(v version.Version) bool {
	return slices.ContainsFunc(d.Upgrades, func(u v1alpha1.ClusterUpgrade) bool {
		return u.Name == v.String() || u.Spec.Version == v.String()
	})
}
