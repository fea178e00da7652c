//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
)

// predicted is the prediction of `kubectl upgrade plan -o json` for one node.
type predicted struct {
	Name  string     `json:"name"`
	Start *time.Time `json:"predictedStart"`
}

// plan waits for a plan that predicts when each of these nodes begins, and returns the
// predictions.
func (c *testCluster) plan(t *testing.T, names ...string) []predicted {
	t.Helper()
	var plan struct {
		Nodes []predicted `json:"nodes"`
	}
	c.eachSecond(t, time.Minute, "kubectl upgrade plan predicts every node's turn", func() error {
		out, err := c.Upgrade(c.ctx, "plan", "-o", "json")
		if err != nil {
			return err
		}
		plan.Nodes = nil
		if err := json.Unmarshal([]byte(out), &plan); err != nil {
			return fmt.Errorf("reading kubectl upgrade plan -o json: %w", err)
		}
		for _, name := range names {
			if !slices.ContainsFunc(plan.Nodes, func(p predicted) bool { return p.Name == name && p.Start != nil }) {
				return fmt.Errorf("the plan has no start of %s: %s", name, out)
			}
		}
		return nil
	})
	t.Log("\n" + c.must(t)(c.Upgrade(c.ctx, "plan")))
	return slices.DeleteFunc(plan.Nodes, func(p predicted) bool { return !slices.Contains(names, p.Name) })
}

// checkPredictedOrder compares the order of the cordons with the plan from before the first of
// them. Nodes with the same predicted start have no order.
func (r *rollout) checkPredictedOrder(t *testing.T, moments []record.Moment) {
	t.Helper()
	cordons, err := record.FirstCordons(moments)
	if err != nil {
		t.Fatal(err)
	}
	if len(cordons) != len(r.nodes) {
		t.Errorf("got the cordons %v, want one of every node", cordons)
	}
	place := func(p predicted) int { return slices.Index(cordons, p.Name) }
	for i, early := range r.predicted {
		for _, late := range r.predicted[i+1:] {
			if early.Start.Before(*late.Start) && place(early) > place(late) {
				t.Errorf("%s began before %s, want the order of the plan", late.Name, early.Name)
			}
		}
	}
	t.Logf("cordoned in this order: %v", cordons)
}
