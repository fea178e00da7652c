package notice

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestText checks the default text of each event.
func TestText(t *testing.T) {
	u := &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "v1-34-4"}}
	u.Spec.Version = "v1.34.4"
	u.Status.FromVersion, u.Status.Nodes = "v1.34.3", v1alpha1.NodeCounts{Done: 2, Total: 5}
	back := u.DeepCopy()
	back.Spec.Type, back.Status.FromVersion = v1alpha1.TypeRollback, "v1.34.5"
	renewal := &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "certificates-a"}}
	renewal.Status.Type, renewal.Status.Nodes = v1alpha1.TypeCertificates, v1alpha1.NodeCounts{Done: 1, Total: 3}
	ended := u.DeepCopy()
	ended.Status.Outcome = v1alpha1.OutcomeSucceeded
	ended.Status.TriggerTime, ended.Status.EndTime = &metav1.Time{Time: began}, &metav1.Time{Time: began.Add(63 * time.Minute)}
	for _, test := range []struct {
		upgrade *v1alpha1.ClusterUpgrade
		record  v1alpha1.NoticeRecord
		want    string
	}{
		{u, v1alpha1.NoticeRecord{Event: v1alpha1.NoticeAnnounced, Message: "no node begins before 2026-11-23 01:00 UTC"},
			"Upgrade v1-34-4 (v1.34.3 to v1.34.4) is announced: no node begins before 2026-11-23 01:00 UTC. To stop it: `kubectl upgrade suspend v1-34-4` (id 0a)"},
		{u, v1alpha1.NoticeRecord{Event: v1alpha1.NoticeBegan, Node: "cp1", Message: "node cp1 is the first"},
			"Upgrade v1-34-4 (v1.34.3 to v1.34.4) began: node cp1 is the first of 5. To follow it: `kubectl upgrade status` (id 0a)"},
		{u, v1alpha1.NoticeRecord{Event: v1alpha1.NoticeNodeFailed, Node: "w1", Reason: v1alpha1.ReasonRolledBack, Message: "the kubelet did not answer"},
			"Upgrade v1-34-4 (v1.34.3 to v1.34.4): node w1 failed, RolledBack: the kubelet did not answer. Next: `kubectl upgrade status w1 --log` (id 0a)"},
		{u, v1alpha1.NoticeRecord{Event: v1alpha1.NoticeStalled, Reason: v1alpha1.ReasonPreflight, Message: "a check blocks"},
			"Upgrade v1-34-4 (v1.34.3 to v1.34.4) is STALLED and needs a person, 2 of 5 nodes done. Preflight: a check blocks. Next: `kubectl upgrade plan v1.34.4` (id 0a)"},
		{u, v1alpha1.NoticeRecord{Event: v1alpha1.NoticeWaiting, Reason: v1alpha1.ReasonApprovalRequired, Message: "nobody has approved it"},
			"Upgrade v1-34-4 (v1.34.3 to v1.34.4) waits, 2 of 5 nodes done. ApprovalRequired: nobody has approved it. Next: `kubectl upgrade approve v1-34-4` (id 0a)"},
		{back, v1alpha1.NoticeRecord{Event: v1alpha1.NoticeStalled, Reason: v1alpha1.ReasonPreflight, Message: "a check blocks"},
			"Rollback v1-34-4 (v1.34.5 to v1.34.4) is STALLED and needs a person, 2 of 5 nodes done. Preflight: a check blocks. Next: `kubectl upgrade plan` (id 0a)"},
		{renewal, v1alpha1.NoticeRecord{Event: v1alpha1.NoticeNodeFailed, Node: "cp1", Reason: v1alpha1.ReasonKubeadmFailed, Message: "kubeadm failed"},
			"Renewal certificates-a: node cp1 failed, KubeadmFailed: kubeadm failed. Next: `kubectl upgrade status cp1 --log` (id 0a)"},
		{ended, v1alpha1.NoticeRecord{Event: v1alpha1.NoticeEnded, Reason: v1alpha1.ReasonUpToDate, Message: "all 5 nodes run v1.34.4"},
			"Upgrade v1-34-4 (v1.34.3 to v1.34.4) ended: Succeeded after 1h3m0s, 2 of 5 nodes done. all 5 nodes run v1.34.4. Details: `kubectl upgrade report v1-34-4` (id 0a)"},
	} {
		test.record.ID = "0a"
		if got := NewData("", test.upgrade, test.record).Text; got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.record.Event, got, test.want)
		}
		if got, want := NewData("prod-eu-1", test.upgrade, test.record).Text, "prod-eu-1: "+test.want; got != want {
			t.Errorf("%s in a cluster with a name: got\n%s\nwant\n%s", test.record.Event, got, want)
		}
	}
}

// TestMessagesAreOneLine checks that what a node wrote cannot add lines to a notice.
func TestMessagesAreOneLine(t *testing.T) {
	s := newStory()
	s.to(func(status *v1alpha1.ClusterUpgradeStatus) {
		fails("w1")(status)
		status.Blocked[0].Message = "bad\n\x1b[31mUpgrade ended: Succeeded" + strings.Repeat("x", 2*maxMessage)
	})
	if got := s.upgrade.Status.Notices[0].Message; strings.ContainsAny(got, "\n\x1b") || len(got) > maxMessage || !strings.HasPrefix(got, "bad [31mUpgrade") {
		t.Errorf("got %d bytes: %q", len(got), got[:min(len(got), 80)])
	}
}
