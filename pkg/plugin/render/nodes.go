package render

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// nodeTable has a row for each node.
func nodeTable(nodes []view.Node, upgrade *view.Upgrade, o Options) string {
	shown := []struct {
		title string
		of    func(view.Node) cell
	}{
		{"NODE", func(n view.Node) cell { return cell{n.Name, plain} }},
		{"CONDITION", func(n view.Node) cell { return cell{orDash(n.Condition), plain} }},
		{"KUBELET", func(n view.Node) cell { return cell{orDash(n.Kubelet), plain} }},
		{"STAGED", func(n view.Node) cell { return cell{orDash(n.Staged), plain} }},
		{"TARGET", func(n view.Node) cell { return cell{orDash(n.Target), plain} }},
		{"RELEASE", func(n view.Node) cell { return cell{orDash(string(n.Release)), plain} }},
		{"SLOT", func(n view.Node) cell { return cell{orDash(n.Slot), plain} }},
		{"AGENT", func(n view.Node) cell { return cell{orDash(n.Agent), plain} }},
		{"STEP", func(n view.Node) cell { return cell{orDash(string(n.Step)), stateColors[n.State]} }},
		{"SINCE", func(n view.Node) cell { return cell{o.age(n.Since), plain} }},
		{"WHY", func(n view.Node) cell {
			if o.upgradeSays(upgrade, n.Reason, n.Message) {
				return cell{string(n.Reason), whyColor(n)}
			}
			return cell{nodeWhy(n, o), whyColor(n)}
		}},
	}
	var columns []column
	for _, one := range shown {
		c := column{title: one.title}
		switch one.title {
		case "TARGET", "RELEASE", "SLOT", "AGENT":
			if !o.Wide {
				continue
			}
		case "CONDITION":
			c.leaves, c.usual = 1, "Ready"
		}
		for _, n := range nodes {
			c.cells = append(c.cells, one.of(n))
		}
		columns = append(columns, c)
	}
	return o.draw(table{columns: columns, once: true})
}

func whyColor(n view.Node) color {
	if n.State == view.StateFailed {
		return red
	}
	return plain
}

// NodePage draws one node: its step, why it is there, and how long each step took.
func NodePage(n view.Node, o Options) string {
	state := string(n.State)
	if n.Step != "" {
		state = fmt.Sprintf("%s, for %s", n.Step, o.age(n.Since))
	}
	lines := []struct {
		title string
		value cell
	}{
		{"Cluster:", cell{o.Cluster, bold}},
		{"Node:", cell{n.Name, bold}},
		{"Condition:", cell{n.Condition, plain}},
		{"Problem:", cell{o.said(nodeProblem(n)), red}},
		{"Step:", cell{state, stateColors[n.State]}},
		{"Why:", cell{nodeWhy(n, o), plain}},
		{"Retry at:", cell{o.future(n.RetryTime), plain}},
		{"Kubelet:", cell{n.Kubelet, plain}},
		{"Staged:", cell{n.Staged, plain}},
		{"Target:", cell{n.Target, plain}},
		{"On disk:", cell{strings.Join(n.Installed, ", "), plain}},
		{"Released for:", cell{string(n.Release), plain}},
		{"Slot:", cell{n.Slot, plain}},
		{"Method:", cell{nodeMethod(n), plain}},
		{"Reboot:", cell{o.said(n.RebootReason), plain}},
		{"Boot:", cell{o.said(n.Rehearsal), plain}},
		{"On hold:", cell{nodeHold(n), yellow}},
		{"Attempts:", cell{number(n.Attempts), plain}},
		{"Agent:", cell{n.Agent, plain}},
	}
	var b strings.Builder
	for _, line := range lines {
		if line.value.text != "" {
			o.hang(&b, fmt.Sprintf("%-14s", line.title), 14, line.value)
		}
	}
	if n.KubeletLog != "" {
		b.WriteString("\nWhat the guard found:\n")
		for line := range strings.Lines(n.KubeletLog) {
			b.WriteString("  " + strings.TrimRight(line, "\n") + "\n")
		}
	}
	if len(n.Steps) > 0 {
		b.WriteString("\n" + o.table([]string{"STEP", "TOOK", "BEGAN"}, stepRows(n.Steps, o)))
	}
	return b.String()
}

// method returns the method where it may surprise a person: it is not a reboot, or it is
// one although the strategy has another method.
func nodeMethod(n view.Node) string {
	switch {
	case n.MethodMessage != "":
		return fmt.Sprintf("%s, because %s", n.Method, n.MethodMessage)
	case n.Method != "" && n.Method != v1alpha1.MethodReboot:
		return string(n.Method)
	}
	return ""
}

// problem says that the rest of the page may be old.
func nodeProblem(n view.Node) string {
	if n.AgentProblem == "" {
		return ""
	}
	return "no agent runs on the node: " + n.AgentProblem
}

// hold says how to release a node that its label holds.
func nodeHold(n view.Node) string {
	if !n.OnHold {
		return ""
	}
	return releaseHint(n.Name)
}

// why returns the node's reason.
func nodeWhy(n view.Node, o Options) string { return o.why(shownReason(n), n.Message, n.Until) }

// shownReason returns the reason's code, unless it only repeats the step.
func shownReason(n view.Node) v1alpha1.Reason {
	if string(n.Reason) == string(n.Step) {
		return ""
	}
	return n.Reason
}

func stepRows(steps []v1alpha1.StepTime, o Options) [][]cell {
	rows := make([][]cell, 0, len(steps))
	for _, step := range steps {
		took := "so far " + duration.HumanDuration(max(o.Now.Sub(step.StartTime.Time), 0))
		if step.EndTime != nil {
			took = duration.HumanDuration(step.EndTime.Sub(step.StartTime.Time))
		}
		rows = append(rows, []cell{{string(step.Step), plain}, {took, plain}, {step.StartTime.In(o.Zone).Format("2006-01-02 15:04:05 MST"), plain}})
	}
	return rows
}

func (o Options) future(t *time.Time) string {
	if t == nil {
		return ""
	}
	return o.when(*t)
}

func number(n int32) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(int(n))
}
