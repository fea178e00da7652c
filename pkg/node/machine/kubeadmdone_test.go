package machine

import (
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// TestKubeadmTakesNothingBack checks that kubeadm does not run for a version that is older than a control
// plane's static pods, and that on a worker only its own record counts.
func TestKubeadmTakesNothingBack(t *testing.T) {
	for name, test := range map[string]struct {
		controlPlane   bool
		staticPods     string
		kubeadm, asked string
		want           bool
	}{
		"newer static pods":                   {true, "v1.34.5", "", "v1.34.4", true},
		"static pods of the version, no more": {true, "v1.34.4", "", "v1.34.4", false},
		"older static pods":                   {true, "v1.34.3", "", "v1.34.4", false},
		"its record":                          {true, "v1.34.4", "v1.34.4", "v1.34.4", true},
		"a worker has none":                   {false, "v1.34.5", "", "v1.34.4", false},
	} {
		o := Observation{
			Spec: v1alpha1.NodeUpgradeSpec{Type: v1alpha1.TypePatch, Version: test.asked},
			Host: &Host{HostFacts: verb.HostFacts{ControlPlane: test.controlPlane}, ControlPlaneVersion: test.staticPods, KubeadmVersion: test.kubeadm},
		}
		if got := kubeadmDone(o); got != test.want {
			t.Errorf("%s: got %t, want %t", name, got, test.want)
		}
	}
}
