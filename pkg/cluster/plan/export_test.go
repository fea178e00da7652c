package plan

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// CheckReasons makes a filter or claim panic if it answers with a reason that its row does
// not name: docs/planning.md would be wrong.
func CheckReasons() {
	for i, f := range filters {
		check := func(hold clusterstate.Hold) clusterstate.Hold {
			f.mustAnswer(hold, f.agents && (len(f.reasons) == 0 || hold.Reason.Info().Giver == v1alpha1.GivenByAgent))
			return hold
		}
		if f.node != nil {
			filters[i].node = func(c *cluster, n *node) clusterstate.Hold { return check(f.node(c, n)) }
		} else {
			filters[i].all = func(s *survey, n *node) clusterstate.Hold { return check(f.all(s, n)) }
		}
	}
	for i, one := range claims {
		claims[i].hold = func(a *allocation, n *node) clusterstate.Hold {
			hold := one.hold(a, n)
			one.mustAnswer(hold, false)
			return hold
		}
	}
}

func (q question) mustAnswer(hold clusterstate.Hold, agents bool) {
	if hold.Holds() && !agents && !slices.Contains(q.reasons, hold.Reason) {
		panic(fmt.Sprintf("the row %q does not name the reason %s", q.text, hold.Reason))
	}
}

// QuestionRows returns a line of a Markdown list for each filter and claim.
func QuestionRows() string {
	var rows strings.Builder
	row := func(q question, agents bool) {
		names := make([]string, len(q.reasons))
		for i, reason := range q.reasons {
			names[i] = "`" + string(reason) + "`"
		}
		switch {
		case agents && len(names) == 0:
			names = append(names, "the one that the node's agent gives")
		case agents:
			names = append(names, "or the one that the node's agent gives")
		}
		fmt.Fprintf(&rows, "1. %s %s\n", q.text, strings.Join(names, ", "))
	}
	for _, f := range filters {
		row(f.question, f.agents)
	}
	for _, c := range claims {
		row(c.question, false)
	}
	return rows.String()
}

// Median is median.
var Median = median

// ChangedPart returns what has changed of the parts that a plan is made from (doc.go), once there is the plan and its
// prediction: it compares each part with one that was built from a copy of the snapshot, and that no later part has
// seen. Empty: nothing has changed.
func ChangedPart(s clusterstate.Snapshot, now time.Time) (string, error) {
	stored, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	copied := func() *clusterstate.Snapshot {
		var own clusterstate.Snapshot
		if err = json.Unmarshal(stored, &own); err != nil {
			panic(err)
		}
		return &own
	}
	queued := func(r *reading) queue { return r.newQueue(&wakeTime{now: now}) }
	clustered := func(r *reading) *cluster { return newCluster(r, queued(r)) }
	decided, used := newPlanner(copied(), now), newPlanner(copied(), now)
	used.plan()
	newPrediction(used, used.cluster.durations).run()
	for _, part := range []struct {
		name        string
		built, used any
	}{
		{"reading", read(copied(), now), used.cluster.reading},
		{"queue", queued(read(copied(), now)), used.queue},
		{"cluster", withoutWindows(clustered(read(copied(), now))), withoutWindows(used.cluster)},
		{"survey", newSurvey(withoutWindows(clustered(read(copied(), now)))), used.survey},
		{"verdicts", decided.verdicts, used.verdicts},
		{"turns", decided.turns, used.turns},
	} {
		if !reflect.DeepEqual(part.built, part.used) {
			every := cmp.Exporter(func(reflect.Type) bool { return true })
			return fmt.Sprintf("%s (-as built +afterwards):\n%s", part.name, cmp.Diff(part.built, part.used, every)), nil
		}
	}
	return "", nil
}

// withoutWindows returns the cluster without what its windows remember of the instants that they were asked for.
func withoutWindows(c *cluster) *cluster {
	c.windows = nil
	for _, n := range c.nodes {
		n.class = nil
	}
	return c
}
