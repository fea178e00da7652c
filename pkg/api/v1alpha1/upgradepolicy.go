package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// UpgradePolicy says what applies without asking: which upgrades come
// automatically, from where, on which nodes, and how nodes are taken. There is
// one, named cluster; the coordinator creates it where it is missing.
//
// The source of images decides what runs as root on every node: let only
// administrators of the cluster change this object.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=upgradepolicies,singular=upgradepolicy,shortName=kupol,categories=upgrade
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'cluster'",message="metadata.name: there is one UpgradePolicy, and it is named cluster"
// +kubebuilder:printcolumn:name="Auto-Patch",type=string,JSONPath=`.spec.automatic[?(@.type=="Patch")].type`
// +kubebuilder:printcolumn:name="Auto-Reboot",type=string,JSONPath=`.spec.automatic[?(@.type=="Reboot")].type`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Source",type=string,JSONPath=`.status.conditions[?(@.type=="SourceReady")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="URL",type=string,priority=1,JSONPath=`.spec.source.url`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="SourceReady")].message`
type UpgradePolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what applies.
	// +kubebuilder:default={}
	// +optional
	Spec UpgradePolicySpec `json:"spec,omitzero"`
	// Status is what the coordinator makes of it.
	// +kubebuilder:default={observedGeneration:-1}
	// +optional
	Status UpgradePolicyStatus `json:"status,omitzero"`
}

// UpgradePolicySpec is what an administrator of the cluster wants.
type UpgradePolicySpec struct {
	// Automatic lists what is upgraded with no further command: Patch as soon as a
	// newer patch is on offer, Reboot when a node's operating system asks for one.
	// Absent: nothing.
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=2
	// +optional
	Automatic []AutomaticUpgrade `json:"automatic,omitempty"`

	// Strategy is used where a ClusterUpgrade says nothing else.
	// +optional
	Strategy Strategy `json:"strategy,omitzero"`

	// Source is where images come from.
	// +kubebuilder:default={}
	// +optional
	Source ImageSource `json:"source,omitzero"`

	// NodeSelector limits what is managed to the nodes it matches. Other nodes are
	// left as they are: nothing is staged, changed or counted on them. Absent:
	// every node.
	// +optional
	NodeSelector *LabelSelector `json:"nodeSelector,omitempty"`

	// HistoryLimit is how many ended upgrades keep their UpgradeRecords, and, where
	// the coordinator created them, their ClusterUpgrades.
	// +kubebuilder:default=20
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	HistoryLimit int32 `json:"historyLimit,omitempty"`
}

// AutomaticUpgrade is a type of upgrade that comes by itself.
//
// +kubebuilder:validation:XValidation:rule="self.type != 'Minor'",message="Patch and Reboot may be automatic; a Minor is asked for with a ClusterUpgrade",fieldPath=".type"
// +kubebuilder:validation:XValidation:rule="self.type == 'Patch' || !has(self.minAgeSeconds)",message="only a Patch has an age",fieldPath=".minAgeSeconds"
type AutomaticUpgrade struct {
	// Type is Patch or Reboot.
	Type UpgradeType `json:"type"`
	// MinAgeSeconds is how long a patch must have been on offer, as the coordinator
	// has seen it, before it is upgraded to. Absent: it is taken at once.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	// +optional
	MinAgeSeconds *int32 `json:"minAgeSeconds,omitempty"`
}

// ImageSource is a folder of sysext images with an index of their hashes.
//
// +kubebuilder:validation:XValidation:rule="!has(self.url) || !self.url.startsWith('http://') || (has(self.insecure) && self.insecure)",message="plain http can be changed on its way: use https, or accept that with insecure: true",fieldPath=".url"
type ImageSource struct {
	// URL of the folder that has SHA256SUMS and the images.
	// +kubebuilder:default="https://extensions.flatcar.org/extensions/kubernetes/"
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^/]+/')",message="must be an http or https address of a folder, such as https://extensions.flatcar.org/extensions/kubernetes/"
	// +optional
	URL string `json:"url,omitempty"`
	// Insecure accepts an http address: who is on the way can then choose what is
	// offered, unless a keyring is given.
	// +optional
	Insecure bool `json:"insecure,omitempty"`
	// Keyring is the armored OpenPGP public keys that may sign SHA256SUMS, as
	// gpg --export --armor writes them. With a keyring, the coordinator and each
	// node accept no index without a good signature in SHA256SUMS.gpg.
	// +kubebuilder:validation:MaxLength=65536
	// +optional
	Keyring string `json:"keyring,omitempty"`
	// IntervalSeconds is the time between two looks at the index.
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +optional
	IntervalSeconds int32 `json:"intervalSeconds,omitempty"`
}

// UpgradePolicyStatus is what the coordinator makes of the policy.
type UpgradePolicyStatus struct {
	// ObservedGeneration is the generation that this status is about; -1 before
	// the coordinator has seen the object.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Version is the version of the last upgrade that succeeded. A node that joins
	// late, or comes back, is upgraded to it inside its windows.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Version string `json:"version,omitempty"`

	// Upgrade is the ClusterUpgrade that brought Version.
	// +optional
	Upgrade *UpgradeReference `json:"upgrade,omitempty"`

	// Images are those of Version, as that upgrade fixed them.
	// +listType=map
	// +listMapKey=architecture
	// +kubebuilder:validation:MaxItems=8
	// +optional
	Images []Image `json:"images,omitempty"`

	// Offered are the versions that the source offers, of the oldest kubelet's minor
	// and later ones, with the time at which the coordinator first saw each: what
	// minAgeSeconds counts from.
	// +listType=map
	// +listMapKey=version
	// +kubebuilder:validation:MaxItems=32
	// +optional
	Offered []OfferedVersion `json:"offered,omitempty"`

	// Conditions: Valid and SourceReady; Stalled while Valid is False; WriteFailed
	// while the API server refuses something that the coordinator has to write.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// OfferedVersion is a version that the source offers.
type OfferedVersion struct {
	// Version, such as v1.34.4.
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version"`
	// FirstSeenTime is when the coordinator first saw it on offer.
	FirstSeenTime metav1.Time `json:"firstSeenTime"`
}

// UpgradePolicyList is a list of policies.
// +kubebuilder:object:root=true
type UpgradePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []UpgradePolicy `json:"items"`
}
