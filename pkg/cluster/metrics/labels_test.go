package metrics_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestLabelsThatNodesChoose checks that a node that reports another version, step, reason and
// drain each time adds a limited number of series to those of the fleet, and that what others
// report is still shown.
func TestLabelsThatNodesChoose(t *testing.T) {
	const size = 5
	m := leading(stateOf(size))
	usual, _ := scrape(t, m)
	all := map[string]bool{}
	for i := range 2000 {
		state := stateOf(size)
		state.Snapshot.Nodes[4].Kubelet = []string{fmt.Sprintf("v1.34.%d", 100+i), fmt.Sprint("no version ", i), "v1.34.4-" + strings.Repeat("x", 500+i)}[i%3]
		node := &state.Snapshot.NodeUpgrades[4]
		node.Status.Versions.Staged = fmt.Sprintf("v1.33.%d", i)
		node.Status.Step = v1alpha1.Step(fmt.Sprint("Step", i))
		node.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionUpToDate, Status: metav1.ConditionFalse, Reason: fmt.Sprint("Reason", i)}}
		if i%2 == 0 {
			node.Status.Conditions[0].Reason = string(v1alpha1.ReasonDrainBlocked)
			node.Status.Conditions[0].Message = fmt.Sprintf("shop/web-0: The disruption budget web%d needs 2 healthy pods", i)
		}
		node.Status.Steps = []v1alpha1.StepTime{{Step: node.Status.Step, StartTime: microAt(0), EndTime: ptr.To(microAt(0))}}
		m.Planned(state, now)
		series, _ := scrape(t, m)
		for _, one := range series {
			name, _, _ := strings.Cut(one, " ")
			all[name] = true
		}
	}
	if most := len(usual) + 1000; len(all) > most {
		t.Errorf("a node brought about %d series in place of %d, want at most %d", len(all), len(usual), most)
	}
	state := stateOf(size)
	m.Planned(state, now)
	series, _ := scrape(t, m)
	for _, want := range []string{
		`kubectl_upgrade_node_info{kubelet="v1.34.4",node="worker-00001.nodes.example.com",`,
		`kubectl_upgrade_node_drain_blocked{budget="web",namespace="shop",node="worker-00000.nodes.example.com"} 1`,
	} {
		if !strings.Contains(strings.Join(series, "\n"), want) {
			t.Errorf("no %s", want)
		}
	}
}
