package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// triggerFilters return why an upgrade cannot be triggered. Each relies on those before
// it. notOffered comes after them, when the type is known.
var triggerFilters = []func(*reading, *target) fleet.Hold{
	noNode,
	versionUnreadable,
	apiServerStep,
	apiServerLeftBehind,
	kubeletUnreadable,
	typeForbidden,
}

// triggered returns the target as it is once it is triggered. t itself is not changed.
func (t *target) triggered(r *reading) *target {
	if t.trial == nil {
		t.trial = r.newTarget(t.DeepCopy())
		t.trial.trigger(r)
	}
	return t.trial
}

// trigger sets what never changes after an upgrade is triggered: its type, the version
// it starts from, and its images. If it cannot, it sets the target's hold.
func (t *target) trigger(r *reading) {
	if t.hold.Holds() {
		return
	}
	if t.hold = r.policyHold; t.hold.Holds() || t.Status.TriggerTime != nil {
		return
	}
	for _, filter := range triggerFilters {
		if t.hold = filter(r, t); t.hold.Holds() {
			return
		}
	}
	t.Status.Type, t.Status.FromVersion = t.derive(r)
	if t.hold = notOffered(r, t); t.hold.Holds() {
		return
	}
	if t.hold = tooNew(r, t); t.hold.Holds() {
		return
	}
	t.Status.Images = t.images(r)
	t.Status.TriggerTime = &metav1.Time{Time: r.now.Truncate(time.Second)}
	t.resolve(r)
}

// stalled reports whether the upgrade is not triggered, and a person must act first.
func (t *target) stalled() bool {
	return t.Status.TriggerTime == nil && !t.forLateNodes && t.hold.NeedsPerson()
}

func noNode(r *reading, t *target) fleet.Hold {
	if slices.ContainsFunc(r.nodes, t.concerns) {
		return fleet.Hold{}
	}
	fitting := "node that gets Kubernetes as a sysext image"
	if t.reboot {
		fitting = "node on which an agent can run"
	}
	message := "this cluster has no " + fitting
	if slices.ContainsFunc(r.nodes, func(n *node) bool { return n.eligible() && !t.unsupported(n) }) {
		message = "nodeSelector matches no " + fitting
	}
	return fleet.Hold{Reason: v1alpha1.ReasonUnsupported, Message: message}
}

func versionUnreadable(_ *reading, t *target) fleet.Hold {
	if _, err := version.Parse(t.Spec.Version); err != nil && !t.reboot {
		return fleet.Hold{Reason: v1alpha1.ReasonUpgradeInvalid, Message: err.Error(), Stays: true}
	}
	return fleet.Hold{}
}

func kubeletUnreadable(r *reading, t *target) fleet.Hold {
	for _, n := range r.nodes {
		if err := n.runs.problem; err != nil && !t.reboot && t.concerns(n) {
			return fleet.Hold{Reason: v1alpha1.ReasonSkew, Message: fmt.Sprintf("node %s: %v", n.Name, err)}
		}
	}
	return fleet.Hold{}
}

func notOffered(r *reading, t *target) fleet.Hold {
	if t.reboot {
		return fleet.Hold{}
	}
	offered := r.Source.Images(t.to.String())
	for _, architecture := range t.architectures(r) {
		if slices.ContainsFunc(offered, func(i v1alpha1.Image) bool { return i.Architecture == architecture }) {
			continue
		}
		if r.Source.Problem.Holds() {
			return r.Source.Problem
		}
		message := fmt.Sprintf("the source offers no image of %s for %s", t.to, architecture)
		return fleet.Hold{Reason: v1alpha1.ReasonNotOffered, Message: message, Stays: true}
	}
	return fleet.Hold{}
}

// tooNew holds an automatic upgrade whose images were replaced after it was created: their age
// belongs to their digests.
func tooNew(r *reading, t *target) fleet.Hold {
	wanted := r.automaticSpec(v1alpha1.TypePatch)
	if t.reboot || t.Annotations[v1alpha1.CreatedByAnnotation] != v1alpha1.CreatedByCoordinator || wanted == nil {
		return fleet.Hold{}
	}
	minAge := seconds(wanted.MinAgeSeconds)
	old := r.oldEnough(t.to, minAge)
	if old != nil && !r.now.Before(*old) {
		return fleet.Hold{}
	}
	message := fmt.Sprintf("an image of %s is new since the upgrade was created, and automatic patches wait until each image has been available for minAgeSeconds (%d)", t.to, *wanted.MinAgeSeconds)
	return fleet.Hold{Reason: v1alpha1.ReasonImageTooNew, Message: message, Until: old}
}

// architectures returns those of the nodes that still need an image.
func (t *target) architectures(r *reading) []string {
	var list []string
	for _, n := range r.nodes {
		if t.concerns(n) && !t.upToDate(n) && !slices.Contains(list, n.Architecture) {
			list = append(list, n.Architecture)
		}
	}
	slices.Sort(list)
	return list
}

// images returns those that the source offers, one for each architecture.
func (t *target) images(r *reading) []v1alpha1.Image {
	if t.reboot {
		return nil
	}
	offered := r.Source.Images(t.to.String())
	slices.SortFunc(offered, func(a, b v1alpha1.Image) int { return strings.Compare(a.Architecture, b.Architecture) })
	return offered
}
