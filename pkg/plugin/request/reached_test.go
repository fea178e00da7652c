package request

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// TestReachedWithoutImage checks that a node without a sysext image, which is being rebooted,
// is supposed to be back in service, at the version that it has.
func TestReachedWithoutImage(t *testing.T) {
	to, err := version.Parse("v1.34.4")
	if err != nil {
		t.Fatal(err)
	}
	before := clusterstate.Snapshot{
		Nodes: []clusterstate.Node{{Name: "w1", Kubelet: "v1.34.3", SlotAnnotation: "slot-0"}},
		NodeUpgrades: []v1alpha1.NodeUpgrade{{
			ObjectMeta: metav1.ObjectMeta{Name: "w1"},
			Status:     v1alpha1.NodeUpgradeStatus{ImageProblem: &v1alpha1.Problem{Reason: v1alpha1.NoSysextImage, Message: "Kubernetes comes from packages"}, Step: v1alpha1.StepRebooting},
		}},
	}
	after := reached(before, to)
	if n := after.Nodes[0]; n.Kubelet != "v1.34.3" || !n.Ready || n.SlotAnnotation != "" {
		t.Errorf("the node is %+v, want it Ready with v1.34.3 and no slot", n)
	}
	if step := after.NodeUpgrades[0].Status.Step; step != v1alpha1.StepUnsupported {
		t.Errorf("the step is %s, want Unsupported", step)
	}
}
