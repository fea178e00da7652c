package render

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Transitions are what changed from one look to the next, a line each with the
// time: what `status -w` writes where there is no terminal to redraw. A change
// of a message alone is none. The first look has no before: all is told.
func Transitions(before *Status, after Status, now time.Time) []string {
	var changes []string
	if line := upgradeLine(after); before == nil || line != upgradeLine(*before) {
		changes = append(changes, line)
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
			changes = append(changes, fmt.Sprintf("schedule %s: %s", schedule.Name, schedule.State))
		}
	}
	at := map[string]Node{}
	for _, node := range before.Nodes {
		at[node.Name] = node
	}
	for _, node := range after.Nodes {
		old, known := at[node.Name]
		if !known || old.Step != node.Step || old.Reason != node.Reason {
			changes = append(changes, nodeLine(node))
		}
		delete(at, node.Name)
	}
	for _, node := range before.Nodes {
		if _, gone := at[node.Name]; gone {
			changes = append(changes, "node "+node.Name+": is gone")
		}
	}
	stamp := now.UTC().Format(time.RFC3339)
	for i, change := range changes {
		changes[i] = stamp + " " + change
	}
	return changes
}

func upgradeLine(s Status) string {
	switch {
	case s.Upgrade != nil:
		u := *s.Upgrade
		return strings.TrimRight(fmt.Sprintf("upgrade %s: %s, %s", u.Name, path(u), u.Reason), ", ")
	case s.Last != nil:
		return fmt.Sprintf("upgrade %s: %s, %s", s.Last.Name, path(*s.Last), s.Last.Outcome)
	}
	return "upgrade: none is active"
}

func nodeLine(n Node) string {
	parts := []string{"node " + n.Name, orDash(string(n.Step)), string(n.Reason), n.Message}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}
