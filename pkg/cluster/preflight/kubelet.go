package preflight

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// KubeletConfig is the configuration of the cluster's kubelets: the ConfigMap
// kube-system/kubelet-config.
type KubeletConfig struct {
	clusterstate.KubeletConfig
	// Problem is why it could not be read. Empty: it was read.
	Problem string
	// Missing reports whether the problem is that the ConfigMap, or kubeadm's key in it, does not exist.
	Missing bool
}

// Advice on where the configuration of kubelets is changed. kubeadm writes every
// node's from the cluster's when it upgrades the node, just before the new kubelet
// starts (WriteKubeletConfigFiles in cmd/kubeadm/app/phases/upgrade/postupgrade.go
// of v1.35.4).
const (
	clusterConfigAdvice = "kubectl -n kube-system edit configmap kubelet-config, which kubeadm writes to every node that it upgrades"
	nodeConfigAdvice    = "on that node: in the files of --config-dir, in kubeadm's patches, or in /var/lib/kubelet/config.yaml where kubeadm has upgraded the node already"
)

var kubeletConfigObject = kubeadmObject("ConfigMap", clusterstate.KubeletConfigMapName)

// rewritten reports whether kubeadm will overwrite the node's configuration with the
// cluster's, and the cluster's is known.
func (c *checker) rewritten(n *node) bool {
	return c.KubeletConfig != nil && c.KubeletConfig.Problem == "" && c.runsKubeadm(n)
}

// ownFields returns the fields that the node's kubelet will find set on the node
// itself.
func (c *checker) ownFields(n *node) []string {
	if c.rewritten(n) {
		return n.facts.KubeletConfigFieldsElsewhere
	}
	return n.facts.KubeletConfigFields
}

// checkCgroup finds a kubelet that would not start on cgroup v1.
func (c *checker) checkCgroup(n *node) {
	if !c.withoutCgroup1(n) {
		return
	}
	now, then := n.facts.FailCgroupV1, n.facts.FailCgroupV1
	if c.rewritten(n) {
		then = cmp.Or(n.facts.FailCgroupV1Elsewhere, c.KubeletConfig.FailCgroupV1)
	}
	switch {
	case then != nil && !*then:
	case now != nil && !*now:
		c.onNode(n, v1alpha1.Finding{
			ID:      "cgroup-v1",
			Message: fmt.Sprintf("Node %s runs cgroup v1, and failCgroupV1: false is only in its own /var/lib/kubelet/config.yaml, which kubeadm overwrites: a kubelet of %s would not start.", n.name, c.to),
			Advice:  "Set failCgroupV1: false in the cluster's configuration: " + clusterConfigAdvice + ".",
		})
	default:
		c.onNode(n, v1alpha1.Finding{ID: "cgroup-v1", Message: fmt.Sprintf("Node %s runs cgroup v1, on which a kubelet of %s does not start.", n.name, c.to)})
	}
}

// withoutCgroup1 reports whether a kubelet of the version does not start on the
// node unless its configuration allows cgroup v1.
func (c *checker) withoutCgroup1(n *node) bool {
	return c.to.Minor >= minorWithoutCgroup1 && n.facts != nil && n.facts.CgroupVersion == 1
}

// checkKubeletConfigMap finds fields of the cluster's configuration with which kubelets
// would not start after kubeadm has written it to their nodes.
func (c *checker) checkKubeletConfigMap() {
	if c.KubeletConfig == nil {
		return
	}
	var fields, gates []string
	var fieldNodes, gateNodes []*node
	matters := false
	for _, n := range c.nodes {
		if !c.runsKubeadm(n) || n.kubeletError != nil {
			continue
		}
		matters = matters || !n.kubelet.SameLine(c.to) || c.withoutCgroup1(n)
		if gone := c.gone(removedFields, c.KubeletConfig.Fields, n.kubelet); gone != nil {
			fields, fieldNodes = append(fields, gone...), append(fieldNodes, n)
		}
		if gone := c.goneGates(after(c.KubeletConfig.Fields, clusterstate.FeatureGatePrefix), n.kubelet); gone != nil {
			gates, gateNodes = append(gates, gone...), append(gateNodes, n)
		}
	}
	if matters && c.KubeletConfig.Problem != "" && !c.KubeletConfig.Missing {
		c.add(v1alpha1.Finding{ID: "unread", Object: kubeletConfigObject,
			Message: fmt.Sprintf("ConfigMap kube-system/kubelet-config could not be read (%s): whether kubelets start with what kubeadm writes from it is not known.",
				sentence(c.KubeletConfig.Problem))})
	}
	c.refusedConfig("kubelet-config", fields, fieldNodes, "sets %s, which %s refuses", "Remove the field: ", names)
	c.refusedConfig("feature-gate", gates, gateNodes, "sets %s, which %s does not know", "Remove it from featureGates: ", gateList)
}

// refusedConfig adds one finding about all nodes that get these fields from the
// cluster's configuration.
func (c *checker) refusedConfig(id string, set []string, nodes []*node, what, advice string, list func([]string) string) {
	if len(set) == 0 {
		return
	}
	set = slices.Compact(slices.Sorted(slices.Values(set)))
	c.add(v1alpha1.Finding{
		ID: id, Object: kubeletConfigObject,
		Message: "The cluster's configuration of kubelets " + fmt.Sprintf(what, list(set), c.to.Line()) +
			fmt.Sprintf(": they would not start on %s, to which kubeadm gives it: %s.", plural(len(nodes), "node"), nodeNames(nodes)),
		Advice: advice + clusterConfigAdvice + ".",
	})
}

// checkKubeletFiles finds flags, fields and feature gates on the node with
// which its kubelet would not start.
func (c *checker) checkKubeletFiles(n *node) {
	flags := append(c.gone(removedFlags, n.facts.KubeletFlags, n.kubelet), c.gone(kubeadmRemoves, n.facts.KubeletFlagsElsewhere, n.kubelet)...)
	if flags != nil {
		c.onNode(n, v1alpha1.Finding{ID: "kubelet-flag",
			Message: fmt.Sprintf("The kubelet on %s has the flag --%s, which %s does not know: it would not start.", n.name, strings.Join(flags, ", --"), c.to.Line())})
	}
	if fields := c.gone(removedFields, c.ownFields(n), n.kubelet); fields != nil {
		c.onNode(n, v1alpha1.Finding{ID: "kubelet-config",
			Message: fmt.Sprintf("The kubelet's configuration on %s sets %s, which %s refuses: it would not start.", n.name, strings.Join(fields, ", "), c.to.Line()),
			Advice:  "Remove the field " + nodeConfigAdvice + "."})
	}
	if gates := c.goneGates(after(c.ownFields(n), clusterstate.FeatureGatePrefix), n.kubelet); gates != nil {
		c.onNode(n, v1alpha1.Finding{
			ID:      "feature-gate",
			Message: fmt.Sprintf("The kubelet's configuration on %s sets %s, which %s does not know: it would not start.", n.name, gateList(gates), c.to.Line()),
			Advice:  "Remove it from featureGates " + nodeConfigAdvice + ".",
		})
	}
	if gates := c.goneGates(after(n.facts.KubeletFlags, "feature-gates."), n.kubelet); gates != nil {
		c.onNode(n, v1alpha1.Finding{
			ID:      "feature-gate",
			Message: fmt.Sprintf("The kubelet on %s has %s in a flag, which %s does not know: it would not start.", n.name, gateList(gates), c.to.Line()),
			Advice:  "Remove it from --feature-gates on that node: systemctl cat kubelet names the files, such as /etc/sysconfig/kubelet, /etc/default/kubelet and /var/lib/kubelet/kubeadm-flags.env.",
		})
	}
}

// after returns the strings that have the prefix, without it.
func after(list []string, prefix string) []string {
	var rest []string
	for _, one := range list {
		if tail, is := strings.CutPrefix(one, prefix); is {
			rest = append(rest, tail)
		}
	}
	return rest
}

// gone returns those of the given names that this upgrade removes, sorted.
func (c *checker) gone(removals []removal, given []string, from version.Version) []string {
	var gone []string
	for _, r := range removals {
		if c.reaches(r.minor, from) && slices.Contains(given, r.name) {
			gone = append(gone, r.name)
		}
	}
	return gone
}

func (c *checker) goneGates(gates []string, from version.Version) []string {
	var gone []string
	for _, gate := range gates {
		if minor, removed := removedGates[gate]; removed && c.reaches(minor, from) {
			gone = append(gone, gate)
		}
	}
	slices.Sort(gone)
	return gone
}

func gateList(gates []string) string {
	if len(gates) == 1 {
		return "feature gate " + gates[0]
	}
	return "feature gates " + strings.Join(gates, ", ")
}

var trapChecks = []Entry{
	{
		"cgroup-v1", blocks,
		"a node runs cgroup v1, where a kubelet of 1.35 or later starts only with failCgroupV1: false: in its configuration, or in the cluster's where kubeadm has still to upgrade the node",
		"Move the node to cgroup v2: remove systemd.unified_cgroup_hierarchy=0 from the kernel's command line, and reboot. Or set failCgroupV1: false (" + clusterConfigAdvice + "), and let kubeadm ignore SystemVerification (ignorePreflightErrors in /etc/kubernetes/kubeadm-upgrade.yaml).",
	},
	{
		"kubelet-flag", blocks,
		"a kubelet has a flag that the version does not know and kubeadm does not remove: it would not start",
		"Remove the flag on that node from the files that systemctl cat kubelet names, such as /etc/default/kubelet and /var/lib/kubelet/kubeadm-flags.env, and from nodeRegistration.kubeletExtraArgs of what new nodes join with.",
	},
	{
		"kubelet-config", blocks,
		"a kubelet's configuration, the cluster's or a node's own, sets a field that the version refuses: it would not start",
		"Remove the field " + nodeConfigAdvice + ". In the cluster's: " + clusterConfigAdvice + ".",
	},
	{
		"component-flag", blocks,
		"a static pod of the control plane has a flag that the version does not know: it would not start",
		extraArgsAdvice,
	},
	{
		"feature-gate", blocks,
		"a kubelet or a static pod of the control plane has a feature gate that the version does not know: it would not start",
		"Remove the gate from where it is set: the kubelet's configuration or flags, or the component's extraArgs in ClusterConfiguration.",
	},
	{
		"containerd-1", either,
		"a node runs containerd 1.x: 1.35 is the last version that supports it, and from 1.38 on the kubelet does not start",
		"Move the node to containerd 2: a newer Flatcar, or a newer sysext image of containerd.",
	},
	{
		"api-removed", blocks,
		"a deprecated API that the version no longer serves has been called since its apiserver started",
		"Find its clients (the audit log names them, with k8s.io/deprecated: true) and move them to the newer API: https://kubernetes.io/docs/reference/using-api/deprecation-guide/",
	},
	{
		"kubeadm-patches", either,
		"a node has a folder of kubeadm patches that no UpgradeConfiguration names, so the upgrade would omit them: blocks on a control plane, warns on workers",
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
	c.checkStaticFlags()
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
