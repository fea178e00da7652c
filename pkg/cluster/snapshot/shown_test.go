package snapshot_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// What is followed is what was read at once, for a person who may read everything and for one who
// may not read Nodes, the policy, Leases and pods; what that one may read is required.
func TestFollowFindsWhatReadShownReads(t *testing.T) {
	w := newWorld(t)
	all := w.clients(w.config)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w-9"}, Spec: corev1.NodeSpec{Unschedulable: true}}
	w.must(w.kube.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}))
	order := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "w-9"}}
	order.Spec.Image = &v1alpha1.Image{Architecture: "arm64", URL: "https://images.example/kubernetes.raw", Digest: v1alpha1.DigestOf(strings.Repeat("0", 64))}
	order, err := all.Ours.NodeUpgrades.Create(t.Context(), order, metav1.CreateOptions{})
	w.must(order, err)
	order.Status.Slot, order.Status.Versions.ControlPlane = "slot-0", "v1.34.3"
	w.must(all.Ours.NodeUpgrades.UpdateStatus(t.Context(), order, metav1.UpdateOptions{}))
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "kinds"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"nodeupgrades", "clusterupgrades", "maintenanceschedules"}, Verbs: []string{"list", "watch"}},
	}}
	w.must(w.kube.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}))
	w.must(w.kube.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "kinds"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "kinds"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "few"}},
	}, metav1.CreateOptions{}))
	as := func(user string) snapshot.Clients {
		config := rest.CopyConfig(w.config)
		config.Impersonate = rest.ImpersonationConfig{UserName: user}
		return w.clients(config)
	}
	at := time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)
	eventually := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal(what)
			}
		}
	}
	var few clusterstate.Snapshot
	eventually("the authorizer does not know the role", func() bool {
		few, err = snapshot.ReadShown(t.Context(), as("few"), at)
		return err == nil
	})
	every, err := snapshot.ReadShown(t.Context(), all, at)
	w.must(every, err)
	if n := find(every, "w-9"); every.NodesUnread || every.PolicyUnread || n.Condition != "Unknown,SchedulingDisabled" || n.Created.IsZero() || every.Programs.CoordinatorRenewed == nil || every.Programs.Agents == nil {
		t.Errorf("a person who may read everything: %+v, programs %+v", n, every.Programs)
	}
	if n := find(few, "w-9"); !few.NodesUnread || !few.PolicyUnread || !n.ControlPlane || n.Architecture != "arm64" || len(few.Slots) != 1 || len(few.APIServers) != 1 || few.Policy == nil || few.Programs.CoordinatorRenewed != nil || few.Programs.Agents != nil {
		t.Errorf("a person who may read few kinds: %+v", few)
	}
	if _, err := snapshot.ReadShown(t.Context(), as("nobody"), at); err == nil {
		t.Error("a person without rights is shown a cluster")
	}
	for user, first := range map[string]clusterstate.Snapshot{"": every, "few": few} {
		clients := all
		if user != "" {
			clients = as(user)
		}
		first.Records = []v1alpha1.UpgradeRecord{{Spec: v1alpha1.UpgradeRecordSpec{Piece: 1}}}
		want := first
		first.Schedules = []v1alpha1.MaintenanceSchedule{{}} // only the watches know that there is none
		following, err := snapshot.Follow(t.Context(), clients, first, time.Now, func() {})
		w.must(following, err)
		eventually("the watches do not come to know the cluster", func() bool { return len(following.Snapshot().Schedules) == 0 })
		want.Programs.At = following.Snapshot().Programs.At // they are looked at anew each minute
		if diff := cmp.Diff(want, following.Snapshot(), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(metav1.TypeMeta{}, "Kind", "APIVersion")); diff != "" {
			t.Errorf("%q: ReadShown and Following differ (-ReadShown +Following):\n%s", user, diff)
		}
	}
}

func find(s clusterstate.Snapshot, name string) clusterstate.Node {
	for _, n := range s.Nodes {
		if n.Name == name {
			return n
		}
	}
	return clusterstate.Node{}
}
