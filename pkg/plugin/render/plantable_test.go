package render_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// oneFailed is a plan in which a node was rolled back, for which four others wait.
func oneFailed() plan.Plan {
	p := plan.Plan{Upgrade: "v1.34.5", Version: "v1.34.5", Nodes: []plan.NodePlan{{Name: "cp1", Group: "control-plane", From: "v1.34.4", To: "v1.34.5", Decision: plan.Blocked,
		Reason: v1alpha1.ReasonRolledBack, Message: "v1.34.5 did not become healthy, and the guard returned the node to v1.34.4: the kubelet is not healthy"}}}
	for _, name := range []string{"w3", "w1", "w2", "w4"} {
		p.Nodes = append(p.Nodes, plan.NodePlan{Name: name, From: "v1.34.4", To: "v1.34.5", Decision: plan.Wait, Reason: v1alpha1.ReasonNodeFailed, Message: "node cp1 failed (RolledBack): no other node begins"})
	}
	return p
}

// TestPlanSaysOnce checks that on a terminal nodes share a row that are told the same, and a reason that several rows have is
// below the table, with its number in the rows; and that without a terminal each node has its line.
func TestPlanSaysOnce(t *testing.T) {
	o := render.Options{Now: now, Zone: time.UTC, Width: 80}
	golden(t, "plan-once-80", render.Plan(oneFailed(), nil, o))
	says := &view.Upgrade{Name: "v1.34.5", Reason: v1alpha1.ReasonNodeFailed, Message: "node cp1 failed (RolledBack): " + oneFailed().Nodes[0].Message}
	if text := strings.Join(strings.Fields(render.Plan(oneFailed(), says, o)), " "); strings.Count(text, "the kubelet is not healthy") != 1 || !strings.Contains(text, "Blocked RolledBack") {
		t.Errorf("the cause is there more than once:\n%s", text)
	}
	apart := oneFailed()
	for i := range apart.Nodes[1:] {
		apart.Nodes[i+1].From = fmt.Sprintf("v1.34.%d", i%2+3)
	}
	golden(t, "plan-once-apart-80", render.Plan(apart, nil, o))
	many := oneFailed()
	for i := range 12 {
		one := many.Nodes[4]
		one.Name = fmt.Sprintf("worker-%02d", i)
		many.Nodes = append(many.Nodes, one)
	}
	o.Width = 60
	text := render.Plan(many, nil, o)
	for _, n := range many.Nodes {
		if !strings.Contains(text, n.Name) {
			t.Errorf("%s is not there:\n%s", n.Name, text)
		}
	}
	if !strings.Contains(text, "2-17   16 nodes ") || strings.Count(text, "no other node begins") != 1 {
		t.Errorf("got\n%s", text)
	}
	o.Rows, o.Width = 1, 80
	if text := render.Plan(oneFailed(), nil, o); !strings.Contains(text, "and more nodes, 4: 4 wait;") {
		t.Errorf("with one row:\n%s", text)
	}
	o.Rows, o.Width = 0, 0
	if text := render.Plan(oneFailed(), nil, o); strings.Count(text, "no other node begins") != 4 || strings.Contains(text, "[1]") {
		t.Errorf("without a terminal:\n%s", text)
	}
}

// TestPlanShowsPassAndZones checks that the pass of control planes is a row, and that zones are shown where nodes alternate.
func TestPlanShowsPassAndZones(t *testing.T) {
	p := plan.Plan{Upgrade: "v1.35.4", Version: "v1.35.4", Pass1: &plan.Pass{Nodes: []string{"cp1", "cp2"}, Start: now, End: now.Add(6 * time.Minute)}}
	for i, name := range []string{"cp1", "cp2", "w1", "w2", "w3"} {
		start, end := now.Add(time.Duration(6+4*i)*time.Minute), now.Add(time.Duration(10+4*i)*time.Minute)
		n := plan.NodePlan{Name: name, Zone: "eu-" + string(rune('a'+i%2)), From: "v1.34.4", To: "v1.35.4", Decision: plan.Wait, Reason: v1alpha1.ReasonControlPlaneFirst, Message: "control-plane nodes go first", PredictedStart: &start, PredictedEnd: &end}
		if i < 2 {
			n.Group = plan.ControlPlaneGroup
		}
		p.Nodes = append(p.Nodes, n)
	}
	o := render.Options{Now: now, Zone: time.UTC, Width: 140}
	golden(t, "plan-pass-140", render.Plan(p, nil, o))
	o.Width = 80
	golden(t, "plan-pass-80", render.Plan(p, nil, o))
	o.Shows = func(name string) bool { return name == "w1" }
	if text := render.Plan(p, nil, o); strings.Contains(text, "kubeadm") || !strings.Contains(text, "\n3   w1 ") {
		t.Errorf("with -l:\n%s", text)
	}
	o.Shows = nil
	for i := range p.Nodes {
		p.Nodes[i].Zone = "eu-a"
	}
	if text := render.Plan(p, nil, o); strings.Contains(text, "ZONE") || strings.Contains(text, "eu-a") {
		t.Errorf("with one zone:\n%s", text)
	}
}

// TestPlanDoesNotCountNodesThatSelectorsLeaveOut checks that nodes which are not part of the upgrade are not done, nor get its
// version.
func TestPlanDoesNotCountNodesThatSelectorsLeaveOut(t *testing.T) {
	p := plan.Plan{Upgrade: "v1.34.5", Version: "v1.34.5"}
	for i, reason := range []v1alpha1.Reason{v1alpha1.ReasonWindowClosed, v1alpha1.ReasonUpToDate, v1alpha1.ReasonUnmanaged, v1alpha1.ReasonUnmanaged, v1alpha1.ReasonNotSelected} {
		decision := plan.Done
		if i == 0 {
			decision = plan.Wait
		}
		p.Nodes = append(p.Nodes, plan.NodePlan{Name: fmt.Sprintf("w%d", i), From: "v1.34.4", To: "v1.34.5", Decision: decision, Reason: reason})
	}
	o := render.Options{Now: now, Zone: time.UTC}
	text := render.Plan(p, nil, o)
	for _, want := range []string{
		"\nNodes:      2: 1 wait, 1 done\n", "\nUnmanaged:  2, which the UpgradePolicy's nodeSelector does not match\n",
		"\n            and 1, which the upgrade's nodeSelector does not match\n",
		"\n2   w1     -       v1.34.4   v1.34.5   Done       UpToDate\n", "\n-   w3     -       v1.34.4   -         -          Unmanaged\n",
		"\n-   w4     -       v1.34.4   -         -          NotSelected\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if text, want := render.Plan(p, &view.Upgrade{NamesNodes: true}, o), "\n            and 1, which the upgrade does not name\n"; !strings.Contains(text, want) {
		t.Errorf("of a Reboot of named nodes: %q is not in\n%s", want, text)
	}
	o.Rows, o.Width = 1, 80
	if text := render.Plan(p, nil, o); !strings.Contains(text, "and more nodes, 4: 1 done, 3 not selected;") {
		t.Errorf("with one row:\n%s", text)
	}
	o.Rows = 0
	slices.Reverse(p.Nodes)
	for i := range p.Nodes {
		p.Nodes[i].Zone = fmt.Sprintf("eu-%d", i)
	}
	p.Nodes[3].Zone, p.Nodes[4].Zone = "eu-a", "eu-b"
	text = render.Plan(p, nil, o)
	for _, want := range []string{"\n1   w1      -       eu-a   v1.34.4 ", "\n2   w0      -       eu-b   v1.34.4 ", "\n-   w3 w2   -       -      v1.34.4   -         -          Unmanaged\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("in another order, with zones: %q is not in\n%s", want, text)
		}
	}
}

// TestPlanOfNothing checks that nodes of which no upgrade asks anything are idle, and neither done nor to go.
func TestPlanOfNothing(t *testing.T) {
	var p plan.Plan
	for i := range 3 {
		p.Nodes = append(p.Nodes, plan.NodePlan{Name: fmt.Sprintf("w%d", i), From: "v1.34.4", Decision: plan.Done, Reason: v1alpha1.ReasonNoUpgrade, Message: "no upgrade is requested"})
	}
	text := render.Plan(p, nil, render.Options{Now: now, Zone: time.UTC})
	if !strings.Contains(text, "\nNodes:      3: 3 idle\n") || !strings.Contains(text, "\n1   w0     -       v1.34.4   -    -          NoUpgrade: no upgrade is requested\n") {
		t.Errorf("got\n%s", text)
	}
}

// TestCommandsCanBeCopied checks that a command is one line of its own at the edge of a terminal, and not broken.
func TestCommandsCanBeCopied(t *testing.T) {
	const grant = "kubectl -n kubectl-upgrade create role coordinator-secret-s --verb=get --resource=secrets --resource-name=s && kubectl -n kubectl-upgrade create rolebinding x"
	const role = `echo '{"kind": "ClusterRole", "rules": [{"apiGroups": ["a"]}]}' | kubectl apply -f -`
	findings := []v1alpha1.Finding{
		{ID: "gate-rights", Level: v1alpha1.LevelWarn, Message: "Gate g needs Secret kubectl-upgrade/s.", Advice: "With Helm, add it to the value secrets; otherwise: " + grant},
		{ID: "gate-rights", Level: v1alpha1.LevelWarn, Message: "Gate h needs Widget.", Advice: role},
		{ID: "facts-missing", Level: v1alpha1.LevelBlock, Message: "No agent.", Advice: "Look at the agent: kubectl -n kubectl-upgrade get pods, and its log."},
	}
	o := render.Options{Now: now, Zone: time.UTC, Width: 80}
	golden(t, "findings-commands-80", render.Findings(findings, o))
	o.Width = 0
	if text := render.Findings(findings, o); strings.Count(text, "\n") != 4 {
		t.Errorf("without a terminal:\n%s", text)
	}
	s := view.Status{Nodes: []view.Node{{Name: "w1", State: view.StateWaiting, Step: "Waiting", Reason: v1alpha1.ReasonNodeNotBack,
		Message: "node w2 has been NotReady since 2026-11-22 01:00 UTC; if it never comes back: `kubectl upgrade abandon w2`"}}}
	for width := 50; width < 120; width++ {
		if text := render.Screen(s, render.Options{Now: now, Zone: time.UTC, Width: width}); !strings.Contains(text, "`kubectl upgrade abandon w2`") {
			t.Errorf("%d columns:\n%s", width, text)
		}
	}
}
