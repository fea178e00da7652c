package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CoordinatorState is what the coordinator remembers. There is one, named cluster like the
// UpgradePolicy, whose status shows the same for people and other clusters. As it is an object
// without a status, backups keep all of it: an UpgradePolicy that is restored without its status,
// or deleted and created again, goes on where the former one was.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=kustate,categories=kubeupgrade
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'cluster'",message="metadata.name: there is one CoordinatorState, and it is named cluster"
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.version`
// +kubebuilder:printcolumn:name="Upgrade",type=string,JSONPath=`.upgrade.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type CoordinatorState struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	RememberedState `json:",inline"`
}

// CoordinatorStateList is a list of states.
// +kubebuilder:object:root=true
type CoordinatorStateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CoordinatorState `json:"items"`
}

// RememberedState is what the coordinator has seen and decided, and cannot observe again.
type RememberedState struct {
	// Version is the version of the last upgrade that succeeded. A node that joins
	// late, or returns, is upgraded to it inside its windows.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Version string `json:"version,omitempty"`

	// Upgrade is the ClusterUpgrade that set Version.
	// +optional
	Upgrade *UpgradeReference `json:"upgrade,omitempty"`

	// Images are the images of Version that this upgrade fixed.
	// +listType=map
	// +listMapKey=architecture
	// +kubebuilder:validation:MaxItems=8
	// +optional
	Images []Image `json:"images,omitempty"`

	// Offered are the versions that the source offers, of the oldest kubelet's minor
	// and later ones, and when the coordinator first saw each.
	// +listType=map
	// +listMapKey=version
	// +kubebuilder:validation:MaxItems=32
	// +optional
	Offered []OfferedVersion `json:"offered,omitempty"`

	// FormerlyOffered are versions that were among Offered: another image under one of them, once it
	// is back, replaces the former one.
	// +listType=map
	// +listMapKey=version
	// +kubebuilder:validation:MaxItems=32
	// +optional
	FormerlyOffered []OfferedVersion `json:"formerlyOffered,omitempty"`

	// IndexSigned is the newest signature of the index that was read. An index with an older one is
	// refused.
	// +optional
	IndexSigned *IndexSignature `json:"indexSigned,omitempty"`

	// Ran are the versions that the cluster has run, the newest first, for clusters that follow it.
	// +listType=map
	// +listMapKey=version
	// +kubebuilder:validation:MaxItems=8
	// +optional
	Ran []RanVersion `json:"ran,omitempty"`

	// TakenBack are the versions that Rollbacks have taken back. They count as blocked, until an
	// upgrade to one of them begins that was requested later and ignores the check version-blocked.
	// +listType=map
	// +listMapKey=version
	// +kubebuilder:validation:MaxItems=16
	// +optional
	TakenBack []TakenBackVersion `json:"takenBack,omitempty"`

	// LastHookTurn is the ID of the turn that began last.
	// +optional
	LastHookTurn int64 `json:"lastHookTurn,omitempty"`

	// HookTurns are the turns of nodes and upgrades whose hooks have not all ended, or failed, and those that
	// ended before their nodes had begun.
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=128
	// +optional
	HookTurns []HookTurn `json:"hookTurns,omitempty"`
}
