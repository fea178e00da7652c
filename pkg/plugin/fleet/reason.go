package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// The codes of what is wrong with reaching a cluster. Other reasons are those of the cluster.
const (
	ReasonSilent             v1alpha1.Reason = "Silent"             // it did not answer in time
	ReasonUnreachable        v1alpha1.Reason = "Unreachable"        // nothing is there
	ReasonNotTrusted         v1alpha1.Reason = "NotTrusted"         // its certificate is not that of the kubeconfig
	ReasonCertificateExpired v1alpha1.Reason = "CertificateExpired" // its certificate, or the person's
	ReasonNoCredentials      v1alpha1.Reason = "NoCredentials"      // the program that gets them gave none
	ReasonNoAccess           v1alpha1.Reason = "NoAccess"           // it refuses the person
	ReasonNotInstalled       v1alpha1.Reason = "NotInstalled"       // it does not know our kinds
	ReasonKubeconfig         v1alpha1.Reason = "Kubeconfig"         // the context cannot be used
	ReasonUnreadable         v1alpha1.Reason = "Unreadable"         // anything else
	ReasonSameCluster        v1alpha1.Reason = "SameCluster"        // another context leads there, too
)

// ReasonTakenBack is the code of a cluster that lacks a patch because a Rollback took it back.
const ReasonTakenBack v1alpha1.Reason = "TakenBack"

// cause is one reason why a cluster is not done. The one with the lowest rank is shown.
type cause struct {
	rank        int
	needsPerson bool
	reason      v1alpha1.Reason
	message     string
	until       *time.Time
}

// The ranks: first what needs a person, of that first what has failed, and last what is routine.
const (
	rankFailed = iota
	rankPrograms
	rankInvalid
	rankStalled
	rankApproval
	rankDecided // people have decided that nothing happens
	rankWaits
	rankFrozen
	rankAside // what a person has to solve, and holds nothing
	rankRoutine
)

// reasons returns all causes.
func reasons(s view.Status, r *Row, excluded schedule.Verdict) (all []cause) {
	add := func(rank int, needsPerson bool, reason v1alpha1.Reason, message string, until *time.Time) {
		all = append(all, cause{rank, needsPerson, reason, message, until})
	}
	for _, p := range s.Problems {
		add(rankPrograms, true, p.Reason, p.Message, nil)
	}
	if s.Policy != nil {
		for _, p := range s.Policy.Problems {
			rank := rankInvalid
			switch {
			case p.HoldsNothing:
				rank = rankAside
			case hasFailed(p.Reason):
				rank = rankFailed
			}
			add(rank, true, p.Reason, p.Message, nil)
		}
	}
	for _, one := range s.Schedules {
		if one.State == "Invalid" {
			add(rankInvalid, true, v1alpha1.ReasonScheduleInvalid, "schedule "+one.Name+": "+one.Message, nil)
		}
	}
	if failed := r.failed; len(failed) > 0 {
		message := strings.TrimSuffix(fmt.Sprintf("node %s failed: %s", failed[0].Name, failed[0].Message), ": ")
		if len(failed) > 1 {
			message = fmt.Sprintf("%d nodes failed; %s", len(failed), message)
		}
		add(rankFailed, true, cmp.Or(failed[0].Reason, v1alpha1.ReasonNodeFailed), message, nil)
	}
	if lastFailed(s) {
		add(rankFailed, true, s.Last.Reason, fmt.Sprintf("upgrade %s ended: %s: %s", s.Last.Name, s.Last.Outcome, s.Last.Message), nil)
	}
	upgradeReasons(s, r, add)
	if excluded.Reason != "" {
		add(rankFrozen, false, excluded.Reason, excluded.Message, excluded.Until)
	}
	if s.Policy != nil && s.Policy.Mode != v1alpha1.ModeManage {
		add(rankDecided, true, v1alpha1.ReasonObserved, "mode Observe: nothing on any node is changed", nil)
	}
	if s.Upgrade == nil && r.Behind != nil {
		for _, f := range r.Follows {
			switch {
			case f.hold.Stalls():
				add(rankStalled, true, f.hold.Reason, f.Message, f.Until)
			case f.hold.Holds():
				add(rankWaits, false, f.hold.Reason, f.Message, f.Until)
			}
		}
	}
	if s.Upgrade == nil && s.Policy != nil && s.Policy.AutomaticHeld != nil {
		add(rankWaits, false, s.Policy.AutomaticHeld.Reason, s.Policy.AutomaticHeld.Message, nil)
	}
	if s.Upgrade == nil && s.Policy != nil {
		for _, t := range s.Policy.TakenBack {
			add(rankWaits, false, ReasonTakenBack, strings.TrimSuffix(fmt.Sprintf("%s was taken back by %s: %s", t.Version, t.Upgrade, t.Comment), ": "), nil)
		}
	}
	if len(s.Nodes) == 0 && len(s.Unmanaged) == 0 {
		add(rankPrograms, true, v1alpha1.ReasonAgentNotRunning, "no agent has reported", nil)
	}
	return all
}

// upgradeReasons adds what the active upgrade waits for.
func upgradeReasons(s view.Status, r *Row, add func(int, bool, v1alpha1.Reason, string, *time.Time)) {
	u := s.Upgrade
	if u == nil {
		return
	}
	info := u.Reason.Info()
	switch {
	case hasFailed(u.Reason) && u.Stalled:
		add(rankFailed, true, u.Reason, u.Message, nil)
	case info.HeldByPeople:
		add(rankDecided, info.NeedsPerson || u.Reason == v1alpha1.ReasonSuspended, u.Reason, u.Message, nil)
	case u.Stalled:
		add(rankStalled, true, u.Reason, u.Message, nil)
	case u.Message != "" && !info.Routine:
		add(rankWaits, false, u.Reason, u.Message, nil)
	case u.Message != "":
		add(rankRoutine, false, u.Reason, u.Message, nil)
	}
	for _, a := range s.Approvals {
		add(rankApproval, true, v1alpha1.ReasonApprovalRequired, fmt.Sprintf("waits for an approval: `%s --context %s`", a.Command, r.Context), nil)
	}
}

// solvedThere returns the causes of a cluster that follows one that failed. A person solves that in the other cluster, so
// that no cause here needs one.
func solvedThere(causes []cause) []cause {
	causes = slices.Clone(causes)
	for i := range causes {
		if one := &causes[i]; one.reason == v1alpha1.ReasonNotSoaked {
			one.rank, one.needsPerson = max(one.rank, rankWaits), false
		}
	}
	return causes
}

// choose sets the reason that comes first, with what needs a person besides and holds nothing.
func (r *Row) choose(all []cause) {
	if len(all) == 0 {
		return
	}
	first := firstOf(all)
	r.NeedsPerson, r.Reason, r.Message, r.Until, r.also = first.needsPerson, first.reason, first.message, first.until, ""
	for _, one := range all {
		if one.rank != rankAside || first.rank == rankAside {
			continue
		}
		r.NeedsPerson = true
		r.also = strings.TrimPrefix(fmt.Sprintf("%s; also %s: %s", r.also, one.reason, one.message), "; ")
	}
	if r.also != "" {
		r.Message += "; " + r.also
	}
}

// firstOf returns the cause that is shown. A freeze is shown before the cluster that this one follows, whose row says how far
// it is, unless a person has something to solve.
func firstOf(all []cause) cause {
	first := slices.MinFunc(all, func(a, b cause) int { return a.rank - b.rank })
	frozen := slices.IndexFunc(all, func(c cause) bool { return c.rank == rankFrozen })
	if frozen >= 0 && !first.needsPerson && waitsForCluster(first.reason) {
		return all[frozen]
	}
	return first
}

// waitsForCluster reports whether the reason is that of a cluster that follows another one.
func waitsForCluster(reason v1alpha1.Reason) bool {
	return reason == v1alpha1.ReasonNotSoaked || reason == v1alpha1.ReasonExternalGateUnknown
}

// held returns what holds the cluster up, or why that is not known. Empty: nothing does.
func (r *Row) held() (reason v1alpha1.Reason, message string) {
	if r.State == StateSilent || r.Repeated || len(r.causes) == 0 {
		return r.Reason, r.Message
	}
	holding := slices.DeleteFunc(slices.Clone(r.causes), func(c cause) bool { return c.rank == rankAside })
	if len(holding) == 0 {
		return "", ""
	}
	first := firstOf(holding)
	return first.reason, first.message
}

// IsSilence reports whether the reason is that the cluster was not reached.
func IsSilence(reason v1alpha1.Reason) bool {
	return reason == ReasonSilent || reason == ReasonUnreachable || reason == ReasonNotTrusted || reason == ReasonCertificateExpired || reason == ReasonNoCredentials
}
