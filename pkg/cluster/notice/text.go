package notice

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/notice/wire"
)

// NewData returns the fields for an event of the upgrade in a cluster, whose name may be empty.
func NewData(cluster string, u *v1alpha1.ClusterUpgrade, r v1alpha1.NoticeRecord) wire.Data {
	kind := u.Status.Type
	if kind == "" {
		kind = u.Spec.Type
	}
	d := wire.Data{
		ID: r.ID, Cluster: cluster, Event: string(r.Event), Time: r.Time.UTC().Format(time.RFC3339),
		Upgrade: u.Name, Type: string(kind), From: u.Status.FromVersion, Version: u.Spec.Version,
		Outcome: string(u.Status.Outcome), Done: u.Status.Nodes.Done, Total: u.Status.Nodes.Total,
		Node: r.Node, Reason: string(r.Reason), Message: r.Message,
	}
	d.Next = next(&d, r)
	d.Text = sentence(&d, r.Event, u)
	return d
}

// next returns the command that helps a person who reads about the event.
func next(d *wire.Data, r v1alpha1.NoticeRecord) string {
	switch {
	case r.Event == v1alpha1.NoticeEnded:
		return "kubectl upgrade report " + d.Upgrade
	case r.Event == v1alpha1.NoticeAnnounced:
		return "kubectl upgrade suspend " + d.Upgrade
	case r.Reason == v1alpha1.ReasonApprovalRequired:
		return "kubectl upgrade approve " + d.Upgrade
	case r.Reason == v1alpha1.ReasonSuspended:
		return "kubectl upgrade resume " + d.Upgrade
	case r.Reason == v1alpha1.ReasonPreflight && d.Type == string(v1alpha1.TypeRollback):
		return "kubectl upgrade plan" // with a version it plans an upgrade to it
	case r.Reason == v1alpha1.ReasonPreflight:
		return strings.TrimSpace("kubectl upgrade plan " + d.Version)
	case r.Node != "" && (r.Event == v1alpha1.NoticeNodeFailed || r.Event == v1alpha1.NoticeStalled):
		return "kubectl upgrade status " + r.Node + " --log"
	}
	return "kubectl upgrade status"
}

// sentence returns the default text.
func sentence(d *wire.Data, event v1alpha1.NoticeEvent, u *v1alpha1.ClusterUpgrade) string {
	name := "Upgrade " + d.Upgrade
	switch v1alpha1.UpgradeType(d.Type) {
	case v1alpha1.TypeRollback:
		name = "Rollback " + d.Upgrade
	case v1alpha1.TypeCertificates:
		name = "Renewal " + d.Upgrade
	}
	switch {
	case d.From != "" && d.Version != "":
		name += fmt.Sprintf(" (%s to %s)", d.From, d.Version)
	case d.Version != "":
		name += " to " + d.Version
	}
	done := fmt.Sprintf("%d of %d nodes done", d.Done, d.Total)
	because := d.Message
	if d.Reason != "" {
		because = d.Reason + ": " + d.Message
	}
	text := ""
	switch event {
	case v1alpha1.NoticeAnnounced:
		text = fmt.Sprintf("%s is announced: %s. To stop it:", name, d.Message)
	case v1alpha1.NoticeBegan:
		text = fmt.Sprintf("%s began: %s of %d. To follow it:", name, d.Message, d.Total)
	case v1alpha1.NoticeNodeFailed:
		text = fmt.Sprintf("%s: node %s failed, %s. Next:", name, d.Node, because)
	case v1alpha1.NoticeStalled:
		text = fmt.Sprintf("%s is STALLED and needs a person, %s. %s. Next:", name, done, because)
	case v1alpha1.NoticeWaiting:
		text = fmt.Sprintf("%s waits, %s. %s. Next:", name, done, because)
	case v1alpha1.NoticeEnded:
		took := ""
		if u.Status.TriggerTime != nil && u.Status.EndTime != nil {
			took = " after " + u.Status.EndTime.Sub(u.Status.TriggerTime.Time).String()
		}
		text = fmt.Sprintf("%s ended: %s%s, %s. %s. Details:", name, d.Outcome, took, done, d.Message)
	}
	if d.Cluster != "" {
		text = d.Cluster + ": " + text
	}
	return fmt.Sprintf("%s `%s` (id %s)", text, d.Next, d.ID)
}
