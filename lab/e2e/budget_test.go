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

// stuck is a pod on w1 whose budget never allows its eviction.
var stuck = onePod("stuck") + `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: stuck, namespace: default}
spec: {minAvailable: 1, selector: {matchLabels: {app: stuck}}}
`

// budgetBlocks waits until the worker drains. Its drain may take a minute, which is enough for
// every pod but the one that may not be evicted.
func (c *testCluster) budgetBlocks(t *testing.T) {
	c.must(t)(c.Kube(c.ctx, "patch", "clusterupgrade", minorTo, "--type", "merge", "-p", `{"spec":{"strategy":{"drain":{"timeoutSeconds":60}}}}`))
	c.eventually(t, 30*time.Minute, "w1 is draining", func() error { return c.at("w1", v1alpha1.StepDraining) })
	c.eventually(t, 2*time.Minute, "w1 has aborted and is back in service", c.aborted)
	c.checkStatus(t, "DrainTimeout", "default/stuck", "stuck-")
	c.must(t)(c.Kube(c.ctx, "-n", "default", "delete", "poddisruptionbudget", "stuck"))
}

// aborted returns an error unless w1 is uncordoned without mark and slot, and reports a reason.
func (c *testCluster) aborted() error {
	node, err := c.kube.CoreV1().Nodes().Get(c.ctx, "w1", metav1.GetOptions{})
	if err != nil {
		return err
	}
	upgrade, err := c.ours.NodeUpgrades.Get(c.ctx, "w1", metav1.GetOptions{})
	if err != nil {
		return err
	}
	slots, err := c.kube.CoordinationV1().Leases(v1alpha1.Namespace).List(c.ctx, metav1.ListOptions{LabelSelector: v1alpha1.SlotLabel})
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
		return fmt.Errorf("unschedulable %t, %s", node.Spec.Unschedulable, describe(*upgrade))
	}
	return nil
}
