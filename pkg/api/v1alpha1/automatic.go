package v1alpha1

// AutomaticUpgrade is a type of upgrade that the coordinator creates.
//
// +kubebuilder:validation:XValidation:rule="self.type != 'Minor'",message="Patch, Reboot and Certificates may be automatic; a Minor is asked for with a ClusterUpgrade",fieldPath=".type"
// +kubebuilder:validation:XValidation:rule="self.type != 'Rollback'",message="Patch, Reboot and Certificates may be automatic; a Rollback is asked for with a ClusterUpgrade",fieldPath=".type"
// +kubebuilder:validation:XValidation:rule="self.type == 'Patch' || !has(self.minAgeSeconds)",message="only a Patch has an age",fieldPath=".minAgeSeconds"
// +kubebuilder:validation:XValidation:rule="self.type == 'Certificates' || !has(self.remainingSeconds)",message="is for type Certificates only",fieldPath=".remainingSeconds"
type AutomaticUpgrade struct {
	// Type is Patch, Reboot or Certificates.
	// +required
	Type UpgradeType `json:"type"`
	// MinAgeSeconds is how long the coordinator must have seen each image of a patch before
	// it creates the upgrade. Absent: zero.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	// +optional
	MinAgeSeconds *int32 `json:"minAgeSeconds,omitempty"`
	// RemainingSeconds is how long before the end of a certificate it is renewed, but no more than a
	// third of its life. Absent: 30 days.
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=31536000
	// +optional
	RemainingSeconds *int32 `json:"remainingSeconds,omitempty"`
	// NoticeSeconds is how long before its startTime an upgrade is created, and announced to
	// notices. Windows and exclusions count after the startTime; a Reboot is created when a node
	// could begin that much later. A newer patch that appears meanwhile gets an upgrade and a
	// notice time of its own, and goes afterwards. Absent: zero, and nothing is announced.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2592000
	// +optional
	NoticeSeconds *int32 `json:"noticeSeconds,omitempty"`
	// MinIntervalSeconds is the least time from the end of an automatic upgrade of this type to
	// the start of the next, by the ClusterUpgrades and UpgradeRecords that historyLimit keeps. Upgrades
	// that people requested do not count, nor one that was superseded or canceled. Meanwhile the condition
	// AutomaticHeld says until when the next one waits. Absent: zero.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	// +optional
	MinIntervalSeconds *int32 `json:"minIntervalSeconds,omitempty"`
}
