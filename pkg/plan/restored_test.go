package plan

import (
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// After a restore in the middle of pass 1 a control plane runs the version before,
// whatever is recorded of kubeadm: pass 1 is not over for it.
func TestStaticPodsBeatTheRecordOfKubeadm(t *testing.T) {
	for pods, want := range map[string]string{"v1.34.3": "v1.34.3", "v1.34.4": "v1.34.4", "": "v1.34.4"} {
		n := node{Node: fleet.Node{Name: "cp1", Kubelet: "v1.34.3", ControlPlane: true}}
		n.status = &v1alpha1.NodeUpgradeStatus{Versions: v1alpha1.NodeVersions{Kubeadm: "v1.34.4", ControlPlane: pods}}
		n.readStatus(versionReader{})
		if got := n.runs.kubeadm.String(); got != want {
			t.Errorf("static pods at %q: kubeadm counts as %s, want %s", pods, got, want)
		}
	}
}
