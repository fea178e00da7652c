package plan

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

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

func skew(pod fleet.StaticPod, err error) fleet.Hold {
	return fleet.Hold{Reason: v1alpha1.ReasonSkew, Message: fmt.Sprintf("kube-apiserver on %s: %v", pod.Node, err)}
}
