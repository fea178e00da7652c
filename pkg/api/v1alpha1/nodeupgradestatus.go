package v1alpha1

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeUpgradeStatus is what the agent observes and does on its node, and why the
// coordinator does not release it.
type NodeUpgradeStatus struct {
	// Conditions: UpToDate; Admitted, which the coordinator owns; Managed; Reconciling
	// and Stalled while they are True. The reason and message of UpToDate say what the node
	// is doing, or what went wrong.
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ObservedGeneration is the generation that the agent acts on; -1 before an
	// agent has seen the object.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Upgrade is the ClusterUpgrade that step, retry and steps are about: the one
	// before spec.upgrade, while the node still finishes it.
	// +optional
	Upgrade *UpgradeReference `json:"upgrade,omitempty"`

	// Step that the node is in, such as Waiting, Draining or Failed. A newer agent may
	// have others.
	// +optional
	Step Step `json:"step,omitempty"`

	// StepStartTime is when the step began.
	// +optional
	StepStartTime *metav1.Time `json:"stepStartTime,omitempty"`

	// StepEndTime is when the step's time limit or pause ends, if it has one.
	// +optional
	StepEndTime *metav1.Time `json:"stepEndTime,omitempty"`

	// HoldEndTime is when the reason of the condition Admitted ends by itself, if that
	// is known. The coordinator owns it.
	// +optional
	HoldEndTime *metav1.Time `json:"holdEndTime,omitempty"`

	// ImageProblem is why no upgrade changes the node's versions: Kubernetes does not come
	// to it as a sysext image. Upgrades of type Reboot reboot it like any other node. It is
	// absent if versions are upgraded.
	// +optional
	ImageProblem *Problem `json:"imageProblem,omitempty"`

	// Versions are the versions that run, and that are on the node's disk.
	// +optional
	Versions NodeVersions `json:"versions,omitzero"`

	// Slot is the name of the slot that the node holds until it is Idle.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Slot string `json:"slot,omitempty"`

	// Retry counts attempts.
	// +optional
	Retry Retry `json:"retry,omitzero"`

	// Reboot is the state of the node's reboots.
	// +optional
	Reboot NodeReboot `json:"reboot,omitzero"`

	// CertificatesRenewed is the last renewal of certificates that an upgrade has made on this node.
	// Absent: none has, or it is not known yet.
	// +optional
	CertificatesRenewed *CertificatesRenewed `json:"certificatesRenewed,omitempty"`

	// Method is how this node activates the image, once that is decided. It is Reboot
	// even if spec.method is another one, if the node cannot do that.
	// +optional
	Method Method `json:"method,omitempty"`

	// MethodMessage is why method differs from spec.method.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	MethodMessage string `json:"methodMessage,omitempty"`

	// Rehearsal compares the rehearsal of the node's boot with what the boot did. Absent: the node has
	// not begun, or the boot was not rehearsed.
	// +optional
	Rehearsal *RehearsalOutcome `json:"rehearsal,omitempty"`

	// EtcdSnapshot is the snapshot that was taken on this node for upgrade.
	// +optional
	EtcdSnapshot *EtcdSnapshot `json:"etcdSnapshot,omitempty"`

	// AttachedVolumes are the volumes, as in the Node's status.volumesAttached, of pods that
	// have gone from the node, and which are still attached to it, while it waits for them.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	// +optional
	AttachedVolumes []string `json:"attachedVolumes,omitempty"`

	// PartsBefore are what the node had before it went out of service, while it is. Absent: it is in service, or its
	// attempt restarts nothing.
	// +optional
	PartsBefore *NodeParts `json:"partsBefore,omitempty"`

	// KubeadmLog is the end of kubeadm's output, if it failed.
	// +kubebuilder:validation:MaxLength=8192
	// +optional
	KubeadmLog string `json:"kubeadmLog,omitempty"`

	// KubeletLog is what the guard found before it returned the node to its former version, or
	// could not: what was merged, and the states of systemd-sysext, containerd and the kubelet with
	// the ends of their journals.
	// +kubebuilder:validation:MaxLength=8192
	// +optional
	KubeletLog string `json:"kubeletLog,omitempty"`

	// AgentVersion is the version of the agent.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	AgentVersion string `json:"agentVersion,omitempty"`

	// Steps are the steps of the upgrade with their times, until it is over.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Steps []StepTime `json:"steps,omitempty"`
}

// NodeVersions are the versions on a node. Absent: not known, or there is none.
type NodeVersions struct {
	// Kubelet that runs.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Kubelet string `json:"kubelet,omitempty"`
	// ControlPlane is the lowest version among this node's static pods.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	ControlPlane string `json:"controlPlane,omitempty"`
	// Kubeadm is the version up to which kubeadm upgrade has completed.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Kubeadm string `json:"kubeadm,omitempty"`
	// Staged is spec.version once its image is on the disk and verified.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Staged string `json:"staged,omitempty"`
	// Pulled is spec.version once the control plane's container images of that version
	// are on the node.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Pulled string `json:"pulled,omitempty"`
	// NextBoot is the version that the symlink points to, which the next boot
	// activates. It is none if the next boot would bring no Kubernetes, because the
	// symlink was removed.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	NextBoot string `json:"nextBoot,omitempty"`
	// From is the kubelet's version when the upgrade began on this node.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	From string `json:"from,omitempty"`
}

// Retry counts how often a node began and failed.
type Retry struct {
	// Attempts counts how often the node began to take itself out of service for
	// the upgrade.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// Failures counts the attempts that failed because of this node; after three the
	// node is Failed. A drain that is blocked and a snapshot that cannot be taken do
	// not count.
	// +optional
	Failures int32 `json:"failures,omitempty"`
	// Time when the agent retries after a failure.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
}

// NodeReboot is the state of a node's reboots.
type NodeReboot struct {
	// Required is true when what runs differs from what the next boot brings, or
	// when the operating system asks for a reboot.
	// +optional
	Required bool `json:"required,omitempty"`
	// Message says why, in one sentence.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
	// FromBootID is the boot ID before the reboot. It is set before the reboot is
	// requested.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	FromBootID string `json:"fromBootID,omitempty"`
	// FromSoftReboots is how many soft reboots systemd had counted in that boot then.
	// +optional
	FromSoftReboots int32 `json:"fromSoftReboots,omitempty"`
}

// CertificatesRenewed is a renewal of certificates that has ended well: the programs that use them have
// them.
type CertificatesRenewed struct {
	// Upgrade that has renewed them.
	// +required
	Upgrade UpgradeReference `json:"upgrade"`
	// Time of its end.
	// +required
	Time metav1.Time `json:"time"`
	// Names of the certificates, as `kubeadm certs check-expiration` shows them.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=1024
	// +optional
	Names []string `json:"names,omitempty"`
	// Restarted are the static pods that were restarted, as they do not load a new certificate by themselves.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=1024
	// +optional
	Restarted []string `json:"restarted,omitempty"`
}

// StepTime is when a step began and ended.
type StepTime struct {
	// Step that it is about.
	// +required
	Step Step `json:"step"`
	// StartTime is when it began, with microseconds.
	// +required
	StartTime metav1.MicroTime `json:"startTime"`
	// EndTime is when the next one began; of RolledBack, when the node served again.
	// +optional
	EndTime *metav1.MicroTime `json:"endTime,omitempty"`
}

// LacksImage reports whether Kubernetes does not come to the node as a sysext image, so that
// only upgrades of type Reboot concern it. An agent older than the field imageProblem shows
// that in the step alone.
func (s *NodeUpgradeStatus) LacksImage() bool {
	return s.ImageProblem != nil || s.Step == StepUnsupported
}

// Cause returns the reason code and the sentence of the condition UpToDate: what
// the node is doing, or what went wrong on it.
func (s *NodeUpgradeStatus) Cause() (Reason, string) {
	if c := meta.FindStatusCondition(s.Conditions, ConditionUpToDate); c != nil {
		return fitting(c.Reason), c.Message
	}
	return "", ""
}

// fitting returns the reason of a condition as a Reason. The API allows more in a condition, and an agent may
// write that; in the statuses and records that quote it, it would be refused.
func fitting(reason string) Reason {
	text := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z' {
			return -1
		}
		return r
	}, reason)
	text = strings.TrimLeft(text, "0123456789")
	if text == "" {
		return ""
	}
	return Reason(strings.ToUpper(text[:1]) + text[1:min(len(text), maxReason)])
}

// maxReason is the longest Reason.
const maxReason = 64

// Hold returns the reason code and the sentence of the condition Admitted while that is
// False: why the node may not begin. Otherwise both are empty.
func (s *NodeUpgradeStatus) Hold() (Reason, string) {
	if c := meta.FindStatusCondition(s.Conditions, ConditionAdmitted); c != nil && c.Status == metav1.ConditionFalse {
		return Reason(c.Reason), c.Message
	}
	return "", ""
}

// Explain returns the reason and sentence to show for the node: the coordinator's while
// the node waits for it or does not come back, and the agent's otherwise.
func (s *NodeUpgradeStatus) Explain() (Reason, string) {
	reason, message := s.Cause()
	if hold, why := s.Hold(); hold != "" && (reason == ReasonAwaitingRelease || reason == "" || hold == ReasonNodeNotBack) {
		return hold, why
	}
	return reason, message
}
