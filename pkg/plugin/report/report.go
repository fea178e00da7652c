package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// Kind is a Report's kind in JSON.
const Kind = "UpgradeReport"

// Report is how an upgrade went.
type Report struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// GeneratedTime is the instant that the report shows.
	GeneratedTime time.Time `json:"generatedTime"`
	// ClusterName is what the UpgradePolicy called the cluster when the upgrade ended, or calls it; without either the
	// plugin names the kubeconfig's context and server.
	ClusterName string  `json:"clusterName,omitempty"`
	Upgrade     Upgrade `json:"upgrade"`
	// Usual is how long the parts of a node's upgrade were expected to take.
	Usual Usual `json:"usual"`
	// Nodes are in upgrade order.
	Nodes []Node `json:"nodes"`
	// Calendars are the windows and exclusions from the start to the end. Nodes to which
	// the same schedules apply have the same one.
	Calendars []Calendar `json:"calendars"`
	// Findings are those of the last preflight run.
	Findings     []v1alpha1.Finding      `json:"findings,omitempty"`
	FindingsTime *time.Time              `json:"findingsTime,omitempty"`
	IgnoreChecks []v1alpha1.IgnoredCheck `json:"ignoreChecks,omitempty"`
	Images       []v1alpha1.Image        `json:"images,omitempty"`
	EtcdSnapshot *v1alpha1.EtcdSnapshot  `json:"etcdSnapshot,omitempty"`
	// Notes say what is not known, and what else a reader should know.
	Notes []string `json:"notes,omitempty"`
}

// Upgrade is what was requested, and how it ended.
type Upgrade struct {
	Name           string                   `json:"name"`
	UID            string                   `json:"uid"`
	Type           v1alpha1.UpgradeType     `json:"type,omitempty"`
	From           string                   `json:"from,omitempty"`
	To             string                   `json:"to,omitempty"`
	RequestedBy    string                   `json:"requestedBy,omitempty"`
	RequestedTime  *time.Time               `json:"requestedTime,omitempty"`
	Comment        string                   `json:"comment,omitempty"`
	Changed        bool                     `json:"changed,omitempty"`
	ChangedBy      string                   `json:"changedBy,omitempty"`
	ApprovedBy     string                   `json:"approvedBy,omitempty"`
	RetryOf        *v1alpha1.RetriedUpgrade `json:"retryOf,omitempty"`
	Method         v1alpha1.Method          `json:"method,omitempty"`
	MaxUnavailable string                   `json:"maxUnavailable,omitempty"`
	WindowPolicy   v1alpha1.WindowPolicy    `json:"windowPolicy,omitempty"`
	Suspended      bool                     `json:"suspended,omitempty"`
	// StartTime is when it became active or, before that, was requested, and EndTime when
	// it ended. Triggered reports whether it became active.
	StartTime *time.Time `json:"startTime,omitempty"`
	Triggered bool       `json:"triggered"`
	EndTime   *time.Time `json:"endTime,omitempty"`
	// PredictedEndTime is when an upgrade that has not ended is expected to be done.
	PredictedEndTime *time.Time          `json:"predictedEndTime,omitempty"`
	Outcome          v1alpha1.Outcome    `json:"outcome,omitempty"`
	Stalled          bool                `json:"stalled,omitempty"`
	Reason           v1alpha1.Reason     `json:"reason,omitempty"`
	Message          string              `json:"message,omitempty"`
	Counts           v1alpha1.NodeCounts `json:"counts"`
}

// Ended reports whether the upgrade has ended.
func (u Upgrade) Ended() bool { return u.Outcome != "" }

// Standing returns in words where an upgrade stands that has not ended.
func (u Upgrade) Standing() string {
	switch {
	case u.Suspended:
		return "suspended"
	case u.Stalled:
		return "needs a person"
	case u.Reason.Info().NeedsPerson:
		return "waits for a person"
	case !u.Triggered:
		return "not begun"
	}
	return "in progress"
}

// Took returns how long the upgrade took, or takes already at now.
func (u Upgrade) Took(now time.Time) time.Duration {
	switch {
	case u.StartTime == nil:
		return 0
	case u.EndTime != nil:
		now = *u.EndTime
	}
	return max(now.Sub(*u.StartTime), 0)
}

// Of returns a title that begins with the cluster's name, if it has one.
func (r *Report) Of(title string) string {
	if r.ClusterName == "" {
		return title
	}
	return r.ClusterName + ": " + title
}

// Usual is how long the parts of a node's upgrade were expected to take, without settling
// and observing: medians of earlier upgrades, or where too few nodes were measured what the
// coordinator assumes.
type Usual struct {
	ComponentsSeconds   int32 `json:"componentsSeconds"`
	ControlPlaneSeconds int32 `json:"controlPlaneSeconds"`
	WorkerSeconds       int32 `json:"workerSeconds"`
	RestartSeconds      int32 `json:"restartSeconds"`
	SoftRebootSeconds   int32 `json:"softRebootSeconds"`
}

// Calendar is when nodes might begin.
type Calendar struct {
	Openings   []Opening   `json:"openings"`
	Exclusions []Exclusion `json:"exclusions,omitempty"`
}

// Opening is a time in which a window was open and no exclusion held.
type Opening struct {
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`
	Windows []string  `json:"windows"`
}

// Exclusion is a time in which nothing might begin.
type Exclusion struct {
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`
	Name    string    `json:"name"`
	Comment string    `json:"comment,omitempty"`
}

// New returns the report of the upgrade with that name, as it is at an instant.
func New(s clusterstate.Snapshot, name string, at time.Time) (*Report, error) {
	about, err := find(s, name)
	if err != nil {
		return nil, err
	}
	at = at.UTC().Truncate(time.Second)
	b := &builder{
		subject: about, snapshot: s, at: at,
		report: &Report{APIVersion: v1alpha1.OutputVersion, Kind: Kind, GeneratedTime: at},
	}
	b.addUpgrade()
	b.addUsual()
	b.addPlan()
	b.addNodes()
	b.addCalendars()
	b.addWaits()
	b.addNotes()
	return b.report, nil
}

// builder builds a Report.
type builder struct {
	subject
	snapshot clusterstate.Snapshot
	at       time.Time
	expected plan.Plan // zero for an upgrade that has ended, or is not the active one
	report   *Report
	invalid  error // why a schedule is invalid
}

// subject is the upgrade that the report is about.
type subject struct {
	upgrade *v1alpha1.ClusterUpgrade // nil: it was deleted
	record  []v1alpha1.UpgradeRecord // its pieces in order; nil: there is none
	others  int                      // how many other upgrades have had the name
}

// find returns the upgrade with that name; of several the newest.
func find(s clusterstate.Snapshot, name string) (found subject, err error) {
	byUID := map[string][]v1alpha1.UpgradeRecord{}
	latest, latestUID := time.Time{}, ""
	for _, r := range s.Records {
		if r.Spec.Upgrade.Name != name {
			continue
		}
		byUID[r.Spec.Upgrade.UID] = append(byUID[r.Spec.Upgrade.UID], r)
		if latestUID == "" || r.Spec.EndTime.After(latest) {
			latest, latestUID = r.Spec.EndTime.Time, r.Spec.Upgrade.UID
		}
	}
	for i := range s.Upgrades {
		if u := &s.Upgrades[i]; u.Name == name {
			found.upgrade, latestUID = u, string(u.UID)
		}
	}
	if latestUID == "" && found.upgrade == nil {
		return found, fmt.Errorf("there is no upgrade %q; `kubectl upgrade history` lists those that have ended, and `kubectl upgrade status` shows the others", name)
	}
	found.record = byUID[latestUID]
	delete(byUID, latestUID)
	found.others = len(byUID)
	slices.SortFunc(found.record, func(a, b v1alpha1.UpgradeRecord) int { return int(a.Spec.Piece - b.Spec.Piece) })
	return found, nil
}

// addPlan predicts the rest of an upgrade that has not ended.
func (b *builder) addPlan() {
	if b.report.Upgrade.Ended() {
		return
	}
	if u := b.upgrade; b.snapshot.Preflight == nil && u.Status.PreflightTime != nil {
		b.snapshot.Preflight = &clusterstate.Preflight{Upgrade: u.Reference(), At: u.Status.PreflightTime.Time, Findings: u.Status.Findings}
	}
	if p := plan.Predict(b.snapshot, b.at); p.Upgrade == b.upgrade.Name {
		b.expected = p
		b.report.Upgrade.PredictedEndTime = clusterstate.UTC(p.PredictedEnd)
	}
}

// addUsual adds the durations that were expected when the upgrade began.
func (b *builder) addUsual() {
	before := b.at
	if start := b.report.Upgrade.StartTime; start != nil {
		before = *start
	}
	usual := plan.UsualDurations(b.snapshot, before)
	b.report.Usual = Usual{
		ComponentsSeconds: wholeSeconds(usual.Components), ControlPlaneSeconds: wholeSeconds(usual.ControlPlane),
		WorkerSeconds: wholeSeconds(usual.Worker), RestartSeconds: wholeSeconds(usual.Restart), SoftRebootSeconds: wholeSeconds(usual.SoftReboot),
	}
}

// addPresent adds why nodes wait now, and what is predicted for them.
func (b *builder) addPresent() {
	plans := make(map[string]*plan.NodePlan, len(b.expected.Nodes))
	for i := range b.expected.Nodes {
		plans[b.expected.Nodes[i].Name] = &b.expected.Nodes[i]
	}
	statuses := make(map[string]*v1alpha1.NodeUpgrade, len(b.snapshot.NodeUpgrades))
	for i := range b.snapshot.NodeUpgrades {
		statuses[b.snapshot.NodeUpgrades[i].Name] = &b.snapshot.NodeUpgrades[i]
	}
	for i := range b.report.Nodes {
		n := &b.report.Nodes[i]
		if p := plans[n.Name]; p != nil {
			n.PredictedStartTime, n.PredictedEndTime = clusterstate.UTC(p.PredictedStart), clusterstate.UTC(p.PredictedEnd)
			if n.State != Done && n.State != UpToDate {
				n.Reason, n.Message, n.Until = p.Reason, p.Message, clusterstate.UTC(p.Until)
			}
		}
		u := statuses[n.Name]
		if n.State == Done || n.State == UpToDate || u == nil || u.Spec.Upgrade == nil || u.Spec.Upgrade.UID != b.report.Upgrade.UID {
			continue
		}
		reason, message := u.Status.Explain()
		if reason == "" {
			continue
		}
		n.Reason, n.Message, n.Until = reason, message, clusterstate.Instant(u.Status.StepEndTime)
		if hold, _ := u.Status.Hold(); hold == reason {
			n.Until = clusterstate.Instant(u.Status.HoldEndTime)
		}
		if u.Abandoned != nil {
			n.State, n.Reason, n.Message, n.Until = Failed, v1alpha1.ReasonAbandoned, u.Abandoned.String(), nil
		}
	}
}

// addUpgrade adds what is known of the upgrade itself: from its record, and from its
// ClusterUpgrade where that still exists.
func (b *builder) addUpgrade() {
	if b.snapshot.Policy != nil {
		b.report.ClusterName = b.snapshot.Policy.Spec.ClusterName
	}
	if len(b.record) > 0 {
		b.addRecord(b.record[0].Spec.UpgradeSummary)
	}
	if b.upgrade != nil {
		b.addObject(b.upgrade)
	}
	switch {
	case len(b.record) > 0:
		b.noteGates(b.record[0].Spec.IgnoreGates)
	case b.upgrade != nil:
		b.noteGates(b.upgrade.Spec.IgnoreGates)
	}
}

func (b *builder) addRecord(r v1alpha1.UpgradeSummary) {
	b.report.ClusterName = cmp.Or(r.ClusterName, b.report.ClusterName)
	b.report.Upgrade = Upgrade{
		Name: r.Upgrade.Name, UID: r.Upgrade.UID, Type: r.Type, From: r.FromVersion, To: r.Version,
		RequestedBy: requestedBy(r.RequestedBy, r.CreatedBy), Comment: r.Comment,
		Changed: r.ChangedBy != "", ChangedBy: r.ChangedBy, ApprovedBy: r.ApprovedBy,
		StartTime: clusterstate.Instant(r.TriggerTime), Triggered: r.TriggerTime != nil, EndTime: clusterstate.Instant(&r.EndTime),
		Outcome: r.Outcome, Reason: r.Reason, Message: r.Message, Counts: r.Counts,
	}
	b.report.IgnoreChecks, b.report.EtcdSnapshot = r.IgnoreChecks, r.EtcdSnapshot
	for _, image := range r.Digests {
		b.report.Images = append(b.report.Images, v1alpha1.Image{Architecture: image.Architecture, Digest: image.Digest})
	}
}

// noteGates notes the gates that the upgrade did not wait for.
func (b *builder) noteGates(gates []v1alpha1.IgnoredGate) {
	for _, g := range gates {
		b.report.Notes = append(b.report.Notes, fmt.Sprintf("The upgrade did not wait for gate %s: %s (%s).", g.Name, g.Comment, cmp.Or(g.By, "by whom is not known")))
	}
}

func (b *builder) addObject(u *v1alpha1.ClusterUpgrade) {
	strategy := u.Status.Strategy
	if b.snapshot.Policy != nil && u.Status.TriggerTime == nil {
		strategy = u.Resolve(b.snapshot.Policy.Spec.Strategy)
	}
	b.report.Upgrade = Upgrade{
		Name: u.Name, UID: string(u.UID), Type: rules.TypeOf(u), From: u.Status.FromVersion, To: u.Spec.Version,
		RequestedBy:   requestedBy(u.Annotations[v1alpha1.RequestedByAnnotation], u.Annotations[v1alpha1.CreatedByAnnotation]),
		RequestedTime: clusterstate.Instant(&u.CreationTimestamp), Comment: u.Spec.Comment, ApprovedBy: u.Spec.Approved.By, RetryOf: u.Spec.RetryOf,
		Method: strategy.Method, WindowPolicy: u.Spec.WindowPolicy, Suspended: u.Spec.Suspend && u.Status.Outcome == "",
		StartTime: cmp.Or(clusterstate.Instant(u.Status.TriggerTime), clusterstate.Instant(&u.CreationTimestamp)), Triggered: u.Status.TriggerTime != nil,
		EndTime: clusterstate.Instant(u.Status.EndTime), Outcome: u.Status.Outcome, Stalled: u.Status.Stalled(), Counts: u.Status.Nodes,
	}
	b.report.Upgrade.Changed, b.report.Upgrade.ChangedBy = u.Changed()
	if strategy.MaxUnavailable != nil {
		b.report.Upgrade.MaxUnavailable = strategy.MaxUnavailable.String()
	}
	b.report.Upgrade.Reason, b.report.Upgrade.Message = u.Status.Explain()
	b.report.IgnoreChecks, b.report.EtcdSnapshot = u.Spec.IgnoreChecks, u.Status.EtcdSnapshot
	b.report.Findings, b.report.Images = u.Status.Findings, u.Status.Images
	if at := u.Status.PreflightTime; at != nil {
		b.report.FindingsTime = clusterstate.UTC(&at.Time)
	}
}

// requestedBy returns who requested an upgrade: a user, or the policy. Empty: that is not
// known.
func requestedBy(user, createdBy string) string {
	if createdBy == v1alpha1.CreatedByCoordinator {
		return "the UpgradePolicy"
	}
	return user
}
