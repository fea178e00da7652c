package page

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report"
)

// badge is the outcome.
type badge struct{ Class, Text string }

// fact is a line of the summary.
type fact struct{ Name, Value, Note string }

// title names the upgrade by its versions, and by its name where that says more.
func title(u report.Upgrade) string {
	switch {
	case u.Type == v1alpha1.TypeCertificates:
		return "Renewal of certificates"
	case u.To == "":
		return "Reboot of nodes"
	case u.Type == v1alpha1.TypeRollback:
		return "Kubelets taken back to " + strings.TrimSuffix(u.To+" from "+u.From, " from ")
	case u.From == "" || u.From == u.To:
		return "Kubernetes " + u.To
	}
	return fmt.Sprintf("Kubernetes %s to %s", u.From, u.To)
}

func subtitle(r *report.Report) string {
	u := r.Upgrade
	text := strings.TrimSuffix(string(u.Reason)+": "+u.Message, ": ")
	if u.Ended() && u.Outcome == "Succeeded" || u.Reason == "Released" {
		text = u.Message
	}
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

func badgeOf(u report.Upgrade) badge {
	switch {
	case u.Outcome == "Succeeded":
		return badge{"good", "Succeeded"}
	case u.Outcome == v1alpha1.OutcomeSuperseded, u.Outcome == v1alpha1.OutcomeCanceled:
		return badge{"neutral", string(u.Outcome)}
	case u.Outcome == "RolledBack":
		return badge{"bad", "Rolled back"}
	case u.Outcome != "":
		return badge{"bad", string(u.Outcome)}
	}
	standing, class := u.Standing(), "busy"
	switch {
	case u.Suspended:
		class = "warn"
	case u.Stalled:
		class = "bad"
	case u.Reason.Info().NeedsPerson:
		class = "warn"
	case !u.Triggered:
		class = "neutral"
	}
	return badge{class, strings.ToUpper(standing[:1]) + standing[1:]}
}

// facts returns the summary.
func (l lanes) facts() (list []fact) {
	u := l.report.Upgrade
	add := func(name, value, note string) {
		if value != "" {
			list = append(list, fact{name, value, note})
		}
	}
	when := func(t *time.Time) string {
		if t == nil {
			return ""
		}
		return l.full(*t)
	}
	add("Requested by", u.RequestedBy, when(u.RequestedTime))
	add("Reason", u.Comment, "")
	add("Changed by", u.ChangedBy, "last")
	add("Approved by", u.ApprovedBy, "last")
	first, out := l.work()
	if u.Triggered {
		note := ""
		if !first.IsZero() {
			note = "first node " + l.full(first)
		}
		add("Began", when(u.StartTime), note)
	}
	switch {
	case u.Ended():
		add("Ended", when(u.EndTime), "took "+length(u.Took(l.now)))
	case u.PredictedEndTime != nil:
		add("Expected to end", when(u.PredictedEndTime), "in "+length(u.PredictedEndTime.Sub(l.now)))
	default:
		add("Expected to end", "not predictable now", "")
	}
	if out > 0 {
		add("Time out of service", length(out), "summed over the nodes")
	}
	if u.Type == v1alpha1.TypeCertificates { // which takes no node out of service
		add("Type", string(u.Type), "one control plane after the other")
	} else {
		add("Type", strings.Trim(string(u.Type)+", "+strings.ToLower(string(u.Method)), ", "), atOnce(u.MaxUnavailable))
	}
	add("ClusterUpgrade", u.Name, "UID "+u.UID)
	if u.RetryOf != nil {
		add("Retry of", u.RetryOf.Name, "")
	}
	if u.WindowPolicy == v1alpha1.WindowPolicyIgnore {
		add("Windows", "ignored", "exclusions counted")
	}
	return list
}

func atOnce(limit string) string {
	if limit == "" {
		return ""
	}
	return "at most " + limit + " unavailable at once"
}

// work returns when the first node began, and how long nodes were out of service in all.
func (l lanes) work() (first time.Time, out time.Duration) {
	for i := range l.report.Nodes {
		n := &l.report.Nodes[i]
		out += time.Duration(n.OutOfServiceSeconds) * time.Second
		if n.StartTime != nil && (first.IsZero() || n.StartTime.Before(first)) {
			first = *n.StartTime
		}
	}
	return first, out
}

func expected(u report.Usual) string {
	return fmt.Sprintf("Expected, without the settle time: kubeadm on a control plane %s, reboot of a control plane %s, of a worker %s, soft reboot %s, restart of the kubelet %s.",
		seconds(u.ComponentsSeconds), seconds(u.ControlPlaneSeconds), seconds(u.WorkerSeconds), seconds(u.SoftRebootSeconds), seconds(u.RestartSeconds))
}
