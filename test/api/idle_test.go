package api_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// TestIdleNodeUpgradeIsShort checks that the NodeUpgrade of an idle node fits on one page.
func TestIdleNodeUpgradeIsShort(t *testing.T) {
	s := newShared(t)
	const uid = "0b1e3c5a-9f2d-4e7b-8c6a-1d2e3f4a5b6c"
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "shared", UID: types.UID(uid)}
	s.apply("coordinator", "", v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{owner}}})
	defer remove(t, server(t), object(t, "NodeUpgrade", named("shared", "{}")))
	upToDate := condition(v1alpha1.ConditionUpToDate, metav1.ConditionTrue, v1alpha1.ReasonUpToDate)
	upToDate.Message = "every part runs what is asked for"
	s.asAgent(v1alpha1.NodeUpgradeStatus{
		ObservedGeneration: 1, Step: v1alpha1.StepIdle, StepStartTime: &now, AgentVersion: "v0.1.0",
		Versions:   v1alpha1.NodeVersions{Kubelet: "v1.35.4", Kubeadm: "v1.35.4", Staged: "v1.35.4", NextBoot: "v1.35.4"},
		Reboot:     v1alpha1.NodeReboot{FromBootID: uid},
		Conditions: []metav1.Condition{upToDate},
	})
	out, err := apitest.Kubectl(t, apitest.Start(t), "get", "nodeupgrade", "shared", "-o", "yaml").CombinedOutput()
	if lines := strings.Count(string(out), "\n"); err != nil || lines >= 45 || !strings.Contains(string(out), "observedGeneration: 1") {
		t.Errorf("%d lines, %v; want fewer than 45:\n%s", lines, err, out)
	}
}
