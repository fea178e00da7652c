package agent

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
)

// An agent to which the API server refuses what it cannot do without ends, and its error is the last message of its
// container: its status, which would say so, is what it cannot write. So its pod is not Ready, and the coordinator
// and `kubectl upgrade status` quote the message. An API server that does not answer refuses nothing.

// refusedFor is for how long the API server has to refuse it. Rights and policies that are installed with the agent take
// a moment to apply.
const refusedFor = 2 * time.Minute

// isRefused reports whether the API server has answered that it does not do what was asked, and would not do it later.
func isRefused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// noteAnswer notes what the API server answered to the node's status.
func (p *reportSense) noteAnswer(err error) {
	switch {
	case err == nil:
		p.accepted, p.refusedSince = true, time.Time{}
	case isRefused(err) && p.refusedSince.IsZero():
		p.refusedSince = p.Now()
	}
	p.answer = err
}

// refusal returns an error if the API server has refused the node's status for refusedFor.
func (p *reportSense) refusal() error {
	if p.refusedSince.IsZero() || !isRefused(p.answer) || p.Now().Sub(p.refusedSince) < refusedFor {
		return nil
	}
	return fmt.Errorf("the API server has refused the status of NodeUpgrade %s for %s: %w", p.Node, refusedFor, p.answer)
}

// readRefused returns an error if the API server refuses to let one of the agent's identities read the node's objects.
func (a *Agent) readRefused(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, err := a.Kubelet.Nodes().Get(ctx, a.Node, metav1.GetOptions{}); isRefused(err) {
		return fmt.Errorf("the API server refuses the kubelet's identity, which kubelet.conf has, to read Node %s: %w", a.Node, err)
	}
	if _, err := a.Upgrades.NodeUpgrades.Get(ctx, a.Node, metav1.GetOptions{}); isRefused(err) {
		return fmt.Errorf("the API server refuses the ServiceAccount node-agent to read NodeUpgrade %s: %w", a.Node, err)
	}
	return nil
}

// isReached reports whether the API server answers, whatever it says.
func isReached(ctx context.Context, kubelet kube.Interface, node string) bool {
	_, err := kubelet.Nodes().Get(ctx, node, metav1.GetOptions{})
	return err == nil || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown
}
