package plan

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// automatic returns the upgrade that the policy's `automatic` asks for now, or nil.
// A patch goes first, as its reboot is the one that the operating system asks for:
// so it is asked for beside a Reboot, too. Beside an upgrade that brings a version,
// either is asked for where that cannot begin, or go on, for now.
func (c *cluster) automatic(q queue, wake *alarm) *v1alpha1.ClusterUpgrade {
	idle := len(q.targets) == 0
	if idle || q.targets[0].reboot || q.passed {
		if patch := c.automaticPatch(wake); patch != nil {
			return patch
		}
	}
	reboot := func(t *target) bool { return t.reboot }
	if idle || q.passed && !slices.ContainsFunc(q.targets, reboot) {
		return c.automaticReboot(wake)
	}
	return nil
}

// automaticPatch returns what `automatic: [{type: Patch}]` asks for: the newest patch of the
// minor that every part of the cluster runs, on offer for every architecture. It
// bears the version as its name, so that two coordinators create the same one,
// and one that ended, however it ended, is not begun again.
func (c *cluster) automaticPatch(wake *alarm) *v1alpha1.ClusterUpgrade {
	wanted := c.wants(v1alpha1.TypePatch)
	if wanted == nil {
		return nil
	}
	oldest, newest, ok := c.running()
	if !ok || !oldest.SameLine(newest) {
		return nil
	}
	best, ok := c.newestPatch(oldest, seconds(wanted.MinAgeSeconds), wake)
	if !ok || !oldest.Less(best) || best.Less(newest) || c.wasAsked(best) {
		return nil
	}
	u := byItself(best.String(), v1alpha1.TypePatch)
	u.Spec.Version = best.String()
	return u
}

// byItself returns an upgrade that the coordinator creates.
func byItself(name string, kind v1alpha1.UpgradeType) *v1alpha1.ClusterUpgrade {
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
func (r *reading) wants(kind v1alpha1.UpgradeType) *v1alpha1.AutomaticUpgrade {
	for _, automatic := range r.policySpec().Automatic {
		if automatic.Type == kind && !r.policyHold.Holds() {
			return &automatic
		}
	}
	return nil
}

// running returns the oldest and the newest version of any part; not ok when one
// cannot be read.
func (c *cluster) running() (oldest, newest version.Version, ok bool) {
	var all []string
	for _, pod := range c.APIServers {
		all = append(all, pod.Version)
	}
	if len(all) == 0 {
		return oldest, newest, false
	}
	for _, n := range c.nodes {
		if n.ours() {
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

// newestPatch returns the newest release of the line that is on offer for every node
// that counts, and has been for that long.
func (c *cluster) newestPatch(line version.Version, minAge time.Duration, wake *alarm) (best version.Version, ok bool) {
	offered := map[version.Version][]string{}
	for _, offer := range c.Source.Offers {
		if v, err := version.Parse(offer.Version); err == nil && v.SameLine(line) && !strings.Contains(offer.Version, "-") {
			offered[v] = append(offered[v], offer.Image.Architecture)
		}
	}
	for v, architectures := range offered {
		patch := &target{ClusterUpgrade: &v1alpha1.ClusterUpgrade{}, to: v}
		complete := !slices.ContainsFunc(c.nodes, func(n *node) bool {
			return n.ours() && !patch.upToDate(n) && !slices.Contains(architectures, n.Architecture)
		})
		if complete && (!ok || best.Less(v)) && c.oldEnough(v, minAge, wake) {
			best, ok = v, true
		}
	}
	return best, ok
}

// wasAsked reports whether there is an upgrade to v already, finished or not, or
// the record of one.
func (r *reading) wasAsked(v version.Version) bool {
	return slices.ContainsFunc(r.Upgrades, func(u v1alpha1.ClusterUpgrade) bool {
		return u.Name == v.String() || u.Spec.Version == v.String()
	}) || slices.ContainsFunc(r.Records, func(r v1alpha1.UpgradeRecord) bool { return r.Version == v.String() })
}

// oldEnough reports whether v has been on offer for minAge, as far as the policy's
// status knows. The planner looks again when it has.
func (r *reading) oldEnough(v version.Version, minAge time.Duration, wake *alarm) bool {
	if minAge == 0 {
		return true
	}
	if r.Policy == nil {
		return false
	}
	for _, offered := range r.Policy.Status.Offered {
		if offered.Version == v.String() {
			old := offered.FirstSeenTime.Add(minAge)
			wake.at(&old)
			return !r.now.Before(old)
		}
	}
	return false
}
