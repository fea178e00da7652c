package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// Screen draws the cluster on one screen.
func Screen(s view.Status, o Options) string {
	rows := policyRows(s.Policy, o)
	for i, schedule := range s.Schedules {
		title := ""
		if i == 0 {
			title = "Schedules:"
		}
		rows = append(rows, titled(title, scheduleLine(schedule, o)))
	}
	if len(s.Schedules) == 0 {
		rows = append(rows, titled("Schedules:", cell{"none, so no window ever opens: see `kubectl explain maintenanceschedule.spec`", plain}))
	}
	rows = append(rows, titled("Nodes:", cell{count(s), plain}))
	if len(s.APIServers) > 0 {
		rows = append(rows, titled("Apiserver:", cell{strings.Join(s.APIServers, ", ") + ", which no kubelet runs", plain}))
	}
	shown := slices.DeleteFunc(slices.Clone(s.Nodes), func(n view.Node) bool { return o.Shows != nil && !o.Shows(n.Name) })
	rows = append(rows, o.shownRows(len(shown), len(s.Nodes))...)
	head := slices.Concat(o.clusterRows(), problemRows(s.Problems, o), takenBack(s, o), headline(s, o))
	text := o.titles(head) + o.approvals(s.Approvals) + o.titles(append(rows, heldRows(s)...))
	if len(shown) > 0 {
		text += "\n" + nodeTable(shown, s.Upgrade, o)
	}
	return text
}

// problemRows returns the lines about programs that do not run.
func problemRows(problems []view.Problem, o Options) [][2]cell {
	var rows [][2]cell
	for _, p := range problems {
		rows = append(rows, titled("Problem:", cell{o.why(p.Reason, p.Message, nil), red}))
	}
	return rows
}

// titleWidth is how much of a line its title takes.
const titleWidth = 12

// titles draws lines, each with its title in front.
func (o Options) titles(rows [][2]cell) string {
	var b strings.Builder
	for _, row := range rows {
		o.hang(&b, fmt.Sprintf("%-*s", titleWidth, row[0].text), titleWidth, row[1])
	}
	return b.String()
}

func titled(title string, text cell) [2]cell { return [2]cell{{text: title}, text} }

// takenBack returns the lines about versions that were taken back, or are blocked.
func takenBack(s view.Status, o Options) [][2]cell {
	if s.Policy == nil {
		return nil
	}
	return append(takenBackRows(s.Policy.TakenBack, o), blockedRows(s.Policy.Blocked)...)
}

// headline returns the lines about the active upgrade, or the last one.
func headline(s view.Status, o Options) [][2]cell {
	if s.Upgrade == nil {
		rows := [][2]cell{titled("Upgrade:", cell{"none is active", plain})}
		if s.Last != nil {
			rows = append(rows, titled("Last:", cell{ended(*s.Last, o), outcomeColor(*s.Last)}))
		}
		return slices.Concat(rows, availableRows(s.Available), nextRows(s))
	}
	u := *s.Upgrade
	text := u.Name + ", " + path(u)
	if u.Progress != "" {
		text += ", " + u.Progress + " nodes done"
	}
	if u.TriggerTime != nil {
		text += ", for " + o.age(u.TriggerTime)
	}
	if u.RequestedBy != "" {
		text += ", requested by " + u.RequestedBy
	}
	for _, line := range peopleLines(u.People) {
		text += ", " + line
	}
	rows := append([][2]cell{titled("Upgrade:", cell{text, bold})}, requestRows(u.Comment)...)
	if why := o.why(u.Reason, u.Message, nil); why != "" {
		rows = append(rows, titled("", cell{why, upgradeColor(u)}))
	}
	if s.PredictedEnd != nil {
		rows = append(rows, titled("Expected:", cell{"done " + o.predicted(*s.PredictedEnd, s.PredictedFrom), plain}))
	}
	rows = append(rows, nextRows(s)...)
	rows = append(rows, ignoredRows(u.IgnoreChecks, u.IgnoreGates)...)
	if s.Policy != nil {
		rows = append(rows, gateRows(s.Policy.Gates, o)...)
	}
	if len(s.Queued) > 0 {
		rows = append(rows, titled("Queued:", cell{strings.Join(s.Queued, ", "), plain}))
	}
	return rows
}

// availableRows returns the line about the newest patch that could be applied. Nil: there is none.
func availableRows(version string) [][2]cell {
	if version == "" {
		return nil
	}
	return [][2]cell{titled("Available:", cell{fmt.Sprintf("%s: `kubectl upgrade plan %s`", version, version), plain})}
}

// nextRows returns the line with the commands after a failure. Nil: nothing failed.
func nextRows(s view.Status) [][2]cell {
	next := s.AfterFailure()
	if next == "" {
		return nil
	}
	return [][2]cell{titled("Next:", cell{next, plain})}
}

// path returns from where to where an upgrade goes, such as "Patch v1.34.3 -> v1.34.4".
func path(u view.Upgrade) string {
	switch {
	case u.To == "":
		return string(u.Type)
	case u.From == "" || u.From == u.To:
		return strings.TrimSpace(string(u.Type) + " to " + u.To)
	}
	return fmt.Sprintf("%s %s -> %s", u.Type, u.From, u.To)
}

func ended(u view.Upgrade, o Options) string {
	text := fmt.Sprintf("%s, %s: %s", u.Name, path(u), u.Outcome)
	if u.EndTime != nil {
		text += " " + o.age(u.EndTime) + " ago"
	}
	if u.Outcome != "Succeeded" {
		text = strings.TrimSuffix(text+"; "+o.why(u.Reason, u.Message, nil), "; ")
	}
	return text
}

func outcomeColor(u view.Upgrade) color {
	if u.Outcome == "Succeeded" {
		return plain
	}
	return red
}

func upgradeColor(u view.Upgrade) color {
	if u.Stalled {
		return red
	}
	return plain
}

func scheduleLine(s view.Schedule, o Options) cell {
	text := s.Name + ": " + s.State
	if s.Until != nil && s.Until.After(o.Now) {
		text += " until " + o.when(*s.Until)
	}
	if s.Message != "" {
		text += "; " + o.said(s.Message)
	}
	return cell{text, map[string]color{"Open": green, "Invalid": red}[s.State]}
}

// count counts the nodes, such as "3: 1 done, 2 waiting". A node of which no upgrade asks anything has done nothing: it is
// idle.
func count(s view.Status) string {
	if len(s.Nodes) == 0 && len(s.Unmanaged) > 0 {
		return "none matches the UpgradePolicy's nodeSelector"
	}
	if len(s.Nodes) == 0 {
		return "none: no agent has reported; see `kubectl -n kubectl-upgrade get pods`"
	}
	numbers, idle := map[view.State]int{}, 0
	for _, node := range s.Nodes {
		if node.State == view.StateDone && (s.Upgrade == nil || node.Reason == v1alpha1.ReasonNoUpgrade) {
			idle++
			continue
		}
		numbers[node.State]++
	}
	states := byState(numbers)
	if idle > 0 {
		states = strings.TrimPrefix(fmt.Sprintf("%s, %d idle", states, idle), ", ")
	}
	return fmt.Sprintf("%d: %s", len(s.Nodes), states)
}

// byState returns the numbers, such as "1 done, 2 waiting".
func byState(numbers map[view.State]int) string {
	var parts []string
	for _, state := range []view.State{view.StateDone, view.StateActive, view.StateWaiting, view.StateFailed, view.StateUnsupported, view.StateUnknown} {
		if n := numbers[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, strings.ToLower(string(state))))
		}
	}
	return strings.Join(parts, ", ")
}
