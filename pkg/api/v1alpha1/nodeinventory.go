package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeInventory is what preflight needs to know about a node, as its agent found it. It
// is named like the node, owned by it, and written when something in it changes.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=nodeinventories,singular=nodeinventory,shortName=kuinv,categories=kubeupgrade
// +kubebuilder:printcolumn:name="Installed",type=string,JSONPath=`.installed`
// +kubebuilder:printcolumn:name="Gathered",type=date,JSONPath=`.gatheredTime`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Problems",type=string,priority=1,JSONPath=`.problems`
type NodeInventory struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	NodeFacts `json:",inline"`
}

// NodeInventoryList is a list of inventories.
// +kubebuilder:object:root=true
type NodeInventoryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeInventory `json:"items"`
}

// NodeFacts are what preflight needs to know about a node.
type NodeFacts struct {
	// GatheredTime is when the agent gathered these facts. They are written again only
	// when they change.
	// +required
	GatheredTime metav1.Time `json:"gatheredTime"`

	// Installed are the versions of Kubernetes whose images are on the disk.
	// +listType=set
	// +kubebuilder:validation:MaxItems=160
	// +kubebuilder:validation:items:MaxLength=256
	// +optional
	Installed []string `json:"installed,omitempty"`

	// StaticPods are those components of the control plane that the node runs by its own
	// manifests: kube-apiserver, etcd. Such nodes go one at a time, whatever their labels are.
	// +listType=set
	// +kubebuilder:validation:MaxItems=160
	// +kubebuilder:validation:items:MaxLength=256
	// +optional
	StaticPods []string `json:"staticPods,omitempty"`

	// OwnAPIServer reports whether the kubelet's kubeconfig names the kube-apiserver of its own
	// node (kubeadm's feature gate ControlPlaneKubeletLocalMode), and none of another node or a
	// load balancer.
	// +optional
	OwnAPIServer bool `json:"ownAPIServer,omitempty"`

	// ClockAheadSeconds is by how much the node's clock is ahead of the API server's, in steps of
	// 10 seconds; less than zero: it is behind. Absent: by less than 30 seconds.
	// +optional
	ClockAheadSeconds int32 `json:"clockAheadSeconds,omitempty"`

	// CgroupVersion is 1 or 2. Zero: not known.
	// +optional
	CgroupVersion int32 `json:"cgroupVersion,omitempty"`

	// FailCgroupV1 is the field of the kubelet's configuration. Absent: not set.
	// +optional
	FailCgroupV1 *bool `json:"failCgroupV1,omitempty"`

	// KubeletFlags are the names of the flags that the kubelet's unit, with its
	// drop-ins and environment files, starts it with, such as
	// pod-infra-container-image, and the feature gates that they set, such as
	// feature-gates.CPUManager.
	// +listType=set
	// +kubebuilder:validation:MaxItems=160
	// +kubebuilder:validation:items:MaxLength=256
	// +optional
	KubeletFlags []string `json:"kubeletFlags,omitempty"`

	// KubeletFlagsElsewhere are those of kubeletFlags that do not, or not only, come
	// from /var/lib/kubelet/kubeadm-flags.env: kubeadm removes flags from no other
	// file.
	// +listType=set
	// +kubebuilder:validation:MaxItems=160
	// +kubebuilder:validation:items:MaxLength=256
	// +optional
	KubeletFlagsElsewhere []string `json:"kubeletFlagsElsewhere,omitempty"`

	// KubeletConfigFields are the fields at the top of the kubelet's
	// configuration that are set, such as cgroupDriver, and the feature gates,
	// such as featureGates.CPUManager.
	// +listType=set
	// +kubebuilder:validation:MaxItems=160
	// +kubebuilder:validation:items:MaxLength=256
	// +optional
	KubeletConfigFields []string `json:"kubeletConfigFields,omitempty"`

	// KubeletConfigFieldsElsewhere are those of kubeletConfigFields that are not, or
	// not only, set in /var/lib/kubelet/config.yaml, which kubeadm rewrites from the
	// cluster's configuration when it upgrades the node. They come from the files of
	// --config-dir and from kubeadm's patches.
	// +listType=set
	// +kubebuilder:validation:MaxItems=160
	// +kubebuilder:validation:items:MaxLength=256
	// +optional
	KubeletConfigFieldsElsewhere []string `json:"kubeletConfigFieldsElsewhere,omitempty"`

	// FailCgroupV1Elsewhere is the value of failCgroupV1 in the same files and patches.
	// Absent: not set.
	// +optional
	FailCgroupV1Elsewhere *bool `json:"failCgroupV1Elsewhere,omitempty"`

	// Disks are the folders that an upgrade writes to.
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MaxItems=160
	// +optional
	Disks []DiskFacts `json:"disks,omitempty"`

	// Certificates are those in /etc/kubernetes/pki, in its folder etcd, in the
	// kubeconfigs in /etc/kubernetes, the kubelet's client and serving certificates, and on
	// control planes those in copies of admin.conf: .kube/config of users.
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MaxItems=160
	// +optional
	Certificates []CertificateFacts `json:"certificates,omitempty"`

	// CertificateRenewalDisabled reports whether the node's UpgradeConfiguration has
	// certificateRenewal: false: `kubeadm upgrade` renews none of them.
	// +optional
	CertificateRenewalDisabled bool `json:"certificateRenewalDisabled,omitempty"`

	// Etcd is what this node's member reports about the etcd cluster. Absent: the node
	// has no member.
	// +optional
	Etcd *EtcdFacts `json:"etcd,omitempty"`

	// KubeadmPatches is a folder below /etc/kubernetes or /etc/kubeadm with kubeadm
	// patches that the node's UpgradeConfiguration does not name: an upgrade would silently
	// leave them out.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	KubeadmPatches string `json:"kubeadmPatches,omitempty"`

	// DefinitionsProblem is why the node's own transfer definitions are not clear.
	// systemd-sysupdate may activate an image by them. Empty: they are clear, or there are
	// none.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	DefinitionsProblem string `json:"definitionsProblem,omitempty"`

	// SysupdateTimerUnmasked is the timer of systemd-sysupdate that runs although
	// systemd-sysupdate.timer, its name up to systemd 261, is masked. Empty: none.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	SysupdateTimerUnmasked string `json:"sysupdateTimerUnmasked,omitempty"`

	// SysextRefreshSocket is the state of systemd-sysupdate-notify-sysext.socket, which
	// merges all system extensions anew after each run of systemd-sysupdate: masked,
	// enabled or disabled. Empty: there is no such unit.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	SysextRefreshSocket string `json:"sysextRefreshSocket,omitempty"`

	// SysupdateTimerDropIns are drop-ins of systemd-sysupdate's timer or service.
	// kubectl-upgrade adds none.
	// +listType=set
	// +kubebuilder:validation:MaxItems=160
	// +kubebuilder:validation:items:MaxLength=256
	// +optional
	SysupdateTimerDropIns []string `json:"sysupdateTimerDropIns,omitempty"`

	// Locksmithd is that unit's state: masked, enabled or disabled. Empty: there
	// is no such unit.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Locksmithd string `json:"locksmithd,omitempty"`

	// RefreshBlockers are the mounts below /usr and /opt that a refresh of the
	// merged image would break.
	// +listType=set
	// +kubebuilder:validation:MaxItems=160
	// +kubebuilder:validation:items:MaxLength=256
	// +optional
	RefreshBlockers []string `json:"refreshBlockers,omitempty"`

	// SoftRebootBlocker is why the node cannot be soft-rebooted: by method SoftReboot it
	// reboots. Absent: it can.
	// +optional
	SoftRebootBlocker *Problem `json:"softRebootBlocker,omitempty"`

	// Rehearsals are what came of the trials of the node's next boot: with each staged image, and as a plain reboot.
	// +listType=map
	// +listMapKey=version
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Rehearsals []Rehearsal `json:"rehearsals,omitempty"`

	// Problems are the facts that are missing or incomplete because they could not be
	// read, one sentence each.
	// +listType=set
	// +kubebuilder:validation:MaxItems=160
	// +kubebuilder:validation:items:MaxLength=256
	// +optional
	Problems []string `json:"problems,omitempty"`
}

// DiskFacts is the free space of a folder that an upgrade writes to.
type DiskFacts struct {
	// Path of the folder, such as /opt/extensions/kubernetes.
	// +kubebuilder:validation:MaxLength=256
	// +required
	Path string `json:"path"`
	// FreeBytes are the bytes that root may still write.
	// +required
	FreeBytes int64 `json:"freeBytes"`
	// Device of its file system, major:minor. Folders on the same device share the
	// space.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Device string `json:"device,omitempty"`
}

// CertificateFacts is one certificate.
type CertificateFacts struct {
	// Path of the file that has it, such as /etc/kubernetes/pki/apiserver.crt.
	// +kubebuilder:validation:MaxLength=256
	// +required
	Path string `json:"path"`
	// NotAfter is when it ends.
	// +required
	NotAfter metav1.Time `json:"notAfter"`
	// NotBefore is when it begins. kubeadm begins each certificate when its authority began.
	// +optional
	NotBefore *metav1.Time `json:"notBefore,omitempty"`
	// WrittenTime is when its file was written.
	// +optional
	WrittenTime *metav1.Time `json:"writtenTime,omitempty"`
	// CA reports whether it is a certificate authority's: an upgrade does not renew it.
	// +optional
	CA bool `json:"ca,omitempty"`
	// HasKey reports whether the key of an authority is beside it on this node. Without it,
	// kubeadm signs nothing here.
	// +optional
	HasKey bool `json:"hasKey,omitempty"`
	// Issuer is the common name of the authority that signed it.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Issuer string `json:"issuer,omitempty"`
	// AuthorityPath is the path of the one of these certificates that signed it. Empty: none
	// of them did.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	AuthorityPath string `json:"authorityPath,omitempty"`
	// RenewedBy is who renews it. Absent: that is not known.
	// +kubebuilder:validation:Enum=Kubeadm;Kubelet;Elsewhere;None
	// +optional
	RenewedBy CertificateRenewer `json:"renewedBy,omitempty"`
	// KubeletServing reports whether it is the one with which the kubelet serves its API: logs,
	// exec, metrics.
	// +optional
	KubeletServing bool `json:"kubeletServing,omitempty"`
	// UsedBy are the programs that use it: the kubelet, and static pods.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=256
	// +optional
	UsedBy []string `json:"usedBy,omitempty"`
	// InUse reports whether the first of them has this certificate, or the one that was in the
	// file before. Absent: that is not known.
	// +kubebuilder:validation:Enum=Current;Former
	// +optional
	InUse CertificateUse `json:"inUse,omitempty"`
}

// CertificateRenewer is who renews a certificate.
type CertificateRenewer string

// Those who renew certificates.
const (
	// RenewedByKubeadm: `kubeadm certs renew`, with the key of an authority on the node.
	RenewedByKubeadm CertificateRenewer = "Kubeadm"
	// RenewedByKubelet: the kubelet rotates it.
	RenewedByKubelet CertificateRenewer = "Kubelet"
	// RenewedElsewhere: its authority's key is not on the node, or it is not kubeadm's.
	RenewedElsewhere CertificateRenewer = "Elsewhere"
	// RenewedByNone: nothing renews it, as an authority, or a copy of a kubeconfig.
	RenewedByNone CertificateRenewer = "None"
)

// CertificateUse is which certificate a program has.
type CertificateUse string

// The certificates that a program may have.
const (
	UsesCurrent CertificateUse = "Current" // the one in the file
	UsesFormer  CertificateUse = "Former"  // the one that was in the file before
)

// EtcdFacts is what a member reports about the etcd cluster.
type EtcdFacts struct {
	// Members of the cluster. The first is the reporting node's own.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=160
	// +optional
	Members []EtcdMember `json:"members,omitempty"`
	// DatabaseBytes is the size of this member's database.
	// +optional
	DatabaseBytes int64 `json:"databaseBytes,omitempty"`
	// Problem is why the members are not known.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Problem string `json:"problem,omitempty"`
}

// EtcdMember is one member of etcd.
type EtcdMember struct {
	// Name of the member: with kubeadm, its node's.
	// +kubebuilder:validation:MaxLength=256
	// +required
	Name string `json:"name"`
	// Healthy reports whether it answers and has a leader.
	// +required
	Healthy bool `json:"healthy"`
	// Learner reports whether it has no vote yet.
	// +optional
	Learner bool `json:"learner,omitempty"`
	// Version of etcd, such as 3.6.5.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Version string `json:"version,omitempty"`
	// Problem is why it is not healthy.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Problem string `json:"problem,omitempty"`
}

// OnControlPlane reports whether a node with these facts, which may be nil, belongs to the control
// plane: it has the control plane's label, or its own manifests run a kube-apiserver. The label
// may be lost.
func (f *NodeFacts) OnControlPlane(labelled bool) bool { return labelled || f.runs("kube-apiserver") }

// RunsEtcd reports whether the node's own manifests run a member of etcd.
func (f *NodeFacts) RunsEtcd() bool { return f.runs("etcd") }

func (f *NodeFacts) runs(component string) bool {
	return f != nil && slices.Contains(f.StaticPods, component)
}
