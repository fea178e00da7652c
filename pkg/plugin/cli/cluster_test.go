package cli_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// cluster is a cluster on a real API server. The test writes what coordinator and agents
// would.
type cluster struct {
	t        *testing.T
	kube     kubernetes.Interface
	ours     *kube.Kinds
	statuses map[string]*v1alpha1.NodeUpgradeStatus
	// upgrade is the upgrade to after, once its orders are written.
	upgrade v1alpha1.UpgradeReference
}

func newCluster(t *testing.T, config *rest.Config) *cluster {
	t.Helper()
	apitest.InstallCRDs(t, config)
	removeObjects(t, config)
	ours, err := kube.NewKinds(config)
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{t: t, kube: kubernetes.NewForConfigOrDie(config), ours: ours, statuses: map[string]*v1alpha1.NodeUpgradeStatus{}}
}

func (c *cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// The versions before and after the upgrade, which is named after.
const before, after = "v1.34.4", "v1.35.4"

// addNode creates a Node that runs the version before, and its NodeUpgrade.
func (c *cluster) addNode(name string, controlPlane bool) {
	c.t.Helper()
	ctx := context.Background()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	nodeStatus := &v1alpha1.NodeUpgradeStatus{Step: v1alpha1.StepIdle, Versions: v1alpha1.NodeVersions{Kubelet: before}}
	if controlPlane {
		n.Labels["node-role.kubernetes.io/control-plane"] = ""
		nodeStatus.Versions.ControlPlane, nodeStatus.Versions.Kubeadm = before, before
	}
	n, err := c.kube.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{})
	c.must(err)
	n.Status.NodeInfo = corev1.NodeSystemInfo{KubeletVersion: before, Architecture: "amd64", OperatingSystem: "linux"}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	_, err = c.kube.CoreV1().Nodes().UpdateStatus(ctx, n, metav1.UpdateOptions{})
	c.must(err)
	_, err = c.ours.NodeUpgrades.Create(ctx, &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	c.must(err)
	c.statuses[name] = nodeStatus
	c.write(name)
}

func (c *cluster) write(name string) {
	c.t.Helper()
	object := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: *c.statuses[name]}
	_, err := c.ours.NodeUpgrades.Apply(context.Background(), object, "node-agent", "status")
	c.must(err)
}

// writeOrders writes the coordinator's orders for every node.
func (c *cluster) writeOrders() {
	c.t.Helper()
	u, err := c.ours.ClusterUpgrades.Get(context.Background(), after, metav1.GetOptions{})
	c.must(err)
	c.upgrade = u.Reference()
	for name, nodeStatus := range c.statuses {
		object := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name}}
		object.Spec.Upgrade, object.Spec.Version = &c.upgrade, after
		_, err := c.ours.NodeUpgrades.Apply(context.Background(), object, "coordinator", "")
		c.must(err)
		nodeStatus.Upgrade, nodeStatus.Versions.From, nodeStatus.Steps = &c.upgrade, nodeStatus.Versions.Kubelet, nil
	}
}

// setStep writes a node's status in a step.
func (c *cluster) setStep(name string, step v1alpha1.Step, reason v1alpha1.Reason, message string) {
	c.t.Helper()
	nodeStatus, now := c.statuses[name], metav1.NowMicro()
	if last := len(nodeStatus.Steps) - 1; nodeStatus.Step != step && last >= 0 && nodeStatus.Steps[last].EndTime == nil {
		nodeStatus.Steps[last].EndTime = &now
	}
	if nodeStatus.Step != step {
		nodeStatus.StepStartTime = &metav1.Time{Time: now.Truncate(time.Second)}
		if step != v1alpha1.StepIdle {
			nodeStatus.Steps = append(nodeStatus.Steps, v1alpha1.StepTime{Step: step, StartTime: now})
		}
	}
	nodeStatus.Step = step
	if reason == "" {
		reason = v1alpha1.ReasonAwaitingRelease
	}
	status := metav1.ConditionFalse
	if reason == v1alpha1.ReasonUpToDate {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&nodeStatus.Conditions, metav1.Condition{Type: v1alpha1.ConditionUpToDate, Status: status, Reason: string(reason), Message: message})
	c.write(name)
}

// trigger triggers the upgrade.
func (c *cluster) trigger() {
	c.t.Helper()
	c.setUpgradeStatus(v1alpha1.ReasonReleased, "begins", func(s *v1alpha1.ClusterUpgradeStatus) {
		s.Type, s.FromVersion = v1alpha1.TypeMinor, before
		s.TriggerTime = &metav1.Time{Time: time.Now().Truncate(time.Second)}
		s.Images = []v1alpha1.Image{{Architecture: "amd64", URL: "http://images.example/k.raw", Digest: v1alpha1.DigestOf(fmt.Sprintf("%064d", 1))}}
	})
}

// setUpgradeStatus writes the upgrade's status with this reason and message.
func (c *cluster) setUpgradeStatus(reason v1alpha1.Reason, message string, change func(*v1alpha1.ClusterUpgradeStatus)) {
	c.t.Helper()
	u, err := c.ours.ClusterUpgrades.Get(context.Background(), after, metav1.GetOptions{})
	c.must(err)
	status := metav1.ConditionUnknown
	if change != nil {
		change(&u.Status)
	}
	switch u.Status.Outcome {
	case "":
	case v1alpha1.OutcomeSucceeded:
		status = metav1.ConditionTrue
	default:
		status = metav1.ConditionFalse
	}
	meta.SetStatusCondition(&u.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionSucceeded, Status: status, Reason: string(reason), Message: message})
	_, err = c.ours.ClusterUpgrades.UpdateStatus(context.Background(), u, metav1.UpdateOptions{})
	c.must(err)
}

// end ends the upgrade.
func (c *cluster) end(outcome v1alpha1.Outcome) {
	c.t.Helper()
	c.setUpgradeStatus(v1alpha1.ReasonUpToDate, fmt.Sprintf("all %d nodes are done", len(c.statuses)), func(s *v1alpha1.ClusterUpgradeStatus) {
		s.Outcome, s.EndTime = outcome, &metav1.Time{Time: time.Now().Truncate(time.Second)}
		s.Nodes.Total, s.Nodes.Done = int32(len(c.statuses)), int32(len(c.statuses))
	})
}

// addAPIServer creates the pod of a node's kube-apiserver.
func (c *cluster) addAPIServer(node string) {
	c.t.Helper()
	ctx := context.Background()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-apiserver-" + node, Labels: map[string]string{"component": "kube-apiserver"}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "kube-apiserver", Image: "registry.k8s.io/kube-apiserver:" + before}}},
	}
	pod, err := c.kube.CoreV1().Pods(metav1.NamespaceSystem).Create(ctx, pod, metav1.CreateOptions{})
	c.must(err)
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	_, err = c.kube.CoreV1().Pods(metav1.NamespaceSystem).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	c.must(err)
}
