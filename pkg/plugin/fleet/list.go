package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// Status is the clusters on one screen. Its JSON is a shape that scripts may rely on; times are in UTC.
type Status struct {
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Summary    Summary `json:"summary"`
	Items      []Row   `json:"items"`
}

// Summary counts the clusters. Of several contexts with the same server, one counts.
type Summary struct {
	Clusters    int `json:"clusters"`
	Answered    int `json:"answered"`
	Failed      int `json:"failed"`
	NeedPerson  int `json:"needPerson"` // failed ones included
	Active      int `json:"active"`
	Waiting     int `json:"waiting"`
	Idle        int `json:"idle"`
	Behind      int `json:"behind"`
	SameCluster int `json:"sameCluster"` // contexts that lead to the cluster of another one
}

// NewStatus returns the screen of rows, which are in their order.
func NewStatus(rows []Row) Status {
	connect(rows)
	s := Status{APIVersion: v1alpha1.OutputVersion, Kind: "FleetStatus", Items: rows}
	for _, r := range rows {
		if r.SameAs != "" {
			s.Summary.SameCluster++
		}
		if !r.counts {
			continue
		}
		s.Summary.Clusters++
		if r.State == StateSilent {
			continue
		}
		s.Summary.Answered++
		counts := map[State]*int{StateFailed: &s.Summary.Failed, StateActive: &s.Summary.Active, StateWaiting: &s.Summary.Waiting, StateIdle: &s.Summary.Idle}
		*counts[r.State]++
		if r.NeedsPerson {
			s.Summary.NeedPerson++
		}
		if r.Behind != nil {
			s.Summary.Behind++
		}
	}
	return s
}

// connect says which rows are of one cluster, which of them count, and which cluster another one follows.
func connect(rows []Row) {
	byServer, byUID := map[Context]*Row{}, map[string]*Row{}
	for i := range rows { // of one server, the first that answered counts
		r := &rows[i]
		if r.to == (Context{}) {
			r.to = Context{Server: r.Context} // nothing is known of it
		}
		if first := byServer[r.to]; first == nil || first.State == StateSilent && r.State != StateSilent && !r.Repeated {
			byServer[r.to] = r
		}
	}
	for i := range rows {
		r := &rows[i]
		first := byServer[r.to]
		r.counts = first == r
		switch {
		case first != r:
			r.SameAs = first.Context
		case r.uid == "":
		case byUID[r.uid] != nil:
			r.SameAs = byUID[r.uid].Context
		default:
			byUID[r.uid] = r
		}
	}
	for i := range rows {
		for j := range rows[i].Follows {
			f := &rows[i].Follows[j]
			if other := byServer[Context{Server: f.server}.normal()]; f.server != "" && other != nil && other != &rows[i] {
				f.Context = other.Context
				f.Reason, f.Why = other.held()
				if other.State == StateFailed {
					f.failedWith = cmp.Or(other.Next(), "an upgrade")
				}
				if r := &rows[i]; other.State == StateFailed && r.State != StateSilent && !r.Repeated {
					r.choose(solvedThere(r.causes))
				}
			}
		}
	}
}

// Words returns the summary as a sentence, such as "97 of 100 clusters answered: 3 failed, 94 idle; 3
// lack a patch".
func (s Summary) Words() string {
	text := fmt.Sprintf("%d of %s answered", s.Answered, Count(s.Clusters))
	var states []string
	for _, one := range []struct {
		count int
		is    string
	}{{s.Failed, "failed"}, {s.Active, "upgrading"}, {s.Waiting, "waiting"}, {s.Idle, "idle"}} {
		if one.count > 0 {
			states = append(states, fmt.Sprintf("%d %s", one.count, one.is))
		}
	}
	if len(states) > 0 {
		text += ": " + strings.Join(states, ", ")
	}
	if s.Behind > 0 {
		text += fmt.Sprintf("; %d lack a patch", s.Behind)
	}
	return text
}

// Same returns a sentence about contexts that lead to one cluster; empty: none do.
func Same(rows []Row) string {
	var names []string
	first := ""
	for _, r := range rows {
		if r.SameAs != "" {
			names = append(names, r.Context)
			first = r.SameAs
		}
	}
	switch {
	case len(names) == 0:
		return ""
	case slices.ContainsFunc(rows, func(r Row) bool { return r.SameAs != "" && r.SameAs != first }):
		return fmt.Sprintf("%d contexts lead to the cluster of another one: %s", len(names), view.Few(names))
	case len(names) == 1:
		return fmt.Sprintf("%s is the same cluster as %s", names[0], first)
	}
	return fmt.Sprintf("%s are the same cluster as %s", view.Few(names), first)
}

// Count returns how many clusters there are, such as "1 cluster".
func Count(n int) string {
	if n == 1 {
		return "1 cluster"
	}
	return fmt.Sprintf("%d clusters", n)
}
