package fleet

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// Report is which cluster ran what, from when to when. Its JSON is a shape that scripts may rely on; times
// are in UTC.
type Report struct {
	APIVersion    string    `json:"apiVersion"`
	Kind          string    `json:"kind"`
	GeneratedTime time.Time `json:"generatedTime"`
	// Since leaves out what had ended before. Absent: nothing is left out.
	Since *time.Time  `json:"since,omitempty"`
	Items []ReportRow `json:"items"`
}

// ReportRow is what a cluster ran.
type ReportRow struct {
	Cluster
	// Reason and Message are why nothing is known of it.
	Reason  v1alpha1.Reason `json:"reason,omitempty"`
	Message string          `json:"message,omitempty"`
	// Runs are the versions, the oldest first.
	Runs []Run `json:"runs"`
	// Upgrades are those that have ended, the oldest first.
	Upgrades []view.Ended `json:"upgrades"`
}

// Run is a version that a cluster ran.
type Run struct {
	Version string `json:"version"`
	// From is when every managed node ran it. Absent: that is not known, or not the case yet.
	From *time.Time `json:"from,omitempty"`
	// To is when the first node began to leave it. Absent: none has.
	To *time.Time `json:"to,omitempty"`
	// Upgrade is the ClusterUpgrade that brought it, and RequestedBy and ApprovedBy are who asked for it.
	Upgrade     string `json:"upgrade,omitempty"`
	RequestedBy string `json:"requestedBy,omitempty"`
	ApprovedBy  string `json:"approvedBy,omitempty"`
	// Digests are those of its images. None: they are not recorded any more.
	Digests []v1alpha1.ImageDigest `json:"digests,omitempty"`
	// Problem is that a node failed with it, and Blocked why it is blocked.
	Problem string `json:"problem,omitempty"`
	Blocked string `json:"blocked,omitempty"`

	uid   string
	began *time.Time // its upgrade did
}

// NewReport returns the report of rows, without what had ended before since.
func NewReport(rows []ReportRow, since *time.Time, now time.Time) Report {
	r := Report{APIVersion: v1alpha1.OutputVersion, Kind: "FleetReport", GeneratedTime: now.UTC().Truncate(time.Second), Since: clusterstate.UTC(since), Items: rows}
	if since == nil {
		return r
	}
	for i := range r.Items {
		row := &r.Items[i]
		row.Runs = slices.DeleteFunc(row.Runs, func(run Run) bool { return run.To != nil && run.To.Before(*since) })
		row.Upgrades = slices.DeleteFunc(row.Upgrades, func(e view.Ended) bool { return e.EndTime != nil && e.EndTime.Before(*since) })
	}
	return r
}

// NewReportRow returns what a cluster ran, by its records, its upgrades and the policy's status.ran.
func NewReportRow(c Cluster, s clusterstate.Snapshot) ReportRow {
	row := ReportRow{Cluster: c, Upgrades: view.NewHistory(s.Upgrades, slices.Clone(s.Records))}
	byUID := map[string]*Run{}
	for i := range row.Upgrades {
		e := &row.Upgrades[i]
		if e.Outcome == v1alpha1.OutcomeSucceeded && e.To != "" {
			byUID[e.UID] = &Run{Version: e.To, From: e.EndTime, uid: e.UID, began: beganAt(e),
				Upgrade: e.Name, RequestedBy: e.RequestedBy, ApprovedBy: e.ApprovedBy, Digests: e.Digests}
		}
		e.Record = nil // the report of one upgrade has it
	}
	if s.Policy != nil {
		for _, ran := range s.Policy.Status.Ran {
			run := byUID[ran.Upgrade.UID]
			if run == nil {
				run = &Run{Version: ran.Version, uid: ran.Upgrade.UID, Upgrade: ran.Upgrade.Name}
				byUID[ran.Upgrade.UID] = run
			}
			run.From, run.To = cmp.Or(clusterstate.Instant(ran.SinceTime), run.From), clusterstate.Instant(ran.UntilTime)
			run.Problem, run.Blocked = ran.Problem, ran.Blocked
			if len(ran.Digests) > 0 {
				run.Digests = ran.Digests
			}
		}
	}
	row.Runs = inOrder(byUID)
	if first := firstVersion(row.Upgrades, row.Runs, OldestOf(s)); first != nil {
		row.Runs = append([]Run{*first}, row.Runs...)
	}
	return row
}

// beganAt returns when the first node began with an upgrade, or else when that was triggered.
func beganAt(e *view.Ended) *time.Time {
	var first *time.Time
	for _, n := range e.Record {
		if at := clusterstate.Instant(n.StartTime); at != nil && (first == nil || at.Before(*first)) {
			first = at
		}
	}
	return cmp.Or(first, e.TriggerTime)
}

// inOrder returns the runs, the oldest first. A run without an end ends where the next one begins.
func inOrder(byUID map[string]*Run) []Run {
	runs := []Run{}
	for _, run := range byUID {
		runs = append(runs, *run)
	}
	at := func(r Run) time.Time {
		switch {
		case r.From != nil:
			return *r.From
		case r.To != nil:
			return *r.To
		}
		return time.Unix(1<<40, 0) // it is being brought
	}
	slices.SortFunc(runs, func(a, b Run) int { return cmp.Or(at(a).Compare(at(b)), cmp.Compare(a.uid, b.uid)) })
	for i := range runs[:max(len(runs)-1, 0)] {
		if next := runs[i+1]; runs[i].To == nil {
			runs[i].To = cmp.Or(next.began, next.From)
		}
	}
	return runs
}

// firstVersion returns the run of what the cluster ran before its first upgrade that is known, or has run
// without one. Nil: that is not known.
func firstVersion(upgrades []view.Ended, runs []Run, now string) *Run {
	if len(runs) == 0 {
		if now == "" {
			return nil
		}
		return &Run{Version: now}
	}
	i := slices.IndexFunc(upgrades, func(e view.Ended) bool { return e.UID == runs[0].uid })
	if i < 0 || upgrades[i].From == "" || upgrades[i].From == runs[0].Version {
		return nil
	}
	return &Run{Version: upgrades[i].From, To: cmp.Or(runs[0].began, runs[0].From)}
}
