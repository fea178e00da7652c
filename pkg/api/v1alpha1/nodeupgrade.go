package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NodeUpgrade is one node's part: the coordinator writes spec, that node's
// agent writes status. It bears the node's name and is owned by the Node.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=nu,categories=upgrade
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Kubelet",type=string,JSONPath=`.status.kubeletVersion`
// +kubebuilder:printcolumn:name="Staged",type=string,JSONPath=`.status.stagedVersion`
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="Release",type=string,JSONPath=`.spec.release`
// +kubebuilder:printcolumn:name="Step",type=string,JSONPath=`.status.step`
// +kubebuilder:printcolumn:name="Since",type=date,JSONPath=`.status.since`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name="Until",type=string,JSONPath=`.status.until`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.message`
type NodeUpgrade struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the coordinator wants of the node.
	// +kubebuilder:default={}
	// +optional
	Spec NodeUpgradeSpec `json:"spec,omitzero"`
	// Status is what the node's agent sees and does.
	// +optional
	Status NodeUpgradeStatus `json:"status,omitzero"`
}

// Release is what the coordinator lets a node do.
// +kubebuilder:validation:Enum=None;ControlPlane;Node
type Release string

// The releases.
const (
	ReleaseNone         Release = "None"         // stage, and wait
	ReleaseControlPlane Release = "ControlPlane" // pass 1: kubeadm on a control-plane node
	ReleaseNode         Release = "Node"         // pass 2: the kubelet, with drain and reboot
)

// KubeadmCommand is which kubeadm upgrade a node runs.
// +kubebuilder:validation:Enum=Apply;Node
type KubeadmCommand string

// The kubeadm commands.
const (
	KubeadmApply KubeadmCommand = "Apply" // kubeadm upgrade apply: the first control-plane node
	KubeadmNode  KubeadmCommand = "Node"  // kubeadm upgrade node: every other node
)

// NodeUpgradeSpec is what the coordinator wants of the node.
//
// +kubebuilder:validation:XValidation:rule="!has(self.release) || self.release == 'None' || has(self.upgrade)",message="a release needs the upgrade it is for",fieldPath=".upgrade"
// +kubebuilder:validation:XValidation:rule="!has(self.release) || self.release == 'None' || (has(self.type) && self.type == 'Reboot') || has(self.version)",message="a release needs the version to reach, unless type is Reboot",fieldPath=".version"
// +kubebuilder:validation:XValidation:rule="!has(self.release) || self.release == 'None' || (has(self.type) && self.type == 'Reboot') || has(self.image)",message="a release needs the image whose hash was fixed, unless type is Reboot",fieldPath=".image"
type NodeUpgradeSpec struct {
	// Upgrade is the name of the ClusterUpgrade this is part of. Empty:
	// nothing is asked for.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Upgrade string `json:"upgrade,omitempty"`

	// Type of that upgrade for this node: one that joined late may be a minor
	// behind, where the others went by a patch.
	// +optional
	Type UpgradeType `json:"type,omitempty"`

	// Version to reach, such as v1.34.4.
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^v1[.](0|[1-9][0-9]{0,3})[.](0|[1-9][0-9]{0,3})$')",message="must be a released version of Kubernetes in full, such as v1.34.4"
	// +optional
	Version string `json:"version,omitempty"`

	// Image to stage: its address, and the hash fixed at the trigger.
	// +optional
	Image *Image `json:"image,omitempty"`

	// Release is how far the node may go.
	// +kubebuilder:default=None
	// +optional
	Release Release `json:"release,omitempty"`

	// Kubeadm is which kubeadm upgrade this node runs.
	// +kubebuilder:default=Node
	// +optional
	Kubeadm KubeadmCommand `json:"kubeadm,omitempty"`

	// EtcdSnapshot asks the node to take a snapshot of etcd before kubeadm runs.
	// +optional
	EtcdSnapshot bool `json:"etcdSnapshot,omitempty"`

	// Method is how the image is activated.
	// +kubebuilder:default=Reboot
	// +optional
	Method Method `json:"method,omitempty"`

	// Settle is the quiet time after Ready and before the uncordon.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="must be a duration from 0s, such as 2m or 1h30m"
	// +optional
	Settle *metav1.Duration `json:"settle,omitempty"`

	// Drain is how pods are asked to leave.
	// +kubebuilder:default={}
	// +optional
	Drain Drain `json:"drain,omitzero"`

	// ExpectedDuration is how long the coordinator expects the node to need for
	// what it is released for. The agent does not begin where less is left before
	// the window, or an exclusion, closes it. Absent: nothing is known to be
	// needed.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="must be a duration from 0s, such as 2m or 1h30m"
	// +optional
	ExpectedDuration *metav1.Duration `json:"expectedDuration,omitempty"`

	// Reason is why the node may not go on, while release is None.
	// +optional
	Reason Reason `json:"reason,omitempty"`

	// Message says the same in one sentence.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`

	// Until is when the reason ends, where that is known.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}

// Step is where a node is on its way.
// +kubebuilder:validation:Enum=Idle;Staging;Waiting;Locking;Snapshotting;Kubeadm;Checking;Cordoning;Draining;LastCheck;Activating;Rebooting;Restarting;Verifying;Settling;Uncordoning;Unlocking;Aborting;Failed;RolledBack;Unsupported
type Step string

// The steps, in their order. Pass 1 is Locking, Snapshotting on the first
// control plane, Kubeadm, Checking, Unlocking; pass 2 runs from Locking to
// Unlocking without Snapshotting and Checking.
const (
	StepIdle         Step = "Idle"         // nothing is asked for, or all is as wanted
	StepStaging      Step = "Staging"      // the image is being downloaded and checked
	StepWaiting      Step = "Waiting"      // staged; waits to be released
	StepLocking      Step = "Locking"      // window, release and skew are checked, the slot is taken
	StepSnapshotting Step = "Snapshotting" // a snapshot of etcd is taken and verified
	StepKubeadm      Step = "Kubeadm"      // kubeadm runs from the staged image
	StepChecking     Step = "Checking"     // pass 1: static pods and node become healthy
	StepCordoning    Step = "Cordoning"    // no new pods
	StepDraining     Step = "Draining"     // pods leave
	StepLastCheck    Step = "LastCheck"    // window, release and slot are checked for the last time
	StepActivating   Step = "Activating"   // guard armed, conf and symlink flipped
	StepRebooting    Step = "Rebooting"    // the reboot was asked for
	StepRestarting   Step = "Restarting"   // method Restart: the merged image is refreshed, the kubelet restarted
	StepVerifying    Step = "Verifying"    // a new boot; kubelet's version and Ready are awaited
	StepSettling     Step = "Settling"     // quiet time
	StepUncordoning  Step = "Uncordoning"  // our own cordon is lifted, the mark cleared
	StepUnlocking    Step = "Unlocking"    // the slot is freed
	StepAborting     Step = "Aborting"     // gives up cleanly: uncordon, unlock, wait
	StepFailed       Step = "Failed"       // needs somebody; keeps its slot
	StepRolledBack   Step = "RolledBack"   // the guard took the kubelet back; keeps its slot
	StepUnsupported  Step = "Unsupported"  // Kubernetes does not come as a sysext image here
)

// NodeUpgradeStatus is what the agent sees and does on its node.
type NodeUpgradeStatus struct {
	// ObservedGeneration is the generation of the spec that the agent acts on.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Upgrade is the name of the ClusterUpgrade that step, attempts and steps
	// speak of: the one before spec.upgrade, while the node still finishes it.
	// +optional
	Upgrade string `json:"upgrade,omitempty"`

	// Step the node is at.
	// +optional
	Step Step `json:"step,omitempty"`

	// Since is when the step began.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// Reason is why the node waits, or what went wrong.
	// +optional
	Reason Reason `json:"reason,omitempty"`

	// Message says the same in one sentence.
	// +optional
	Message string `json:"message,omitempty"`

	// Until is when the reason ends, where that is known.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`

	// Attempts counts how often this node began to take itself out of service
	// for spec.version.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`

	// Failures counts the attempts that something on this node ended; after three
	// it is Failed. A drain that is blocked and a snapshot that cannot be taken do
	// not count.
	// +optional
	Failures int32 `json:"failures,omitempty"`

	// LastError is the last thing that went wrong, kept after it was overcome.
	// +optional
	LastError string `json:"lastError,omitempty"`

	// RetryAt is when the agent tries again by itself after a failure.
	// +optional
	RetryAt *metav1.Time `json:"retryAt,omitempty"`

	// RebootedFrom is the boot id that the node shall leave behind: set before
	// the reboot is asked for.
	// +optional
	RebootedFrom string `json:"rebootedFrom,omitempty"`

	// Slot is the name of the slot this node holds.
	// +optional
	Slot string `json:"slot,omitempty"`

	// FromVersion is the kubelet's version that ran when upgrade began here.
	// +optional
	FromVersion string `json:"fromVersion,omitempty"`

	// KubeletVersion that runs.
	// +optional
	KubeletVersion string `json:"kubeletVersion,omitempty"`

	// KubeadmVersion is the version up to which kubeadm upgrade has completed
	// on this node.
	// +optional
	KubeadmVersion string `json:"kubeadmVersion,omitempty"`

	// ControlPlaneVersion is the lowest version among this node's static pods;
	// empty on a worker.
	// +optional
	ControlPlaneVersion string `json:"controlPlaneVersion,omitempty"`

	// ActiveVersion is the version that the symlink points to: what the next
	// boot merges.
	// +optional
	ActiveVersion string `json:"activeVersion,omitempty"`

	// StagedVersion is spec.version once its image lies on the disk, checked.
	// +optional
	StagedVersion string `json:"stagedVersion,omitempty"`

	// PulledVersion is spec.version once the control plane's container images
	// of that version lie on the node; empty on a worker.
	// +optional
	PulledVersion string `json:"pulledVersion,omitempty"`

	// Installed are the versions whose images lie on the disk.
	// +listType=set
	// +optional
	Installed []string `json:"installed,omitempty"`

	// Architecture as systemd names it: x86-64 or arm64.
	// +optional
	Architecture string `json:"architecture,omitempty"`

	// BootID of the running system.
	// +optional
	BootID string `json:"bootID,omitempty"`

	// RebootRequired is true when what runs differs from what should, or the
	// operating system asks for a reboot.
	// +optional
	RebootRequired bool `json:"rebootRequired,omitempty"`

	// RebootReason says why.
	// +optional
	RebootReason string `json:"rebootReason,omitempty"`

	// Method is how this node activates the image, where that is decided: Reboot
	// also where spec.method is Restart and a restart would break something.
	// +optional
	Method Method `json:"method,omitempty"`

	// MethodMessage says why method is not the one that was asked for.
	// +optional
	MethodMessage string `json:"methodMessage,omitempty"`

	// EtcdSnapshot is the snapshot that was taken on this node for upgrade.
	// +optional
	EtcdSnapshot *EtcdSnapshot `json:"etcdSnapshot,omitempty"`

	// KubeadmLog is the end of kubeadm's own words, where it failed.
	// +optional
	KubeadmLog string `json:"kubeadmLog,omitempty"`

	// Facts are what preflight has to know of the node.
	// +optional
	Facts *NodeFacts `json:"facts,omitempty"`

	// AgentVersion is the agent's own.
	// +optional
	AgentVersion string `json:"agentVersion,omitempty"`

	// Steps are the steps of the present upgrade with their times.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Steps []StepTime `json:"steps,omitempty"`

	// Conditions: Succeeded, Reconciling, Stalled.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// StepTime says when a step began and ended.
type StepTime struct {
	// Step that it is about.
	Step Step `json:"step"`
	// StartedAt is when it began, with microseconds.
	StartedAt metav1.MicroTime `json:"startedAt"`
	// FinishedAt is when the next one began.
	// +optional
	FinishedAt *metav1.MicroTime `json:"finishedAt,omitempty"`
}

// NodeUpgradeList is a list of nodes' parts.
// +kubebuilder:object:root=true
type NodeUpgradeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeUpgrade `json:"items"`
}
