//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// stuck is a pod of w1 that its own budget never lets go.
var stuck = onePod("stuck") + `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: stuck, namespace: default}
spec: {minAvailable: 1, selector: {matchLabels: {app: stuck}}}
`

// budgetBlocks waits for the worker's turn. Its drain may take a minute, which
// is long enough for everything but the pod that may not go.
func (w *world) budgetBlocks(t *testing.T) {
	w.must(t)(w.Kube(w.ctx, "patch", "clusterupgrade", minorTo, "--type", "merge", "-p", `{"spec":{"strategy":{"drain":{"timeoutSeconds":60}}}}`))
	w.eventually(t, 30*time.Minute, "w1 is draining", func() error { return w.at("w1", v1alpha1.StepDraining) })
	w.eventually(t, 2*time.Minute, "w1 gave up and is back in service", w.gaveUp)
	w.statusNames(t, "DrainTimeout", "default/stuck", "stuck-")
	w.must(t)(w.Kube(w.ctx, "-n", "default", "delete", "poddisruptionbudget", "stuck"))
}

// gaveUp wants w1 uncordoned, with no mark and no slot, and a reason.
func (w *world) gaveUp() error {
	node, err := w.kube.CoreV1().Nodes().Get(w.ctx, "w1", metav1.GetOptions{})
	if err != nil {
		return err
	}
	upgrade, err := w.ours.NodeUpgrades.Get(w.ctx, "w1", metav1.GetOptions{})
	if err != nil {
		return err
	}
	slots, err := w.kube.CoordinationV1().Leases(v1alpha1.Namespace).List(w.ctx, metav1.ListOptions{LabelSelector: v1alpha1.SlotLabel})
	if err != nil {
		return err
	}
	for _, lease := range slots.Items {
		if holder := lease.Spec.HolderIdentity; holder != nil && strings.HasPrefix(*holder, "w1/") {
			return fmt.Errorf("slot %s is held", lease.Name)
		}
	}
	reason, _ := upgrade.Status.Explain()
	if node.Spec.Unschedulable || upgrade.Status.Step != v1alpha1.StepWaiting || reason != v1alpha1.ReasonDrainTimeout {
		return fmt.Errorf("unschedulable %t, %s", node.Spec.Unschedulable, told(*upgrade))
	}
	return nil
}
