package coordinator

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/silence"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/web"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// newSilences returns the keeper of silences, which does nothing until it runs.
func (c *Coordinator) newSilences(onNews func()) *silence.Keeper {
	client := func(ctx context.Context, s v1alpha1.Silence) (*http.Client, error) {
		return web.ClientFor(ctx, c.kube.CoreV1(), web.Access{CA: s.CASecretRef, Token: s.TokenSecretRef})
	}
	return silence.NewKeeper(client, c.log, onNews)
}

// noteSilences has the alerts of nodes at work silenced, and sets the condition that says which
// Alertmanager does not take a silence.
func (c *Coordinator) noteSilences(s clusterstate.Snapshot, now time.Time) {
	nodes := s.Nodes
	known := func(owner clusterstate.Owner) bool {
		return slices.ContainsFunc(nodes, func(n clusterstate.Node) bool { return n.Owner() == owner })
	}
	var work []silence.Work
	if len(s.Policy.Silences()) > 0 {
		work = silence.AtWork(s)
	}
	c.silences.Update(s.Policy.Silences(), work, known)
	troubles, allTried := c.silences.Troubles()
	reason, message := "", ""
	if len(troubles) > 0 {
		reason, message = silence.Message(troubles)
	}
	c.noteTrouble(s.Policy, v1alpha1.ConditionSilencesFailed, reason, message, allTried, now)
}
