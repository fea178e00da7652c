package render

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// Plan draws what would happen now. upgrade is the one that the plan is for, as
// it will report itself; nil where it is for none, or for one that is over.
// o.Now is the instant that was planned for.
func Plan(p plan.Plan, upgrade *view.Upgrade, o Options) string {
	var b strings.Builder
	rows, nodes := planRows(p, upgrade, o)
	b.WriteString(o.titles(append(planHead(p, upgrade, o), o.shownRows(nodes, len(p.Nodes))...)))
	if len(p.Findings) > 0 {
		b.WriteString("\n" + Findings(p.Findings, o))
	}
	shown := rows
	if o.Rows > 0 && len(rows) > o.Rows {
		shown = rows[:o.Rows]
	}
	if len(shown) > 0 {
		b.WriteString("\n" + planTable(p, shown, o))
	}
	if len(shown) < len(rows) {
		var rest []plan.NodePlan // where there is no room, every node is shown
		for _, r := range rows[len(shown):] {
			rest = append(rest, r.nodes...)
		}
		o.hang(&b, "", 0, cell{fmt.Sprintf("and more nodes, %s; `kubectl upgrade plan %s` shows all", decisions(rest), p.Version), plain})
	}
	return b.String()
}

// planHead returns the lines above the table.
func planHead(p plan.Plan, upgrade *view.Upgrade, o Options) [][2]cell {
	rows := append(o.clusterRows(), takenBackRows(takenBefore(p), o)...)
	switch {
	case upgrade != nil:
		rows = append(rows, titled("Upgrade:", cell{upgrade.Name + ", " + path(*upgrade), bold}))
		rows = append(rows, requestRows(upgrade.Comment)...)
		rows = append(rows, rollbackRows(upgrade.Rollback)...)
		if why := o.why(upgrade.Reason, upgrade.Message, nil); why != "" {
			rows = append(rows, titled("", cell{why, upgradeColor(*upgrade)}))
		}
	case p.Upgrade != "":
		rows = append(rows, titled("Upgrade:", cell{fmt.Sprintf("none is active; new nodes follow %s", p.Upgrade), plain}))
	default:
		rows = append(rows, titled("Upgrade:", cell{"none is active", plain}))
	}
	rows = append(rows, availableRows(o.Available)...)
	if p.Create != nil {
		rows = append(rows, titled("Creates:", cell{creates(p.Create, o), cyan}))
	}
	if p.AutomaticHold.Holds() {
		rows = append(rows, titled("Creates:", cell{"nothing automatic: " + o.why(p.AutomaticHold.Reason, p.AutomaticHold.Message, p.AutomaticHold.Until), plain}))
	}
	rows = append(rows, gateRows(p.Gates, o)...)
	rows = append(rows, titled("As of:", cell{o.when(o.Now), plain}))
	if p.Next != nil {
		rows = append(rows, titled("Valid:", cell{"until " + o.when(*p.Next) + ", unless the cluster changes earlier", plain}))
	}
	switch {
	case p.PredictedStart != nil && p.PredictedEnd != nil:
		rows = append(rows, titled("Expected:", cell{fmt.Sprintf("begins %s, done %s", o.minute(p.PredictedStart), o.predicted(*p.PredictedEnd, p.PredictedFrom)), plain}))
	case p.PredictedStart != nil:
		rows = append(rows, titled("Expected:", cell{fmt.Sprintf("from %s; the end cannot be predicted", o.when(*p.PredictedStart)), plain}))
	}
	switch {
	case o.Unchecked != "":
		rows = append(rows, titled("Preflight:", cell{"not checked: " + o.Unchecked, yellow}))
	case len(p.Findings) > 0:
		rows = append(rows, titled("Preflight:", cell{CountFindings(p.Findings), findingsColor(p.Findings)}))
	case upgrade != nil && p.PreflightKey != "":
		rows = append(rows, titled("Preflight:", cell{"no findings", green}))
	}
	return append(rows, nodeRows(p.Nodes, upgrade)...)
}

// nodeRows returns the lines with the number of nodes, without those that are not part of the upgrade.
func nodeRows(nodes []plan.NodePlan, upgrade *view.Upgrade) [][2]cell {
	rows := [][2]cell{titled("Nodes:", cell{decisions(slices.DeleteFunc(slices.Clone(nodes), isLeftOut)), plain})}
	numbers := map[v1alpha1.Reason]int{}
	for _, n := range nodes {
		if isLeftOut(n) {
			numbers[n.Reason]++
		}
	}
	if n := numbers[v1alpha1.ReasonUnmanaged]; n > 0 {
		rows = append(rows, unmanagedRow(n))
	}
	if n := numbers[v1alpha1.ReasonNotSelected]; n > 0 {
		why := "which the upgrade's nodeSelector does not match"
		switch {
		case upgrade == nil:
		case upgrade.Type == v1alpha1.TypeCertificates:
			why = "of which no certificates are renewed"
		case upgrade.NamesNodes:
			why = "which the upgrade does not name"
		}
		rows = append(rows, titled("", cell{fmt.Sprintf("and %d, %s", n, why), plain}))
	}
	return rows
}

func unmanagedRow(number int) [2]cell {
	return titled("Unmanaged:", cell{fmt.Sprintf("%d, which the UpgradePolicy's nodeSelector does not match", number), plain})
}

// isLeftOut reports whether the node is not part of the upgrade: a selector does not match it.
func isLeftOut(n plan.NodePlan) bool {
	return n.Decision == plan.Done && (n.Reason == v1alpha1.ReasonUnmanaged || n.Reason == v1alpha1.ReasonNotSelected)
}

// isIdle reports whether no upgrade asks anything of the node.
func isIdle(n plan.NodePlan) bool {
	return n.Decision == plan.Done && n.Reason == v1alpha1.ReasonNoUpgrade
}

// creates returns what is said about an upgrade that the policy asks for.
func creates(u *v1alpha1.ClusterUpgrade, o Options) string {
	text := fmt.Sprintf("ClusterUpgrade %s, as the UpgradePolicy's `automatic` asks for", strings.TrimSuffix(u.Name+" to "+u.Spec.Version, " to "))
	if start := u.Spec.StartTime; start != nil {
		text += ", which is announced now, and starts " + o.when(start.Time)
	}
	return text
}

// decisions counts the nodes, such as "3: 1 go, 2 wait". A node of which no upgrade asks anything has done nothing: it is idle.
func decisions(nodes []plan.NodePlan) string {
	if len(nodes) == 0 {
		return "none"
	}
	numbers, leftOut, idle := map[plan.Decision]int{}, 0, 0
	for _, n := range nodes {
		switch {
		case isLeftOut(n):
			leftOut++
		case isIdle(n):
			idle++
		default:
			numbers[n.Decision]++
		}
	}
	var parts []string
	for _, decision := range []plan.Decision{plan.Go, plan.Wait, plan.Blocked, plan.Done} {
		if n := numbers[decision]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, strings.ToLower(string(decision))))
		}
	}
	if idle > 0 {
		parts = append(parts, fmt.Sprintf("%d idle", idle))
	}
	if leftOut > 0 {
		parts = append(parts, fmt.Sprintf("%d not selected", leftOut))
	}
	return fmt.Sprintf("%d: %s", len(nodes), strings.Join(parts, ", "))
}

var decisionColors = map[plan.Decision]color{plan.Go: cyan, plan.Done: green, plan.Blocked: red}

// narrow reports whether columns have to be left out.
func (o Options) narrow() bool { return o.Width > 0 && o.Width < 80 && !o.Wide }

// minute returns a time to the minute: a forecast is not more exact.
func (o Options) minute(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.In(o.Zone).Format("2006-01-02 15:04 MST")
}

// ObservedNote tells people that no upgrade begins, and what to do.
const ObservedNote = "the cluster is only observed: set spec.mode of UpgradePolicy " + v1alpha1.PolicyName + " to Manage: " + manageCommand

// manageCommand makes agents take over the nodes that the policy selects.
const manageCommand = "`kubectl patch upgradepolicy " + v1alpha1.PolicyName + ` --type merge -p '{"spec":{"mode":"Manage"}}'` + "`"

// policyRows returns the lines about the policy, if there is one.
func policyRows(p *view.Policy, o Options) [][2]cell {
	if p == nil {
		return nil
	}
	text := automaticText(p)
	if p.VersionsFrom == v1alpha1.VersionsFromClusterAPI {
		text = "Cluster API decides on versions; " + text
	}
	if p.Version != "" {
		text += "; new nodes get " + p.Version
	}
	rows := [][2]cell{titled("Policy:", cell{text, plain})}
	if waits := p.AutomaticHeld; waits != nil {
		rows = append(rows, titled("", cell{o.why(waits.Reason, waits.Message, nil), plain}))
	}
	if p.Mode == v1alpha1.ModeObserve {
		rows = append(rows, titled("", cell{ObservedNote, yellow}))
	}
	for _, problem := range p.Problems {
		rows = append(rows, titled("", cell{o.why(problem.Reason, problem.Message, nil), red}))
	}
	return rows
}

func automaticText(p *view.Policy) string {
	if len(p.Automatic) == 0 {
		return "no automatic upgrades"
	}
	var kinds []string
	for _, one := range p.Automatic {
		var when []string
		add := func(format string, seconds *int32) {
			if seconds != nil && *seconds > 0 {
				when = append(when, fmt.Sprintf(format, duration.HumanDuration(time.Duration(*seconds)*time.Second)))
			}
		}
		add("once available for %s", one.MinAgeSeconds)
		add("%s before they expire", one.RemainingSeconds)
		add("announced %s before", one.NoticeSeconds)
		add("%s after the last", one.MinIntervalSeconds)
		kind := string(one.Type)
		if len(when) > 0 {
			kind += " (" + strings.Join(when, ", ") + ")"
		}
		kinds = append(kinds, kind)
	}
	return "automatic " + strings.Join(kinds, ", ")
}

// approvals draws which approvals are missing. A command is not broken into lines, so that
// it can be copied.
func (o Options) approvals(list []view.Approval) string {
	var b strings.Builder
	for i, a := range list {
		title, what := "", a.Upgrade
		if i == 0 {
			title = "Approval:"
		}
		if a.Group != "" {
			what = fmt.Sprintf("group %s of %s", a.Group, a.Upgrade)
		}
		b.WriteString(o.titles([][2]cell{titled(title, cell{what + " begins once it is approved:", yellow})}))
		b.WriteString(strings.Repeat(" ", titleWidth) + o.paint(a.Command, plain) + "\n")
	}
	return b.String()
}

// heldRows returns the lines about nodes on hold, and about those that are not managed.
func heldRows(s view.Status) [][2]cell {
	var rows [][2]cell
	var held []string
	for _, n := range s.Nodes {
		if n.OnHold {
			held = append(held, n.Name)
		}
	}
	if len(held) > 0 {
		rows = append(rows, titled("On hold:", cell{view.Few(held) + "; " + releaseHint(held...), yellow}))
	}
	if len(s.Unmanaged) > 0 {
		rows = append(rows, unmanagedRow(len(s.Unmanaged)))
	}
	return rows
}

// releaseHint says how to remove the label that holds the nodes.
func releaseHint(nodes ...string) string {
	names := "NODE"
	if len(nodes) <= view.MostNames {
		names = strings.Join(nodes, " ")
	}
	return fmt.Sprintf("`kubectl label node %s %s-` removes the hold", names, v1alpha1.HoldLabel)
}
