package fleet

import (
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// Answer is what a cluster said, or why it said nothing.
type Answer struct {
	Cluster
	// Snapshot is what was read. Nil: nothing was.
	Snapshot *clusterstate.Snapshot
	// UID is that of the namespace kube-system, by which a cluster is known. Empty: it may not be read.
	UID string
	// At is when that was read.
	At time.Time
	// Trouble is why nothing was read, or not again.
	Trouble *view.Problem
}

// State is what a person wants to know of a cluster first.
type State string

// The states of a cluster.
const (
	StateIdle    State = "Idle"    // no upgrade is active
	StateActive  State = "Active"  // nodes are at work
	StateWaiting State = "Waiting" // an upgrade is active, and waits
	StateFailed  State = "Failed"  // an upgrade, or a node, failed
	StateSilent  State = "Silent"  // it did not answer: nothing, or nothing new, is known
)

// Row is a cluster in one line.
type Row struct {
	Cluster
	State State `json:"state"`
	// AsOf is when it answered last. Absent: it has not.
	AsOf *time.Time `json:"asOf,omitempty"`
	// Version is that of the oldest kubelet, and Versions are all, with their nodes.
	Version  string       `json:"version,omitempty"`
	Versions []view.Count `json:"versions,omitempty"`
	// APIServers are the versions of kube-apiservers that none of these kubelets runs, as after a Rollback.
	APIServers []string `json:"apiServers,omitempty"`
	// Unmanaged is how many nodes the policy leaves out. They are not in Versions.
	Unmanaged int `json:"unmanaged,omitempty"`
	// Behind is the patch that it lacks. Absent: it has the newest.
	Behind *Behind `json:"behind,omitempty"`
	// Upgrade is the active one, or the last where that failed.
	Upgrade *Upgrade `json:"upgrade,omitempty"`
	// Window is the one that is open, or the next.
	Window *Opening `json:"window,omitempty"`
	// Follows are the clusters whose versions it waits for.
	Follows []Follow `json:"follows,omitempty"`
	// NeedsPerson reports whether the reason does not pass by itself, or a person has something to solve besides.
	NeedsPerson bool            `json:"needsPerson,omitempty"`
	Reason      v1alpha1.Reason `json:"reason,omitempty"`
	Message     string          `json:"message,omitempty"`
	Until       *time.Time      `json:"until,omitempty"`
	// Status is set where the cluster was named, so that it is shown in full.
	Status *view.Status `json:"status,omitempty"`
	uid    string
	counts bool // it is not another context of a server that counts already
	takes  bool // patches that come to it by themselves
	causes []cause
	failed []view.Node // those that failed
	also   string      // the end of Message: what needs a person besides, and holds nothing
}

// Counts reports whether the row counts as a cluster.
func (r Row) Counts() bool { return r.counts }

// Behind is a patch that a cluster lacks.
type Behind struct {
	Version string `json:"version"`
	// Since is when its coordinator first saw a patch that is newer than what runs.
	Since time.Time `json:"since"`
}

// Upgrade is one in a row.
type Upgrade struct {
	Name     string               `json:"name"`
	Type     v1alpha1.UpgradeType `json:"type,omitempty"`
	To       string               `json:"to,omitempty"`
	Progress string               `json:"progress,omitempty"` // done/total
	Since    *time.Time           `json:"since,omitempty"`
	Outcome  v1alpha1.Outcome     `json:"outcome,omitempty"`
}

// Opening is a maintenance window that is open, or opens.
type Opening struct {
	Start time.Time  `json:"start"`
	End   *time.Time `json:"end,omitempty"`
}

// Follow is a gate that follows another cluster.
type Follow struct {
	Gate string `json:"gate"`
	// Context is the cluster, where it is among those that are shown.
	Context string `json:"context,omitempty"`
	// Version is the one that it waits for, or would wait for. Empty: none is known.
	Version string             `json:"version,omitempty"`
	State   v1alpha1.GateState `json:"state,omitempty"`
	// Message is what it waits for. Empty: for nothing.
	Message string     `json:"message,omitempty"`
	Until   *time.Time `json:"until,omitempty"`
	// Reason and Why are what the other cluster itself waits for, where it is among those that are shown.
	Reason v1alpha1.Reason `json:"reason,omitempty"`
	Why    string          `json:"why,omitempty"`
	server string
	hold   clusterstate.Hold // as Message and Until say
	// failedWith is the version, or the upgrade, with which the other cluster failed.
	failedWith string
}

// NewRow returns the row of a cluster at now.
func NewRow(a Answer, now time.Time) Row {
	r := Row{Cluster: a.Cluster, uid: a.UID, State: StateIdle}
	if a.Snapshot != nil {
		at := a.At.UTC().Truncate(time.Second)
		r.AsOf = &at
		r.fill(*a.Snapshot, now)
	}
	switch {
	case a.Repeated:
		r.Reason, r.Message = ReasonSameCluster, SameCluster(a.Cluster).Message
	case a.Trouble != nil:
		r.State, r.NeedsPerson = StateSilent, true
		r.Reason, r.Message, r.Until = a.Trouble.Reason, a.Trouble.Message, nil
	}
	return r
}

// SameCluster says that another context before this one leads to the same API server.
func SameCluster(c Cluster) *view.Problem {
	return &view.Problem{Reason: ReasonSameCluster, Message: "the API server of " + c.SameAs + ", where this cluster counts"}
}

// fill sets what the snapshot says.
func (r *Row) fill(s clusterstate.Snapshot, now time.Time) {
	status := view.NewStatus(s, now)
	r.Versions, r.APIServers, r.Unmanaged = view.Kubelets(s, status.Unmanaged), status.APIServers, len(status.Unmanaged)
	if len(r.Versions) > 0 {
		r.Version = r.Versions[0].Version
	}
	if newest, since := plan.NewerPatch(s.Policy, r.Version); since != nil {
		r.Behind = &Behind{Version: newest, Since: since.UTC()}
	}
	u := status.Upgrade
	if failed := lastFailed(status); u == nil && failed {
		u = status.Last
	}
	if u != nil {
		r.Upgrade = &Upgrade{Name: u.Name, Type: u.Type, To: u.To, Progress: u.Progress, Since: u.TriggerTime, Outcome: u.Outcome}
	}
	r.takes = s.Policy != nil && slices.ContainsFunc(s.Policy.Spec.Automatic, func(a v1alpha1.AutomaticUpgrade) bool { return a.Type == v1alpha1.TypePatch })
	r.State = stateOf(status)
	r.failed = slices.DeleteFunc(slices.Clone(status.Nodes), func(n view.Node) bool { return !nodeFailed(n) })
	hold := r.fillWindow(s, status, now)
	r.Follows = follows(s, status, r.Behind, now)
	r.causes = reasons(status, r, hold)
	r.choose(r.causes)
}

// stateOf returns the state of a cluster that answered.
func stateOf(s view.Status) State {
	u := s.Upgrade
	switch {
	case lastFailed(s), u != nil && u.Stalled && hasFailed(u.Reason), slices.ContainsFunc(s.Nodes, nodeFailed):
		return StateFailed
	case u == nil:
		return StateIdle
	case slices.ContainsFunc(s.Nodes, func(n view.Node) bool { return n.State == view.StateActive }):
		return StateActive
	}
	return StateWaiting
}

// hasFailed reports whether the reason says that something failed, and not that it waits for a person.
func hasFailed(reason v1alpha1.Reason) bool {
	return reason == v1alpha1.ReasonNodeFailed || reason == v1alpha1.ReasonHookFailed || reason == v1alpha1.ReasonNotReadyAfterUpgrade
}

// nodeFailed reports whether the node failed and has not been abandoned.
func nodeFailed(n view.Node) bool {
	return n.State == view.StateFailed && n.Reason != v1alpha1.ReasonAbandoned
}

// lastFailed reports whether the last upgrade failed, and nothing has been asked for since.
func lastFailed(s view.Status) bool {
	return s.Upgrade == nil && s.Last != nil && (s.Last.Outcome == v1alpha1.OutcomeFailed || s.Last.Outcome == v1alpha1.OutcomeRolledBack)
}

// fillWindow sets the window of the node whose window comes first. It returns why no node may begin by
// an exclusion, if so.
func (r *Row) fillWindow(s clusterstate.Snapshot, status view.Status, now time.Time) (excluded schedule.Verdict) {
	if len(s.Schedules) == 0 {
		return excluded
	}
	kind := v1alpha1.TypePatch
	if status.Upgrade != nil && status.Upgrade.Type != "" {
		kind = status.Upgrade.Type
	}
	moment := schedule.NewMoment(s.Schedules, now)
	all := true
	for _, of := range classes(s, status.Unmanaged) {
		verdict := moment.At(of, kind)
		if excluded = verdict; verdict.Reason != v1alpha1.ReasonExcluded {
			all = false
		}
		openings, err := moment.Next(of, kind, 1)
		if err != nil || len(openings) == 0 {
			continue
		}
		if r.Window != nil && !openings[0].Start.Before(r.Window.Start) {
			continue
		}
		r.Window = &Opening{Start: openings[0].Start.UTC().Truncate(time.Second)}
		if end := openings[0].End.UTC().Truncate(time.Second); !openings[0].End.IsZero() {
			r.Window.End = &end
		}
	}
	if !all {
		return schedule.Verdict{}
	}
	return excluded
}

// classes returns the labels of one node for each set of schedules that nodes have.
func classes(s clusterstate.Snapshot, unmanaged []string) (list []map[string]string) {
	selects := make([]func(map[string]string) bool, len(s.Schedules))
	for i := range s.Schedules {
		selects[i] = view.Selects(s.Schedules[i].Spec.NodeSelector)
	}
	seen, without := map[string]bool{}, view.Set(unmanaged)
	for _, n := range s.Nodes {
		if without[n.Name] {
			continue
		}
		key := make([]byte, len(selects))
		for i, matches := range selects {
			if key[i] = '0'; matches(n.Labels) {
				key[i] = '1'
			}
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			list = append(list, n.Labels)
		}
	}
	if len(list) == 0 {
		list = append(list, nil)
	}
	return list
}

// follows returns the gates that follow other clusters, for the version that is next here.
func follows(s clusterstate.Snapshot, status view.Status, behind *Behind, now time.Time) (list []Follow) {
	if s.Policy == nil {
		return nil
	}
	to, images := "", []v1alpha1.Image(nil)
	if u := status.Upgrade; u != nil {
		to = u.To
		if active := s.Upgrade(u.Name); active != nil {
			images = active.Status.Images
		}
	} else if behind != nil {
		to, images = behind.Version, offered(s.Policy, behind.Version)
	}
	for i := range s.Policy.Spec.Gates {
		g := &s.Policy.Spec.Gates[i]
		if g.Cluster == nil {
			continue
		}
		one := Follow{Gate: g.Name, Version: to}
		if answer := s.Policy.GateStatus(g.Name); answer != nil {
			one.State = answer.State
			one.server, _, _ = strings.Cut(answer.Message, " ") // as the gate's answer begins
			one.server = strings.TrimSuffix(one.server, ":")
		}
		ignored := status.Upgrade != nil && slices.ContainsFunc(status.Upgrade.IgnoreGates, func(i v1alpha1.IgnoredGate) bool { return i.Name == g.Name })
		if to != "" && !ignored {
			one.hold = plan.FollowHold(s.Policy, g, to, images, now)
			one.Message, one.Until = one.hold.Message, one.hold.Until
		}
		list = append(list, one)
	}
	return list
}

// offered returns the images that the source offers for a version.
func offered(policy *v1alpha1.UpgradePolicy, to string) (images []v1alpha1.Image) {
	for _, one := range policy.Status.Offered {
		if one.Version != to {
			continue
		}
		for _, image := range one.Images {
			images = append(images, v1alpha1.Image{Architecture: image.Architecture, Digest: image.Digest})
		}
	}
	return images
}
