package memory

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
)

// The cluster: 500 nodes with 50 images each, 20 pods on the agent's own, 500 on the others.
const (
	ownNode    = "node-0"
	nodes      = 500
	images     = 50
	ownPods    = 20
	othersPods = 500
)

type cluster struct {
	b    *testing.B
	kube kubernetes.Interface
	ours *kube.Kinds
}

func newCluster(b *testing.B, config *rest.Config) *cluster {
	b.Helper()
	ours, err := kube.NewKinds(config)
	c := &cluster{b: b, kube: kubernetes.NewForConfigOrDie(config), ours: ours}
	c.must(err)
	_, err = c.kube.CoreV1().Namespaces().Create(b.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Namespace}}, metav1.CreateOptions{})
	c.must(err)
	for i := range nodes {
		c.node(fmt.Sprintf("node-%d", i))
	}
	for i := range ownPods + othersPods {
		node := ownNode
		if i >= ownPods {
			node = fmt.Sprintf("node-%d", 1+i%(nodes-1))
		}
		c.pod(fmt.Sprintf("pod-%d", i), node)
	}
	policy := &v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}}
	policy.Spec.Mode, policy.Spec.Source.URL = v1alpha1.ModeManage, "https://127.0.0.1:1/" // no one listens there
	_, err = c.ours.UpgradePolicies.Create(b.Context(), policy, metav1.CreateOptions{})
	c.must(err)
	_, err = c.ours.NodeUpgrades.Create(b.Context(), &v1alpha1.NodeUpgrade{
		ObjectMeta: metav1.ObjectMeta{Name: ownNode}, Spec: v1alpha1.NodeUpgradeSpec{Managed: true},
	}, metav1.CreateOptions{})
	c.must(err)
	return c
}

func (c *cluster) must(err error) {
	c.b.Helper()
	if err != nil {
		c.b.Fatal(err)
	}
}

func (c *cluster) node(name string) {
	c.b.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	node.Status.NodeInfo.KubeletVersion = "v1.34.3"
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	for i := range images {
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
			Names: []string{fmt.Sprintf("registry.example.com/team/image-%d@sha256:%064d", i, i), fmt.Sprintf("registry.example.com/team/image-%d:v1.2.3", i)},
		})
	}
	_, err := c.kube.CoreV1().Nodes().Create(c.b.Context(), node, metav1.CreateOptions{})
	c.must(err)
}

func (c *cluster) pod(name, node string) {
	c.b.Helper()
	_, err := c.kube.CoreV1().Pods("default").Create(c.b.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "web"}}},
	}, metav1.CreateOptions{})
	c.must(err)
}

// agentReported reports whether the agent has written its node's status.
func (c *cluster) agentReported() bool {
	nu, err := c.ours.NodeUpgrades.Get(context.Background(), ownNode, metav1.GetOptions{})
	return err == nil && nu.Status.Step != ""
}

// coordinatorPlanned reports whether every node has its NodeUpgrade.
func (c *cluster) coordinatorPlanned() bool {
	list, err := c.ours.NodeUpgrades.List(context.Background(), metav1.ListOptions{})
	return err == nil && len(list.Items) == nodes
}
