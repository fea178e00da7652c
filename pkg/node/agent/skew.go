package agent

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// checkSkew returns why the version skew policy forbids the node's step. A control plane that goes by
// Cluster API's request brings its own apiserver to the version first, and its kubelet may talk to no
// other.
func checkSkew(node string, apiServers []corev1.Pod, o machine.Observation, clusterAPIDecides bool) error {
	target, err := version.Parse(o.Spec.Version)
	if err != nil {
		return err
	}
	kubelet, err := version.Parse(o.Node.KubeletVersion)
	if err != nil {
		return fmt.Errorf("the kubelet's version: %w", err)
	}
	check := version.CheckStep
	if o.Spec.Type == v1alpha1.TypeRollback {
		check = version.CheckRollback
	}
	if err := check(kubelet, target); err != nil || !comparesAPIServers(o, clusterAPIDecides) {
		return err
	}
	servers, err := versionsOf(apiServers)
	if err != nil {
		return err
	}
	oneTurn := clusterAPIDecides && o.Host != nil && o.Host.ControlPlane && o.Spec.Type.RunsKubeadmUpgrade()
	if o.Spec.Release == v1alpha1.ReleaseControlPlane || oneTurn {
		err := version.CheckAPIServers(append(slices.Collect(maps.Values(servers)), target)...)
		if err != nil || !oneTurn {
			return err
		}
	}
	for _, on := range slices.Sorted(maps.Keys(servers)) {
		own := on == node
		if oneTurn && (own && !version.AtLeast(o.Host.KubeadmVersion, o.Spec.Version) || !own && o.Host.Node.OwnAPIServer) {
			continue
		}
		if err := version.CheckKubelet(target, servers[on]); err != nil {
			return err
		}
	}
	return nil
}

// comparesAPIServers reports whether the versions of the apiservers count. Where only a kubelet changes, and stays
// within its minor, they do not: the policy limits how many minors it is from them, and that stays as it is.
func comparesAPIServers(o machine.Observation, clusterAPIDecides bool) bool {
	if clusterAPIDecides || o.Spec.Release != v1alpha1.ReleaseNode {
		return true
	}
	target, err := version.Parse(o.Spec.Version)
	if err != nil {
		return true
	}
	kubelet, err := version.Parse(o.Node.KubeletVersion)
	return err != nil || !target.SameLine(kubelet)
}

// versionsOf returns the apiservers' versions by node, from their images' tags.
func versionsOf(apiServers []corev1.Pod) (map[string]version.Version, error) {
	versions := map[string]version.Version{}
	for i := range apiServers {
		if !clusterstate.IsStaticPod(&apiServers[i]) {
			continue
		}
		v, err := version.Parse(clusterstate.StaticPodVersion(&apiServers[i]))
		if err != nil {
			return nil, fmt.Errorf("apiserver %s: %w", apiServers[i].Name, err)
		}
		if other, there := versions[apiServers[i].Spec.NodeName]; !there || v.Less(other) {
			versions[apiServers[i].Spec.NodeName] = v
		}
	}
	if len(versions) == 0 {
		return nil, fmt.Errorf("found no kube-apiserver pod to compare versions with")
	}
	return versions, nil
}
