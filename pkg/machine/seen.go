package machine

import (
	"fmt"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// StageKey returns the key of staging what spec wants: version and hash.
func StageKey(spec v1alpha1.NodeUpgradeSpec) string {
	if spec.Image == nil {
		return ""
	}
	return spec.Version + "@" + spec.Image.Digest
}

// attemptKey tells one attempt's work from another's, so that the failure of
// the last one is not taken for the failure of this one.
func attemptKey(s State, o Observation) string {
	return fmt.Sprintf("%s/%s/%s/attempt-%d", o.Spec.Version, s.Upgrade.Name, s.Upgrade.UID, s.Attempts)
}

// answers reports whether the work under that key has ended.
func (w Work) answers(key string) bool {
	return !w.Running && w.Key == key && key != ""
}

// endedIn reports whether the work that the present step asks for has ended. An
// attempt that was taken back had the same key.
func (w Work) endedIn(s State, key string) bool {
	return w.answers(key) && !w.FinishedAt.Before(s.Since)
}

// succeeded reports whether a verb ended well for that key.
func (o Observation) succeeded(v verb.Verb, key string) bool {
	return o.Work[v].answers(key) && o.Work[v].OK
}

// Staged reports whether the image that spec wants lies on the disk, checked.
func Staged(o Observation) bool {
	if o.Spec.Type == v1alpha1.TypeReboot {
		return true
	}
	return o.Host != nil && o.Host.ConfProblem == "" && o.succeeded(verb.Stage, StageKey(o.Spec)) &&
		slices.Contains(o.Host.Installed, o.Spec.Version)
}

// Pulled reports whether nothing has to be pulled any more: the control plane's
// container images are there, or kubeadm has used them. A worker needs none.
func Pulled(o Observation) bool {
	return o.Host != nil && (!o.Host.ControlPlane || kubeadmDone(o) || o.succeeded(verb.Pull, StageKey(o.Spec)))
}

// kubeadmDone reports whether kubeadm upgrade has completed for the target.
func kubeadmDone(o Observation) bool {
	return o.Spec.Type == v1alpha1.TypeReboot || atLeast(o.Host.KubeadmVersion, o.Spec.Version)
}

// done reports whether nothing is left to do for spec. A control-plane node that
// joined at the target has nothing to do, though kubeadm upgrade never ran.
func done(s State, o Observation) bool {
	if o.Spec.Type == v1alpha1.TypeReboot {
		return !o.Host.RebootRequired || rebooted(s, o)
	}
	return atLeast(o.Node.KubeletVersion, o.Spec.Version) &&
		(!o.Host.ControlPlane || kubeadmDone(o) || atLeast(o.Host.ControlPlaneVersion, o.Spec.Version))
}

// arrived reports whether the node runs the target already, or needs no reboot
// any more, by another's reboot or by one that the State does not know of: it
// must not reboot again.
func arrived(o Observation) bool {
	if o.Spec.Type == v1alpha1.TypeReboot {
		return !o.Host.RebootRequired && !wouldActivate(o)
	}
	return o.Host.Merged == o.Spec.Version &&
		kubeletSpeaks(o) && o.Node.KubeletVersion == o.Spec.Version
}

// atLeast reports whether got has reached want. What is not a version has not: then
// something is left to do.
func atLeast(got, want string) bool {
	w, err := version.Parse(want)
	return err == nil && version.Reached(got, w)
}

// withdrawn reports whether the node may not go on with what it began.
func withdrawn(s State, o Observation) bool {
	return !s.Follows(o.Spec) || !o.Spec.Release.Lets()
}

// Marked reports whether the Node bears a mark of ours.
func (n Node) Marked() bool {
	return n.OurCordon || n.SlotMark != ""
}

// cordoned reports whether no new pods come and the mark names the slot.
func cordoned(o Observation) bool {
	return o.Node.Unschedulable && o.Slot.Held != "" && o.Node.SlotMark == o.Slot.Held
}

// expected returns the version that a node past its last check comes back with.
// Once another upgrade is asked for, only the symlink still says.
func expected(s State, o Observation) string {
	if o.Spec.Type == v1alpha1.TypeReboot || !s.Follows(o.Spec) {
		return o.Host.Active
	}
	return o.Spec.Version
}

// kubeletSpeaks reports whether what the Node says comes from this boot's kubelet.
func kubeletSpeaks(o Observation) bool {
	return o.Node.BootID == o.Host.BootID
}
