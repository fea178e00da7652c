package cli_test

import (
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// finish upgrades every node, and ends the upgrade.
func (c *cluster) finish() {
	c.t.Helper()
	c.finishAs(v1alpha1.OutcomeSucceeded)
}

func (c *cluster) finishAs(outcome v1alpha1.Outcome) {
	c.t.Helper()
	for name, nodeStatus := range c.statuses {
		nodeStatus.Versions.Kubelet, nodeStatus.Slot, nodeStatus.Upgrade = after, "", &c.upgrade
		if nodeStatus.Versions.ControlPlane != "" {
			nodeStatus.Versions.ControlPlane, nodeStatus.Versions.Kubeadm = after, after
		}
		c.setStep(name, v1alpha1.StepIdle, v1alpha1.ReasonUpToDate, "the node runs v1.35.4")
	}
	c.end(outcome)
}

// minorCluster returns a cluster of one control plane and two workers, its configuration,
// and the arguments for a minor that ignore what this cluster lacks.
func minorCluster(t *testing.T) (*cluster, *rest.Config, []string) {
	t.Helper()
	config := apitest.Start(t)
	c := newCluster(t, config)
	applyObjects(t, config, "kind: UpgradePolicy\nmetadata: {name: cluster}\nspec: {mode: Manage, source: {url: \"http://127.0.0.1:9/\", transportPolicy: AllowHTTP}}") // offers nothing
	c.addNode("cp-1", true)
	c.addNode("worker-1.eu-central-1.compute.internal", false)
	c.addNode("worker-2.eu-central-1.compute.internal", false)
	c.addAPIServer("cp-1")
	return c, config, []string{"apply", "v1.35.4", "--ignore-windows", "--ignore-check", "control-plane-pod,facts-missing=a test"}
}
