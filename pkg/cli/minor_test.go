package cli_test

import (
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/internal/apitest"
)

// finish lets every node be done, and the upgrade end.
func (w *world) finish() {
	w.t.Helper()
	w.finishAs(v1alpha1.OutcomeSucceeded)
}

func (w *world) finishAs(outcome v1alpha1.Outcome) {
	w.t.Helper()
	for name, nodeStatus := range w.statuses {
		nodeStatus.Versions.Kubelet, nodeStatus.Slot, nodeStatus.Upgrade = after, "", &w.upgrade
		if nodeStatus.Versions.ControlPlane != "" {
			nodeStatus.Versions.ControlPlane, nodeStatus.Versions.Kubeadm = after, after
		}
		w.step(name, v1alpha1.StepIdle, v1alpha1.ReasonUpToDate, "the node runs v1.35.4")
	}
	w.end(outcome)
}

// minorWorld is a cluster of one control plane and two workers, and a plugin that
// has been told to ignore what this poor cluster lacks.
func minorWorld(t *testing.T) (*world, *rest.Config, []string) {
	t.Helper()
	config := apitest.Start(t)
	w := newWorld(t, config)
	change(t, config, "kind: UpgradePolicy\nmetadata: {name: cluster}\nspec: {source: {url: \"http://127.0.0.1:9/\", insecure: true}}") // offers nothing
	w.addNode("cp-1", true)
	w.addNode("worker-1.eu-central-1.compute.internal", false)
	w.addNode("worker-2.eu-central-1.compute.internal", false)
	w.addServer("cp-1")
	return w, config, []string{"apply", "v1.35.4", "--ignore-schedule", "--ignore-check", "control-plane-pod,facts-missing"}
}
