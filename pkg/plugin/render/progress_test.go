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

// minor returns a minor in the middle: one node is done, one works, one aborted, the others wait.
func minor() view.Progress {
	steps := func(began time.Duration, names ...v1alpha1.Step) (list []v1alpha1.StepTime) {
		for i, name := range names {
			at := metav1.NewMicroTime(now.Add(-began + time.Duration(i)*time.Minute))
			if i > 0 {
				list[i-1].EndTime = &at
			}
			list = append(list, v1alpha1.StepTime{Step: name, StartTime: at})
		}
		return list
	}
	done := steps(40*time.Minute, "Locking", "Kubeadm", "Unlocking", "Waiting", "Locking", "Rebooting", "Unlocking")
	done[len(done)-1].EndTime = &metav1.MicroTime{Time: now.Add(-33 * time.Minute)}
	long := "ip-10-0-12-1.eu-central-1.compute.internal"
	return view.Progress{
		Upgrade:      view.Upgrade{Name: "v1.35.4", Type: "Minor", From: "v1.34.4", To: "v1.35.4", TriggerTime: ago(42 * time.Minute), Reason: "Released", Message: "node " + long + " is at work"},
		PredictedEnd: ago(-33 * time.Minute),
		Nodes: []view.NodeProgress{
			{Passes: 2, PassesDone: 1, Node: view.Node{Name: "cp-1", State: view.StateDone, Step: "Idle", Reason: "UpToDate", Message: "the node runs v1.35.4", Steps: done}},
			{Node: view.Node{Name: long, State: view.StateActive, Step: "Draining", Since: ago(95 * time.Second), Reason: "DrainBlocked",
				Message: "PodDisruptionBudget web/web allows no eviction of pod web/web-7c9f-abcde", Steps: steps(125*time.Second, "Locking", "Cordoning", "Draining")}},
			{Node: view.Node{Name: "worker-2", State: view.StateActive, Step: "Settling", Since: ago(time.Minute), Reason: "Released", Message: "Ready; settling", Until: ago(-time.Minute), Steps: steps(9*time.Minute, "Locking", "Settling")}},
			{Node: view.Node{Name: "worker-3", State: view.StateWaiting, Step: "Waiting", Reason: "DrainTimeout", Message: "pod db/db-0 did not leave within 15m0s", RetryTime: ago(-4 * time.Minute)}},
			{PredictedStart: ago(-12 * time.Minute), Node: view.Node{Name: "worker-4", State: view.StateWaiting, Step: "Waiting", Reason: "NotItsTurn", Message: "other nodes are before it (at most 2 at once)"}},
			{PredictedStart: ago(-30 * time.Hour), Node: view.Node{Name: "worker-5", State: view.StateWaiting, Step: "Staging", Reason: "Staging", Message: "the image is being downloaded and checked"}},
			{Node: view.Node{Name: "worker-6", State: view.StateUnknown, Message: "no agent has reported from this node"}},
		},
	}
}

// largeCluster returns a large cluster, with the interesting nodes in the middle.
func largeCluster(n int) view.Progress {
	p := minor()
	p.Nodes = nil
	for i := range n {
		node := view.Node{Name: fmt.Sprintf("worker-%03d", i), State: view.StateWaiting, Step: "Waiting", Reason: "NotItsTurn", Message: "other nodes are before it"}
		switch {
		case i < n/2:
			node.State, node.Step, node.Reason, node.Message = view.StateDone, "Idle", "UpToDate", ""
		case i == n/2:
			node.State, node.Step, node.Reason, node.Message = view.StateActive, "Rebooting", "Released", ""
		case i == n-3:
			node.State, node.Step, node.Reason, node.Message = view.StateFailed, "Failed", "RebootFailed", "the reboot did not happen"
		}
		p.Nodes = append(p.Nodes, view.NodeProgress{Node: node})
	}
	return p
}

func TestFollow(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	o := render.Options{Now: now, Zone: berlin}
	at := func(width int) render.Options { o := o; o.Width = width; return o }
	colored := at(100)
	colored.Color = true
	ended := minor()
	ended.Upgrade.Outcome, ended.Upgrade.Reason, ended.Upgrade.Message, ended.Upgrade.EndTime = "Succeeded", "UpToDate", "all 7 nodes run v1.35.4", ago(0)
	ended.Nodes, ended.PredictedEnd = ended.Nodes[:1], nil
	young := view.Progress{Upgrade: view.Upgrade{Name: "v1.35.4", To: "v1.35.4"}, Nodes: minor().Nodes[6:]}
	for name, got := range map[string]string{
		"follow":       render.Follow(minor(), 0, o),
		"follow-140":   render.Follow(minor(), 40, at(140)),
		"follow-100":   render.Follow(minor(), 40, at(100)),
		"follow-50":    render.Follow(minor(), 40, at(50)),
		"follow-color": render.Follow(minor(), 40, colored),
		"follow-fleet": render.Follow(largeCluster(500), 16, at(100)),
		"follow-ended": render.Follow(ended, 40, at(100)),
		"follow-young": render.Follow(young, 40, at(100)),
	} {
		golden(t, name, got)
	}
}

// TestFollowSaysOnce checks that what holds the whole upgrade is told above the nodes, and not again for each.
func TestFollowSaysOnce(t *testing.T) {
	p := view.Progress{Upgrade: view.Upgrade{Name: "v1.34.5", To: "v1.34.5", Reason: v1alpha1.ReasonSuspended, Message: "upgrade v1.34.5 is suspended"}}
	for _, name := range []string{"w1", "w2"} {
		p.Nodes = append(p.Nodes, view.NodeProgress{Node: view.Node{Name: name, State: view.StateWaiting, Step: v1alpha1.StepWaiting, Reason: p.Upgrade.Reason, Message: p.Upgrade.Message}})
	}
	text := render.Follow(p, 0, render.Options{Now: now, Zone: time.UTC, Width: 100})
	if strings.Count(text, "upgrade v1.34.5 is suspended") != 1 || strings.Count(text, "   Suspended\n") != 2 {
		t.Errorf("got\n%s", text)
	}
}

// TestFollowFitsTheTerminal checks that no line is wider than the terminal.
func TestFollowFitsTheTerminal(t *testing.T) {
	for width := 40; width <= 200; width++ {
		for _, p := range []view.Progress{minor(), largeCluster(500)} {
			o := render.Options{Now: now, Zone: time.UTC, Width: width}
			got := strings.TrimRight(render.Follow(p, 24, o), "\n")
			lines := strings.Split(got, "\n")
			if len(lines) > 24 {
				t.Errorf("%d lines on a terminal of 24 by %d:\n%s", len(lines), width, got)
			}
			for _, line := range lines {
				if utf8.RuneCountInString(line) > width && len(strings.Fields(line)) > 1 {
					t.Errorf("%d columns: %q", width, line)
				}
			}
			if !strings.Contains(got, "more: ") && len(p.Nodes) > 24 {
				t.Errorf("%d columns: the number of nodes that are not shown is missing:\n%s", width, got)
			}
			for _, must := range p.Nodes {
				if must.State == view.StateFailed || must.State == view.StateActive {
					if width >= 60 && !strings.Contains(got, must.Name[:8]) {
						t.Errorf("%d columns: %s is not there:\n%s", width, must.Name, got)
					}
				}
			}
		}
	}
}

// TestBarGrows checks that the bar of a node never gets shorter.
func TestBarGrows(t *testing.T) {
	way := []view.NodeProgress{}
	add := func(state view.State, release v1alpha1.Release, passesDone int, steps ...v1alpha1.Step) {
		for _, step := range steps {
			way = append(way, view.NodeProgress{Passes: 2, PassesDone: passesDone, Node: view.Node{Name: "n", State: state, Step: step, Release: release}})
		}
	}
	add(view.StateWaiting, "None", 0, "Idle", "Staging", "Waiting")
	add(view.StateActive, "ControlPlane", 0, "Locking", "Snapshotting", "Kubeadm", "Checking", "Unlocking")
	add(view.StateWaiting, "None", 1, "Waiting")
	add(view.StateActive, "Node", 1, "Locking", "Kubeadm", "Cordoning", "Draining", "LastCheck", "Activating", "Rebooting", "Verifying", "Settling", "Uncordoning", "Observing", "Unlocking")
	add(view.StateDone, "None", 1, "Idle")
	before := -1
	for _, n := range way {
		line := strings.Split(render.Follow(view.Progress{Nodes: []view.NodeProgress{n}}, 0, render.Options{Now: now, Zone: time.UTC}), "\n")
		long := strings.Count(line[2], "#")
		if long < before {
			t.Errorf("%s %s: the bar is shorter than before", n.State, n.Step)
		}
		before = long
	}
	if before != 40 {
		t.Errorf("at the end %d of 40", before)
	}
}
