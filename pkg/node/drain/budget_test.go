package drain

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/kubetest"
)

// budget returns one of that many pods, of which so many are ready.
func budget(expected, healthy int32, change func(*policyv1.PodDisruptionBudgetSpec)) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", Generation: 1}}
	b.Status = policyv1.PodDisruptionBudgetStatus{ExpectedPods: expected, CurrentHealthy: healthy, ObservedGeneration: 1}
	change(&b.Spec)
	return b
}

func minAvailable(of string) func(*policyv1.PodDisruptionBudgetSpec) {
	return func(s *policyv1.PodDisruptionBudgetSpec) { n := intstr.Parse(of); s.MinAvailable = &n }
}

func maxUnavailable(of string) func(*policyv1.PodDisruptionBudgetSpec) {
	return func(s *policyv1.PodDisruptionBudgetSpec) { n := intstr.Parse(of); s.MaxUnavailable = &n }
}

// ofDeployment makes a pod one of the Deployment web.
func ofDeployment(p *corev1.Pod) {
	ownedBy("ReplicaSet", "web-7d9c")(p)
	p.Labels = map[string]string{"pod-template-hash": "7d9c"}
}

// TestUnblocks checks what is said to unblock a drain.
func TestUnblocks(t *testing.T) {
	const never = "no number of replicas unblocks it, only another budget (kubectl -n default edit pdb web)"
	const lets = `the pod is not ready, and this lets such pods go: kubectl -n default patch pdb web --type merge -p '{"spec":{"unhealthyPodEvictionPolicy":"AlwaysAllow"}}'`
	stale := budget(1, 1, minAvailable("1"))
	stale.Generation = 2
	for name, test := range map[string]struct {
		pod    *corev1.Pod
		budget *policyv1.PodDisruptionBudget
		want   string
	}{
		"the only replica": {pod("a", ofDeployment), budget(1, 1, minAvailable("1")),
			"1 more ready replica of Deployment default/web would unblock it (kubectl -n default scale deployment web --current-replicas=1 --replicas=2)"},
		"as many as there are": {pod("a", ownedBy("StatefulSet", "pg")), budget(3, 3, minAvailable("3")),
			"1 more ready replica of StatefulSet default/pg would unblock it (kubectl -n default scale statefulset pg --current-replicas=3 --replicas=4)"},
		"more than there are": {pod("a", ownedBy("ReplicaSet", "web")), budget(1, 1, minAvailable("3")),
			"3 more ready replicas of ReplicaSet default/web would unblock it (kubectl -n default scale replicaset web --current-replicas=1 --replicas=4)"},
		"one is not ready, and there are too few": {pod("a", ofDeployment), budget(2, 1, minAvailable("2")),
			"2 more ready replicas of Deployment default/web would unblock it (kubectl -n default scale deployment web --current-replicas=2 --replicas=3)"},
		"a percentage that more replicas satisfy": {pod("a", ofDeployment), budget(1, 1, minAvailable("50%")),
			"1 more ready replica of Deployment default/web would unblock it (kubectl -n default scale deployment web --current-replicas=1 --replicas=2)"},
		"it is not ready, the only replica":      {pod("a", ofDeployment, notReady), budget(1, 0, minAvailable("1")), lets},
		"it is not ready, and one may be":        {pod("a", ofDeployment, notReady), budget(1, 0, maxUnavailable("1")), lets},
		"it is not ready, as another one":        {pod("a", ofDeployment, notReady), budget(3, 1, minAvailable("2")), lets},
		"one is not ready":                       {pod("a", ofDeployment), budget(3, 2, maxUnavailable("1")), "1 more of its 3 pods has to become ready"},
		"two are not ready":                      {pod("a", ofDeployment), budget(3, 1, minAvailable("2")), "2 more of its 3 pods have to become ready"},
		"none may go":                            {pod("a", ofDeployment), budget(3, 3, maxUnavailable("0")), never},
		"none may go, as a percentage":           {pod("a", ofDeployment), budget(3, 3, minAvailable("100%")), never},
		"a controller that kubectl cannot scale": {pod("a", ownedBy("Cluster", "pg")), budget(1, 1, minAvailable("1")), "1 more ready replica of Cluster default/pg would unblock it"},
		"no controller":                          {pod("a", ownedBy("", "")), budget(1, 1, minAvailable("1")), "1 more ready replica would unblock it"},
		"a budget that has just been changed":    {pod("a", ofDeployment), stale, ""},
		"a budget that allows it meanwhile":      {pod("a", ofDeployment), budget(3, 3, maxUnavailable("1")), ""},
	} {
		if got := unblocks(*test.pod, test.budget); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestRoundExplainsBudgets checks that a round reads each budget once, explains it once, and only
// if a message shows its pod.
func TestRoundExplainsBudgets(t *testing.T) {
	pods := []runtime.Object{pod("a", ofDeployment), pod("b", ofDeployment), pod("c", ofDeployment), pod("d", ofDeployment)}
	kubelet := fake.NewClientset(pods...)
	kubelet.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, tooMany("The disruption budget web needs 4 healthy pods and has 4 currently")
	})
	account := fake.NewClientset(budget(4, 4, minAvailable("4")))
	d := &Drainer{Node: "worker", Kubelet: kubetest.Of(kubelet), Account: kubetest.Of(account)}
	got, err := d.Round(t.Context(), v1alpha1.Drain{}, Means{})
	const advice = "1 more ready replica of Deployment default/web would unblock it (kubectl -n default scale deployment web --current-replicas=4 --replicas=5)"
	if err != nil || strings.Count(got.Message, advice) != 1 || !strings.Contains(got.Message, "currently; "+advice+", default/b: ") {
		t.Errorf("got %v and\n%s", err, got.Message)
	}
	if n := len(account.Actions()); n != 1 {
		t.Errorf("the budget was read in %d requests", n)
	}
	account.PrependReactor("get", "poddisruptionbudgets", forbidden)
	if got, err = d.Round(t.Context(), v1alpha1.Drain{}, Means{}); err != nil || strings.Contains(got.Message, "unblock") || !got.Blocked {
		t.Errorf("with a budget that cannot be read: got %v and %+v", err, got)
	}
}
