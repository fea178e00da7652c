package snapshot

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/staticpod"
)

// architectures as systemd names what Kubernetes names otherwise.
var architectures = map[string]string{"amd64": "x86-64", "arm64": "arm64"}

// Node is what counts of a Node.
func Node(n *corev1.Node) plan.Node {
	controlPlane := staticpod.OnControlPlane(n.Labels)
	_, ours := n.Annotations[v1alpha1.CordonAnnotation]
	architecture, known := architectures[n.Status.NodeInfo.Architecture]
	if !known {
		architecture = n.Status.NodeInfo.Architecture
	}
	return plan.Node{
		Name: n.Name, UID: string(n.UID), Labels: n.Labels, ControlPlane: controlPlane,
		OS: n.Status.NodeInfo.OperatingSystem, Architecture: architecture,
		Ready: nodeReady(n), Kubelet: n.Status.NodeInfo.KubeletVersion,
		Cordoned: n.Spec.Unschedulable && !ours,
		Slot:     n.Annotations[v1alpha1.SlotAnnotation],
	}
}

func nodeReady(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// staticPods sorts control-plane pods into apiservers and etcd members.
func staticPods(pods []*corev1.Pod) (apiServers, etcd []plan.StaticPod) {
	for _, pod := range pods {
		if !staticpod.Is(pod) {
			continue
		}
		one := plan.StaticPod{Node: pod.Spec.NodeName, Version: staticpod.Version(pod), Ready: staticpod.Ready(pod)}
		switch pod.Labels[componentLabel] {
		case apiServer:
			apiServers = append(apiServers, one)
		case etcdMember:
			etcd = append(etcd, one)
		}
	}
	return apiServers, etcd
}
