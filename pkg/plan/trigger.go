package plan

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// trigger makes u the active upgrade: derives its type and fixes the hashes of
// its images, once and for all. A fleet.Hold says why that cannot be done yet;
// stalled, that it cannot until somebody acts.
func (d *decider) trigger(u *v1alpha1.ClusterUpgrade) (hold fleet.Hold, stalled bool) {
	if err := d.selectFor(u); err != nil {
		return fleet.Hold{Reason: v1alpha1.ReasonUpgradeInvalid, Message: "nodeSelector: " + err.Error()}, true
	}
	if u.Status.TriggerTime != nil {
		return fleet.Hold{}, false
	}
	if d.policyHold.Reason != "" {
		return d.policyHold, true
	}
	if u.Spec.Type == v1alpha1.TypeReboot {
		return d.triggerReboot(u)
	}
	to, err := version.Parse(u.Spec.Version)
	if err != nil {
		return fleet.Hold{Reason: v1alpha1.ReasonUpgradeInvalid, Message: err.Error()}, true
	}
	if hold := d.derive(u, to); hold.Reason != "" {
		return hold, true
	}
	needed := d.architectures(to)
	offered := d.Source.Images(to.String())
	for _, architecture := range needed {
		if slices.ContainsFunc(offered, func(i v1alpha1.Image) bool { return i.Architecture == architecture }) {
			continue
		}
		if d.Source.Problem.Reason != "" {
			return d.Source.Problem, false
		}
		message := fmt.Sprintf("the source offers no image of %s for %s", to, architecture)
		return fleet.Hold{Reason: v1alpha1.ReasonNotOffered, Message: message}, true
	}
	slices.SortFunc(offered, func(a, b v1alpha1.Image) int { return strings.Compare(a.Architecture, b.Architecture) })
	u.Status.Images = offered
	u.Status.TriggerTime = &metav1.Time{Time: d.now.Truncate(1e9)}
	return fleet.Hold{}, false
}

// derive finds out what kind of step it is from what runs, and refuses what
// Kubernetes does not allow.
func (d *decider) derive(u *v1alpha1.ClusterUpgrade, to version.Version) fleet.Hold {
	lowestServer, hold := d.lowestAPIServer(to)
	if hold.Reason != "" {
		return hold
	}
	lowest, counted := lowestServer, 0
	from := ""
	for _, n := range d.nodes {
		if !n.counts() {
			continue
		}
		counted++
		if err := n.runs.trouble; err != nil {
			return fleet.Hold{Reason: v1alpha1.ReasonSkew, Message: fmt.Sprintf("node %s: %v", n.Name, err)}
		}
		if v := n.runs.kubelet; from == "" || v.Less(lowest) {
			lowest, from = v, v.String()
		}
	}
	if counted == 0 {
		return nobodyCounts
	}
	kind := v1alpha1.TypeMinor
	if lowest.SameLine(to) && lowestServer.SameLine(to) {
		kind = v1alpha1.TypePatch
	}
	if u.Spec.Type != "" && u.Spec.Type != kind {
		message := fmt.Sprintf("type is %s, but from %s to %s is a %s", u.Spec.Type, from, to, kind)
		return fleet.Hold{Reason: v1alpha1.ReasonUpgradeInvalid, Message: message}
	}
	if u.Spec.Strategy.Method == v1alpha1.MethodRestart && kind != v1alpha1.TypePatch {
		message := fmt.Sprintf("strategy.method Restart is for patches, and from %s to %s is a %s; use Reboot", from, to, kind)
		return fleet.Hold{Reason: v1alpha1.ReasonUpgradeInvalid, Message: message}
	}
	u.Status.Type, u.Status.FromVersion = kind, from
	return fleet.Hold{}
}

var nobodyCounts = fleet.Hold{Reason: v1alpha1.ReasonUnsupported, Message: "no node of this cluster gets Kubernetes as a sysext image"}

// lowestAPIServer is the oldest apiserver, if all may go to that version.
func (d *decider) lowestAPIServer(to version.Version) (lowest version.Version, hold fleet.Hold) {
	if len(d.APIServers) == 0 {
		return lowest, fleet.Hold{Reason: v1alpha1.ReasonSkew, Message: "no kube-apiserver pod was found in kube-system: their versions are not known"}
	}
	for i, pod := range d.APIServers {
		v, err := version.Parse(pod.Version)
		if err == nil {
			err = version.CheckStep(v, to)
		}
		if err != nil {
			return lowest, fleet.Hold{Reason: v1alpha1.ReasonSkew, Message: fmt.Sprintf("kube-apiserver on %s: %v", pod.Node, err)}
		}
		if i == 0 || v.Less(lowest) {
			lowest = v
		}
	}
	return lowest, fleet.Hold{}
}

// isDowngrade is whether an apiserver is past the version already. That never
// becomes possible, and must not hold those up that come behind.
func (d *decider) isDowngrade() bool {
	return slices.ContainsFunc(d.APIServers, func(pod fleet.StaticPod) bool {
		v, err := version.Parse(pod.Version)
		return err == nil && known(d.to) && d.to.Less(v)
	})
}

// architectures are those of the nodes that still need an image.
func (d *decider) architectures(to version.Version) []string {
	var list []string
	for _, n := range d.nodes {
		if n.counts() && !n.asWanted(to) && !slices.Contains(list, n.Architecture) {
			list = append(list, n.Architecture)
		}
	}
	slices.Sort(list)
	return list
}
