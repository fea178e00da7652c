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
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/client"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/internal/apitest"
)

// world is a cluster on a real API server, whose coordinator and agents the test
// plays by writing what they would.
type world struct {
	t        *testing.T
	kube     kubernetes.Interface
	ours     *client.Interface
	statuses map[string]*v1alpha1.NodeUpgradeStatus
	// upgrade that is played, once it was asked for.
	upgrade v1alpha1.UpgradeReference
}

func newWorld(t *testing.T, config *rest.Config) *world {
	t.Helper()
	apitest.InstallCRDs(t, config)
	removeObjects(t, config)
	ours, err := client.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, kube: kubernetes.NewForConfigOrDie(config), ours: ours, statuses: map[string]*v1alpha1.NodeUpgradeStatus{}}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// The upgrade that is played, and named after its aim.
const before, after = "v1.34.4", "v1.35.4"

// addNode makes a Node that runs the version before, and its NodeUpgrade.
func (w *world) addNode(name string, controlPlane bool) {
	w.t.Helper()
	ctx := context.Background()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	nodeStatus := &v1alpha1.NodeUpgradeStatus{Step: v1alpha1.StepIdle, Versions: v1alpha1.NodeVersions{Kubelet: before}}
	if controlPlane {
		n.Labels["node-role.kubernetes.io/control-plane"] = ""
		nodeStatus.Versions.ControlPlane, nodeStatus.Versions.Kubeadm = before, before
	}
	n, err := w.kube.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{})
	w.must(err)
	n.Status.NodeInfo = corev1.NodeSystemInfo{KubeletVersion: before, Architecture: "amd64", OperatingSystem: "linux"}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	_, err = w.kube.CoreV1().Nodes().UpdateStatus(ctx, n, metav1.UpdateOptions{})
	w.must(err)
	_, err = w.ours.NodeUpgrades.Create(ctx, &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	w.must(err)
	w.statuses[name] = nodeStatus
	w.write(name)
}

func (w *world) write(name string) {
	w.t.Helper()
	object := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: *w.statuses[name]}
	_, err := w.ours.NodeUpgrades.Apply(context.Background(), object, "node-agent", "status")
	w.must(err)
}

// ask writes the orders of the coordinator for every node.
func (w *world) ask() {
	w.t.Helper()
	u, err := w.ours.ClusterUpgrades.Get(context.Background(), after, metav1.GetOptions{})
	w.must(err)
	w.upgrade = u.Reference()
	for name, nodeStatus := range w.statuses {
		object := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name}}
		object.Spec.Upgrade, object.Spec.Version = &w.upgrade, after
		_, err := w.ours.NodeUpgrades.Apply(context.Background(), object, "coordinator", "")
		w.must(err)
		nodeStatus.Upgrade, nodeStatus.Versions.From, nodeStatus.Steps = &w.upgrade, nodeStatus.Versions.Kubelet, nil
	}
}

// step brings a node to a step.
func (w *world) step(name string, step v1alpha1.Step, reason v1alpha1.Reason, message string) {
	w.t.Helper()
	nodeStatus, now := w.statuses[name], metav1.NowMicro()
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
	w.write(name)
}

// trigger makes the upgrade the active one.
func (w *world) trigger() {
	w.t.Helper()
	w.tell(v1alpha1.ReasonReleased, "begins", func(s *v1alpha1.ClusterUpgradeStatus) {
		s.Type, s.FromVersion = v1alpha1.TypeMinor, before
		s.TriggerTime = &metav1.Time{Time: time.Now().Truncate(time.Second)}
		s.Images = []v1alpha1.Image{{Architecture: "amd64", URL: "http://images.example/k.raw", Digest: v1alpha1.DigestOf(fmt.Sprintf("%064d", 1))}}
	})
}

// tell writes the upgrade's status with what the coordinator says of it.
func (w *world) tell(reason v1alpha1.Reason, message string, change func(*v1alpha1.ClusterUpgradeStatus)) {
	w.t.Helper()
	u, err := w.ours.ClusterUpgrades.Get(context.Background(), after, metav1.GetOptions{})
	w.must(err)
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
	_, err = w.ours.ClusterUpgrades.UpdateStatus(context.Background(), u, metav1.UpdateOptions{})
	w.must(err)
}

// end ends the upgrade.
func (w *world) end(outcome v1alpha1.Outcome) {
	w.t.Helper()
	w.tell(v1alpha1.ReasonUpToDate, fmt.Sprintf("all %d nodes are done", len(w.statuses)), func(s *v1alpha1.ClusterUpgradeStatus) {
		s.Outcome, s.CompletionTime = outcome, &metav1.Time{Time: time.Now().Truncate(time.Second)}
		s.Nodes.Total, s.Nodes.Done = int32(len(w.statuses)), int32(len(w.statuses))
	})
}

// addServer makes a node's apiserver to be seen.
func (w *world) addServer(node string) {
	w.t.Helper()
	ctx := context.Background()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-apiserver-" + node, Labels: map[string]string{"component": "kube-apiserver"}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "kube-apiserver", Image: "registry.k8s.io/kube-apiserver:" + before}}},
	}
	pod, err := w.kube.CoreV1().Pods(metav1.NamespaceSystem).Create(ctx, pod, metav1.CreateOptions{})
	w.must(err)
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	_, err = w.kube.CoreV1().Pods(metav1.NamespaceSystem).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	w.must(err)
}
