package preflight

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// KubeletConfig is the configuration of the cluster's kubelets: the ConfigMap
// kube-system/kubelet-config.
type KubeletConfig struct {
	fleet.KubeletConfig
	// Problem is why it could not be read. Empty: it was read.
	Problem string
}

// Advice on where the configuration of kubelets is changed. kubeadm writes every
// node's from the cluster's when it upgrades the node, just before the new kubelet
// starts (WriteKubeletConfigFiles in cmd/kubeadm/app/phases/upgrade/postupgrade.go
// of v1.35.4).
const (
	clusterConfigAdvice = "kubectl -n kube-system edit configmap kubelet-config, from which kubeadm writes every node's /var/lib/kubelet/config.yaml when it upgrades the node"
	nodeConfigAdvice    = "on that node: in the files of --config-dir, in kubeadm's patches, or in /var/lib/kubelet/config.yaml where kubeadm has upgraded the node already"
)

var kubeletConfigObject = v1alpha1.ObjectReference{Kind: "ConfigMap", Namespace: fleet.KubeletConfigMapNamespace, Name: fleet.KubeletConfigMapName}

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
		if gone := c.goneGates(after(c.KubeletConfig.Fields, fleet.FeatureGatePrefix), n.kubelet); gone != nil {
			gates, gateNodes = append(gates, gone...), append(gateNodes, n)
		}
	}
	if matters && c.KubeletConfig.Problem != "" {
		c.add(v1alpha1.Finding{ID: "unread", Object: kubeletConfigObject, Message: fmt.Sprintf("ConfigMap kube-system/kubelet-config could not be read (%s): whether kubelets start with what kubeadm writes from it is not known.", sentence(c.KubeletConfig.Problem))})
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
