package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// UpgradePolicy is the configuration: which upgrades are automatic, where images come
// from, which nodes are managed, and how nodes are upgraded. There is one, named
// cluster; on a new installation the coordinator creates it.
//
// The source of images decides what runs as root on every node: allow only
// administrators of the cluster to change this object.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=upgradepolicies,singular=upgradepolicy,shortName=kupol,categories=kubeupgrade
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'cluster'",message="metadata.name: there is one UpgradePolicy, and it is named cluster"
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name="Auto-Patch",type=string,JSONPath=`.spec.automatic[?(@.type=="Patch")].type`
// +kubebuilder:printcolumn:name="Auto-Reboot",type=string,JSONPath=`.spec.automatic[?(@.type=="Reboot")].type`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Source",type=string,JSONPath=`.status.conditions[?(@.type=="SourceReady")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Auto-Certificates",type=string,priority=1,JSONPath=`.spec.automatic[?(@.type=="Certificates")].type`
// +kubebuilder:printcolumn:name="URL",type=string,priority=1,JSONPath=`.spec.source.url`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="SourceReady")].message`
type UpgradePolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the configuration.
	// +default={}
	// +optional
	Spec UpgradePolicySpec `json:"spec,omitzero"`
	// Status is what the coordinator derives from the spec.
	// +default={"observedGeneration":-1}
	// +optional
	Status UpgradePolicyStatus `json:"status,omitzero"`
}

// UpgradePolicySpec is the configuration by an administrator of the cluster.
type UpgradePolicySpec struct {
	// Mode is Observe or Manage. With Observe, nothing on any node is changed: agents
	// report what they can read, plans can be made, and upgrades wait. With Manage,
	// agents take over the nodes that nodeSelector matches. When the mode becomes
	// Observe again, each node finishes or aborts the attempt that it is in, and then
	// its agent removes everything that kubectl-upgrade keeps on the node.
	// +default="Observe"
	// +optional
	Mode ManagementMode `json:"mode,omitempty"`

	// ClusterName is what people call this cluster, such as prod-eu-1. Screens, questions, notices,
	// records and reports begin with it. Absent: the plugin names the kubeconfig's context and server.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?$')",message="must be of letters, digits, '-', '_' and '.', and begin and end with a letter or digit"
	// +optional
	ClusterName string `json:"clusterName,omitempty"`

	// VersionsFrom is who decides which version nodes have. Requests, the default: ClusterUpgrades
	// alone. ClusterAPI: Cluster API, through its extension. Then no patch is automatic, and in an
	// upgrade to a version a node begins only while the annotation kubectl-upgrade.dev/requested-for of
	// its NodeUpgrade is the ClusterUpgrade's UID; a control-plane node runs kubeadm and gets its kubelet in one turn. An upgrade of type Reboot,
	// Rollback or Certificates needs no such request.
	// +optional
	VersionsFrom VersionsFrom `json:"versionsFrom,omitempty"`

	// Automatic lists the upgrades that the coordinator creates: Patch as soon as a
	// newer patch is available, Reboot when a node's operating system asks for one, Certificates
	// when a certificate that kubeadm has issued for a control plane is about to end.
	// Absent: none.
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=3
	// +optional
	Automatic []AutomaticUpgrade `json:"automatic,omitempty"`

	// BlockedVersions are versions that nothing automatic brings to a node: neither an
	// automatic patch nor what nodes that join late follow. A ClusterUpgrade to one waits, also in
	// the middle, unless it ignores the check version-blocked.
	// +listType=map
	// +listMapKey=version
	// +kubebuilder:validation:MaxItems=64
	// +optional
	BlockedVersions []BlockedVersion `json:"blockedVersions,omitempty"`

	// Strategy provides the fields that a ClusterUpgrade leaves out.
	// +optional
	Strategy Strategy `json:"strategy,omitzero"`

	// Source is where images come from.
	// +default={}
	// +optional
	Source ImageSource `json:"source,omitzero"`

	// NodeSelector selects the nodes that are managed when the mode is Manage. On other
	// nodes nothing is changed, and they are not counted. Absent: every node.
	// +optional
	NodeSelector *LabelSelector `json:"nodeSelector,omitempty"`

	// RebootManagers are DaemonSets of kured: while one holds kured's lock, no node begins.
	// One that runs is recognized without this field if its pods reach the host. This field is
	// for others, such as a kured that is built under another name, and for its lock to count
	// also while its pods are being replaced.
	// +listType=map
	// +listMapKey=namespace
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +optional
	RebootManagers []DaemonSetReference `json:"rebootManagers,omitempty"`

	// Gates are asked before a node may take its slot. All have to be open, but for those that
	// its group or its upgrade leaves out.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Gates []Gate `json:"gates,omitempty"`

	// Hooks are Jobs that run before and after nodes and upgrades.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Hooks []Hook `json:"hooks,omitempty"`

	// Notices are the chats and programs that are told about upgrades. None of them ever
	// holds an upgrade.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	// +optional
	Notices []Notice `json:"notices,omitempty"`

	// Silences has Alertmanagers silence a node's alerts while it is being upgraded. None of
	// them ever holds an upgrade.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=4
	// +optional
	Silences []Silence `json:"silences,omitempty"`

	// HistoryLimit is how many ended upgrades keep their UpgradeRecords, and their
	// ClusterUpgrades if the coordinator created them.
	// +default=20
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	HistoryLimit int32 `json:"historyLimit,omitempty"`
}

// VersionsFrom says who decides on versions.
// +kubebuilder:validation:Enum=Requests;ClusterAPI
type VersionsFrom string

// Who decides on versions.
const (
	VersionsFromRequests   VersionsFrom = "Requests"   // those who create ClusterUpgrades
	VersionsFromClusterAPI VersionsFrom = "ClusterAPI" // Cluster API, for each node
)

// ManagementMode says whether nodes may be changed at all.
// +kubebuilder:validation:Enum=Observe;Manage
type ManagementMode string

// The modes.
const (
	ModeObserve ManagementMode = "Observe" // change nothing on any node
	ModeManage  ManagementMode = "Manage"  // upgrade the nodes that nodeSelector matches
)

// Observes reports whether nothing on any node may be changed. A policy that does not
// exist observes, as one without a mode does.
func (p *UpgradePolicy) Observes() bool { return p == nil || p.Spec.Mode != ModeManage }

// BlockedVersion is a version that no node is to get.
type BlockedVersion struct {
	// Version of Kubernetes, such as v1.34.5.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^v1[.](0|[1-9][0-9]{0,3})[.](0|[1-9][0-9]{0,3})(-[0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?([+][0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?$')",message="must be a version of Kubernetes in full, such as v1.34.4"
	// +required
	Version string `json:"version"`
	// Comment is why it is blocked, for people.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	Comment string `json:"comment"`
}

// TakenBackVersion is a version that a Rollback has taken back.
type TakenBackVersion struct {
	// Version that nodes ran, such as v1.34.5.
	// +kubebuilder:validation:MaxLength=64
	// +required
	Version string `json:"version"`
	// Upgrade is the Rollback.
	// +required
	Upgrade UpgradeReference `json:"upgrade"`
	// Time is when it began.
	// +required
	Time metav1.Time `json:"time"`
	// Comment is why, as the Rollback has it.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Comment string `json:"comment,omitempty"`
}

// Blocked returns why nothing automatic brings a version to a node: spec.blockedVersions has it, or
// it was taken back. Nil: it is not blocked. The policy may be nil.
func (p *UpgradePolicy) Blocked(version string) *BlockedVersion {
	if p == nil {
		return nil
	}
	for _, blocked := range p.Spec.BlockedVersions {
		if blocked.Version == version {
			return &blocked
		}
	}
	for _, taken := range p.Status.TakenBack {
		if taken.Version == version {
			return &BlockedVersion{Version: version, Comment: "taken back by " + taken.Upgrade.Name + ": " + taken.Comment}
		}
	}
	return nil
}

// ImageSource is a folder of sysext images with an index of their hashes.
//
// +kubebuilder:validation:XValidation:rule="!has(self.url) || !self.url.startsWith('http://') || (has(self.transportPolicy) && self.transportPolicy == 'AllowHTTP')",message="plain http can be changed on its way: use https, or accept that with transportPolicy: AllowHTTP",fieldPath=".url"
type ImageSource struct {
	// URL of the folder that has SHA256SUMS and the images.
	// +default="https://extensions.flatcar.org/extensions/kubernetes/"
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^/]+/')",message="must be an http or https address of a folder, such as https://extensions.flatcar.org/extensions/kubernetes/"
	// +optional
	URL string `json:"url,omitempty"`
	// TransportPolicy is AllowHTTP if an http address is accepted: an attacker on the network path can then choose
	// what is offered, unless a keyring is set.
	// +optional
	TransportPolicy TransportPolicy `json:"transportPolicy,omitempty"`
	// Keyring is the armored OpenPGP public keys that may sign SHA256SUMS, as gpg
	// --export --armor writes them. With a keyring, the coordinator and each node
	// accept no index without a valid signature in SHA256SUMS.gpg.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	// +optional
	Keyring string `json:"keyring,omitempty"`
	// IntervalSeconds is the time between two reads of the index.
	// +default=600
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +optional
	IntervalSeconds int32 `json:"intervalSeconds,omitempty"`
}

// TransportPolicy is how images and their index may be fetched.
// +kubebuilder:validation:Enum=RequireTLS;AllowHTTP
type TransportPolicy string

// The policies. Absent means RequireTLS.
const (
	TransportRequireTLS TransportPolicy = "RequireTLS"
	TransportAllowHTTP  TransportPolicy = "AllowHTTP"
)

// UpgradePolicyStatus is what the coordinator derives from the policy.
type UpgradePolicyStatus struct {
	// Conditions: Valid and SourceReady; Ready if both are True; Stalled while Valid is False; WriteFailed
	// while the API server refuses a write of the coordinator; AutomaticHeld while no
	// automatic patch can be chosen, as parts of the cluster run different minors, or an automatic
	// upgrade waits for minIntervalSeconds;
	// NoticesFailed while a notice cannot be sent; SilencesFailed while an Alertmanager does not
	// take a silence.
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ObservedGeneration is the generation that this status is about; -1 before
	// the coordinator has seen the object.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// CoordinatorVersion is the version of the coordinator that leads, or led last.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	CoordinatorVersion string `json:"coordinatorVersion,omitempty"`

	// TimeZoneVersion is the version of that coordinator's time zone data, such as 2026f.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	TimeZoneVersion string `json:"timeZoneVersion,omitempty"`

	// Gates are the last answers to the questions of spec.gates, while an upgrade is active.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Gates []GateStatus `json:"gates,omitempty"`

	// StateGeneration is the generation of the CoordinatorState that is shown here. Absent: the
	// coordinator that wrote this status had none.
	// +optional
	StateGeneration int64 `json:"stateGeneration,omitempty"`

	// RememberedState is shown here as the CoordinatorState has it.
	RememberedState `json:",inline"`
}

// UpgradePolicyList is a list of policies.
// +kubebuilder:object:root=true
type UpgradePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []UpgradePolicy `json:"items"`
}

// DaemonSetReference names a DaemonSet.
type DaemonSetReference struct {
	// Namespace of the DaemonSet.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Namespace string `json:"namespace"`
	// Name of the DaemonSet.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
}

// RebootManagers returns the DaemonSets that the policy names, which may be nil.
func (p *UpgradePolicy) RebootManagers() []DaemonSetReference {
	if p == nil {
		return nil
	}
	return p.Spec.RebootManagers
}
