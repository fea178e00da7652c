package snapshot_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// What the plugin lists is what the coordinator watches, or their plans would
// differ.
func TestReadFindsWhatTheReaderKnows(t *testing.T) {
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	clients := kubernetes.NewForConfigOrDie(config)
	ours, err := kube.NewKinds(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	for _, name := range []string{"w-2", "cp-1", "w-1"} {
		must(clients.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: named(name)}, metav1.CreateOptions{}))
		must(ours.NodeUpgrades.Create(ctx, &v1alpha1.NodeUpgrade{ObjectMeta: named(name)}, metav1.CreateOptions{}))
		inventory := &v1alpha1.NodeInventory{ObjectMeta: named(name)}
		inventory.GatheredTime = metav1.NewTime(time.Now().Truncate(time.Second))
		must(ours.NodeInventories.Create(ctx, inventory, metav1.CreateOptions{}))
	}
	must(ours.ClusterUpgrades.Create(ctx, &v1alpha1.ClusterUpgrade{ObjectMeta: named("u"), Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.34.4"}}, metav1.CreateOptions{}))
	must(ours.UpgradePolicies.Create(ctx, &v1alpha1.UpgradePolicy{ObjectMeta: named(v1alpha1.PolicyName)}, metav1.CreateOptions{}))
	record := &v1alpha1.UpgradeRecord{ObjectMeta: named("u-01234567-1"), Spec: v1alpha1.UpgradeRecordSpec{Piece: 1, Pieces: 1}}
	record.Spec.Upgrade, record.Spec.Outcome = v1alpha1.UpgradeReference{Name: "u", UID: "0123456789"}, v1alpha1.OutcomeSucceeded
	record.Spec.EndTime = metav1.NewTime(time.Now().Truncate(time.Second))
	record.Spec.Nodes = []v1alpha1.NodeRecord{{Name: "w-1", RebootSeconds: 90, Steps: []v1alpha1.StepTime{{Step: v1alpha1.StepRebooting, StartTime: metav1.NowMicro()}}}}
	must(ours.UpgradeRecords.Create(ctx, record, metav1.CreateOptions{}))
	must(ours.MaintenanceSchedules.Create(ctx, &v1alpha1.MaintenanceSchedule{ObjectMeta: named("s")}, metav1.CreateOptions{}))
	must(clients.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: named(v1alpha1.Namespace)}, metav1.CreateOptions{}))
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "slot-0", Labels: map[string]string{v1alpha1.SlotLabel: "true"}, Annotations: map[string]string{v1alpha1.ReservedForAnnotation: "w-1/uid"}}}
	must(clients.CoordinationV1().Leases(v1alpha1.Namespace).Create(ctx, lease, metav1.CreateOptions{}))
	for _, component := range []string{"kube-apiserver", "etcd", "kube-scheduler"} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: component + "-cp-1", Labels: map[string]string{"component": component}},
			Spec:       corev1.PodSpec{NodeName: "cp-1", Containers: []corev1.Container{{Name: component, Image: "registry.k8s.io/" + component + ":v1.34.3"}}},
		}
		must(clients.CoreV1().Pods("kube-system").Create(ctx, pod, metav1.CreateOptions{}))
	}

	reader, err := snapshot.NewReader(clients, ours, func() {})
	if err != nil {
		t.Fatal(err)
	}
	if !reader.Start(ctx) {
		t.Fatal("the reader does not come to know the cluster")
	}
	once, err := snapshot.Read(ctx, snapshot.Clients{Kube: clients, Ours: ours})
	if err != nil {
		t.Fatal(err)
	}
	if len(once.Nodes) != 3 || len(once.Slots) != 1 || len(once.APIServers) != 1 || len(once.Etcd) != 1 || len(once.Controllers) != 1 || len(once.Schedules) != 1 || len(once.Inventories) != 3 || once.Policy == nil || len(once.Records) != 1 {
		t.Errorf("something is missing: %+v", once)
	}
	if nodes := once.Records[0].Spec.Nodes; len(nodes) != 1 || nodes[0].RebootSeconds != 90 || nodes[0].Steps != nil {
		t.Errorf("a record keeps how long nodes took, and no steps: %+v", nodes)
	}
	if diff := cmp.Diff(reader.Snapshot(), once, cmpopts.IgnoreFields(metav1.TypeMeta{}, "Kind", "APIVersion")); diff != "" {
		t.Errorf("Read and Reader differ (-Reader +Read):\n%s", diff)
	}
}
