package monitoring

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/metrics"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/drain"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// TestBudgetsOfRealDrain checks that the budget is found in what a drain reports when a
// real API server refuses an eviction.
func TestBudgetsOfRealDrain(t *testing.T) {
	config := apitest.Start(t)
	client := kubernetes.NewForConfigOrDie(config)
	kubelet, err := kube.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web-0", Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{NodeName: "w1", Containers: []corev1.Container{{Name: "c", Image: "x"}}},
	}
	made, err := client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	if _, err := client.CoreV1().Pods("default").UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web.budget-1"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, MinAvailable: ptr.To(intstr.FromInt32(1))},
	}
	set, err := client.PolicyV1().PodDisruptionBudgets("default").Create(ctx, budget, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	set.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: set.Generation, CurrentHealthy: 1, DesiredHealthy: 1, ExpectedPods: 1}
	if _, err := client.PolicyV1().PodDisruptionBudgets("default").UpdateStatus(ctx, set, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	settings := v1alpha1.DefaultStrategy().Drain
	settings.UnmanagedPods = v1alpha1.PodsEvict
	drainer := &drain.Drainer{Node: "w1", Kubelet: kubelet, Account: kubelet}
	progress, err := drainer.Round(ctx, settings, drain.Means{})
	if err != nil || !progress.Blocked {
		t.Fatalf("got %+v, %v, want a drain that is blocked", progress, err)
	}
	if diff := cmp.Diff([]metrics.Budget{{Namespace: "default", Name: "web.budget-1"}}, metrics.Budgets(progress.Message)); diff != "" {
		t.Errorf("budgets in %q (-want +got):\n%s", progress.Message, diff)
	}
}
