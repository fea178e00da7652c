package metrics_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestCertificates checks which series the certificates of a node have.
func TestCertificates(t *testing.T) {
	const pki, day = "/etc/kubernetes/pki/", 24 * time.Hour
	in := func(left time.Duration) metav1.Time { return metav1.NewTime(time.Unix(1_800_000_000, 0).Add(left)) }
	state := stateOf(5)
	node := state.Snapshot.Nodes[0].Name
	state.Snapshot.Nodes[0].ControlPlane = true
	state.Snapshot.Inventories = []v1alpha1.NodeInventory{
		{ObjectMeta: metav1.ObjectMeta{Name: node}, NodeFacts: v1alpha1.NodeFacts{Certificates: []v1alpha1.CertificateFacts{
			{Path: pki + "apiserver.crt", NotAfter: in(0), AuthorityPath: pki + "ca.crt", InUse: v1alpha1.UsesFormer},
			{Path: pki + "ca.crt", NotAfter: in(-day), CA: true},
			{Path: pki + "x.crt", NotAfter: in(9 * day)}, {Path: pki + "y.crt", NotAfter: in(8 * day)},
			{Path: "/root/.kube/config", NotAfter: metav1.NewTime(now)},
			{Path: "/var/lib/kubelet/pki/kubelet.crt", NotAfter: metav1.NewTime(now), KubeletServing: true, RenewedBy: v1alpha1.RenewedByNone},
			{Path: "/var/lib/kubelet/pki/kubelet-client-current.pem", NotBefore: ptr.To(metav1.NewTime(now.Add(-80 * time.Minute))), NotAfter: metav1.NewTime(now.Add(20 * time.Minute)), RenewedBy: v1alpha1.RenewedByKubelet},
			{Path: "/etc/kubernetes/scheduler.conf", NotBefore: ptr.To(metav1.NewTime(now.Add(-80 * time.Minute))), NotAfter: metav1.NewTime(now.Add(20 * time.Minute)), RenewedBy: v1alpha1.RenewedByKubeadm},
		}}},
		{ObjectMeta: metav1.ObjectMeta{Name: state.Snapshot.Nodes[1].Name}, NodeFacts: v1alpha1.NodeFacts{Certificates: []v1alpha1.CertificateFacts{
			{Path: pki + "ca.crt", NotAfter: metav1.NewTime(now), CA: true}, {Path: "/etc/kubernetes/kubelet.conf", NotAfter: in(9 * day)},
		}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "gone"}, NodeFacts: v1alpha1.NodeFacts{Certificates: []v1alpha1.CertificateFacts{{Path: pki + "ca.crt"}}}},
	}
	state.Snapshot.Schedules = []v1alpha1.MaintenanceSchedule{{ObjectMeta: metav1.ObjectMeta{Name: "freeze"}, Spec: v1alpha1.MaintenanceScheduleSpec{
		MaintenanceExclusions: []v1alpha1.MaintenanceExclusion{{Period: v1alpha1.Period{Name: "x", StartTime: metav1.NewTime(now.Add(-day)), EndTime: metav1.NewTime(now.Add(day))}}},
	}}}
	series, _ := scrape(t, leading(state))
	var got []string
	for _, one := range series {
		if short, is := strings.CutPrefix(one, "kubectl_upgrade_certificate_"); is {
			got = append(got, strings.NewReplacer(`,node="`+node+`"`, "", `certificate=`, "").Replace(short))
		}
	}
	slices.Sort(got)
	want := []string{
		`end_time_seconds{"admin-copy"} 1.7952624e+09`, `end_time_seconds{"apiserver"} 1.7999136e+09`, `end_time_seconds{"ca"} 1.7999136e+09`,
		`end_time_seconds{"kubelet-client"} 1.7952636e+09`, `end_time_seconds{"kubelet-serving"} 1.7952624e+09`, `end_time_seconds{"other"} 1.8006912e+09`,
		`end_time_seconds{"scheduler.conf"} 1.7952636e+09`,
		`expiring{"ca"} 1`, `expiring{"scheduler.conf"} 1`, `frozen{"scheduler.conf"} 1`, `not_loaded{"apiserver"} 1`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
