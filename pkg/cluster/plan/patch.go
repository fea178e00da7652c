package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// automaticPatch returns what `automatic: [{type: Patch}]` asks for: the newest patch
// of the minor that every part of the cluster runs, available for every architecture. It
// is named after the version, so that two coordinators create the same one, and an
// upgrade that has ended is not created again.
func (c *cluster) automaticPatch(wake *wakeTime) *v1alpha1.ClusterUpgrade {
	wanted := c.automaticSpec(v1alpha1.TypePatch)
	if wanted == nil {
		return nil
	}
	oldest, newest, problem := c.running()
	if problem != "" {
		c.automaticHold = fleet.Hold{Reason: v1alpha1.ReasonSkew, Message: "no automatic patch is created: " + problem}
		return nil
	}
	best, ok := c.newestPatch(oldest, seconds(wanted.MinAgeSeconds), wake)
	if !ok || !oldest.Less(best) || best.Less(newest) || c.alreadyRequested(best) {
		return nil
	}
	u := newAutomatic(best.Name(), v1alpha1.TypePatch)
	u.Spec.Version = best.String()
	return u
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

// newestPatch returns the newest version of the line that the source has offered for
// minAge, with an image for the architecture of every node that needs one.
func (c *cluster) newestPatch(line version.Version, minAge time.Duration, wake *wakeTime) (best version.Version, ok bool) {
	offered := map[version.Version][]string{}
	for _, offer := range c.Source.Offers {
		if v, err := version.Parse(offer.Version); err == nil && v.SameLine(line) && v.Pre == "" {
			offered[v] = append(offered[v], offer.Image.Architecture)
		}
	}
	for v, architectures := range offered {
		patch := &target{ClusterUpgrade: &v1alpha1.ClusterUpgrade{}, to: v}
		old := c.oldEnough(v, minAge)
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
	return slices.ContainsFunc(r.Upgrades, func(u v1alpha1.ClusterUpgrade) bool {
		return u.Name == v.Name() || u.Spec.Version == v.String() && u.Spec.NodeSelector == nil
	}) || slices.ContainsFunc(r.Records, func(r v1alpha1.UpgradeRecord) bool { return r.Upgrade.Name == v.Name() })
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
	for _, image := range r.Source.Images(v.String()) {
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
	return r.Policy != nil && r.Policy.Status.Version == v.String() &&
		slices.ContainsFunc(r.Policy.Status.Images, func(i v1alpha1.Image) bool { return i.Architecture == image.Architecture && i.Digest == image.Digest })
}

// firstSeen returns when the coordinator first saw an image; nil: it has not.
func (r *reading) firstSeen(v version.Version, image v1alpha1.Image) *time.Time {
	if r.Policy == nil {
		return nil
	}
	for _, offered := range r.Policy.Status.Offered {
		for _, seen := range offered.Images {
			if offered.Version == v.String() && seen.Architecture == image.Architecture && seen.Digest == image.Digest {
				return &seen.FirstSeenTime.Time
			}
		}
	}
	return nil
}
