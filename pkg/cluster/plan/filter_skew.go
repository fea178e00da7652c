package plan

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// apiServerTooOld holds every node while the version skew policy forbids its step: its
// kubelet would be newer than an apiserver, or the apiservers too far apart. A Reboot
// changes no version.
func apiServerTooOld(c *cluster, _ *node) fleet.Hold {
	if c.target.reboot {
		return fleet.Hold{}
	}
	servers := []version.Version{c.target.to}
	for _, pod := range c.apiServers {
		v, err := version.Parse(pod.Version)
		if err == nil && !c.pass1 {
			err = version.CheckKubelet(c.target.to, v)
		}
		if err != nil {
			return skew(pod, err)
		}
		servers = append(servers, v)
	}
	if err := version.CheckAPIServers(servers...); err != nil {
		return fleet.Hold{Reason: v1alpha1.ReasonSkew, Message: err.Error()}
	}
	return fleet.Hold{}
}
