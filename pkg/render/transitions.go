package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Transitions are what changed from one look to the next, a line each with the
// time: what is written of an upgrade where there is no terminal to redraw. A
// change of a message alone is none. The first look has no before: all is told.
//
// A step's time is the one that the node itself wrote down, so a step that came
// and went between two looks is told too. Many nodes that begin to wait for the
// same thing share a line.
func Transitions(before *Status, after Status, now time.Time) []string {
	var changes []change
	if line := upgradeLine(after); before == nil || line != upgradeLine(*before) {
		changes = append(changes, change{now, line})
	}
	if before == nil {
		before = &Status{}
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

// change is one line, and when it came to be.
type change struct {
	at   time.Time
	text string
}

func nodeChanges(before, after []Node, now time.Time) []change {
	var changes []change
	at := map[string]Node{}
	for _, node := range before {
		at[node.Name] = node
	}
	resting := map[string][]string{}
	for _, node := range after {
		old, known := at[node.Name]
		delete(at, node.Name)
		var earliest time.Time // a node's steps stand in their order, whatever its clock and ours say
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
		if tale := nodeTale(node); node.State != StateActive && node.State != StateFailed {
			resting[tale] = append(resting[tale], node.Name)
		}
		began := now
		if known && old.Step != node.Step {
			began = node.began(now)
		}
		if began.Before(earliest) {
			began = earliest
		}
		changes = append(changes, change{began, "node " + node.Name + ": " + nodeTale(node)})
	}
	for _, tale := range slices.Sorted(maps.Keys(resting)) {
		if names := resting[tale]; len(names) > oneByOne {
			changes = together(changes, tale, names, now)
		}
	}
	for _, node := range before {
		if _, gone := at[node.Name]; gone {
			changes = append(changes, change{now, "node " + node.Name + ": is gone"})
		}
	}
	return changes
}

// began is when the node's present step did: among its steps to the microsecond,
// and else to the second.
func (n Node) began(now time.Time) time.Time {
	if last := len(n.Steps) - 1; last >= 0 && n.Steps[last].Step == n.Step {
		return n.Steps[last].StartTime.Time
	}
	if n.Since != nil && n.Since.Before(now) {
		return *n.Since
	}
	return now
}

// oneByOne is how many nodes that rest alike get a line each.
const oneByOne = 5

// together makes one line of many.
func together(changes []change, tale string, names []string, now time.Time) []change {
	old := map[string]bool{}
	for _, name := range names {
		old["node "+name+": "+tale] = true
	}
	changes = slices.DeleteFunc(changes, func(c change) bool { return old[c.text] })
	return append(changes, change{now, "nodes " + few(names) + ": " + tale})
}

// passed are the steps that a node went through between two looks.
func passed(old, node Node) []change {
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

func upgradeLine(s Status) string {
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

// nodeTale is a node's step, and why.
func nodeTale(n Node) string {
	parts := []string{orDash(string(n.Step)), string(n.Reason), n.Message}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}
