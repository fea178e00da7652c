package preflight

import (
	"fmt"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

var trapChecks = []Entry{
	{
		"cgroup-v1", blocks,
		"a node runs cgroup v1, and the version is 1.35 or later: its kubelet does not start there, unless its configuration says failCgroupV1: false. Where kubeadm has still to upgrade the node, that is the cluster's configuration",
		"Move the node to cgroup v2 (remove systemd.unified_cgroup_hierarchy=0 from the kernel's command line and reboot it). Or set failCgroupV1: false (" + clusterConfigAdvice + "), and let kubeadm ignore SystemVerification (ignorePreflightErrors in /etc/kubernetes/kubeadm-upgrade.yaml).",
	},
	{
		"kubelet-flag", blocks,
		"a kubelet is given a flag that the version does not know, and would not start. Flags that kubeadm itself removes from kubeadm-flags.env do not count",
		"Remove the flag on that node: systemctl cat kubelet names the files, such as /etc/sysconfig/kubelet, /etc/default/kubelet and /var/lib/kubelet/kubeadm-flags.env. Remove it from nodeRegistration.kubeletExtraArgs of what new nodes join with, too.",
	},
	{
		"kubelet-config", blocks,
		"a kubelet's configuration sets a field that the version refuses, and it would not start: the cluster's, which kubeadm writes to every node, or what a node has besides",
		"Remove the field " + nodeConfigAdvice + ". In the cluster's: " + clusterConfigAdvice + ".",
	},
	{
		"feature-gate", blocks,
		"a kubelet, or a static pod of the control plane, is given a feature gate that the version does not know any more, and would not start",
		"Remove the gate from where it is set: the kubelet's configuration or flags, or the component's extraArgs in ClusterConfiguration.",
	},
	{
		"containerd-1", either,
		"a node runs containerd 1.x. 1.35 is the last version that supports it: later ones warn, and from 1.38 on the kubelet does not start",
		"Move the node to containerd 2: a newer release of Flatcar, or a newer sysext image of containerd.",
	},
	{
		"api-removed", blocks,
		"a deprecated API that the version no longer serves was called since its apiserver started",
		"Find its clients (the audit log names them, with k8s.io/deprecated: true) and move them to the newer API: https://kubernetes.io/docs/reference/using-api/deprecation-guide/",
	},
	{
		"kubeadm-patches", either,
		"a node has a folder of patches for kubeadm that no UpgradeConfiguration names: the upgrade would silently omit them. On a control plane this blocks, on workers it warns",
		"Write /etc/kubernetes/kubeadm-upgrade.yaml on that node, an UpgradeConfiguration with apply.patches.directory and node.patches.directory; or remove the folder.",
	},
}

// The minors from which on something is no longer supported.
//
//   - cgroup v1: failCgroupV1 is true from 1.35 on
//     (https://github.com/kubernetes/kubernetes/pull/134298), and kubeadm's
//     SystemVerification fails too (https://github.com/kubernetes/kubernetes/pull/134744).
//   - containerd 1.x: supported up to 1.35. The kubelet of v1.36.3 still starts
//     with it (getCgroupDriverFromCRI in cmd/kubelet/app/server.go); that ends
//     with 1.38 (https://github.com/kubernetes/enhancements/pull/6087).
const (
	minorWithoutCgroup1    = 35
	minorAfterContainerd1  = 36
	minorWithoutContainer1 = 38
)

func (c *checker) checkTraps() {
	if !c.kubeadm {
		return
	}
	var oldRuntime, patched []*node
	for _, n := range c.nodes {
		if c.to.Minor >= minorAfterContainerd1 && strings.HasPrefix(n.Node.Status.NodeInfo.ContainerRuntimeVersion, "containerd://1.") {
			oldRuntime = append(oldRuntime, n)
		}
		if n.facts == nil || !n.moves {
			continue
		}
		c.checkCgroup(n)
		c.checkKubeletFiles(n)
		switch dir := n.facts.KubeadmPatches; {
		case dir == "" || !c.runsKubeadm(n):
		case n.controlPlane:
			c.onNode(n, v1alpha1.Finding{ID: "kubeadm-patches", Message: fmt.Sprintf("On control-plane node %s, the upgrade would omit the patches in %s.", n.name, dir)})
		default:
			patched = append(patched, n)
		}
	}
	c.warnOfNodes("kubeadm-patches", patched, "The upgrade would omit kubeadm's patches on %[1]s: %[2]s.")
	c.checkContainerd(oldRuntime)
	c.checkKubeletConfigMap()
	c.checkStaticGates()
	c.checkAPIs()
}

// warnOfNodes adds one warning about all these nodes. The arguments of format are their
// number, their names and args.
func (c *checker) warnOfNodes(id string, nodes []*node, format string, args ...any) {
	if len(nodes) == 0 {
		return
	}
	args = append([]any{plural(len(nodes), "node"), nodeNames(nodes)}, args...)
	f := v1alpha1.Finding{ID: id, Level: v1alpha1.LevelWarn, Message: fmt.Sprintf(format, args...)}
	c.add(f)
}

func (c *checker) checkContainerd(nodes []*node) {
	if c.to.Minor < minorWithoutContainer1 {
		c.warnOfNodes("containerd-1", nodes, "Kubernetes %[3]s does not support containerd 1.x, which runs on %[1]s: %[2]s.", c.to.Line())
		return
	}
	for _, n := range nodes {
		c.onNode(n, v1alpha1.Finding{ID: "containerd-1", Message: fmt.Sprintf("Node %s runs containerd 1.x, with which a kubelet of %s does not start.", n.name, c.to)})
	}
}
