package plan

import (
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// TestStaticPodVersionOverridesKubeadmRecord checks that pass 1 is not over for a control
// plane whose static pods run the previous version, as after a restore, although its
// status records kubeadm as done.
func TestStaticPodVersionOverridesKubeadmRecord(t *testing.T) {
	for pods, want := range map[string]string{"v1.34.3": "v1.34.3", "v1.34.4": "v1.34.4", "": "v1.34.4"} {
		n := node{Node: clusterstate.Node{Name: "cp1", Kubelet: "v1.34.3", ControlPlane: true}}
		n.status = &v1alpha1.NodeUpgradeStatus{Versions: v1alpha1.NodeVersions{Kubeadm: "v1.34.4", ControlPlane: pods}}
		n.readStatus(versionReader{})
		if got := n.runs.kubeadm.String(); got != want {
			t.Errorf("static pods at %q: kubeadm counts as %s, want %s", pods, got, want)
		}
	}
}

// TestFirstControlPlaneWithoutRecord checks that a control plane that runs the version without
// a record of kubeadm, as one that was given back and is managed again, is not the one for
// which the others wait: it does not run kubeadm.
func TestFirstControlPlaneWithoutRecord(t *testing.T) {
	made := func(name, kubelet, pods string) *node {
		n := &node{Node: clusterstate.Node{Name: name, Kubelet: kubelet, ControlPlane: true}, labelled: true}
		n.concerned = true
		n.spec = &v1alpha1.NodeUpgradeSpec{}
		n.status = &v1alpha1.NodeUpgradeStatus{Versions: v1alpha1.NodeVersions{ControlPlane: pods}}
		n.readStatus(versionReader{})
		return n
	}
	c := &cluster{target: &target{ClusterUpgrade: &v1alpha1.ClusterUpgrade{}, to: parsed("v1.35.2")}}
	c.nodes = []*node{made("cp1", "v1.35.2", "v1.35.2"), made("cp2", "v1.34.3", "v1.35.2"), made("cp3", "v1.34.3", "v1.34.3")}
	if first := c.firstControlPlane(); first != c.nodes[1] {
		t.Error("kubeadm upgrade apply does not run on cp2")
	}
}
