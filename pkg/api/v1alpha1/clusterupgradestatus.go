package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Outcome is how a ClusterUpgrade ended.
// +kubebuilder:validation:Enum=Succeeded;Failed;RolledBack;Superseded;Canceled
type Outcome string

// The outcomes.
const (
	OutcomeSucceeded  Outcome = "Succeeded"
	OutcomeFailed     Outcome = "Failed"
	OutcomeRolledBack Outcome = "RolledBack"
	OutcomeSuperseded Outcome = "Superseded" // a newer upgrade brought a later version
	OutcomeCanceled   Outcome = "Canceled"   // its ClusterUpgrade was deleted before its end, so that only its record says so
)

// ClusterUpgradeStatus is the state of an upgrade.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.triggerTime) || (has(self.triggerTime) && self.triggerTime == oldSelf.triggerTime)",message="is set once",fieldPath=".triggerTime"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.triggerTime) || (has(self.images) == has(oldSelf.images) && (!has(self.images) || self.images == oldSelf.images))",message="are fixed at the trigger",fieldPath=".images"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.outcome) || (has(self.outcome) && self.outcome == oldSelf.outcome)",message="is set once",fieldPath=".outcome"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.startTime) || (has(self.startTime) && self.startTime == oldSelf.startTime)",message="is set once",fieldPath=".startTime"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.endTime) || (has(self.endTime) && self.endTime == oldSelf.endTime)",message="is set once",fieldPath=".endTime"
type ClusterUpgradeStatus struct {
	// Conditions: Succeeded and Completed; Reconciling and Stalled while they are True.
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ObservedGeneration is the generation that this status is about; -1 before
	// the coordinator has seen the object.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Type is spec.type, or what was derived from the versions.
	// +optional
	Type UpgradeType `json:"type,omitempty"`

	// TriggerTime is when the upgrade became active and its images were fixed.
	// +optional
	TriggerTime *metav1.Time `json:"triggerTime,omitempty"`

	// StartTime is when the coordinator noticed that the first node had passed its last
	// check, or had run kubeadm, in a turn for which the coordinator had released it.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// EndTime is when it ended.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`

	// FromVersion is the oldest kubelet's version at the trigger.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	FromVersion string `json:"fromVersion,omitempty"`

	// ToVersion is the version that it brings: spec.version, from the trigger on. Absent where type is Reboot or Certificates.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	ToVersion string `json:"toVersion,omitempty"`

	// Outcome is empty until the upgrade ended.
	// +optional
	Outcome Outcome `json:"outcome,omitempty"`

	// Nodes counts the nodes.
	// +optional
	Nodes NodeCounts `json:"nodes,omitzero"`

	// Progress is done/total, for people.
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Progress string `json:"progress,omitempty"`

	// Active are the nodes that are at work now.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	// +optional
	Active []NodeNote `json:"active,omitempty"`

	// Blocked are the first few nodes that failed or wait for a person.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	// +optional
	Blocked []NodeNote `json:"blocked,omitempty"`

	// PreflightTime is when preflight last ran, with microseconds: an earlier report
	// never replaces a later one.
	// +optional
	PreflightTime *metav1.MicroTime `json:"preflightTime,omitempty"`

	// Findings are the results of the last preflight run, those that block first; those
	// that were ignored before stay. If there are too many, the checks with the most
	// findings are shortened, and a last finding of the same check says how many are
	// missing.
	// +kubebuilder:validation:MaxItems=128
	// +listType=atomic
	// +optional
	Findings []Finding `json:"findings,omitempty"`

	// Images are fixed at the trigger, one for each architecture. This upgrade uses no
	// others.
	// +listType=map
	// +listMapKey=architecture
	// +kubebuilder:validation:MaxItems=8
	// +optional
	Images []Image `json:"images,omitempty"`

	// Boots are fixed at the trigger where rebootPolicy is Always, sorted by name: the boot that
	// each node had then. A node is rebooted only while it is in that boot.
	// +kubebuilder:validation:MaxItems=5000
	// +listType=atomic
	// +optional
	Boots []NodeBoot `json:"boots,omitempty"`

	// Strategy is how nodes are upgraded: spec.strategy, completed from the
	// UpgradePolicy and the defaults.
	// +optional
	Strategy Strategy `json:"strategy,omitzero"`

	// EtcdSnapshot is the first snapshot that was taken.
	// +optional
	EtcdSnapshot *EtcdSnapshot `json:"etcdSnapshot,omitempty"`

	// Notices are the events of which the UpgradePolicy's notices are told. An event is here
	// before anything is sent, so that the next leader sends what this one could not.
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Notices []NoticeRecord `json:"notices,omitempty"`
}

// NodeCounts counts nodes by what the planner decided for them.
type NodeCounts struct {
	// Total is how many nodes this upgrade concerns: managed, supported and
	// selected.
	// +required
	Total int32 `json:"total"`
	// Done are up to date.
	// +required
	Done int32 `json:"done"`
	// Active are at work.
	// +required
	Active int32 `json:"active"`
	// Waiting begin later by themselves.
	// +required
	Waiting int32 `json:"waiting"`
	// Blocked are nodes that failed or wait for a person.
	// +required
	Blocked int32 `json:"blocked"`
	// Unsupported nodes are not counted in Total: an upgrade of this type is not
	// possible on them.
	// +required
	Unsupported int32 `json:"unsupported"`
}

// NodeNote names a node and says what it is doing.
type NodeNote struct {
	// Name of the node.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// Step that the node is in.
	// +optional
	Step Step `json:"step,omitempty"`
	// Reason code.
	// +optional
	Reason Reason `json:"reason,omitempty"`
	// Message in one sentence.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

// FindingLevel is the severity of a finding.
// +kubebuilder:validation:Enum=Block;Warn
type FindingLevel string

// The levels.
const (
	LevelBlock FindingLevel = "Block" // nothing begins until the cause is fixed, or the check ignored
	LevelWarn  FindingLevel = "Warn"  // information for people
)

// Finding is one thing that preflight noticed.
type Finding struct {
	// ID names the check, as ignoreChecks does.
	// +kubebuilder:validation:MaxLength=64
	// +required
	ID string `json:"id"`
	// Level is Block or Warn.
	// +required
	Level FindingLevel `json:"level"`
	// Node that it is about: a Block then holds only that node. Empty: it holds the
	// whole upgrade.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Node string `json:"node,omitempty"`
	// Object that it is about.
	// +optional
	Object ObjectReference `json:"object,omitzero"`
	// Message says what is wrong.
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Message string `json:"message"`
	// Advice says what to do.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Advice string `json:"advice,omitempty"`
	// Ignored reports whether ignoreChecks names the check.
	// +optional
	Ignored bool `json:"ignored,omitempty"`
}

// Explain returns the reason code and the sentence of the condition Succeeded: what
// the upgrade waits for, or how it ended.
func (s *ClusterUpgradeStatus) Explain() (Reason, string) {
	if c := meta.FindStatusCondition(s.Conditions, ConditionSucceeded); c != nil {
		return Reason(c.Reason), c.Message
	}
	return "", ""
}

// Stalled reports whether the upgrade waits until a person solves a problem.
func (s *ClusterUpgradeStatus) Stalled() bool {
	return meta.IsStatusConditionTrue(s.Conditions, ConditionStalled)
}
