package fleet

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// Next is what happens next in a cluster.
type Next string

// What happens next.
const (
	NextCreate   Next = "Create"   // the coordinator, or the person, creates an upgrade
	NextContinue Next = "Continue" // a node may begin now, or is at work
	NextWait     Next = "Wait"     // the upgrade goes on by itself later
	NextBlocked  Next = "Blocked"  // a person has to act first
	NextNothing  Next = "Nothing"
	NextUnknown  Next = "Unknown" // the cluster did not answer
)

// Plans is what happens next in several clusters. Its JSON is a shape that scripts may rely on.
type Plans struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Version    string    `json:"version,omitempty"` // that was asked about
	Items      []PlanRow `json:"items"`
}

// PlanRow is what happens next in a cluster.
type PlanRow struct {
	Cluster
	// Version is that of the oldest kubelet.
	Version string `json:"version,omitempty"`
	Next    Next   `json:"next"`
	// Upgrade is the name of the upgrade, unless it would have to be created.
	Upgrade string               `json:"upgrade,omitempty"`
	Type    v1alpha1.UpgradeType `json:"type,omitempty"`
	To      string               `json:"to,omitempty"`
	// Nodes is how many are to go, and Node the one that goes next.
	Nodes int    `json:"nodes,omitempty"`
	Node  string `json:"node,omitempty"`
	// Start and End are when the first is expected to begin and the last to be done.
	Start *time.Time `json:"start,omitempty"`
	End   *time.Time `json:"end,omitempty"`
	// Blocking and Warnings count the findings of the checks that are not ignored.
	Blocking int             `json:"blocking,omitempty"`
	Warnings int             `json:"warnings,omitempty"`
	Reason   v1alpha1.Reason `json:"reason,omitempty"`
	Message  string          `json:"message,omitempty"`
	Until    *time.Time      `json:"until,omitempty"`
}

// NewPlans returns the rows with what was asked.
func NewPlans(version string, rows []PlanRow) Plans {
	return Plans{APIVersion: v1alpha1.OutputVersion, Kind: "FleetPlan", Version: version, Items: rows}
}

// NewPlanRow returns what happens next by the plan for the snapshot.
func NewPlanRow(c Cluster, s clusterstate.Snapshot, decided plan.Plan) PlanRow {
	r := PlanRow{Cluster: c, Next: NextNothing, To: decided.Version, Start: clusterstate.UTC(decided.PredictedStart), End: clusterstate.UTC(decided.PredictedEnd)}
	r.Version = OldestOf(s)
	for _, f := range decided.Findings {
		switch {
		case f.Ignored:
		case f.Level == v1alpha1.LevelBlock:
			r.Blocking++
		default:
			r.Warnings++
		}
	}
	u := request.Planned(s, decided)
	switch {
	case decided.Create != nil && u == nil:
		r.Next, r.Type, r.To = NextCreate, decided.Create.Spec.Type, decided.Create.Spec.Version
		r.Message = "the UpgradePolicy's automatic asks for it"
		return r
	case u == nil:
		if hold := decided.AutomaticHold; hold.Holds() {
			r.Reason, r.Message, r.Until = hold.Reason, hold.Message, clusterstate.UTC(hold.Until)
		}
		return r
	}
	r.Type = u.Status.Type
	if !request.IsSupposed(u.Name) {
		r.Upgrade = u.Name
	}
	r.Reason, r.Message = u.Status.Explain()
	r.fillNodes(decided)
	switch {
	case r.Nodes == 0 && r.Upgrade == "":
		r.Next, r.Reason, r.Message = NextNothing, v1alpha1.ReasonUpToDate, "every node is at "+r.To
	case u.Status.Stalled() || r.Blocking > 0 || r.Next == NextBlocked:
		r.Next = NextBlocked
	case r.Upgrade == "":
		r.Next = NextCreate
	}
	return r
}

// OldestOf returns the version of the oldest kubelet; empty: none is known.
func OldestOf(s clusterstate.Snapshot) string {
	_, unmanaged := view.NewNodes(s)
	if runs := view.Kubelets(s, unmanaged); len(runs) > 0 {
		return runs[0].Version
	}
	return ""
}

// fillNodes sets what the nodes of the plan say.
func (r *PlanRow) fillNodes(decided plan.Plan) {
	r.Next = NextWait
	for _, n := range decided.Nodes {
		if !request.IsToGo(n) {
			continue
		}
		if r.Nodes++; r.Nodes == 1 {
			r.Node = n.Name
			if r.Reason == v1alpha1.ReasonReleased || r.Reason == "" {
				r.Reason, r.Message = n.Reason, n.Message
			}
			r.Until = clusterstate.UTC(n.Until)
		}
		if n.Decision == plan.Go {
			r.Next = NextContinue
		}
	}
	blocked := func(n plan.NodePlan) bool { return request.IsToGo(n) && n.Decision == plan.Blocked }
	if r.Next != NextContinue && slices.ContainsFunc(decided.Nodes, blocked) {
		r.Next = NextBlocked
	}
}
