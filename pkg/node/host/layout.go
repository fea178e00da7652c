package host

import "path/filepath"

// Root is the folder that the pod and the node share, at the same path in both.
const Root = "/opt/kubectl-upgrade"

// SystemBus is the D-Bus address of the node's system bus.
const SystemBus = "unix:path=/run/dbus/system_bus_socket"

// ImageProgram is the program for nodes in the agent's container image.
const ImageProgram = "/node-agent"

// Program returns the path of the installed program, see Install.
func Program(root string) string { return filepath.Join(root, "bin", "node-agent") }

// StateDir returns the folder of requests, results, records and kubeadm's logs.
func StateDir(root string) string { return filepath.Join(root, "state") }

// KubeadmLog is the file in the state folder with the output of the current or the last run
// of kubeadm.
const KubeadmLog = "kubeadm.log"

// ImageMount is where a verb's unit mounts the staged image, see Options.
const ImageMount = "/run/kubectl-upgrade/image"

// DefinitionsDir returns the folder of the definitions that staging passes to
// systemd-sysupdate.
func DefinitionsDir(root string) string { return filepath.Join(root, "definitions") }

// KeptDir has the images that a managed node needs: the one that runs, the one to return
// to, the staged one. No transfer definition covers it, so systemd-sysupdate deletes none
// of them. It is below ImagesDir, so that an image there can be kept by a hard link.
const KeptDir = ImagesDir + "/kubectl-upgrade"

// StagingDir is what systemd-sysupdate downloads into for the verb "stage".
const StagingDir = KeptDir + "/staging"

// Paths of the bakery's image and conf on a node
// (https://flatcar.github.io/sysext-bakery/kubernetes/).
const (
	ImagesDir         = "/opt/extensions/kubernetes"
	Link              = "/etc/extensions/kubernetes.raw"
	ConfDir           = "/etc/sysupdate.kubernetes.d"
	MergedVersionFile = "/usr/local/share/kubernetes-version"
	Sysupdate         = "/usr/lib/systemd/systemd-sysupdate"
)

// Paths of the files of kubeadm and the kubelet.
const (
	ManifestsDir     = "/etc/kubernetes/manifests"
	KubernetesTmpDir = "/etc/kubernetes/tmp"
	EtcdDataDir      = "/var/lib/etcd"
	KubeletAccess    = "/etc/kubernetes/kubelet.conf" // written when the node joins
	KubeletConfig    = "/var/lib/kubelet/config.yaml"
	KubeletFlags     = "/var/lib/kubelet/kubeadm-flags.env"
)

// SnapshotsDir has the snapshots of etcd. It is outside Root, because the agent's
// pod can read Root and a snapshot contains every Secret of the cluster.
const SnapshotsDir = "/var/lib/kubectl-upgrade/snapshots"

const (
	bootIDFile         = "/proc/sys/kernel/random/boot_id"
	rebootRequiredFile = "/run/reboot-required"
)

// Layout is a node's file system: "/" on the node itself, a folder in a test.
type Layout struct{ Dir string }

// OnNode is the layout of the node that this program runs on.
var OnNode = Layout{Dir: "/"}

// At returns the path in the layout of an absolute path of the node.
func (l Layout) At(elem ...string) string {
	return filepath.Join(append([]string{l.Dir}, elem...)...)
}

// Root returns the shared folder.
func (l Layout) Root() string { return l.At(Root) }
