package upgradesample

import (
	"encoding/json"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/report"
)

func TestDump(t *testing.T) {
	s, at := Example()
	r, err := report.New(s, Name, at)
	if err != nil {
		t.Fatal(err)
	}
	r.Calendars = r.Calendars[:0:0]
	text, _ := json.MarshalIndent(r, "", " ")
	t.Log(string(text[:min(len(text), 14000)]))
	s, at = Running()
	r, err = report.New(s, Name, at)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range r.Nodes {
		t.Log(n.Name, n.State, n.Reason, n.Message, n.Until, n.PredictedStartTime, len(n.Steps), n.Waits)
	}
	t.Log(r.Upgrade, r.Upgrade.PredictedEndTime)
	s, at = Fleet(5000)
	r, err = report.New(s, Name, at)
	t.Log(len(r.Nodes), r.Upgrade, err)
}
