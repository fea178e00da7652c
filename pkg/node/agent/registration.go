package agent

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
)

// registrationAge is how long the answer to a dry run counts.
const registrationAge = 10 * time.Second

// registrationView is the last answer to what the kubelet writes to its Node.
type registrationView struct {
	at      time.Time
	problem string
}

// checkRegistration tries, as dry runs, what a kubelet writes to its Node after its start,
// while it has not done so: an admission webhook may refuse it, and only the kubelet's own
// log would say so.
func (a *Agent) checkRegistration(ctx context.Context, o *machine.Observation) {
	if !machine.AwaitsKubelet(a.state, *o) {
		a.registration = registrationView{}
		return
	}
	if o.Now.Sub(a.registration.at) >= registrationAge {
		a.registration.at, a.registration.problem = o.Now, ""
		if err := a.registrationRefused(ctx); err != nil {
			a.registration.problem = err.Error()
		}
	}
	o.KubeletRefused = a.registration.problem
}

// registrationRefused returns the API server's answer if it refuses one of the dry runs. A
// Node that exists already is no refusal, and neither is an API server that does not answer.
func (a *Agent) registrationRefused(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	nodes, dryRun := a.Kubelet.Nodes(), []string{metav1.DryRunAll}
	_, err := nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: a.Node}}, metav1.CreateOptions{DryRun: dryRun})
	if err == nil || apierrors.IsAlreadyExists(err) {
		_, err = nodes.Patch(ctx, a.Node, types.MergePatchType, []byte("{}"), metav1.PatchOptions{DryRun: dryRun}, "status")
	}
	if apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
		return nil // no answer
	}
	return err
}
