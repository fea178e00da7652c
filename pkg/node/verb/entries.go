package verb

import (
	"errors"
	"time"

	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Verb is one kind of work on the node.
type Verb string

// The verbs.
const (
	Facts    Verb = "facts"
	Disarm   Verb = "disarm"
	Stage    Verb = "stage"
	Pull     Verb = "pull"
	Snapshot Verb = "snapshot"
	Kubeadm  Verb = "kubeadm"
	Renew    Verb = "renew"
	PutBack  Verb = "put-back"
	Activate Verb = "activate"
	Restart  Verb = "restart"
	Confirm  Verb = "confirm"
	Etcd     Verb = "etcd"

	Uninstall Verb = "uninstall"
)

var facts = Entry{
	Verb:    Facts,
	Help:    "show what is installed, merged and active, and rehearse the next boot",
	Timeout: 5 * time.Minute, // a rehearsal has a limit of one minute for each part
	Failed:  v1alpha1.ReasonHostUnreachable,
	Direct:  true,
}

var disarm = Entry{
	Verb:         Disarm,
	Help:         "prevent other programs from activating or deleting images",
	Timeout:      10 * time.Minute,
	Failed:       v1alpha1.ReasonHostUnreachable,
	ChangesFacts: true,
	Policy:       PolicyManages,
	NeedsNoState: true,
}

// StageArgs are the arguments of Stage.
type StageArgs struct {
	// Version such as v1.34.4.
	Version string `json:"version"`
	// URL of the image file; the index SHA256SUMS is in the same folder.
	URL string `json:"url"`
	// SHA256 of the file in lower-case hex, as fixed at the trigger.
	SHA256 string `json:"sha256"`
	// Keyring has the armored OpenPGP public keys that may sign the index. Empty
	// means that no signature is needed.
	Keyring string `json:"keyring,omitempty"`
}

var stage = Entry{
	Verb:         Stage,
	Help:         "download and verify an image without activating it",
	ChecksSpec:   true,
	Timeout:      time.Hour, // for the download; then it is tried again
	Failed:       v1alpha1.ReasonStageFailed,
	ChangesFacts: true,
	Policy:       PolicyManages,
	NeedsNoState: true,
	Args:         args(stageArgs),
}

func stageArgs(o Input) (StageArgs, error) {
	image, err := o.image()
	if err != nil {
		return StageArgs{}, err
	}
	return StageArgs{Version: o.Spec.Version, URL: image.URL, SHA256: image.Digest.SHA256(), Keyring: o.Keyring}, nil
}

// PullArgs are the arguments of Pull.
type PullArgs struct {
	// Version such as v1.35.4.
	Version string `json:"version"`
	// SHA256 of the image that kubeadm comes from.
	SHA256 string `json:"sha256"`
	// ClusterConfiguration is the one in the ConfigMap kubeadm-config. It names the
	// image registry.
	ClusterConfiguration string `json:"clusterConfiguration"`
	// KubeProxyConfig is the one in the ConfigMap kube-proxy, for the rehearsal; empty: it is not known.
	KubeProxyConfig string `json:"kubeProxyConfig,omitempty"`
}

var pull = Entry{
	Verb:         Pull,
	Help:         "pull the container images of a control plane",
	ChecksSpec:   true,
	Timeout:      kubeadmTimeout,
	Failed:       v1alpha1.ReasonPullFailed,
	ControlPlane: true,
	ChangesFacts: true, // what starts from the images is rehearsed
	Policy:       PolicyManages,
	NeedsNoState: true,
	Args:         args(pullArgs),
}

func pullArgs(o Input) (PullArgs, error) {
	image, err := o.image()
	if err != nil {
		return PullArgs{}, err
	}
	config, err := o.ClusterConfiguration()
	if err != nil {
		return PullArgs{}, err
	}
	proxy, err := o.KubeProxyConfig()
	return PullArgs{Version: o.Spec.Version, SHA256: image.Digest.SHA256(), ClusterConfiguration: config, KubeProxyConfig: proxy}, err
}

// SnapshotArgs are the arguments of Snapshot.
type SnapshotArgs struct {
	// Upgrade is the name of the ClusterUpgrade that the snapshot is for.
	Upgrade string `json:"upgrade"`
}

// SnapshotOutput is the output of Snapshot.
type SnapshotOutput struct {
	// Path on the node, in host.SnapshotsDir.
	Path string `json:"path"`
	// SHA256 of the file, as sha256sum prints it.
	SHA256  string    `json:"sha256"`
	Bytes   int64     `json:"bytes"`
	TakenAt time.Time `json:"takenAt"`
	// EtcdVersion is the version of the member, such as 3.6.5.
	EtcdVersion string `json:"etcdVersion,omitempty"`
	// Removed are older snapshots that were removed.
	Removed []string `json:"removed,omitempty"`
}

var snapshot = Entry{
	Verb: Snapshot,
	Help: "take a snapshot of etcd, and verify it",
	// etcd's database is 8 GiB at most, which a slow disk writes in a few minutes.
	Timeout:      15 * time.Minute,
	Failed:       v1alpha1.ReasonSnapshotFailed,
	ControlPlane: true,
	Args:         args(snapshotArgs),
}

func snapshotArgs(o Input) (SnapshotArgs, error) {
	if o.Spec.Upgrade == nil {
		return SnapshotArgs{}, errors.New("a snapshot of etcd was requested without an upgrade")
	}
	return SnapshotArgs{Upgrade: o.Spec.Upgrade.Name}, nil
}

// kubeadmTimeout ends a kubeadm that hangs. A minor took under 3 minutes on two
// cores; kubeadm itself waits up to 5 minutes for each component.
const kubeadmTimeout = 40 * time.Minute

// KubeadmArgs are the arguments of Kubeadm.
type KubeadmArgs struct {
	// Version such as v1.34.4.
	Version string                  `json:"version"`
	Command v1alpha1.KubeadmCommand `json:"command"`
	// SHA256 of the image that kubeadm comes from.
	SHA256 string `json:"sha256"`
}

var kubeadmUpgrade = Entry{
	Verb:         Kubeadm,
	Help:         "run kubeadm upgrade from the staged image",
	ChecksSpec:   true,
	Timeout:      kubeadmTimeout,
	Failed:       v1alpha1.ReasonKubeadmFailed,
	MountsImage:  true,
	ChangesFacts: true,
	Args:         args(kubeadmArgs),
}

func kubeadmArgs(o Input) (KubeadmArgs, error) {
	image, err := o.image()
	return KubeadmArgs{Version: o.Spec.Version, Command: o.Spec.Kubeadm, SHA256: image.Digest.SHA256()}, err
}

// RenewArgs are the arguments of Renew.
type RenewArgs struct {
	// Upgrade is the ClusterUpgrade that the renewal is for.
	Upgrade v1alpha1.UpgradeReference `json:"upgrade"`
	// ClusterConfiguration is the one in the ConfigMap kubeadm-config. It has the lifetime of certificates.
	ClusterConfiguration string `json:"clusterConfiguration"`
}

var renew = Entry{
	Verb:         Renew,
	Help:         "renew the certificates that kubeadm has issued, and restart what does not load them",
	ChecksSpec:   true,
	Timeout:      15 * time.Minute, // programs have five minutes to use them
	Failed:       v1alpha1.ReasonRenewalFailed,
	ControlPlane: true,
	ChangesFacts: true,
	Args:         args(renewArgs),
}

func renewArgs(o Input) (RenewArgs, error) {
	if o.Spec.Upgrade == nil {
		return RenewArgs{}, errors.New("a renewal of certificates was requested without an upgrade")
	}
	config, err := o.ClusterConfiguration()
	return RenewArgs{Upgrade: *o.Spec.Upgrade, ClusterConfiguration: config}, err
}

var putBack = Entry{
	Verb:         PutBack,
	Help:         "put back the certificates that a renewal which was interrupted has left",
	Timeout:      time.Minute,
	Failed:       v1alpha1.ReasonRenewalFailed,
	ChangesFacts: true,
	NeedsNoState: true,
}

// ActivateArgs are the arguments of Activate.
type ActivateArgs struct {
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
	// Upgrade is the UID of the ClusterUpgrade.
	Upgrade string `json:"upgrade"`
	// Method is how the image will be merged.
	Method v1alpha1.Method `json:"method"`
	// SoftReboots is how many soft reboots there were in this boot.
	SoftReboots int32 `json:"softReboots,omitempty"`
	// Back reports whether the node is taken back to a former version: then it gets the kubelet's
	// files with which it ran that, if they were kept.
	Back bool `json:"back,omitempty"`
	// GuardWithin is how long the new kubelet may take to become healthy, see package
	// guard. Zero means sysupdate.DefaultGuardWithin.
	GuardWithin time.Duration `json:"guardWithin,omitempty"`
}

var activate = Entry{
	Verb:         Activate,
	Help:         "select a staged image for the next boot",
	ChecksSpec:   true,
	Timeout:      10 * time.Minute,
	Failed:       v1alpha1.ReasonActivateFailed,
	ChangesFacts: true,
	Args:         args(activateArgs),
}

func activateArgs(o Input) (ActivateArgs, error) {
	image, err := o.image()
	args := ActivateArgs{
		Version: o.Spec.Version, SHA256: image.Digest.SHA256(), Method: o.Method, SoftReboots: o.SoftReboots, Back: o.Spec.Type == v1alpha1.TypeRollback,
		GuardWithin: time.Duration(ptr.Deref(o.Spec.GuardSeconds, 0)) * time.Second,
	}
	if o.Spec.Upgrade != nil {
		args.Upgrade = o.Spec.Upgrade.UID
	}
	return args, err
}

// RestartArgs are the arguments of Restart.
type RestartArgs struct {
	Version string `json:"version"`
}

var restart = Entry{
	Verb:         Restart,
	Help:         "merge the active image now and restart the kubelet",
	Timeout:      5 * time.Minute,
	Failed:       v1alpha1.ReasonRestartFailed,
	WholeNode:    true,
	ChangesFacts: true,
	Args:         args(restartArgs),
}

// restartArgs names the active version: the NodeUpgrade's spec may be for another upgrade
// by now.
func restartArgs(o Input) (RestartArgs, error) {
	return RestartArgs{Version: o.Active}, nil
}

var confirm = Entry{
	Verb:         Confirm,
	Help:         "end the guard's watch, as the node is verified",
	Timeout:      time.Minute,
	Failed:       v1alpha1.ReasonHostUnreachable,
	ChangesFacts: true,
}

// EtcdOutput is the output of Etcd.
type EtcdOutput struct {
	// Etcd is nil on a node without a member.
	Etcd *v1alpha1.EtcdFacts `json:"etcd,omitempty"`
}

var etcdHealth = Entry{
	Verb:         Etcd,
	Help:         "check the health of each etcd member",
	Timeout:      time.Minute,
	Failed:       v1alpha1.ReasonHostUnreachable,
	ControlPlane: true,
	Direct:       true,
}

var uninstall = Entry{
	Verb:         Uninstall,
	Help:         "give the node back: restore its own definitions, and remove what kubectl-upgrade keeps on it",
	Timeout:      10 * time.Minute,
	Failed:       v1alpha1.ReasonHostUnreachable,
	ChangesFacts: true,
	Policy:       PolicyExists,
	NeedsNoState: true,
	Direct:       true,
}
