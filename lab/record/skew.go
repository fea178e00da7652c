package record

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Skew checks docs/architecture.md's promise 3 at every moment: no kubelet is newer than
// any kube-apiserver, none skips a minor, and none is downgraded but by a Rollback.
func Skew(moments []Moment) ([]Broken, error) {
	var broken []Broken
	kubelets, servers := map[string]version.Version{}, map[string]version.Version{}
	var askedBack []version.Version // by Rollbacks
	for _, m := range moments {
		back, err := rollbackTo(m)
		if err != nil {
			return nil, err
		}
		askedBack = append(askedBack, back...)
		name, v, err := versionOf(m)
		if err != nil {
			return nil, err
		}
		into := map[string]map[string]version.Version{"nodes": kubelets, "pods": servers}[m.Resource]
		if name == "" || into == nil {
			continue
		}
		if m.Deleted {
			delete(into, name)
			continue
		}
		if before, known := kubelets[name]; known && m.Resource == "nodes" && before != v {
			asked := slices.Contains(askedBack, v) && version.CheckRollback(before, v) == nil
			if err := version.CheckStep(before, v); err != nil && !asked {
				broken = append(broken, m.broken("kubelet of %s: %v", name, err))
			}
		}
		into[name] = v
		broken = append(broken, tooNew(m, kubelets, servers)...)
	}
	return broken, nil
}

// rollbackTo returns the version that a Rollback asks for; none for other objects.
func rollbackTo(m Moment) ([]version.Version, error) {
	if m.Resource != v1alpha1.ClusterUpgrades.Resource || m.Deleted {
		return nil, nil
	}
	var upgrade v1alpha1.ClusterUpgrade
	if err := Convert(m, &upgrade); err != nil || upgrade.Spec.Type != v1alpha1.TypeRollback {
		return nil, err
	}
	v, err := version.Parse(upgrade.Spec.Version)
	return []version.Version{v}, err
}

// versionOf returns the kubelet's version of a Node, or the version of a
// kube-apiserver's pod. For other objects the name is empty.
func versionOf(m Moment) (name string, v version.Version, err error) {
	switch m.Resource {
	case "nodes":
		var node corev1.Node
		if err := Convert(m, &node); err != nil {
			return "", v, err
		}
		v, err = version.Parse(node.Status.NodeInfo.KubeletVersion)
		return node.Name, v, err
	case "pods":
		var pod corev1.Pod
		if err := Convert(m, &pod); err != nil {
			return "", v, err
		}
		if pod.Namespace != "kube-system" || pod.Labels["component"] != "kube-apiserver" {
			return "", v, nil
		}
		image := pod.Spec.Containers[0].Image
		v, err = version.Parse(image[strings.LastIndex(image, ":")+1:])
		return pod.Name, v, err
	}
	return "", v, nil
}

func tooNew(m Moment, kubelets, servers map[string]version.Version) []Broken {
	var broken []Broken
	for node, kubelet := range kubelets {
		for pod, server := range servers {
			if err := version.CheckKubelet(kubelet, server); err != nil {
				broken = append(broken, m.broken("%s and %s: %v", node, pod, err))
			}
		}
	}
	slices.SortFunc(broken, func(a, b Broken) int { return strings.Compare(a.Message, b.Message) })
	return broken
}
