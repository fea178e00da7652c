package plan

import (
	"fmt"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// skips reports whether the policy or the upgrade does not select the node.
func (t *target) skips(n *node) bool { return !n.managed || !t.selects(n) }

// ownAPIServers returns the apiservers that the upgrade has to bring to the version.
func (r *reading) ownAPIServers(t *target) []fleet.StaticPod {
	own, _ := r.divideAPIServers(t)
	return own
}

// divideAPIServers returns the apiservers that the upgrade has to bring to the version,
// and those on nodes that it skips.
func (r *reading) divideAPIServers(t *target) (own, others []fleet.StaticPod) {
	left := map[string]bool{}
	for _, n := range r.nodes {
		if n.ControlPlane && t.skips(n) {
			left[n.Name] = true
		}
	}
	for _, pod := range r.APIServers {
		if left[pod.Node] {
			others = append(others, pod)
		} else {
			own = append(own, pod)
		}
	}
	return own, others
}

// apiServerStep holds an upgrade that kubeadm cannot do with the apiservers' versions.
func apiServerStep(r *reading, t *target) fleet.Hold {
	if t.reboot {
		return fleet.Hold{}
	}
	if len(r.APIServers) == 0 {
		return fleet.Hold{Reason: v1alpha1.ReasonSkew, Message: "no kube-apiserver pod was found in kube-system: their versions are not known"}
	}
	for _, pod := range r.ownAPIServers(t) {
		v, err := version.Parse(pod.Version)
		if err == nil {
			err = version.CheckStep(v, t.to)
		}
		if err != nil {
			return skew(pod, err)
		}
	}
	return fleet.Hold{}
}

// apiServerLeftBehind holds an upgrade whose kubelets would be of a newer minor than an
// apiserver on a node that it skips.
func apiServerLeftBehind(r *reading, t *target) fleet.Hold {
	if t.reboot {
		return fleet.Hold{}
	}
	_, others := r.divideAPIServers(t)
	for _, pod := range others {
		v, err := version.Parse(pod.Version)
		if err == nil {
			err = version.CheckKubelet(t.to, v)
		}
		if err != nil {
			return skew(pod, err)
		}
	}
	return fleet.Hold{}
}

// notOnWorkers returns the pods that do not run on workers. A kubelet may create any
// pod on its own node, so an etcd member on a worker must not count.
func (r *reading) notOnWorkers(pods []fleet.StaticPod) []fleet.StaticPod {
	worker := map[string]bool{}
	for _, n := range r.nodes {
		worker[n.Name] = !n.ControlPlane
	}
	var list []fleet.StaticPod
	for _, pod := range pods {
		if !worker[pod.Node] {
			list = append(list, pod)
		}
	}
	return list
}

func skew(pod fleet.StaticPod, err error) fleet.Hold {
	return fleet.Hold{Reason: v1alpha1.ReasonSkew, Message: fmt.Sprintf("kube-apiserver on %s: %v", pod.Node, err)}
}

// isDowngrade reports whether an apiserver is newer than the version. Such an upgrade
// never becomes possible, and must not hold up later ones.
func (r *reading) isDowngrade(t *target) bool {
	return known(t.to) && slices.ContainsFunc(r.notOnWorkers(r.ownAPIServers(t)), func(pod fleet.StaticPod) bool {
		return t.to.Less(parsed(pod.Version))
	})
}
