package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// Transitions returns a line with its time for each change from one status to the next:
// the log of an upgrade where there is no terminal to redraw. Another message alone is
// no change. Without a status before, everything is a change.
//
// The time of a step is the one that the node wrote, so a step that began and ended
// between the two is among them. Many nodes that begin to wait for the same thing share
// a line.
func Transitions(before *view.Status, after view.Status, now time.Time) []string {
	var changes []change
	if line := upgradeLine(after); before == nil || line != upgradeLine(*before) {
		changes = append(changes, change{now, line + upgradeWhy(after)})
	}
	if before == nil {
		before = &view.Status{}
	}
	for _, p := range after.Problems {
		if !slices.Contains(before.Problems, p) {
			changes = append(changes, change{now, fmt.Sprintf("problem: %s: %s", p.Reason, p.Message)})
		}
	}
	was := map[string]string{}
	for _, schedule := range before.Schedules {
		was[schedule.Name] = schedule.State
	}
	for _, schedule := range after.Schedules {
		if was[schedule.Name] != schedule.State {
			changes = append(changes, change{now, fmt.Sprintf("schedule %s: %s", schedule.Name, schedule.State)})
		}
	}
	changes = append(changes, nodeChanges(before.Nodes, after.Nodes, now)...)
	slices.SortStableFunc(changes, func(a, b change) int { return a.at.Compare(b.at) })
	lines := make([]string, len(changes))
	for i, c := range changes {
		lines[i] = c.at.UTC().Format(time.RFC3339) + " " + Options{}.paint(c.text, plain)
	}
	return lines
}

// change is one line, and its time.
type change struct {
	at   time.Time
	text string
}

func nodeChanges(before, after []view.Node, now time.Time) []change {
	var changes []change
	at := map[string]view.Node{}
	for _, node := range before {
		at[node.Name] = node
	}
	inService := map[string][]string{}
	for _, node := range after {
		old, known := at[node.Name]
		delete(at, node.Name)
		var earliest time.Time // a node's steps stay in their order, whatever its clock and ours say
		if known {
			steps := passed(old, node)
			changes = append(changes, steps...)
			if n := len(steps); n > 0 {
				earliest = steps[n-1].at
			}
		}
		if known && old.Step == node.Step && old.Reason == node.Reason {
			continue
		}
		if text := nodeText(node); node.State != view.StateActive && node.State != view.StateFailed {
			inService[text] = append(inService[text], node.Name)
		}
		began := now
		if known && old.Step != node.Step {
			began = nodeBegan(node, now)
		}
		if began.Before(earliest) {
			began = earliest
		}
		changes = append(changes, change{began, "node " + node.Name + ": " + nodeText(node)})
	}
	for _, text := range slices.Sorted(maps.Keys(inService)) {
		if names := inService[text]; len(names) > maxSingle {
			changes = merge(changes, text, names, now)
		}
	}
	for _, node := range before {
		if _, gone := at[node.Name]; gone {
			changes = append(changes, change{now, "node " + node.Name + ": is gone"})
		}
	}
	return changes
}

// began returns when the node's present step began: to the microsecond if it is among its
// steps, else to the second.
func nodeBegan(n view.Node, now time.Time) time.Time {
	if last := len(n.Steps) - 1; last >= 0 && n.Steps[last].Step == n.Step {
		return n.Steps[last].StartTime.Time
	}
	if n.Since != nil && n.Since.Before(now) {
		return *n.Since
	}
	return now
}

// maxSingle is how many nodes in the same state get a line each.
const maxSingle = 5

// merge replaces the lines of these nodes by one.
func merge(changes []change, text string, names []string, now time.Time) []change {
	old := map[string]bool{}
	for _, name := range names {
		old["node "+name+": "+text] = true
	}
	changes = slices.DeleteFunc(changes, func(c change) bool { return old[c.text] })
	return append(changes, change{now, "nodes " + view.Few(names) + ": " + text})
}

// passed returns the steps that a node went through between two statuses.
func passed(old, node view.Node) []change {
	var last time.Time
	if n := len(old.Steps); n > 0 {
		last = old.Steps[n-1].StartTime.Time
	}
	if len(node.Steps) == 0 || !last.Before(node.Steps[len(node.Steps)-1].StartTime.Time) {
		return nil
	}
	var changes []change
	for i, step := range node.Steps {
		current := i == len(node.Steps)-1 && step.Step == node.Step
		if step.StartTime.After(last) && !current && step.Step != v1alpha1.StepWaiting {
			changes = append(changes, change{step.StartTime.Time, "node " + node.Name + ": " + string(step.Step)})
		}
	}
	return changes
}

// upgradeLine returns the line about the active upgrade, or the last one.
func upgradeLine(s view.Status) string {
	switch {
	case s.Upgrade != nil && s.Upgrade.Outcome != "":
		return fmt.Sprintf("upgrade %s: %s, %s", s.Upgrade.Name, path(*s.Upgrade), s.Upgrade.Outcome)
	case s.Upgrade != nil:
		u := *s.Upgrade
		return strings.TrimRight(fmt.Sprintf("upgrade %s: %s, %s", u.Name, path(u), u.Reason), ", ")
	case s.Last != nil:
		return fmt.Sprintf("upgrade %s: %s, %s", s.Last.Name, path(*s.Last), s.Last.Outcome)
	}
	return "upgrade: none is active"
}

// upgradeWhy returns the sentence that follows the reason's code, if there is one.
func upgradeWhy(s view.Status) string {
	u := s.Upgrade
	if u == nil || u.Outcome != "" || u.Reason == "" || u.Reason == v1alpha1.ReasonReleased { // nodes at work have lines of their own
		return ""
	}
	return ": " + cmp.Or(u.Message, u.Reason.Info().Meaning)
}

// nodeText returns a node's step, and why it is there.
func nodeText(n view.Node) string {
	parts := []string{orDash(string(n.Step)), string(n.Reason), n.Message}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}
