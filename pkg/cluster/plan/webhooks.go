package plan

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// webhooks are the admission webhooks that can block requests, and on which nodes they
// have ready backends.
type webhooks struct {
	all []fleet.Webhook
	of  map[string][]int // by node that may answer; into all
}

// readWebhooks returns the webhooks by node; none if the check is ignored.
func (c *cluster) readWebhooks() webhooks {
	w := webhooks{of: map[string][]int{}}
	if len(c.Webhooks) == 0 || c.target == nil || c.target.Spec.Ignores(preflight.LastBackend) {
		return w
	}
	w.all = c.Webhooks
	lost := map[string]bool{}
	for _, n := range c.nodes {
		lost[n.Name] = n.losesBackends()
	}
	for i, one := range w.all {
		for _, node := range one.Nodes {
			if !lost[node] {
				w.of[node] = append(w.of[node], i)
			}
		}
	}
	return w
}

// losesBackends reports whether the backends on the node do not count, although the
// upgrade does not count it as out of service. EndpointSlices lag behind the Node.
func (n *node) losesBackends() bool {
	return !n.Ready && !n.concerned || n.busy() && n.abandoned != nil
}

// backed returns for each webhook how many nodes have a backend that counts.
func (w webhooks) backed() []int {
	backed := make([]int, len(w.all))
	for _, of := range w.of {
		for _, i := range of {
			backed[i]++
		}
	}
	return backed
}

// onlyOn reports whether a webhook has backends only on this node.
func (w webhooks) onlyOn(n *node) bool {
	for _, i := range w.of[n.Name] {
		if len(w.all[i].Nodes) == 1 {
			return true
		}
	}
	return false
}

// lastBackend holds a node that has the last ready backend of a webhook: requests to
// the webhook would fail. Pass 1 and a restart evict no pods.
func (a *allocation) lastBackend(n *node) fleet.Hold {
	if a.pass1 || n.method == v1alpha1.MethodRestart {
		return fleet.Hold{}
	}
	for _, i := range a.webhooks.of[n.Name] {
		if a.backed[i] > 1 {
			continue
		}
		message := fmt.Sprintf("webhook %s would lose its last ready backend with this node, and requests fail without it", a.webhooks.all[i])
		if len(a.webhooks.all[i].Nodes) > 1 {
			message += ": the nodes with its other backends are out of service"
		} else {
			message += "; run a second replica of its backend on another node"
		}
		return fleet.Hold{Reason: v1alpha1.ReasonWebhookBackend, Message: message, Stays: a.webhooks.onlyOn(n)}
	}
	return fleet.Hold{}
}
