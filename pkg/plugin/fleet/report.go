package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
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

// Run is a version that a cluster ran, or that an upgrade began to bring to it.
type Run struct {
	Version string `json:"version"`
	// From is when every managed node ran it. Absent: that is not known, or never was so.
	From *time.Time `json:"from,omitempty"`
	// To is when the first node began to leave it. Absent: none has, or there is an attempt.
	To *time.Time `json:"to,omitempty"`
	// Attempt is set where not every managed node has run it.
	Attempt *Attempt `json:"attempt,omitempty"`
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

// Attempt is an upgrade that did not bring its version to every managed node, or has not yet.
type Attempt struct {
	// StartTime is when its first node began, and EndTime when it ended. Absent: that is not known, or it has not ended.
	StartTime *time.Time `json:"startTime,omitempty"`
	EndTime   *time.Time `json:"endTime,omitempty"`
	// Outcome is how it ended. Absent: that is not known, or it has not ended.
	Outcome v1alpha1.Outcome `json:"outcome,omitempty"`
	// Done and Total are how many nodes it came to, and how many it was for. Zero: that is not known.
	Done  int32 `json:"done,omitempty"`
	Total int32 `json:"total,omitempty"`
	// active reports whether it has not ended.
	active bool
}

// Words say what became of an attempt, such as "was tried from A to B, and came to 1 of 5 nodes: Failed: node w1
// failed". Empty: the cluster ran the version.
func (r *Run) Words(clock func(*time.Time) string) string {
	a := r.Attempt
	if a == nil {
		return ""
	}
	text := "was tried"
	if a.active {
		text = "is being brought"
	}
	switch {
	case a.StartTime != nil && a.EndTime != nil:
		text += fmt.Sprintf(" from %s to %s", clock(a.StartTime), clock(a.EndTime))
	case a.StartTime != nil && a.active:
		text += " since " + clock(a.StartTime)
	case a.StartTime != nil:
		text += " from " + clock(a.StartTime)
	case a.EndTime != nil:
		text += " until " + clock(a.EndTime)
	}
	if a.Total > 0 {
		text += fmt.Sprintf(", and came to %d of %d nodes", a.Done, a.Total)
	}
	for _, why := range []string{string(a.Outcome), cmp.Or(r.Problem, r.Blocked)} {
		if why != "" {
			text += ": " + why
		}
	}
	return text
}

// IsOver reports whether the attempt has ended.
func (a *Attempt) IsOver() bool { return !a.active }

// NewReport returns the report of rows, without what had ended before since.
func NewReport(rows []ReportRow, since *time.Time, now time.Time) Report {
	r := Report{APIVersion: v1alpha1.OutputVersion, Kind: "FleetReport", GeneratedTime: now.UTC().Truncate(time.Second), Since: clusterstate.UTC(since), Items: rows}
	if since == nil {
		return r
	}
	for i := range r.Items {
		row := &r.Items[i]
		row.Runs = slices.DeleteFunc(row.Runs, func(run Run) bool { return run.endedBefore(*since) })
		row.Upgrades = slices.DeleteFunc(row.Upgrades, func(e view.Ended) bool { return e.EndTime != nil && e.EndTime.Before(*since) })
	}
	return r
}

// NewReportRow returns what a cluster ran, by its records, its upgrades and the policy's status.ran.
func NewReportRow(c Cluster, s clusterstate.Snapshot) ReportRow {
	row := ReportRow{Cluster: c, Upgrades: view.NewHistory(s.Upgrades, slices.Clone(s.Records))}
	byUID, known := map[string]*Run{}, map[string]*Run{}
	var runs []*Run
	for i := range row.Upgrades {
		e := &row.Upgrades[i]
		if e.To == "" {
			continue
		}
		run := runOf(e)
		known[e.UID] = run
		if run.Attempt == nil || someBegan(e) {
			byUID[e.UID] = run
		}
		if back := runAfter(e); back != nil {
			runs = append(runs, back)
		}
		e.Record = nil // the report of one upgrade has it
	}
	if s.Policy != nil {
		for _, ran := range s.Policy.Status.Ran {
			run := cmp.Or(byUID[ran.Upgrade.UID], known[ran.Upgrade.UID])
			if run == nil {
				run = unrecorded(&s, &ran)
			}
			byUID[ran.Upgrade.UID] = run
			if ran.SinceTime != nil {
				run.From, run.Attempt = clusterstate.Instant(ran.SinceTime), nil
			}
			if run.Attempt == nil {
				run.To = clusterstate.Instant(ran.UntilTime)
			}
			run.Problem, run.Blocked = ran.Problem, ran.Blocked
			if len(ran.Digests) > 0 {
				run.Digests = ran.Digests
			}
		}
	}
	row.Runs = inOrder(slices.AppendSeq(runs, maps.Values(byUID)))
	if first := firstVersion(row.Upgrades, row.Runs, OldestOf(s)); first != nil {
		row.Runs = append([]Run{*first}, row.Runs...)
	}
	return row
}

// endedBefore reports whether the cluster had left the version, or the attempt had ended.
func (r *Run) endedBefore(t time.Time) bool {
	end := r.To
	if r.Attempt != nil {
		end = r.Attempt.EndTime
	}
	return end != nil && end.Before(t)
}

// runOf returns what an upgrade that has ended brought, or tried to bring.
func runOf(e *view.Ended) *Run {
	run := &Run{Version: e.To, uid: e.UID, began: beganAt(e), Upgrade: e.Name, RequestedBy: e.RequestedBy, ApprovedBy: e.ApprovedBy, Digests: e.Digests}
	if e.Outcome == v1alpha1.OutcomeSucceeded {
		run.From = e.EndTime
	} else {
		run.Attempt = &Attempt{StartTime: run.began, EndTime: e.EndTime, Outcome: e.Outcome, Done: e.Nodes.Done, Total: e.Nodes.Total}
	}
	return run
}

// unrecorded returns the run of a version whose upgrade has not ended, or of which nothing else is known any more.
func unrecorded(s *clusterstate.Snapshot, ran *v1alpha1.RanVersion) *Run {
	run := &Run{Version: ran.Version, uid: ran.Upgrade.UID, Upgrade: ran.Upgrade.Name, Attempt: &Attempt{EndTime: clusterstate.Instant(ran.UntilTime)}}
	if u := s.Upgrade(ran.Upgrade.Name); u != nil && string(u.UID) == ran.Upgrade.UID {
		run.began = cmp.Or(firstStart(plan.RecordSoFar(*s, run.uid, s.Programs.At)), clusterstate.Instant(u.Status.TriggerTime))
		*run.Attempt = Attempt{StartTime: run.began, Done: u.Status.Nodes.Done, Total: u.Status.Nodes.Total, active: true}
	}
	return run
}

// runAfter returns the run of the version that every node still had, or had again, when an upgrade to another one
// ended. Nil: there is none, or no node had begun.
func runAfter(e *view.Ended) *Run {
	if e.Outcome == v1alpha1.OutcomeSucceeded || e.EndTime == nil || !someBegan(e) {
		return nil
	}
	if slices.ContainsFunc(e.Record, func(n v1alpha1.NodeRecord) bool { return n.To != e.From }) {
		return nil
	}
	return &Run{Version: e.From, From: e.EndTime, uid: e.UID}
}

// someBegan reports whether a node began with an upgrade.
func someBegan(e *view.Ended) bool { return firstStart(e.Record) != nil }

// beganAt returns when the first node began with an upgrade, or else when that was triggered.
func beganAt(e *view.Ended) *time.Time { return cmp.Or(firstStart(e.Record), e.TriggerTime) }

// firstStart returns when the first node began. Nil: none has.
func firstStart(nodes []v1alpha1.NodeRecord) (first *time.Time) {
	for _, n := range nodes {
		if at := clusterstate.Instant(n.StartTime); at != nil && (first == nil || at.Before(*first)) {
			first = at
		}
	}
	return first
}

// start returns when the first node began to leave another version for this one; where that is not known, a time
// after that.
func (r *Run) start() *time.Time {
	if r.Attempt != nil {
		return cmp.Or(r.Attempt.StartTime, r.Attempt.EndTime)
	}
	return cmp.Or(r.began, r.From)
}

// inOrder returns the runs, the oldest first. A run without an end ends where the next one begins.
func inOrder(all []*Run) []Run {
	runs := []Run{}
	for _, run := range all {
		runs = append(runs, *run)
	}
	at := func(r Run) time.Time {
		if at := cmp.Or(r.From, r.To, r.start()); at != nil {
			return *at
		}
		return time.Unix(1<<40, 0) // it is being brought
	}
	slices.SortFunc(runs, func(a, b Run) int { return cmp.Or(at(a).Compare(at(b)), cmp.Compare(a.uid, b.uid)) })
	for i := range runs[:max(len(runs)-1, 0)] {
		if next := &runs[i+1]; runs[i].To == nil && runs[i].Attempt == nil {
			runs[i].To = next.start()
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
	return &Run{Version: upgrades[i].From, To: runs[0].start()}
}
