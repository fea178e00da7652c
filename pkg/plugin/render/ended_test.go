package render_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// wentOut returns a node that was cordoned for so long, and took two seconds more.
func wentOut(name string, out time.Duration) view.NodeProgress {
	at := func(d time.Duration) metav1.MicroTime { return metav1.NewMicroTime(now.Add(-time.Minute + d)) }
	end := func(d time.Duration) *metav1.MicroTime { t := at(d); return &t }
	return view.NodeProgress{Node: view.Node{Name: name, State: view.StateDone, Step: "Idle", Condition: "Ready", Steps: []v1alpha1.StepTime{
		{Step: v1alpha1.StepLocking, StartTime: at(0), EndTime: end(time.Second)},
		{Step: v1alpha1.StepCordoning, StartTime: at(time.Second), EndTime: end(2 * time.Second)},
		{Step: v1alpha1.StepUncordoning, StartTime: at(2 * time.Second), EndTime: end(out + time.Second)},
		{Step: v1alpha1.StepUnlocking, StartTime: at(out + time.Second), EndTime: end(out + 2*time.Second)},
	}}}
}

// fiveDone is an upgrade of five nodes that has succeeded.
func fiveDone() view.Progress {
	p := view.Progress{Expected: 30 * time.Minute, Unmeasured: true, Upgrade: view.Upgrade{
		Name: "v1.34.4", Type: "Patch", From: "v1.34.3", To: "v1.34.4", Outcome: v1alpha1.OutcomeSucceeded, Message: "all 5 nodes run v1.34.4", TriggerTime: ago(45 * time.Second), EndTime: ago(0),
	}}
	for i, name := range []string{"cp1", "w3", "w1", "w2", "w4"} {
		p.Nodes = append(p.Nodes, wentOut(name, time.Duration(8-i%2)*time.Second))
	}
	return p
}

// rolledBack is one whose first node was rolled back, with four others that have not begun.
func rolledBack() view.Progress {
	p := fiveDone()
	p.Expected, p.Newer = 0, "v1.34.6"
	p.Upgrade = view.Upgrade{Name: "v1.34.5", Type: "Patch", From: "v1.34.4", To: "v1.34.5", Stalled: true, Reason: v1alpha1.ReasonNodeFailed, Message: "node cp1 failed (RolledBack): no other node begins"}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		n.State, n.Step, n.Reason, n.Message = view.StateWaiting, "Waiting", v1alpha1.ReasonNodeFailed, p.Upgrade.Message
		if i > 0 {
			n.Steps = nil
		}
	}
	n := &p.Nodes[0]
	n.State, n.Step, n.Reason = view.StateFailed, v1alpha1.StepRolledBack, v1alpha1.ReasonRolledBack
	n.Message = "v1.34.5 did not become healthy, and the guard returned the node to v1.34.4: v1.34.5's kubelet is not healthy: connection refused"
	n.KubeletLog = "merged: kubernetes\nkubelet.service: failed (failed), result exit-code, status 1\nkubelet: this image is broken, as the one who published it wanted"
	return p
}

func TestEnded(t *testing.T) {
	o := render.Options{Now: now, Zone: time.UTC, Width: 80}
	golden(t, "ended-succeeded", render.Ended(fiveDone(), o))
	golden(t, "ended-stopped", render.Ended(rolledBack(), o))
	o.Width = 60
	golden(t, "ended-stopped-60", render.Ended(rolledBack(), o))
	many := fiveDone()
	for i := range 40 {
		many.Nodes = append(many.Nodes, wentOut(fmt.Sprintf("node-%02d.example.com", i), time.Duration(i)*time.Second))
	}
	o.Color = true
	golden(t, "ended-many-color", render.Ended(many, o))

	waits := rolledBack()
	waits.Upgrade.Reason, waits.Upgrade.Message = v1alpha1.ReasonPreflight, "etcd-member: it does not answer"
	waits.Nodes = waits.Nodes[1:]
	if text := render.Ended(waits, o); !strings.Contains(text, "STOPPED: Preflight: etcd-member") || !strings.HasSuffix(text, "kubectl upgrade status   \x1b[2m# what each node waits for\x1b[0m\n") {
		t.Errorf("without a failed node:\n%s", text)
	}
	waits.Upgrade.Outcome, waits.Upgrade.Message = v1alpha1.OutcomeSuperseded, "v1.34.6 took its place"
	if text := render.Ended(waits, o); !strings.Contains(text, "Superseded: v1.34.6 took its place") || !strings.Contains(text, "kubectl upgrade history v1.34.5 ") {
		t.Errorf("superseded:\n%s", text)
	}
}

// TestEndedFitsTheTerminal checks that no line but a command is wider than the terminal, and that commands are whole.
func TestEndedFitsTheTerminal(t *testing.T) {
	for width := 40; width <= 200; width++ {
		for _, p := range []view.Progress{fiveDone(), rolledBack()} {
			text := render.Ended(p, render.Options{Now: now, Zone: time.UTC, Width: width})
			for line := range strings.Lines(text) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width && !strings.HasPrefix(line, "kubectl ") {
					t.Errorf("%d columns, and a line has %d:\n%s", width, n, text)
				}
			}
		}
		if text := render.Ended(rolledBack(), render.Options{Now: now, Width: width}); !strings.Contains(text, "\nkubectl upgrade apply v1.34.6 --retry") {
			t.Errorf("%d columns:\n%s", width, text)
		}
	}
}

// TestNextCommands checks the commands after an upgrade whose node failed, which can be copied from the first column, and
// what each is for.
func TestNextCommands(t *testing.T) {
	for kind, want := range map[v1alpha1.UpgradeType]string{
		v1alpha1.TypePatch: "kubectl upgrade status cp1            # the steps, and what was found\n" +
			"kubectl upgrade apply v1.34.5 --retry # once it is repaired\n" +
			"kubectl upgrade apply v1.34.6 --retry # with another version\n",
		v1alpha1.TypeRollback:     "kubectl upgrade status cp1 # the steps; then the same rollback with --retry\n",
		v1alpha1.TypeReboot:       "kubectl upgrade status cp1 # the steps; then the same reboot with --retry\n",
		v1alpha1.TypeCertificates: "kubectl upgrade status cp1 # the steps; then the same renewal with --retry\n",
	} {
		p := rolledBack()
		p.Upgrade.Type = kind
		text := strings.Join(strings.Fields(render.Ended(p, render.Options{Now: now, Zone: time.UTC, Width: 100})), " ")
		if want := "Next: " + strings.Join(strings.Fields(want), " "); !strings.HasSuffix(text, want) {
			t.Errorf("after a %s:\n%s\nwant at the end\n%s", kind, text, want)
		}
	}
	p := rolledBack()
	p.Upgrade.Unblock = "kubectl upgrade unblock v1.34.5"
	text := render.Ended(p, render.Options{Now: now, Zone: time.UTC, Width: 100})
	if unblock := strings.Index(text, "\nkubectl upgrade unblock v1.34.5 "); unblock < 0 || unblock > strings.Index(text, "\nkubectl upgrade apply v1.34.5 --retry") {
		t.Errorf("of a blocked version:\n%s", text)
	}
}
