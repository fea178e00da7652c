package plan

import (
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// TestStaticPodVersionOverridesKubeadmRecord checks that pass 1 is not over for a control
// plane whose static pods run the previous version, as after a restore, although its
// status records kubeadm as done.
func TestStaticPodVersionOverridesKubeadmRecord(t *testing.T) {
	for pods, want := range map[string]string{"v1.34.3": "v1.34.3", "v1.34.4": "v1.34.4", "": "v1.34.4"} {
		n := node{Node: fleet.Node{Name: "cp1", Kubelet: "v1.34.3", ControlPlane: true}}
		n.status = &v1alpha1.NodeUpgradeStatus{Versions: v1alpha1.NodeVersions{Kubeadm: "v1.34.4", ControlPlane: pods}}
		n.readStatus(versionReader{})
		if got := n.runs.kubeadm.String(); got != want {
			t.Errorf("static pods at %q: kubeadm counts as %s, want %s", pods, got, want)
		}
	}
}
