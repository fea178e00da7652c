package machine

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// The conditions by which a Node tells what is planned for it and done to it
// (https://kubernetes.io/docs/reference/node/node-lifecycle-conditions/). Kubernetes itself
// acts on none of them; operators of storage and databases may.
const (
	planned  = corev1.NodeMaintenancePlanned
	drains   = corev1.NodeDrainInProgress
	drained  = corev1.NodeDrained
	underway = corev1.NodeMaintenanceInProgress
)

// NodeConditionTypes are the types of the conditions of a Node that an agent writes.
var NodeConditionTypes = []corev1.NodeConditionType{planned, drains, drained, underway}

// conditionsIn are the conditions that are True in each step. In all others none is.
var conditionsIn = map[v1alpha1.Step][]corev1.NodeConditionType{
	v1alpha1.StepWaiting:      {planned}, // once the node goes next
	v1alpha1.StepKubeadmAhead: {planned},
	v1alpha1.StepLocking:      {planned},
	v1alpha1.StepSnapshotting: {planned},
	v1alpha1.StepKubeadm:      {planned}, // on a control plane: as in Checking
	v1alpha1.StepChecking:     {underway},
	v1alpha1.StepCordoning:    {planned},
	v1alpha1.StepDraining:     {planned, drains},
	v1alpha1.StepDetaching:    {planned, drains}, // volumes belong to what is drained
	v1alpha1.StepLastCheck:    {drained, underway},
	v1alpha1.StepActivating:   {drained, underway},
	v1alpha1.StepRebooting:    {drained, underway},
	v1alpha1.StepRestarting:   {underway},
	v1alpha1.StepVerifying:    {drained, underway},
	v1alpha1.StepSettling:     {drained, underway},
	v1alpha1.StepUncordoning:  {drained, underway},
	v1alpha1.StepFailed:       {drained, underway}, // while the node is out of service and holds its slot
	v1alpha1.StepRolledBack:   {drained, underway}, // likewise
}

// NodeConditions returns the types of the conditions that are True on the Node now. known is
// false while that cannot be told: what the Node shows then stays.
func NodeConditions(s State, o Observation) (shows []corev1.NodeConditionType, known bool) {
	shows = conditionsIn[s.Step]
	switch s.Step {
	case v1alpha1.StepWaiting:
		begins := o.Spec.Release == v1alpha1.ReleaseNode && o.Slot.Reserved != ""
		if !s.Follows(o.Spec) || !begins && o.Spec.Release != v1alpha1.ReleaseKubeadmAhead {
			return nil, true
		}
	case v1alpha1.StepKubeadm:
		if o.Host == nil {
			return nil, false
		}
		if o.Host.ControlPlane {
			shows = conditionsIn[v1alpha1.StepChecking] // its static pods restart
		}
	case v1alpha1.StepFailed, v1alpha1.StepRolledBack:
		if !o.Node.Marked() || o.Slot.Held == "" {
			return nil, true
		}
	}
	if !s.drained() || !o.Node.Marked() {
		shows = slices.DeleteFunc(slices.Clone(shows), func(t corev1.NodeConditionType) bool { return t == drained })
	}
	return shows, true
}

// drained reports whether this attempt has drained the node. One by Restart does not, nor a
// reboot of a node that has nothing merged. What a State that was lost had done is not known. A
// node that is in service again, and verified once more, has still drained in its timeline.
func (s State) drained() bool {
	for _, one := range slices.Backward(s.Steps) {
		switch one.Step {
		case v1alpha1.StepDraining:
			return true
		case v1alpha1.StepLocking:
			return false
		}
	}
	return false
}

// ConditionMessage is the message of these conditions.
func ConditionMessage(s State, spec v1alpha1.NodeUpgradeSpec, node string) string {
	what := "to " + spec.Version
	switch spec.Type {
	case v1alpha1.TypeReboot:
		what = "a reboot for the operating system"
	case v1alpha1.TypeCertificates:
		what = "the renewal of certificates"
	}
	return fmt.Sprintf("upgrade %s: %s (kubectl upgrade status %s)", s.Upgrade.Name, what, node)
}
