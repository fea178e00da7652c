package render_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

func TestPlan(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	closes, retries := ago(-210*time.Minute), ago(-20*time.Minute)
	nodes := []plan.NodePlan{
		{Name: "cp-1", Group: "control-plane", From: "v1.34.4", To: "v1.34.4", Decision: plan.Done, Reason: v1alpha1.ReasonUpToDate, Message: "runs v1.34.4"},
		{Name: "worker-1", Group: "first", From: "v1.34.3", To: "v1.34.4", Decision: plan.Go, Reason: v1alpha1.ReasonReleased, Message: "the coordinator let it go"},
		{Name: "worker-2", From: "v1.34.3", To: "v1.34.4", Decision: plan.Wait, Reason: v1alpha1.ReasonNotItsTurn, Message: "group first goes first", Until: closes},
		{Name: "worker-3", To: "v1.34.4", Decision: plan.Blocked, Reason: v1alpha1.ReasonUnsupported, Message: "Kubernetes does not come to this node as a sysext image"},
	}
	nodes[1].PredictedStart, nodes[1].PredictedEnd = ago(0), ago(-9*time.Minute)
	nodes[2].PredictedStart, nodes[2].PredictedEnd = ago(-9*time.Minute), ago(-18*time.Minute)
	p := plan.Plan{PredictedStart: ago(0), PredictedEnd: ago(-18 * time.Minute), Upgrade: "patch-v1.34.4", Version: "v1.34.4", Nodes: nodes, Next: retries}
	u := &view.Upgrade{Name: "patch-v1.34.4", Type: "Patch", From: "v1.34.3", To: "v1.34.4", Reason: v1alpha1.ReasonReleased, Message: "node worker-1 is at work"}
	o := render.Options{Now: now, Zone: berlin}
	golden(t, "plan", render.Plan(p, u, o))
	p.PredictedEnd = nil
	o.Width = 100
	golden(t, "plan-100", render.Plan(p, u, o))
	o.Width = 60
	golden(t, "plan-60", render.Plan(p, u, o))
	o.Rows = 2
	golden(t, "plan-few", render.Plan(p, u, o))
	o.Width, o.Color, o.Rows = 0, true, 0
	golden(t, "plan-color", render.Plan(p, u, o))
	o.Color = false
	create := &v1alpha1.ClusterUpgrade{Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.34.4"}}
	create.Name, create.Spec.StartTime = "v1.34.4", &metav1.Time{Time: now.Add(24 * time.Hour)}
	golden(t, "plan-create", render.Plan(plan.Plan{Create: create, Upgrade: "v1.34.3", Version: "v1.34.3", Nodes: nodes[:1]}, nil, o))
	var held plan.Plan
	held.AutomaticHold.Reason, held.AutomaticHold.Message, held.AutomaticHold.Until = v1alpha1.ReasonAutomaticInterval, "the next automatic Patch may start 2026-11-29 12:00 UTC", ago(-24*time.Hour)
	golden(t, "plan-held", render.Plan(held, nil, o))
	golden(t, "plan-none", render.Plan(plan.Plan{}, nil, o))
}

// TestPlanOfRollback checks that the first lines say what is taken back, and what follows.
func TestPlanOfRollback(t *testing.T) {
	node := func(name, from string) plan.NodePlan {
		return plan.NodePlan{Name: name, From: from, To: "v1.34.3", Decision: plan.Wait, Reason: v1alpha1.ReasonNotStaged, Message: "the image of v1.34.3 is not staged yet"}
	}
	p := plan.Plan{Upgrade: "rollback-v1.34.3", Version: "v1.34.3", Nodes: []plan.NodePlan{node("worker-1", "v1.34.4"), node("worker-2", "v1.34.4")}}
	for version, by := range map[string]string{"v1.34.4": "rollback-v1.34.3", "v1.34.5": "rollback-v1.34.4", "v1.33.9": "rollback-v1.33.8"} {
		one := v1alpha1.TakenBackVersion{Version: version, Time: metav1.NewTime(now.Add(-26 * time.Hour)), Comment: "slow"}
		one.Upgrade.Name = by
		p.TakenBack = append(p.TakenBack, one)
	}
	u := &view.Upgrade{Name: "rollback-v1.34.3", Type: "Rollback", From: "v1.34.4", To: "v1.34.3", Comment: "volumes do not mount", Rollback: &view.Rollback{
		APIServers: []string{"v1.34.4"}, Ends: []string{"v1.34.6"}, Blocks: []string{"v1.34.4", "v1.34.6"}, Holds: []string{"worker-1", "worker-2"},
	}}
	o := render.Options{Now: now, Zone: time.UTC, Width: 100}
	golden(t, "plan-rollback", render.Plan(p, u, o))
	o.Width, o.Color = 0, true
	golden(t, "plan-rollback-color", render.Plan(p, u, o))
	u.Rollback = &view.Rollback{}
	if text := render.Plan(p, u, o); !strings.Contains(text, "stay at their version") || strings.Contains(text, "Holds:") {
		t.Errorf("nothing is known, and it says:\n%s", text)
	}
}

// TestScreenAfterRollback checks that the first line says what was taken back, and the history why.
func TestScreenAfterRollback(t *testing.T) {
	s := view.Status{
		Policy: &view.Policy{Mode: v1alpha1.ModeManage, TakenBack: view.NewTakenBack([]v1alpha1.TakenBackVersion{
			{Version: "v1.34.4", Upgrade: v1alpha1.UpgradeReference{Name: "rollback-v1.34.3"}, Time: metav1.NewTime(now.Add(-26 * time.Hour)), Comment: "volumes do not mount"},
		}, []string{"v1.34.3"})},
		Nodes: []view.Node{{Name: "worker-1", Kubelet: "v1.34.3", State: view.StateDone, OnHold: true}},
	}
	o := render.Options{Now: now, Zone: time.UTC, Width: 100}
	golden(t, "screen-rollback", render.Screen(s, o))
	e := view.Ended{Name: "rollback-v1.34.3", Type: "Rollback", From: "v1.34.4", To: "v1.34.3", Outcome: "Succeeded", RequestedBy: "alice", Comment: "volumes do not mount"}
	golden(t, "history-rollback", render.HistoryPage(e, o))
}

// TestReasonOfAllNodesIsShownOnce checks that a sentence above a table is not repeated in it.
func TestReasonOfAllNodesIsShownOnce(t *testing.T) {
	const message = "reading https://images.example/SHA256SUMS: no such host"
	waits := func(name string) plan.NodePlan {
		return plan.NodePlan{Name: name, To: "v1.34.4", Decision: plan.Wait, Reason: v1alpha1.ReasonSourceUnavailable, Message: message}
	}
	u := &view.Upgrade{Name: "patch", Type: "Patch", Reason: v1alpha1.ReasonSourceUnavailable, Message: message}
	p := plan.Plan{Upgrade: "patch", Version: "v1.34.4", Nodes: []plan.NodePlan{waits("w1"), waits("w2")}}
	var nodes []view.Node
	for _, name := range []string{"w1", "w2"} {
		nodes = append(nodes, view.Node{Name: name, State: view.StateWaiting, Reason: v1alpha1.ReasonSourceUnavailable, Message: message})
	}
	o := render.Options{Now: now, Zone: time.UTC}
	for name, text := range map[string]string{
		"plan":   render.Plan(p, u, o),
		"status": render.Screen(view.Status{Upgrade: u, Nodes: nodes}, o),
	} {
		if strings.Count(text, message) != 1 || strings.Count(text, string(v1alpha1.ReasonSourceUnavailable)) != 3 {
			t.Errorf("%s shows the message more than once, or a row without its reason:\n%s", name, text)
		}
	}
}
