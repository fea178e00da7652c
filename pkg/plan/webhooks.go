package plan

import (
	"fmt"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
)

// webhook is an admission webhook, and how many places are left that answer for
// it: nodes in service with a ready backend.
type webhook struct {
	preflight.Webhook
	left int
}

// readWebhooks notes which node has backends of which webhook, unless that check
// is ignored.
func (d *decider) readWebhooks() {
	if d.target == nil || d.target.Spec.Ignores(preflight.LastBackend) {
		return
	}
	d.checks.webhooks = map[string][]*webhook{}
	for _, one := range d.Webhooks {
		w := &webhook{Webhook: one}
		d.checks.all = append(d.checks.all, w)
		for _, node := range one.Nodes {
			d.checks.webhooks[node] = append(d.checks.webhooks[node], w)
		}
	}
}

// webhookHold keeps n from taking the last ready backend of a webhook along:
// whatever it is asked about would fail. Pass 1 moves no pod, nor does a restart.
func (d *decider) webhookHold(n *node) fleet.Hold {
	if d.pass1 || d.restarts(n) {
		return fleet.Hold{}
	}
	for _, w := range d.checks.webhooks[n.Name] {
		if w.left > 1 {
			continue
		}
		message := fmt.Sprintf("webhook %s would lose its last ready backend with this node, and requests fail without it", w)
		if len(w.Nodes) > 1 {
			message += ", as nodes with others are away"
		} else {
			message += "; run a second replica of its backend on another node"
		}
		return fleet.Hold{Reason: v1alpha1.ReasonWebhookBackend, Message: message}
	}
	return fleet.Hold{}
}

// lastBackend is whether a webhook has backends on n alone.
func (d *decider) lastBackend(n *node) bool {
	return slices.ContainsFunc(d.checks.webhooks[n.Name], func(w *webhook) bool { return len(w.Nodes) == 1 })
}

// allAnswer lets every backend count, before those on nodes that are away are
// taken out.
func (c *checks) allAnswer() {
	for _, w := range c.all {
		w.left = len(w.Nodes)
	}
}
