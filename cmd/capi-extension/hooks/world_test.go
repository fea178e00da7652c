package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/management"
	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/workload"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// The objects that the requests in testdata are about.
const (
	controlPlane = "prod-control-plane"
	cp1          = "prod-control-plane-gc2z8"
	workers      = "prod-workers"
	oldSet       = "prod-workers-fnx9c"
	w1           = "prod-workers-fnx9c-9vr5q"
)

// world is a management cluster with a workload cluster, whose control plane and workers are to go from
// v1.34.3 to v1.34.4, and the extension.
type world struct {
	t                    *testing.T
	management, workload client.WithWatch
	unreachable          error // of the workload cluster
	extension            *Extension
	server               *httptest.Server
	questions            map[string]func(context.Context) error
}

func newWorld(t *testing.T) *world {
	inCluster := map[string]string{clusterv1.ClusterNameLabel: "prod"}
	labels := func(more ...string) map[string]string {
		l := map[string]string{clusterv1.ClusterNameLabel: "prod"}
		for i := 0; i < len(more); i += 2 {
			l[more[i]] = more[i+1]
		}
		return l
	}
	ownedBy := func(apiVersion, kind, name string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(name), Controller: ptr.To(true)}}
	}
	cpLabels := labels(clusterv1.MachineControlPlaneLabel, "", clusterv1.MachineControlPlaneNameLabel, controlPlane)
	w := &world{t: t, questions: map[string]func(context.Context) error{}}
	w.management = fake.NewClientBuilder().WithScheme(management.Scheme()).WithRESTMapper(management.Mapper()).WithObjects(
		&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "prod"}, Spec: clusterv1.ClusterSpec{Topology: clusterv1.Topology{Version: "v1.34.4"}}},
		&controlplanev1.KubeadmControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: controlPlane, UID: controlPlane, Labels: inCluster}, Spec: controlplanev1.KubeadmControlPlaneSpec{Version: "v1.34.4"}},
		&clusterv1.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: cp1, UID: cp1, Labels: cpLabels, OwnerReferences: ownedBy(controlplanev1.GroupVersion.String(), "KubeadmControlPlane", controlPlane)},
			Spec:       clusterv1.MachineSpec{ClusterName: "prod", Version: "v1.34.3"},
			Status:     clusterv1.MachineStatus{NodeRef: clusterv1.MachineNodeReference{Name: "cp1"}},
		},
		&clusterv1.MachineDeployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: workers, UID: workers, Labels: inCluster},
			Spec:       clusterv1.MachineDeploymentSpec{ClusterName: "prod", Template: clusterv1.MachineTemplateSpec{Spec: clusterv1.MachineSpec{Version: "v1.34.4"}}},
		},
		&clusterv1.MachineSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: oldSet, UID: oldSet, Labels: labels(clusterv1.MachineDeploymentNameLabel, workers), OwnerReferences: ownedBy(clusterv1.GroupVersion.String(), "MachineDeployment", workers)},
			Spec:       clusterv1.MachineSetSpec{ClusterName: "prod"},
		},
		&clusterv1.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: w1, UID: w1, Labels: labels(clusterv1.MachineDeploymentNameLabel, workers, clusterv1.MachineSetNameLabel, oldSet), OwnerReferences: ownedBy(clusterv1.GroupVersion.String(), "MachineSet", oldSet)},
			Spec:       clusterv1.MachineSpec{ClusterName: "prod", Version: "v1.34.3"},
			Status:     clusterv1.MachineStatus{NodeRef: clusterv1.MachineNodeReference{Name: "w1"}},
		},
	).Build()
	w.workload = fake.NewClientBuilder().WithScheme(workload.Scheme()).WithObjects(
		&v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Spec: v1alpha1.UpgradePolicySpec{Mode: v1alpha1.ModeManage, VersionsFrom: v1alpha1.VersionsFromClusterAPI}},
		node("cp1"), order("cp1"), node("w1"), order("w1"),
	).WithInterceptorFuncs(interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
		o.SetUID(types.UID("uid-" + o.GetName()))
		return c.Create(ctx, o, options...)
	}}).Build()
	w.extension = &Extension{
		Management: w.management, OnUncovered: Stop, Now: time.Now, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Open: func(_ context.Context, name types.NamespacedName) (workload.Cluster, error) {
			return workload.Cluster{Name: name, Client: w.workload}, w.unreachable
		},
		Remember: func(owner management.Owner, ask func(context.Context) error) { w.questions[owner.String()] = ask },
	}
	handler, err := NewServer(w.extension, 10*time.Second, func(string, runtimehooksv1.ResponseStatus, bool, time.Duration) {})
	if err != nil {
		t.Fatal(err)
	}
	w.server = httptest.NewServer(handler)
	t.Cleanup(w.server.Close)
	return w
}

func node(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
		Status: corev1.NodeStatus{
			NodeInfo:   corev1.NodeSystemInfo{KubeletVersion: "v1.34.3"},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

func order(name string) *v1alpha1.NodeUpgrade {
	return &v1alpha1.NodeUpgrade{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.NodeUpgradeSpec{Managed: true},
		Status:     v1alpha1.NodeUpgradeStatus{Step: v1alpha1.StepIdle, Versions: v1alpha1.NodeVersions{Kubelet: "v1.34.3", ControlPlane: "v1.34.3"}},
	}
}

// ask posts a request of testdata to a hook, as Cluster API does.
func ask[Response any](w *world, hook, file string) Response {
	w.t.Helper()
	request, err := os.ReadFile("testdata/" + file + ".json")
	if err != nil {
		w.t.Fatal(err)
	}
	return post[Response](w, hook, request)
}

func post[Response any](w *world, hook string, request []byte) Response {
	w.t.Helper()
	answer, err := http.Post(w.server.URL+"/hooks.runtime.cluster.x-k8s.io/v1alpha1/"+hook+"?timeout=10s", "application/json", bytes.NewReader(request))
	if err != nil {
		w.t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: got status %s", hook, answer.Status)
	}
	var response Response
	decodeAnswer(w.t, answer, &response)
	return response
}

func decodeAnswer(t *testing.T, answer *http.Response, into any) {
	t.Helper()
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

func (w *world) canUpdateMachine() runtimehooksv1.CanUpdateMachineResponse {
	w.t.Helper()
	return ask[runtimehooksv1.CanUpdateMachineResponse](w, "canupdatemachine/can-update-machine", "canupdatemachine-patch-and-template")
}

func (w *world) canUpdateMachineSet() runtimehooksv1.CanUpdateMachineSetResponse {
	w.t.Helper()
	return ask[runtimehooksv1.CanUpdateMachineSetResponse](w, "canupdatemachineset/can-update-machine-set", "canupdatemachineset-patch")
}

func (w *world) updateMachine(file string) runtimehooksv1.UpdateMachineResponse {
	w.t.Helper()
	return ask[runtimehooksv1.UpdateMachineResponse](w, "updatemachine/update-machine", file)
}

// plan does what the coordinator does: it gives each node its order in the upgrade, and says why it waits.
func (w *world) plan(reasons map[string]v1alpha1.Reason) {
	w.t.Helper()
	w.planFor("capi-v1.34.4", reasons)
}

func (w *world) planFor(upgrade string, reasons map[string]v1alpha1.Reason) {
	w.t.Helper()
	u := get[v1alpha1.ClusterUpgrade](w, w.workload, "", upgrade)
	u.Status.ObservedGeneration = 1
	w.write(w.workload.Update(w.t.Context(), u))
	for name, reason := range reasons {
		w.changeNode(name, func(_ *corev1.Node, n *v1alpha1.NodeUpgrade) {
			n.Spec.Upgrade = &v1alpha1.UpgradeReference{Name: u.Name, UID: string(u.UID)}
			n.Status.Step = v1alpha1.StepWaiting
			n.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAdmitted, Status: metav1.ConditionFalse, Reason: string(reason), Message: "because of " + string(reason)}}
		})
	}
}

func (w *world) changeNode(name string, change func(*corev1.Node, *v1alpha1.NodeUpgrade)) {
	w.t.Helper()
	node, order := get[corev1.Node](w, w.workload, "", name), get[v1alpha1.NodeUpgrade](w, w.workload, "", name)
	change(node, order)
	w.write(w.workload.Update(w.t.Context(), node.DeepCopy()))
	node.ResourceVersion = ""
	w.write(w.workload.Status().Update(w.t.Context(), node))
	w.write(w.workload.Update(w.t.Context(), order))
}

// upgradeNode has a node reach v1.34.4.
func (w *world) upgradeNode(name string) {
	w.t.Helper()
	w.changeNode(name, func(node *corev1.Node, n *v1alpha1.NodeUpgrade) {
		node.Status.NodeInfo.KubeletVersion = "v1.34.4"
		n.Status.Versions = v1alpha1.NodeVersions{Kubelet: "v1.34.4", ControlPlane: "v1.34.4"}
		n.Status.Step = v1alpha1.StepIdle
	})
}

// start does what Cluster API does after yes: the Machine has its new version, and UpdateMachine is
// pending.
func (w *world) start(machine string) {
	w.t.Helper()
	change(w, w.management, machine, func(m *clusterv1.Machine) {
		if m.Annotations == nil {
			m.Annotations = map[string]string{}
		}
		m.Annotations[clusterv1.UpdateInProgressAnnotation] = ""
		m.Annotations["runtime.cluster.x-k8s.io/pending-hooks"] = "UpdateMachine"
		m.Spec.Version = "v1.34.4"
	})
}

func change[T any, P interface {
	*T
	client.Object
}](w *world, c client.Client, name string, change func(P)) {
	w.t.Helper()
	object := P(get[T, P](w, c, "default", name))
	change(object)
	w.write(c.Update(w.t.Context(), object))
}

func get[T any, P interface {
	*T
	client.Object
}](w *world, c client.Client, namespace, name string) *T {
	w.t.Helper()
	object := P(new(T))
	if err := c.Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		w.t.Fatal(err)
	}
	return object
}

func (w *world) write(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// upgrades lists the upgrades with the nodes that are asked for in them.
func (w *world) upgrades() map[string][]string {
	w.t.Helper()
	var list v1alpha1.ClusterUpgradeList
	w.write(w.workload.List(w.t.Context(), &list))
	var nodes v1alpha1.NodeUpgradeList
	w.write(w.workload.List(w.t.Context(), &nodes))
	all := map[string][]string{}
	for _, u := range list.Items {
		names := []string{}
		for _, n := range nodes.Items {
			if n.RequestedFor(u.UID) {
				names = append(names, n.Name)
			}
		}
		all[u.Name] = names
	}
	return all
}

func (w *world) mark(machine string) string {
	w.t.Helper()
	return get[clusterv1.Machine](w, w.management, "default", machine).Annotations[clusterv1.MachineSkipRemediationAnnotation]
}

// events lists the events, as OBJECT REASON MESSAGE.
func (w *world) events() []string {
	w.t.Helper()
	var list corev1.EventList
	w.write(w.management.List(w.t.Context(), &list))
	var all []string
	for _, e := range list.Items {
		all = append(all, e.InvolvedObject.Kind+" "+e.Reason+" "+e.Message)
	}
	slices.Sort(all)
	return all
}
