package machine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// StageKey returns the key under which spec's image is staged: version and digest.
func StageKey(spec v1alpha1.NodeUpgradeSpec) string {
	if spec.Image == nil {
		return ""
	}
	return spec.Version + "@" + spec.Image.Digest
}

// attemptKey returns the key of this attempt's verbs. It differs between attempts, so that
// the failure of one is not taken for the failure of the next.
func attemptKey(s State, o Observation) string {
	return fmt.Sprintf("%s/%s/%s/attempt-%d", o.Spec.Version, s.Upgrade.Name, s.Upgrade.UID, s.Attempts)
}

// ended reports whether the run with that key has ended.
func (w Work) ended(key string) bool {
	return !w.Running && w.Key == key && key != ""
}

// endedInStep reports whether the run with that key has ended since the step began. An
// uncounted attempt had the same key.
func (w Work) endedInStep(s State, key string) bool {
	return w.ended(key) && !w.FinishedAt.Before(s.Since)
}

// succeeded reports whether the verb's run with that key succeeded.
func (o Observation) succeeded(v verb.Verb, key string) bool {
	return o.Work[v].ended(key) && o.Work[v].OK
}

// Staged reports whether spec's image is on the disk and verified, beside the one that runs.
func Staged(o Observation) bool {
	if o.Spec.Type == v1alpha1.TypeReboot {
		return true
	}
	return o.Host != nil && o.Host.ConfProblem == "" && o.Host.MissingImage == "" && o.succeeded(verb.Stage, StageKey(o.Spec)) &&
		slices.Contains(o.Host.Installed, o.Spec.Version)
}

// Pulled reports whether the control plane's container images are present, or kubeadm has
// used them already. It is true on a worker, which needs none.
func Pulled(o Observation) bool {
	return o.Host != nil && (!o.Host.ControlPlane || kubeadmDone(o) || o.succeeded(verb.Pull, StageKey(o.Spec)))
}

// kubeadmDone reports whether kubeadm upgrade has completed for the target.
func kubeadmDone(o Observation) bool {
	return o.Spec.Type == v1alpha1.TypeReboot || atLeast(o.Host.KubeadmVersion, o.Spec.Version)
}

// done reports whether the node has reached spec. A control-plane node that joined at the
// target version has, though kubeadm upgrade never ran on it.
func done(s State, o Observation) bool {
	if o.Spec.Type == v1alpha1.TypeReboot {
		return !o.Host.RebootRequired || rebooted(s, o)
	}
	return atLeast(o.Node.KubeletVersion, o.Spec.Version) &&
		(!o.Host.ControlPlane || kubeadmDone(o) || atLeast(o.Host.ControlPlaneVersion, o.Spec.Version))
}

// atTarget reports whether the node already runs the target version, or no longer requires
// a reboot. It must not reboot then: a person rebooted it, or the State is older than our
// own reboot.
func atTarget(o Observation) bool {
	if o.Spec.Type == v1alpha1.TypeReboot {
		return !o.Host.RebootRequired && !wouldActivate(o)
	}
	return o.Host.Merged == o.Spec.Version &&
		kubeletReported(o) && o.Node.KubeletVersion == o.Spec.Version
}

// atLeast reports whether version got is want or newer. It is false if one is not a
// version.
func atLeast(got, want string) bool {
	w, err := version.Parse(want)
	return err == nil && version.Reached(got, w)
}

// withdrawn reports whether the node is no longer released for its upgrade.
func withdrawn(s State, o Observation) bool {
	return !s.Follows(o.Spec) || !o.Spec.Release.Granted()
}

// Marked reports whether the Node has an annotation of ours.
func (n Node) Marked() bool {
	return n.OurCordon || n.SlotMark != ""
}

// cordoned reports whether the Node is cordoned and its annotation names the held slot.
func cordoned(o Observation) bool {
	return o.Node.Unschedulable && o.Slot.Held != "" && o.Node.SlotMark == o.Slot.Held
}

// expectedVersion returns the version that a node past its last check comes back with.
// Once another upgrade is requested, only the symlink still has it. A node without a
// symlink may come back with any version: its packages may have changed on the disk.
func expectedVersion(s State, o Observation) string {
	if o.Spec.Type == v1alpha1.TypeReboot || !s.Follows(o.Spec) {
		return nextBoot(o)
	}
	return o.Spec.Version
}

// nextBoot returns the version that the next boot brings. Without a symlink only the one
// that runs is known.
func nextBoot(o Observation) string { return cmp.Or(o.Host.Active, o.Node.KubeletVersion) }

// leaseRenewed reports whether the kubelet renews its Lease. A time far in the future, which a
// clock that was ahead left behind, shows nothing: the kubelet soon writes another one.
func leaseRenewed(o Observation) bool {
	return o.Lease != nil && o.Now.Sub(o.Lease.RenewedAt).Abs() <= o.Lease.Lasts
}

// leaseMayBeRenewed reports whether the Lease does not show yet whether the kubelet renews it:
// it is not known, cannot be read, or could not be until a moment ago, as when the API server
// was unavailable.
func leaseMayBeRenewed(o Observation) bool {
	return o.Lease == nil || o.Lease.ReadSince.IsZero() || o.Now.Sub(o.Lease.ReadSince) < o.Lease.Lasts
}

// kubeletReported reports whether this boot's kubelet has reported the Node's status.
func kubeletReported(o Observation) bool {
	return o.Node.BootID == o.Host.BootID
}
