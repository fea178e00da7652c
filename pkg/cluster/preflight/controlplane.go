package preflight

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

var controlPlaneChecks = []Entry{
	{
		"control-plane-node", blocks,
		"a control-plane node is not Ready: kubeadm refuses to upgrade",
		"Bring the node back (kubectl describe node), or remove it from the cluster.",
	},
	{
		"control-plane-pod", blocks,
		"a static pod of a control-plane node is missing or not Ready",
		"Find out why it does not run: kubectl -n kube-system describe pod, and crictl logs on the node.",
	},
	{
		"unsupported-control-plane", mandatory,
		"Kubernetes does not come to a control-plane node as a sysext image, and its apiserver is older than the version: no kubelet may go before it",
		"Upgrade that node's control plane first, as it was installed (kubeadm upgrade apply), or replace the node by one with a sysext image.",
	},
	{
		"control-plane-left-out", mandatory,
		"a nodeSelector, of the UpgradePolicy or the upgrade, leaves out a control-plane node whose apiserver is of an older minor than kubelets would be",
		"Upgrade the control plane first, or let both nodeSelectors match it.",
	},
	{
		"configmap-missing", mandatory,
		"ConfigMap kubeadm-config or kubelet-config, which kubeadm reads before it upgrades a node, does not exist",
		"On a control-plane node: kubeadm init phase upload-config kubeadm --config FILE, or the same with kubelet. The finding says what the file has.",
	},
	{
		"addon-removed", blocks,
		"kube-proxy or CoreDNS is not on the cluster, and kubeadm (1.32 or later) would install it again",
		"To go on without it: kubectl -n kube-system edit configmap kubeadm-config, and write proxy: {disabled: true} or dns: {disabled: true}. If it is to come back, or skipPhases leaves it out, ignore this check.",
	},
	{
		"corefile", either,
		"kubeadm (1.32 to 1.37) would refuse to upgrade, as it cannot migrate the installed CoreDNS or its Corefile; or it would change an edited Corefile",
		"To see it: kubectl -n kube-system get configmap coredns -o yaml.",
	},
	{
		"coredns-image", warns,
		"kubeadm would replace CoreDNS's image by one of another place",
		"To keep it, set imageRepository and imageTag below dns in ClusterConfiguration: kubectl -n kube-system edit configmap kubeadm-config.",
	},
	{
		"health-job", either,
		"the Job for which kubeadm upgrade apply waits would not be done: taints, a Windows node, or (only the plugin asks) a quota, policy or webhook",
		"Remove the cause; or list CreateJob in apply.ignorePreflightErrors of /etc/kubernetes/kubeadm-upgrade.yaml on control planes, and ignore this check. To see taints: kubectl get nodes -o custom-columns='NAME:.metadata.name,TAINTS:.spec.taints[*].key'.",
	},
}

// Names that kubeadm gives to components, in their label.
const (
	componentLabel = "component"
	apiServer      = "kube-apiserver"
	etcdServer     = "etcd"
)

// components are what kubeadm runs on every control-plane node; etcd is one of
// them, unless it runs elsewhere.
var components = []string{apiServer, "kube-controller-manager", "kube-scheduler"}

// staticPod is a pod that the kubelet runs from a file on its node.
type staticPod struct {
	*corev1.Pod
	node, component string
	version         version.Version
	versionError    error
}

func (p staticPod) object() v1alpha1.ObjectReference {
	return v1alpha1.ObjectReference{Kind: "Pod", Namespace: p.Namespace, Name: p.Name}
}

// findStaticPods collects the static pods of the control plane, by name.
func (c *checker) findStaticPods() {
	for i := range c.SystemPods {
		pod := &c.SystemPods[i]
		component := pod.Labels[componentLabel]
		known := component == etcdServer || slices.Contains(components, component)
		if static := mirror(pod) || known && clusterstate.IsStaticPod(pod); !static {
			continue
		}
		p := staticPod{Pod: pod, node: pod.Spec.NodeName, component: component}
		p.version, p.versionError = version.Parse(clusterstate.StaticPodVersion(pod))
		c.static = append(c.static, p)
	}
	slices.SortFunc(c.static, func(a, b staticPod) int { return cmp.Compare(a.Name, b.Name) })
}

// mirror reports whether the pod is the mirror pod of a static pod.
func mirror(pod *corev1.Pod) bool {
	_, is := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return is
}

// checkControlPlane checks what has to be healthy before kubeadm upgrades a control-plane
// node or renews its certificates, or before one is rebooted.
func (c *checker) checkControlPlane() {
	if !c.kubeadm && !c.controlPlaneMoves() {
		return
	}
	runs := map[string]map[string]bool{} // node, then component
	stacked := false
	for _, pod := range c.static {
		if runs[pod.node] == nil {
			runs[pod.node] = map[string]bool{}
		}
		runs[pod.node][pod.component] = true
		stacked = stacked || pod.component == etcdServer
	}
	expected := components
	if stacked {
		expected = append(slices.Clone(components), etcdServer)
	}
	c.checkOldServers()
	ours := map[string]bool{}
	for _, n := range c.controlPlanes() {
		if n.isAway() {
			continue
		}
		ours[n.name] = true
		if !n.ready() {
			c.onNode(n, v1alpha1.Finding{ID: "control-plane-node", Message: fmt.Sprintf("Control-plane node %s is not Ready.", n.name)})
		}
		for _, component := range expected {
			if !runs[n.name][component] {
				c.onNode(n, v1alpha1.Finding{ID: "control-plane-pod", Message: fmt.Sprintf("Control-plane node %s has no %s pod.", n.name, component)})
			}
		}
	}
	for _, pod := range c.static {
		if ours[pod.node] && !clusterstate.PodReady(pod.Pod) {
			c.add(v1alpha1.Finding{ID: "control-plane-pod", Object: pod.object(), Message: fmt.Sprintf("Static pod %s on %s is not Ready.", pod.Name, pod.node)})
		}
	}
}

// checkOldServers finds apiservers that this upgrade does not upgrade although they are
// older than the version: kubelets are upgraded only after all apiservers.
func (c *checker) checkOldServers() {
	if !c.kubeadm {
		return
	}
	older := func(v version.Version) bool { return v.Less(c.to) }
	c.serversStay("unsupported-control-plane", c.unsupported, "has no sysext image of Kubernetes", older)
	// Only minors count: https://kubernetes.io/releases/version-skew-policy/#kubelet. So a
	// patch may be tried on one pool first.
	olderMinor := func(v version.Version) bool { return older(v) && !v.SameLine(c.to) }
	c.serversStay("control-plane-left-out", c.leftOut, "is not matched by the nodeSelector of the UpgradePolicy or of the upgrade", olderMinor)
}

// serversStay adds a finding for each of the nodes whose apiserver would stay at a version
// that is too old.
func (c *checker) serversStay(id string, nodes []*node, why string, tooOld func(version.Version) bool) {
	for _, n := range nodes {
		if !n.controlPlane || n.abandoned {
			continue
		}
		i := slices.IndexFunc(c.static, func(p staticPod) bool { return p.node == n.name && p.component == apiServer })
		switch {
		case i < 0:
			c.onNode(n, v1alpha1.Finding{ID: id, Message: fmt.Sprintf("Control-plane node %s %s, and has no kube-apiserver pod, so its version is unknown.", n.name, why)})
		case c.static[i].versionError == nil && tooOld(c.static[i].version):
			c.onNode(n, v1alpha1.Finding{ID: id,
				Message: fmt.Sprintf("Control-plane node %s %s, so that its kube-apiserver would stay at %s: the upgrade to %s would stop half-way.", n.name, why, c.static[i].version, c.to)})
		}
	}
}
