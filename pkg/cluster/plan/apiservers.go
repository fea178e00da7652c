package plan

import (
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// ownAPIServers returns the apiservers that the upgrade has to bring to the version.
func (r *reading) ownAPIServers(t *target) []fleet.StaticPod {
	own, _ := r.divideAPIServers(t)
	return own
}

// divideAPIServers returns the apiservers that the upgrade has to bring to the version,
// and those on nodes that it skips.
func (r *reading) divideAPIServers(t *target) (own, others []fleet.StaticPod) {
	skipped := map[string]bool{}
	for _, n := range r.nodes {
		if n.ControlPlane && t.skips(n) {
			skipped[n.Name] = true
		}
	}
	for _, pod := range r.APIServers {
		if skipped[pod.Node] {
			others = append(others, pod)
		} else {
			own = append(own, pod)
		}
	}
	return own, others
}

// isDowngrade reports whether an apiserver is newer than the version. Such an upgrade
// never becomes possible, and must not hold up later ones.
func (r *reading) isDowngrade(t *target) bool { return r.newerAPIServer(t) != nil }

// newerAPIServer returns an apiserver that is newer than the upgrade's version. Nil: there is
// none.
func (r *reading) newerAPIServer(t *target) *fleet.StaticPod {
	servers := r.notOnWorkers(r.ownAPIServers(t))
	i := slices.IndexFunc(servers, func(pod fleet.StaticPod) bool { return t.to.Less(parsed(pod.Version)) })
	if i < 0 || !known(t.to) {
		return nil
	}
	return &servers[i]
}

// notOnWorkers returns the pods that do not run on nodes without the control plane's label. A
// kubelet may create any pod on its own node, and its agent report any, so an etcd member there
// must not count.
func (r *reading) notOnWorkers(pods []fleet.StaticPod) []fleet.StaticPod {
	worker := map[string]bool{}
	for _, n := range r.nodes {
		worker[n.Name] = !n.labelled
	}
	var list []fleet.StaticPod
	for _, pod := range pods {
		if !worker[pod.Node] {
			list = append(list, pod)
		}
	}
	return list
}
