package plan_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
)

// An object that etcd refuses would keep the upgrade from ever ending.
func TestRecordKeepsWithinItsLimits(t *testing.T) {
	for _, row := range []struct {
		name           string
		letters, nodes int
		want           int // 0: fewer than nodes
	}{
		{"every node", 40, 4000, 4000},
		{"more than the API takes", 8, 6000, 0},
		{"the longest names", 253, 5000, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := plan.Decide(finishedFleet(row.nodes, row.letters), time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
			status := p.Statuses[0].Status
			if status.Outcome != v1alpha1.OutcomeSucceeded {
				t.Fatalf("it has not ended: %+v", status.Conditions)
			}
			text, err := json.Marshal(status)
			if err != nil {
				t.Fatal(err)
			}
			n := len(status.Record)
			if len(text) > 1200<<10 || n > 5000 || row.want > 0 && n != row.want || row.want == 0 && (n == 0 || n == row.nodes) {
				t.Errorf("%d of %d nodes in %d bytes", n, row.nodes, len(text))
			}
		})
	}
}

// finishedFleet is a cluster whose upgrade has just come to its end.
func finishedFleet(nodes, letters int) plan.Snapshot {
	at := metav1.NewMicroTime(time.Date(2026, 11, 21, 11, 0, 0, 0, time.UTC))
	back := metav1.NewMicroTime(at.Add(time.Hour))
	s := plan.Snapshot{APIServers: []plan.StaticPod{{Version: "v1.34.4", Ready: true}}}
	for i := range nodes {
		n := plan.Node{Name: fmt.Sprintf("n%05d%s", i, strings.Repeat("x", letters-6)), Kubelet: "v1.34.4", OS: "linux", Ready: true}
		s.Nodes = append(s.Nodes, n)
		word := v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}
		word.Status = v1alpha1.NodeUpgradeStatus{Upgrade: "u", Step: v1alpha1.StepIdle, FromVersion: "v1.34.3", Attempts: 1000, Steps: []v1alpha1.StepTime{
			{Step: v1alpha1.StepLocking, StartedAt: at, FinishedAt: &at}, {Step: v1alpha1.StepUnlocking, StartedAt: at, FinishedAt: &back},
		}}
		s.NodeUpgrades = append(s.NodeUpgrades, word)
	}
	u := v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "u"}, Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.34.4"}}
	u.Status.TriggeredAt = &metav1.Time{Time: at.Time}
	s.Upgrades = append(s.Upgrades, u)
	return s
}
