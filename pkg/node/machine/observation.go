package machine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Observation is what the agent observes of a node at one moment.
type Observation struct {
	Now time.Time
	// WatchingSince is when this agent started. Deadlines do not run while no agent
	// runs: the node may have been powered off for a night.
	WatchingSince time.Time

	// Managed reports whether the node may be changed. If not, no attempt begins.
	Managed bool
	// GiveBack reports whether this node has a NodeUpgrade, and it says that the node is
	// not managed: what was changed on the node is undone.
	GiveBack bool
	Spec     v1alpha1.NodeUpgradeSpec
	Node     Node
	Slot     Slot

	// Host holds the facts of the node's own files, gathered after the last verb that
	// changes them ended. It is nil if they are not known; HostProblem may say why.
	Host        *Host
	HostProblem string
	// Work is the state of each verb on the host.
	Work map[verb.Verb]Work
	// EtcdSnapshot is the snapshot that the last verb.Snapshot took, if it succeeded.
	EtcdSnapshot *v1alpha1.EtcdSnapshot

	// Rules is set if NeedsRules is true: why a disruptive action may not begin now, or that it may.
	// One that could not be read holds, with ReasonRulesUnknown. Nil means that it is not known yet.
	Rules *clusterstate.Hold
	// Health is set if NeedsHealth is true. Nil means that it is not known yet.
	Health *Health
	// Parts are what the node has, if NeedsParts is true. Nil means that it is not known yet.
	Parts *v1alpha1.NodeParts
	// Whole is set if NeedsWhole is true. Nil means that it is not known yet.
	Whole *Whole
	// KeptOut is what keeps pods from the node, such as a taint, and did not when State.Parts was written down.
	KeptOut []string
	// Lease is the kubelet's, if NeedsLease is true. Nil means that it is not known yet.
	Lease *Lease
	// KubeletRefused is why the API server refuses what the kubelet writes to its Node, if
	// AwaitsKubelet is true. Empty: it does not, or that is not known.
	KubeletRefused string
	// Drain is the progress after the last round. Nil means that there was none yet.
	Drain *Drain
	// Volumes are those that were attached at the last look. Nil means that there was none yet.
	Volumes *Volumes
	// RebootTriedAt is when this agent first tried to request the reboot, and RebootAskedAt when
	// it did so last. Zero means that it did not.
	RebootTriedAt time.Time
	RebootAskedAt time.Time
	// RebootProblem is why the last request for it was refused, or not made, and RebootReason the reason to show.
	RebootProblem string
	RebootReason  v1alpha1.Reason
	// StoppingSince is since when the host shuts down, in the step Rebooting. Zero: it does not, or that is not known.
	StoppingSince time.Time
}

// Node holds what Next needs of the Node object.
type Node struct {
	Unschedulable bool
	// OurCordon reports whether the Node's annotation says that the cordon is ours.
	OurCordon bool
	// SlotMark is the slot in the Node's annotation.
	SlotMark string
	// GuardReport reports whether the Node has what its guard wrote while no agent did.
	GuardReport bool
	// OnHold reports whether the Node has the hold label.
	OnHold bool
	Ready  bool
	// ReadySince is when Ready changed last.
	ReadySince     time.Time
	KubeletVersion string
	// BootID is the one that the kubelet reported. If it differs from the host's, the
	// kubelet of this boot has not reported yet.
	BootID string
}

// Lease is the one that the kubelet renews while it works, every quarter of its duration. The
// node's Ready condition outlives a kubelet by most of a minute.
type Lease struct {
	// RenewedAt is when the kubelet did so last, by the node's own clock, and Lasts for how long
	// it then counts.
	RenewedAt time.Time
	Lasts     time.Duration
	// ReadSince is since when each attempt to read it has succeeded. Zero: the last one failed.
	ReadSince time.Time
}

// Slot is this node's part in the slots' Leases.
type Slot struct {
	// Reserved is the name of the slot that is reserved for the node, and that no other node
	// holds. Held is the name of the slot that the node holds.
	Reserved, Held string
}

// Host holds the facts of the node's files, and what the agent concludes from them. Its
// RebootRequired and RebootReason also count Flatcar's update_engine.
type Host struct {
	verb.HostFacts
	// At is when the facts were requested: they are no older.
	At time.Time
	// KubeadmVersion is the last version that kubeadm completed, confirmed by the static pods.
	KubeadmVersion string
	// OneAtATime reports whether the node runs a kube-apiserver or a member of etcd, by its own
	// files: it takes no slot but clusterstate.ControlPlaneSlot, whatever its Node's labels are.
	OneAtATime bool
	// ControlPlaneVersion is the lowest version in the static pods' manifests.
	ControlPlaneVersion string
	// ConfigurationChanged reports whether kubeadm's ClusterConfiguration, or kube-proxy's, is not the one of the last pull.
	ConfigurationChanged bool
}

// Work is the state of one verb on the host: whether it runs, and the result of the last run that
// ended. Its key is empty if there was none.
type Work struct {
	Running bool
	// StartFailure is why the last start failed. Zero means that it did not.
	StartFailure StartFailure
	verb.Result
}

// StartFailure is why a verb could not be started for a key.
type StartFailure struct {
	Key     string
	Reason  v1alpha1.Reason
	Message string
	// RetryAt is when to retry.
	RetryAt time.Time
}

// Health reports whether the node is healthy, and on a control plane its static pods and
// etcd too.
type Health struct {
	OK      bool
	Message string
}

// Whole is what the node lacks of what it had before it went out of service, for people. Empty: it is whole.
type Whole struct {
	Missing []string
}

// Drain is the progress of a drain.
type Drain struct {
	// At is when the round ended. A round of an earlier attempt does not count.
	At time.Time
	// Left is how many pods are left to evict. Zero means that the node is drained.
	Left int
	// Blocked reports whether a pod cannot be evicted now.
	Blocked bool
	// Message names the pods, and what blocks them.
	Message string
}

// Volumes are the volumes that a node waits for.
type Volumes struct {
	// At is when the agent looked at them. A look of an earlier attempt does not count.
	At time.Time
	// Attached are those that are still attached, as the Node's status names them.
	Attached []string
	// Problem is why they are not known; empty: they are.
	Problem string
}

// StageKey returns the key under which spec's image is staged: version and digest.
func StageKey(spec v1alpha1.NodeUpgradeSpec) string {
	if spec.Image == nil {
		return ""
	}
	return spec.Version + "@" + string(spec.Image.Digest)
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
	if !o.Spec.Type.HasVersion() {
		return true
	}
	return o.Host != nil && o.Host.ConfProblem == "" && o.Host.MissingImage == "" && o.succeeded(verb.Stage, StageKey(o.Spec)) &&
		slices.Contains(o.Host.Installed, o.Spec.Version)
}

// Pulled reports whether the control plane's container images are present, or kubeadm has
// used them already. It is true on a worker, which needs none.
func Pulled(o Observation) bool {
	return o.Host != nil && (!o.Host.ControlPlane || !o.Spec.Type.HasVersion() || kubeadmDone(o) || o.succeeded(verb.Pull, StageKey(o.Spec)) && !pullOutdated(o))
}

// pullOutdated reports, by facts that are newer than the pull, whether an image is not on the node any more, or the images
// were listed for another ClusterConfiguration than the cluster has now. On a full disk the kubelet removes what was pulled
// again and again: that is not followed at once, as kubeadm pulls by itself what is missing.
func pullOutdated(o Observation) bool {
	ended := o.Work[verb.Pull].FinishedAt
	gone := len(o.Host.ImagesMissing) > 0 && o.Now.Sub(ended) >= pullAgain
	return (gone || o.Host.ConfigurationChanged) && o.Host.At.After(ended)
}

// kubeadmDone reports whether kubeadm has completed for the target, or must not run for it: it is
// not part of it, or would take newer static pods back.
func kubeadmDone(o Observation) bool {
	if o.Spec.Type == v1alpha1.TypeCertificates {
		return hasRenewed(o)
	}
	newer := o.Host.ControlPlane && o.Host.ControlPlaneVersion != o.Spec.Version && version.AtLeast(o.Host.ControlPlaneVersion, o.Spec.Version)
	return !o.Spec.Type.RunsKubeadmUpgrade() || newer || version.AtLeast(o.Host.KubeadmVersion, o.Spec.Version)
}

// done reports whether the node has reached spec. A control-plane node that joined at the
// target version has, though kubeadm upgrade never ran on it.
func done(s State, o Observation) bool {
	switch o.Spec.Type {
	case v1alpha1.TypeReboot:
		return !asksForReboot(o) || rebooted(s, o)
	case v1alpha1.TypeCertificates:
		return hasRenewed(o)
	case v1alpha1.TypeRollback:
		return version.AtLeast(o.Spec.Version, o.Node.KubeletVersion)
	}
	return version.AtLeast(o.Node.KubeletVersion, o.Spec.Version) &&
		(!o.Host.ControlPlane || kubeadmDone(o) || version.AtLeast(o.Host.ControlPlaneVersion, o.Spec.Version))
}

// atTarget reports whether the node already runs the target version, or no longer requires
// a reboot. It must not reboot then: a person rebooted it, or the State is older than our
// own reboot.
func atTarget(o Observation) bool {
	if o.Spec.Type == v1alpha1.TypeReboot {
		return !asksForReboot(o) && !wouldActivate(o)
	}
	return o.Host.Merged == o.Spec.Version &&
		kubeletReported(o) && o.Node.KubeletVersion == o.Spec.Version
}

// holdDue reports whether the verified node has to be put on hold before it is uncordoned.
func holdDue(s State, o Observation) bool {
	return o.Spec.HoldAfter && s.Follows(o.Spec) && !o.Node.OnHold
}

// holdMissed reports whether the node was taken back alone and is not on hold, as its attempt was aborted
// after the activation. A person who has removed the label since is not overruled.
func holdMissed(s State, o Observation) bool {
	uncordoned := slices.ContainsFunc(s.Steps, func(t StepTime) bool { return t.Step == v1alpha1.StepUncordoning })
	return holdDue(s, o) && s.From != o.Node.KubeletVersion && !uncordoned
}

// withdrawn reports whether the node is no longer released for its upgrade.
func withdrawn(s State, o Observation) bool {
	return !s.Follows(o.Spec) || !o.Spec.Release.Granted()
}

// Marked reports whether the Node has an annotation of ours.
func (n Node) Marked() bool {
	return n.OurCordon || n.SlotMark != "" || n.GuardReport
}

// cordoned reports whether the Node is cordoned and its annotation names the held slot.
func cordoned(o Observation) bool {
	return o.Node.Unschedulable && o.Slot.Held != "" && o.Node.SlotMark == o.Slot.Held
}

// expectedVersion returns the version that a node past its last check comes back with.
// Once another upgrade is requested, only the symlink still has it. A node without a
// symlink may come back with any version: its packages may have changed on the disk.
func expectedVersion(s State, o Observation) string {
	if !o.Spec.Type.HasVersion() || !s.Follows(o.Spec) {
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
