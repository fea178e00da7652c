package request

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Planned returns the upgrade that the plan is for, with the status that the plan
// gives it. Nil: the plan is for none, or for one that is over.
func Planned(s clusterstate.Snapshot, decided plan.Plan) *v1alpha1.ClusterUpgrade {
	status := statusOf(decided)
	for i := range s.Upgrades {
		if u := &s.Upgrades[i]; u.Name == decided.Upgrade && status != nil && u.Status.Outcome == "" {
			u = u.DeepCopy()
			u.Status = *status
			return u
		}
	}
	return nil
}

// statusOf returns the status that the plan gives its upgrade. Nil: it is for none.
func statusOf(decided plan.Plan) *v1alpha1.ClusterUpgradeStatus {
	for i := range decided.Statuses {
		if decided.Statuses[i].Name == decided.Upgrade {
			return &decided.Statuses[i].Status
		}
	}
	return nil
}

// HasWork reports whether anything is to be done, or would be if it could.
func HasWork(decided plan.Plan) bool {
	return decided.Create != nil || slices.ContainsFunc(decided.Nodes, IsToGo)
}

// IsToGo reports whether something is to be done about the node. One that is not
// supported, or that a person abandoned, is left out.
func IsToGo(n plan.NodePlan) bool {
	leftOut := n.Reason == v1alpha1.ReasonUnsupported || n.Reason == v1alpha1.ReasonAbandoned
	return n.Decision != plan.Done && !leftOut
}

// ReuseFindings takes the findings of a saved snapshot to be those of that instant. It
// reports false, and leaves them out, where they are about another upgrade.
func ReuseFindings(s *clusterstate.Snapshot, at time.Time) bool {
	report := s.Preflight
	s.Preflight = nil
	decided := plan.Decide(*s, at)
	if decided.PreflightKey == "" {
		return true // there is no upgrade to check
	}
	now := clusterstate.Preflight{Key: decided.PreflightKey, At: at}
	if upgrade := Planned(*s, decided); upgrade != nil {
		now.Upgrade = upgrade.Reference()
	}
	matches := report != nil && report.Key == now.Key
	if matches {
		now.Findings = report.Findings
	}
	s.Preflight = &now
	return matches
}

// supposed is the name and UID of an upgrade that does not exist. No object can bear
// it: so no node takes it for the one that it is at work for.
const supposed = "(supposed)"

// creationOf returns when an upgrade that is created at an instant of the user's clock seems to be created in the
// cluster, whose clocks may be ahead: after all others were created or have ended.
func creationOf(s clusterstate.Snapshot, at time.Time) time.Time {
	note := func(last *metav1.Time) {
		if last != nil && !last.Time.Before(at) {
			at = last.Add(time.Second)
		}
	}
	for i := range s.Upgrades {
		note(&s.Upgrades[i].CreationTimestamp)
		note(s.Upgrades[i].Status.EndTime)
	}
	if s.Policy != nil {
		for i := range s.Policy.Status.Ran {
			note(s.Policy.Status.Ran[i].SinceTime)
		}
	}
	return at
}

// supposedUpgrade returns u as if it had been created at that instant.
func supposedUpgrade(u *v1alpha1.ClusterUpgrade, at time.Time) v1alpha1.ClusterUpgrade {
	one := *u.DeepCopy()
	one.Name, one.UID, one.CreationTimestamp = supposed, supposed, metav1.NewTime(at)
	return one
}

// NoneReleased returns the plan without the claim that the coordinator released nodes for its upgrade, where that does
// not exist: they may begin at once; or where they are at work for another one, which they end first.
func NoneReleased(decided plan.Plan) plan.Plan {
	status := statusOf(decided)
	if status == nil {
		return decided
	}
	said := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionSucceeded)
	for i := range decided.Nodes {
		n := &decided.Nodes[i]
		headline := ""
		switch released := n.Decision == plan.Go && n.Reason == v1alpha1.ReasonReleased; {
		case released && n.AtWorkFor != "", n.Reason == v1alpha1.ReasonUpgradeWithdrawn && n.AtWorkFor != "" && IsSupposed(decided.Upgrade):
			headline = endsOtherFirst(n)
		case released && !n.Began && IsSupposed(decided.Upgrade):
			n.Message = strings.Replace(n.Message, plan.ReleasedMessage, "the node may begin at once", 1)
			headline = fmt.Sprintf("node %s may begin at once", n.Name)
		}
		if headline != "" && said != nil && said.Reason == string(v1alpha1.ReasonReleased) && said.Message == plan.UpgradedMessage(n.Name) {
			said.Message = headline
		}
	}
	return decided
}

// endsOtherFirst has a node that is at work for another upgrade than the plan's wait for that, unless this one has nothing
// to do on it. It returns what is said of the upgrade if that is its first node.
func endsOtherFirst(n *plan.NodePlan) (headline string) {
	work := "is at work for ClusterUpgrade " + n.AtWorkFor
	if n.NothingToDo != "" {
		n.Decision, n.Reason, n.Message = plan.Done, n.NothingToDo, work+"; this one has nothing to do on it"
	} else {
		n.Decision, n.Reason, n.Message = plan.Wait, v1alpha1.ReasonNotItsTurn, work+", and ends that first"
	}
	return fmt.Sprintf("node %s %s, and ends that first", n.Name, work)
}

// IsSupposed reports whether the upgrade of that name is one that does not exist.
func IsSupposed(name string) bool { return name == supposed }

// Suppose returns the snapshot with u as the active upgrade, in place of those that
// have not ended; where u is possible only after them, as if they had succeeded. If
// the index of images was not read, the image of u is taken to be on offer.
func Suppose(s clusterstate.Snapshot, u *v1alpha1.ClusterUpgrade, at time.Time) clusterstate.Snapshot {
	if first, later := startsFrom(s, u, at); later {
		s = reached(s, first)
	}
	s.Upgrades = slices.DeleteFunc(slices.Clone(s.Upgrades), func(u v1alpha1.ClusterUpgrade) bool { return u.Status.Outcome == "" })
	s.Upgrades = append(s.Upgrades, supposedUpgrade(u, creationOf(s, at)))
	s.Source = presumed(s)
	return s
}

// SupposeVersion returns the snapshot with an upgrade to that version as the active
// one: the one that exists, or a supposed one. The notes say what it took for granted.
func SupposeVersion(s clusterstate.Snapshot, text string, at time.Time) (_ clusterstate.Snapshot, notes []string, err error) {
	to, note, err := resolve(s, text)
	if err != nil {
		return s, nil, err
	}
	if note != "" {
		notes = append(notes, note)
	}
	if u := unfinishedTo(s, text, false, at); u != nil && u.Spec.Version != to.String() {
		notes = append(notes, fmt.Sprintf("`kubectl upgrade apply %s` comes back to ClusterUpgrade %s, which asks for %s.", text, u.Name, u.Spec.Version))
	}
	u := &v1alpha1.ClusterUpgrade{Spec: v1alpha1.ClusterUpgradeSpec{Version: to.String()}}
	queue := queueOf(s, at)
	existing := slices.IndexFunc(queue, func(one plan.Queued) bool {
		return one.Spec.Version == to.String() && !isRollback(one.ClusterUpgrade)
	})
	if existing >= 0 {
		u = queue[existing].ClusterUpgrade
	}
	for _, first := range before(s, u, at) {
		notes = append(notes, fmt.Sprintf("ClusterUpgrade %s would come before it; this plan %s.", first.Name, startNote(s, u, at)))
	}
	if existing >= 0 {
		note := fmt.Sprintf("ClusterUpgrade %s asks for %s already: this is its plan.", u.Name, to)
		if first, later := startsFrom(s, u, at); later {
			s = reached(s, first)
			note += fmt.Sprintf(" It begins where those before it end, at %s.", first)
		}
		s.Upgrades = []v1alpha1.ClusterUpgrade{*u}
		return s, append(notes, note), nil
	}
	if err := RefuseDowngrade(s, u, at); err != nil {
		notes = append(notes, fmt.Sprintf("`kubectl upgrade apply %s` would be refused: %s.", text, err))
	}
	if s.Source.Problem.Reason == v1alpha1.ReasonSourceUnavailable {
		notes = append(notes, fmt.Sprintf("The index of images was not read (%s); this plan assumes that %s is available.", s.Source.Problem.Message, to))
	}
	return Suppose(s, u, at), notes, nil
}

// presumed returns the source of images. If its index was not read, each unfinished
// upgrade's image is taken to be on offer for every node.
func presumed(s clusterstate.Snapshot) clusterstate.Source {
	if s.Source.Problem.Reason != v1alpha1.ReasonSourceUnavailable {
		return s.Source
	}
	var source clusterstate.Source
	for _, u := range s.Upgrades {
		for _, n := range s.Nodes {
			if u.Status.Outcome == "" && u.Spec.Version != "" && !slices.Contains(source.Architectures(u.Spec.Version), n.Architecture) {
				source.Offers = append(source.Offers, clusterstate.Offer{Version: u.Spec.Version, Image: v1alpha1.Image{Architecture: v1alpha1.Architecture(n.Architecture)}})
			}
		}
	}
	return source
}

// queueOf returns the queue as the coordinator has it, which has read the index of images
// even if the user's machine cannot.
func queueOf(s clusterstate.Snapshot, at time.Time) []plan.Queued {
	s.Source = presumed(s)
	return plan.Queue(s, at)
}

// before returns the upgrades that end before it is the turn of u, in their order. It
// lets the planner choose the active upgrade again and again, each time as if the
// last one had succeeded. u need not exist yet; what u retries, or takes back, is left out.
func before(s clusterstate.Snapshot, u *v1alpha1.ClusterUpgrade, at time.Time) (list []*v1alpha1.ClusterUpgrade) {
	s = withoutTaken(s, u)
	uid := u.UID
	if uid == "" {
		s.Upgrades = append(slices.Clone(s.Upgrades), supposedUpgrade(u, creationOf(s, at)))
		uid = supposed
	}
	for {
		queue := queueOf(s, at)
		if len(queue) == 0 || queue[0].UID == uid || queue[0].CannotProceed {
			return list
		}
		next, outcome := queue[0].ClusterUpgrade, v1alpha1.OutcomeFailed
		if !u.Spec.Retries(next) {
			list, outcome = append(list, next), v1alpha1.OutcomeSucceeded
			to, _ := version.Parse(next.Spec.Version) // a Reboot or a renewal of certificates has none
			s = reached(s, to)
		}
		s.Upgrades = slices.Clone(s.Upgrades) // list has the upgrades as they were
		i := slices.IndexFunc(s.Upgrades, func(one v1alpha1.ClusterUpgrade) bool { return one.UID == next.UID })
		s.Upgrades[i].Status.Outcome, s.Upgrades[i].Status.EndTime = outcome, &metav1.Time{Time: at}
	}
}

// highest returns the upgrade with the newest version, and the version. Nil: none of
// them has one.
func highest(upgrades []*v1alpha1.ClusterUpgrade) (u *v1alpha1.ClusterUpgrade, to version.Version) {
	for _, one := range upgrades {
		if v, err := version.Parse(one.Spec.Version); err == nil && (u == nil || to.Less(v)) {
			u, to = one, v
		}
	}
	return u, to
}

// RefuseDowngrade refuses a version that is older than the one of an upgrade before
// it in the queue: it could not begin once it is its turn.
func RefuseDowngrade(s clusterstate.Snapshot, u *v1alpha1.ClusterUpgrade, at time.Time) error {
	if !isOfApply(u) {
		return nil
	}
	to, err := version.Parse(u.Spec.Version)
	if err != nil {
		return err
	}
	first, newest := highest(before(s, u, at))
	if first == nil || !to.Less(newest) {
		return nil
	}
	next := "request a newer version"
	if first.Status.TriggerTime == nil {
		next += fmt.Sprintf(", or delete that one: `kubectl delete clusterupgrade %s`", first.Name)
	}
	return fmt.Errorf("ClusterUpgrade %s has not ended and comes first, and Kubernetes cannot be downgraded from its %s to %s: %s", first.Name, newest, to, next)
}

// startsFrom returns the version at which the upgrades before u leave the cluster, if
// u is possible only after them: they bring the minor in between. False: u is planned
// from what runs now.
func startsFrom(s clusterstate.Snapshot, u *v1alpha1.ClusterUpgrade, at time.Time) (version.Version, bool) {
	to, err := version.Parse(u.Spec.Version)
	first, newest := highest(before(s, u, at))
	if err != nil || first == nil || to.Less(newest) {
		return newest, false
	}
	for _, server := range s.APIServers {
		var refused *version.Refusal
		from, err := version.Parse(server.Version)
		if err == nil && from.Less(newest) && errors.As(version.CheckStep(from, to), &refused) && refused.Rule == version.RuleSkippedMinor {
			return newest, true
		}
	}
	return newest, false
}

// Queue returns a note about each upgrade that ends before it is the turn of u.
func Queue(s clusterstate.Snapshot, u *v1alpha1.ClusterUpgrade, at time.Time) (notes []string) {
	if u.Spec.RetryOf != nil {
		return nil // it comes next
	}
	for _, first := range before(s, u, at) {
		state := "has not ended"
		switch {
		case isRollback(u) && !isRollback(first):
			state = "is at work on a node"
		case first.Spec.Suspend:
			state = fmt.Sprintf("is suspended (`kubectl upgrade resume %s` resumes it)", first.Name)
		}
		notes = append(notes, fmt.Sprintf("ClusterUpgrade %s %s and comes before it; this plan %s.", first.Name, state, startNote(s, u, at)))
	}
	return notes
}

// startNote says what a plan for u does with the upgrades before it.
func startNote(s clusterstate.Snapshot, u *v1alpha1.ClusterUpgrade, at time.Time) string {
	if _, later := startsFrom(s, u, at); later {
		return "begins where that ends"
	}
	return "leaves that out"
}

// Waits says what an existing upgrade waits for until a person acts, or another one
// ends. Each sentence begins with a space.
func Waits(s clusterstate.Snapshot, u *v1alpha1.ClusterUpgrade, at time.Time) (sentences string) {
	if u.Spec.Suspend {
		sentences = fmt.Sprintf(" It is suspended: `kubectl upgrade resume %s` resumes it.", u.Name)
	}
	if active := queueOf(s, at)[0]; active.Name != u.Name && !active.CannotProceed {
		sentences += fmt.Sprintf(" It waits until ClusterUpgrade %s has ended.", active.Name)
	}
	return sentences
}

// SupposeManaged returns the snapshot with the mode Manage, and whether the mode is another
// one: the plan then shows what would happen.
func SupposeManaged(s clusterstate.Snapshot) (supposed clusterstate.Snapshot, observed bool) {
	if !s.Policy.Observes() {
		return s, false
	}
	policy := &v1alpha1.UpgradePolicy{}
	if s.Policy != nil {
		policy = s.Policy.DeepCopy()
	}
	policy.Name, policy.Spec.Mode = v1alpha1.PolicyName, v1alpha1.ModeManage
	s.Policy = policy
	return s, true
}
