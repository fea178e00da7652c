package v1alpha1

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// UpgradeRecord is the result of an ended upgrade, node by node. It is written once and
// never changed. A large cluster's record has several pieces, each an object of its own
// with the same summary. Records outlive their ClusterUpgrade, and are removed by the
// UpgradePolicy's historyLimit.
//
// +kubebuilder:object:root=true
// +kubebuilder:pruning:PreserveUnknownFields
// +kubebuilder:resource:scope=Cluster,shortName=kurec,categories=kubeupgrade
// +kubebuilder:selectablefield:JSONPath=`.spec.version`
// +kubebuilder:selectablefield:JSONPath=`.spec.outcome`
// +kubebuilder:printcolumn:name="Upgrade",type=string,JSONPath=`.spec.upgrade.name`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="From",type=string,JSONPath=`.spec.fromVersion`
// +kubebuilder:printcolumn:name="To",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="Outcome",type=string,JSONPath=`.spec.outcome`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Ended",type=date,priority=1,JSONPath=`.spec.endTime`
// +kubebuilder:printcolumn:name="Piece",type=integer,priority=1,JSONPath=`.spec.piece`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.spec.message`
type UpgradeRecord struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the result. It is never changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a record is never changed"
	// +required
	Spec UpgradeRecordSpec `json:"spec"`
}

// UpgradeRecordSpec is the result of an upgrade.
type UpgradeRecordSpec struct {
	UpgradeSummary `json:",inline"`

	// Piece is the number of this piece, from 1.
	// +kubebuilder:validation:Minimum=1
	// +required
	Piece int32 `json:"piece"`
	// Pieces is how many pieces the record has.
	// +kubebuilder:validation:Minimum=1
	// +required
	Pieces int32 `json:"pieces"`

	// Nodes are the results of the nodes, in upgrade order.
	// +kubebuilder:validation:MaxItems=500
	// +listType=atomic
	// +optional
	Nodes []NodeRecord `json:"nodes,omitempty"`
}

// UnmarshalJSON also reads a record as the first versions stored it, with the fields of its spec at
// the top, for which the definition keeps unknown fields.
func (r *UpgradeRecord) UnmarshalJSON(data []byte) error {
	type record UpgradeRecord // without this method
	if err := json.Unmarshal(data, (*record)(r)); err != nil || r.Spec.Upgrade.UID != "" {
		return err
	}
	var top map[string]any
	if err := json.Unmarshal(data, &top); err != nil {
		return err
	}
	rename := func(object any, was, now string) {
		if one, ok := object.(map[string]any); ok && one[was] != nil {
			one[now] = one[was]
		}
	}
	rename(top, "requestReason", "comment")
	rename(top, "completionTime", "endTime")
	for list, field := range map[string][2]string{"ignoreChecks": {"reason", "comment"}, "ignoreGates": {"reason", "comment"}, "nodes": {"completionTime", "endTime"}} {
		items, _ := top[list].([]any)
		for _, one := range items {
			rename(one, field[0], field[1])
		}
	}
	text, err := json.Marshal(top)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, &r.Spec)
}

// UpgradeSummary is the result of a whole upgrade.
type UpgradeSummary struct {
	// Upgrade is the ClusterUpgrade that ended.
	// +required
	Upgrade UpgradeReference `json:"upgrade"`
	// ClusterName is what the UpgradePolicy called the cluster.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	ClusterName string `json:"clusterName,omitempty"`
	// Type of the upgrade; absent if it ended before that was known.
	// +optional
	Type UpgradeType `json:"type,omitempty"`
	// FromVersion is the oldest kubelet's version at the trigger.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	FromVersion string `json:"fromVersion,omitempty"`
	// Version that was requested; absent for a Reboot.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Version string `json:"version,omitempty"`
	// Digests of the images that it brought; absent if it never became active, and for a Reboot.
	// +listType=map
	// +listMapKey=architecture
	// +kubebuilder:validation:MaxItems=8
	// +optional
	Digests []ImageDigest `json:"digests,omitempty"`
	// Outcome is how it ended.
	// +required
	Outcome Outcome `json:"outcome"`
	// Reason is the code for the outcome.
	// +optional
	Reason Reason `json:"reason,omitempty"`
	// Message explains the reason in one sentence.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
	// Comment is why it was requested.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Comment string `json:"comment,omitempty"`
	// CreatedBy is coordinator if the policy's automatic requested it.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	CreatedBy string `json:"createdBy,omitempty"`
	// RequestedBy is the user who requested it, if that is known.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	RequestedBy string `json:"requestedBy,omitempty"`
	// ChangedBy is the user who changed the ClusterUpgrade's spec last, if it was changed
	// and that is known.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	ChangedBy string `json:"changedBy,omitempty"`
	// ApprovedBy is the user who approved the upgrade, or a group of it, last, if that is
	// known.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	ApprovedBy string `json:"approvedBy,omitempty"`
	// TriggerTime is when the upgrade became active; absent if it never did.
	// +optional
	TriggerTime *metav1.Time `json:"triggerTime,omitempty"`
	// EndTime is when it ended.
	// +required
	EndTime metav1.Time `json:"endTime"`
	// IgnoreChecks are the preflight checks that were ignored.
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=32
	// +optional
	IgnoreChecks []IgnoredCheck `json:"ignoreChecks,omitempty"`

	// IgnoreGates are the gates that were not asked.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +optional
	IgnoreGates []IgnoredGate `json:"ignoreGates,omitempty"`
	// EtcdSnapshot is the first snapshot that was taken.
	// +optional
	EtcdSnapshot *EtcdSnapshot `json:"etcdSnapshot,omitempty"`
	// Counts are the nodes at the end.
	// +optional
	Counts NodeCounts `json:"counts,omitzero"`
}

// NodeRecord is the result of one node.
type NodeRecord struct {
	// Name of the node.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// From is the kubelet's version at the trigger.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	From string `json:"from,omitempty"`
	// To is the kubelet's version at the end.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	To string `json:"to,omitempty"`
	// StartTime is when the node first took its slot. Absent: it never did.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// EndTime is when it was back in service.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`
	// Attempts counts how often it began.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// StagingSeconds is how long it took to stage the image, and on a control plane to pull
	// the images that kubeadm needs. Absent: it had nothing to stage.
	// +optional
	StagingSeconds int32 `json:"stagingSeconds,omitempty"`
	// ComponentsSeconds is how long kubeadm's part took on a control plane: from taking
	// the slot to freeing it. Absent: there was none, or it was aborted.
	// +optional
	ComponentsSeconds int32 `json:"componentsSeconds,omitempty"`
	// RebootSeconds is how long the node's part took with a reboot, without the settle
	// time. Absent: it was not rebooted, or the attempt was aborted.
	// +optional
	RebootSeconds int32 `json:"rebootSeconds,omitempty"`
	// RestartSeconds is the same with only a restart of the kubelet.
	// +optional
	RestartSeconds int32 `json:"restartSeconds,omitempty"`
	// SoftRebootSeconds is the same with a soft reboot.
	// +optional
	SoftRebootSeconds int32 `json:"softRebootSeconds,omitempty"`
	// MethodMessage is why the node rebooted, if the strategy has another method.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	MethodMessage string `json:"methodMessage,omitempty"`
	// Rehearsal is what its boot's rehearsal had found and what the boot did, where these differ or the guard
	// had to help.
	// +optional
	Rehearsal *RehearsalOutcome `json:"rehearsal,omitempty"`
	// Reason that it ended with, if it is not up to date.
	// +optional
	Reason Reason `json:"reason,omitempty"`
	// Steps that the node went through, with their times.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Steps []StepTime `json:"steps,omitempty"`
}

// UpgradeRecordList is a list of records.
// +kubebuilder:object:root=true
type UpgradeRecordList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []UpgradeRecord `json:"items"`
}
