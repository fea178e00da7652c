package drain

import (
	"fmt"
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/kubetest"
)

// quotedPatch finds the patch of a budget in an advice.
var quotedPatch = regexp.MustCompile(`patch pdb web --type merge -p '([^']+)'`)

// TestAdviceForPodsThatAreNotReady has a real API server refuse to evict a pod that is not ready, and does what the
// drain's message says. What does not help there is tried too: another replica that is not ready either, and
// maxUnavailable: 1.
func TestAdviceForPodsThatAreNotReady(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(apitest.Start(t))
	for node, test := range map[string]struct {
		budget   func(*policyv1.PodDisruptionBudgetSpec)
		replicas int32
		desired  int32 // healthy ones, as the disruption controller computes it
	}{
		"one":                         {minAvailable("1"), 1, 1},
		"another-replica":             {minAvailable("1"), 2, 1},
		"max-unavailable":             {maxUnavailable("1"), 1, 0},
		"max-unavailable-and-another": {maxUnavailable("1"), 2, 1},
	} {
		t.Run(node, func(t *testing.T) {
			c := crashing{t, client, node}
			c.create(test.budget, test.replicas, test.desired)
			d := &Drainer{Node: node, Kubelet: kubetest.Of(client), Account: kubetest.Of(client)}
			got, err := d.Round(t.Context(), v1alpha1.Drain{}, Means{})
			if err != nil || !got.Blocked || got.Left != 1 {
				t.Fatalf("before: %+v, %v", got, err)
			}
			patch := quotedPatch.FindStringSubmatch(got.Message)
			if patch == nil {
				t.Fatalf("no advice in %q", got.Message)
			}
			_, err = client.PolicyV1().PodDisruptionBudgets(node).Patch(t.Context(), "web", types.MergePatchType, []byte(patch[1]), metav1.PatchOptions{})
			c.must(err)
			c.count(test.replicas, test.desired)
			if got, err = d.Round(t.Context(), v1alpha1.Drain{}, Means{}); err != nil || got.Blocked {
				t.Errorf("after the advice: %+v, %v", got, err)
			}
		})
	}
}

// crashing is a workload whose pods are not ready, one of them on the node, in a namespace that is named like the node.
type crashing struct {
	*testing.T
	kubernetes.Interface
	node string
}

func (c crashing) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c crashing) create(spec func(*policyv1.PodDisruptionBudgetSpec), replicas, desired int32) {
	c.Helper()
	_, err := c.CoreV1().Namespaces().Create(c.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.node}}, metav1.CreateOptions{})
	c.must(err)
	_, err = c.CoreV1().ServiceAccounts(c.node).Create(c.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
	c.must(err)
	labels := map[string]string{"app": "web"}
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}}}
	spec(&b.Spec)
	_, err = c.PolicyV1().PodDisruptionBudgets(c.node).Create(c.Context(), b, metav1.CreateOptions{})
	c.must(err)
	c.count(replicas, desired)
	for i := range replicas {
		p := pod(fmt.Sprint("web-", i), notReady)
		p.UID, p.OwnerReferences[0].UID, p.Labels = "", "a", labels
		p.Namespace, p.Spec.NodeName = c.node, c.node
		if i > 0 {
			p.Spec.NodeName = "elsewhere"
		}
		p.Spec.Containers = []corev1.Container{{Name: "c", Image: "web"}}
		status := p.Status
		p, err = c.CoreV1().Pods(c.node).Create(c.Context(), p, metav1.CreateOptions{})
		c.must(err)
		p.Status = status
		_, err = c.CoreV1().Pods(c.node).UpdateStatus(c.Context(), p, metav1.UpdateOptions{})
		c.must(err)
	}
}

// count writes the budget's status, as the disruption controller does.
func (c crashing) count(replicas, desired int32) {
	c.Helper()
	b, err := c.PolicyV1().PodDisruptionBudgets(c.node).Get(c.Context(), "web", metav1.GetOptions{})
	c.must(err)
	b.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: b.Generation, ExpectedPods: replicas, DesiredHealthy: desired}
	_, err = c.PolicyV1().PodDisruptionBudgets(c.node).UpdateStatus(c.Context(), b, metav1.UpdateOptions{})
	c.must(err)
}
