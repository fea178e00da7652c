package render

import (
	"fmt"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/fleet"
)

// ClusterPlans draws a row for each cluster with what happens next there.
func ClusterPlans(plans fleet.Plans, o Options) string {
	columns := []column{
		{title: "CLUSTER", shortens: true}, {title: "STAGE", leaves: 1, as: "stage "}, {title: "RUNS"}, {title: "NEXT"}, {title: "UPGRADE"}, {title: "NODES", leaves: 3, as: "nodes "},
		{title: "FIRST", leaves: 4, as: "first "}, {title: "START " + o.zoneName(), leaves: 5, as: "starts "}, {title: "END", leaves: 6, as: "ends "},
		{title: "CHECKS", leaves: 2}, {title: "WHY"},
	}
	counts, all := map[fleet.Next]int{}, 0
	for _, r := range plans.Items {
		if !r.Repeated {
			counts[r.Next]++
			all++
		}
		upgrade := strings.TrimSpace(string(r.Type) + " " + r.To)
		if r.Next == fleet.NextNothing {
			upgrade = ""
		}
		nodes := ""
		if r.Nodes > 0 {
			nodes = fmt.Sprint(r.Nodes)
		}
		paint := map[fleet.Next]color{fleet.NextContinue: cyan, fleet.NextCreate: cyan, fleet.NextBlocked: red, fleet.NextUnknown: red}[r.Next]
		for i, one := range []cell{
			{r.Context, plain}, {orDash(r.Stage), plain}, {orDash(r.Version), plain}, {string(r.Next), paint}, {orDash(upgrade), plain}, {orDash(nodes), plain}, {orDash(r.Node), plain},
			{o.short(r.Start), plain}, {o.short(r.End), plain}, {orDash(checksOf(r)), plain}, {orDash(o.why(r.Reason, r.Message, r.Until)), plain},
		} {
			columns[i].cells = append(columns[i].cells, one)
		}
	}
	return o.draw(table{columns: withoutEmpty(columns)}) + "\n" + strings.Join(Paragraph(plansSentence(counts, all), o), "\n") + "\n"
}

// plansSentence says in how many of all clusters what happens next.
func plansSentence(counts map[fleet.Next]int, all int) string {
	var parts []string
	for _, one := range []struct {
		next         fleet.Next
		singly, many string
	}{
		{fleet.NextCreate, "gets an upgrade", "get an upgrade"}, {fleet.NextContinue, "goes on now", "go on now"}, {fleet.NextWait, "goes on later", "go on later"},
		{fleet.NextBlocked, "needs a person", "need a person"}, {fleet.NextNothing, "has nothing to do", "have nothing to do"}, {fleet.NextUnknown, "did not answer", "did not answer"},
	} {
		switch n := counts[one.next]; n {
		case 0:
		case 1:
			parts = append(parts, "1 "+one.singly)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, one.many))
		}
	}
	return fmt.Sprintf("Of %s %s.", fleet.Count(all), strings.Join(parts, ", "))
}

// checksOf counts the findings, such as "1 blocks, 2 warn".
func checksOf(r fleet.PlanRow) string {
	var parts []string
	for _, one := range []struct {
		count    int
		one, all string
	}{{r.Blocking, "blocks", "block"}, {r.Warnings, "warns", "warn"}} {
		switch one.count {
		case 0:
		case 1:
			parts = append(parts, "1 "+one.one)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", one.count, one.all))
		}
	}
	return strings.Join(parts, ", ")
}

// ClusterFreezes draws a row for each cluster with what a command about a freeze has reached.
func ClusterFreezes(f fleet.Freezes, dryRun string, o Options) string {
	columns := []column{{title: "CLUSTER", shortens: true}, {title: "STAGE", leaves: 1, as: "stage "}, {title: "STATE"}, {title: "UNTIL", leaves: 2, as: "until "}, {title: "WHY"}}
	done := 0
	for _, r := range f.Items {
		if r.State.Done() && !r.Repeated {
			done++
		}
		paint, until := red, "-"
		switch {
		case r.State.Done():
			paint = green
		case r.State == fleet.NotConfirmed:
			paint = yellow
		}
		if r.Until != nil {
			until = r.Until.In(o.Zone).Format("2006-01-02 15:04 MST")
		}
		why := o.why(r.Reason, r.Message, nil)
		if r.State == fleet.Frozen && why == "" && r.Since != nil {
			why = "in effect since " + r.Since.In(o.Zone).Format("2006-01-02 15:04 MST") + ", says the coordinator"
		}
		for i, one := range []cell{{r.Context, plain}, {orDash(r.Stage), plain}, {string(r.State), paint}, {until, plain}, {orDash(why), plain}} {
			columns[i].cells = append(columns[i].cells, one)
		}
	}
	what := fmt.Sprintf("Freeze %s%s: %d of %s as asked.", f.Name, dryRun, done, fleet.Count(f.Asked()))
	return o.draw(table{columns: withoutEmpty(columns)}) + "\n" + strings.Join(Paragraph(what, o), "\n") + "\n"
}
