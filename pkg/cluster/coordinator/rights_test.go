package coordinator_test

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
)

// TestEditorsMayNotWriteOrderOrPolicy checks that editors may abandon a node, but may write
// neither a node's order nor the policy: either chooses what runs as root.
func TestEditorsMayNotWriteOrderOrPolicy(t *testing.T) {
	c := newCluster(t, "w1")
	c.apply("-k", "../../../manifests/people")
	c.apply("-k", "../../../manifests/admission")
	c.manualAgent("w1")
	const editor = "kubectl-upgrade-edit"
	_, err := c.kube.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "editor"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: editor},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "editor"}},
	}, metav1.CreateOptions{})
	c.must(err)
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "editor", Groups: []string{"system:authenticated"}}
	ours, err := kube.NewKinds(config)
	c.must(err)
	patch := func(text string) error {
		_, err := ours.NodeUpgrades.Patch(t.Context(), "w1", types.MergePatchType, []byte(text), metav1.PatchOptions{})
		return err
	}
	tried := 0
	c.eventually(func() string { // until role and admission policy take effect
		tried++ // another order each time: an order that changes nothing is allowed
		if err := patch(fmt.Sprintf(`{"spec":{"version":"v1.34.%d"}}`, tried)); err == nil {
			return "an order was written"
		} else if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "only the coordinator writes the spec") {
			return err.Error()
		}
		return ""
	})
	c.must(patch(`{"abandoned":{"comment":"its disk died"}}`))
	_, err = ours.UpgradePolicies.Get(t.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
	c.must(err)
	_, err = ours.UpgradePolicies.Patch(t.Context(), v1alpha1.PolicyName, types.MergePatchType, []byte(`{"spec":{"source":{"url":"https://x/"}}}`), metav1.PatchOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("changing the policy: got error %v, want Forbidden", err)
	}
	c.index.offer("v1.34.4")
	c.addNode("cp1")
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.startCoordinator("one")
	c.eventually(func() string { // the coordinator may write orders
		list, err := c.ours.NodeUpgrades.List(t.Context(), metav1.ListOptions{})
		c.must(err)
		for _, n := range list.Items {
			if n.Name == "cp1" && n.Spec.Version == "v1.34.4" {
				return ""
			}
		}
		return "cp1 has no order"
	})
}
