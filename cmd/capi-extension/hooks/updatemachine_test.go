package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/management"
	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/workload"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

const (
	ofControlPlane = "updatemachine-controlplane"
	ofWorker       = "updatemachine-worker"
)

// wantsRetry checks that an answer is Success, and that Cluster API asks again.
func wantsRetry(t *testing.T, got runtimehooksv1.UpdateMachineResponse, message string) {
	t.Helper()
	if got.Status != runtimehooksv1.ResponseStatusSuccess || got.RetryAfterSeconds == 0 || got.Message != message {
		t.Errorf("got  %s %q, again after %d s\nwant Success %q, again later", got.Status, got.Message, got.RetryAfterSeconds, message)
	}
}

// TestUpdateMachine goes with a control plane's machine from the first call to the last. Each call is made
// twice: nothing is done twice.
func TestUpdateMachine(t *testing.T) {
	w := newWorld(t)
	w.start(cp1)
	update := func() runtimehooksv1.UpdateMachineResponse {
		w.updateMachine(ofControlPlane)
		return w.updateMachine(ofControlPlane)
	}
	update()
	if difference := cmp.Diff(map[string][]string{"capi-v1.34.4": {"cp1"}}, w.upgrades()); difference != "" {
		t.Errorf("asked for (-want +got):\n%s", difference)
	}
	if got := w.mark(cp1); got != management.Marked {
		t.Errorf("asked for: the Machine's mark is %q, want %q", got, management.Marked)
	}
	w.plan(map[string]v1alpha1.Reason{"cp1": v1alpha1.ReasonNotRequested})
	wantsRetry(t, update(), "cp1 is asked for, and waits for the coordinator")
	w.plan(map[string]v1alpha1.Reason{"cp1": v1alpha1.ReasonWindowClosed})
	wantsRetry(t, update(), "cp1 waits: because of WindowClosed")
	w.changeNode("cp1", func(_ *corev1.Node, n *v1alpha1.NodeUpgrade) { n.Status.Step = v1alpha1.StepDraining })
	wantsRetry(t, update(), "cp1 is drained")
	w.changeNode("cp1", func(_ *corev1.Node, n *v1alpha1.NodeUpgrade) {
		n.Status.Step = v1alpha1.StepRolledBack
		n.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionUpToDate, Status: metav1.ConditionFalse, Reason: "RolledBack", Message: "the image did not merge"}}
	})
	wantsRetry(t, update(), "cp1 was returned to its former version: the image did not merge. Fix the cause, then run `kubectl upgrade apply v1.34.4 --retry` in the workload cluster")
	if got := w.mark(cp1); got != management.Marked {
		t.Errorf("after a rollback: the Machine's mark is %q, want %q", got, management.Marked)
	}
	w.upgradeNode("cp1")
	w.changeNode("cp1", func(node *corev1.Node, _ *v1alpha1.NodeUpgrade) { node.Spec.Unschedulable = true })
	wantsRetry(t, update(), "cp1 waits: the node has v1.34.4 and is cordoned: uncordon it")
	w.changeNode("cp1", func(node *corev1.Node, _ *v1alpha1.NodeUpgrade) { node.Spec.Unschedulable = false })
	for range 2 {
		got := w.updateMachine(ofControlPlane)
		if got.Status != runtimehooksv1.ResponseStatusSuccess || got.RetryAfterSeconds != 0 || got.Message != "cp1 has v1.34.4" {
			t.Errorf("done: got %s %q, again after %d s", got.Status, got.Message, got.RetryAfterSeconds)
		}
	}
	if difference := cmp.Diff(map[string][]string{"capi-v1.34.4": {}}, w.upgrades()); difference != "" {
		t.Errorf("done (-want +got):\n%s", difference)
	}
	if got := w.mark(cp1); got != "" {
		t.Errorf("done: the Machine's mark is %q, want none", got)
	}
	var events []string
	for _, event := range w.events() {
		if strings.HasPrefix(event, "KubeadmControlPlane ") {
			events = append(events, event)
		}
	}
	want := []string{
		"KubeadmControlPlane InPlaceUpgradeAtWork cp1 is drained",
		"KubeadmControlPlane InPlaceUpgradeDone cp1 has v1.34.4",
		"KubeadmControlPlane InPlaceUpgradeStopped cp1 was returned to its former version: the image did not merge. Fix the cause, then run `kubectl upgrade apply v1.34.4 --retry` in the workload cluster",
		"KubeadmControlPlane InPlaceUpgradeWaits cp1 is asked for, and waits for the coordinator",
		"KubeadmControlPlane InPlaceUpgradeWaits cp1 waits: because of WindowClosed",
		"KubeadmControlPlane InPlaceUpgradeWaits cp1 waits: the node has v1.34.4 and is cordoned: uncordon it",
	}
	events = slices.DeleteFunc(events, func(e string) bool { return strings.Contains(e, "the coordinator has not") })
	if difference := cmp.Diff(want, events); difference != "" {
		t.Errorf("events of the KubeadmControlPlane (-want +got):\n%s", difference)
	}
}

// TestNotAskedFor checks what UpdateMachine does not start.
func TestNotAskedFor(t *testing.T) {
	for _, test := range []struct {
		name    string
		change  func(*world)
		message string
	}{
		{"Cluster API does not update it", func(w *world) {
			change(w, w.management, w1, func(m *clusterv1.Machine) { m.Annotations = nil })
		}, "Cluster API does not update Machine default/" + w1 + " in place now"},
		{"marked for remediation", func(w *world) {
			change(w, w.management, w1, func(m *clusterv1.Machine) {
				m.Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineOwnerRemediatedCondition, Status: metav1.ConditionFalse}}
			})
		}, "a MachineHealthCheck has marked Machine default/" + w1 + " for remediation"},
		{"paused", func(w *world) {
			change(w, w.management, "prod", func(c *clusterv1.Cluster) { c.Spec.Paused = ptr.To(true) })
		}, "Cluster default/prod is paused"},
		{"another one decides on versions", func(w *world) {
			p := get[v1alpha1.UpgradePolicy](w, w.workload, "", "cluster")
			p.Spec.VersionsFrom = v1alpha1.VersionsFromRequests
			w.write(w.workload.Update(w.t.Context(), p))
		}, "Cluster API does not decide on versions in cluster default/prod: set spec.versionsFrom to ClusterAPI in its UpgradePolicy cluster"},
		{"unreachable", func(w *world) {
			w.unreachable = &workload.Problem{Message: "the API server of cluster default/prod does not answer", Err: errors.New("dial tcp 192.0.2.1:6443: i/o timeout")}
		}, "the API server of cluster default/prod does not answer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.start(w1)
			test.change(w)
			wantsRetry(t, w.updateMachine(ofWorker), test.message)
			if difference := cmp.Diff(map[string][]string{}, w.upgrades()); difference != "" {
				t.Errorf("upgrades (-want +got):\n%s", difference)
			}
			if got := w.mark(w1); got != "" {
				t.Errorf("the Machine's mark is %q, want none", got)
			}
		})
	}
}

// TestSlowCluster has the workload cluster use up the time for the answer: the reason is told all the same.
func TestSlowCluster(t *testing.T) {
	w := newWorld(t)
	w.start(w1)
	w.extension.Open = func(ctx context.Context, name types.NamespacedName) (workload.Cluster, error) {
		<-ctx.Done()
		return workload.Cluster{}, &workload.Problem{Cluster: name, Message: "the API server does not answer", Err: ctx.Err()}
	}
	w.extension.Management = interceptor.NewClient(w.management, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return c.Create(ctx, o, options...)
		},
	})
	handler, err := NewServer(w.extension, 50*time.Millisecond, func(string, runtimehooksv1.ResponseStatus, bool, time.Duration) {})
	if err != nil {
		t.Fatal(err)
	}
	w.server.Config.Handler = handler
	wantsRetry(t, w.updateMachine(ofWorker), "the API server does not answer")
	want := []string{"Machine InPlaceUpgradeWaits the API server does not answer", "MachineDeployment InPlaceUpgradeWaits the API server does not answer"}
	if difference := cmp.Diff(want, w.events()); difference != "" {
		t.Errorf("events (-want +got):\n%s", difference)
	}
}

// TestTakenBack checks that a node that is asked for already is withdrawn when it must not go any more.
func TestTakenBack(t *testing.T) {
	w := newWorld(t)
	w.start(w1)
	w.updateMachine(ofWorker)
	change(w, w.management, w1, func(m *clusterv1.Machine) {
		m.Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineOwnerRemediatedCondition, Status: metav1.ConditionFalse}}
	})
	w.updateMachine(ofWorker)
	if difference := cmp.Diff(map[string][]string{"capi-v1.34.4": {}}, w.upgrades()); difference != "" {
		t.Errorf("upgrades (-want +got):\n%s", difference)
	}
	if got := w.mark(w1); got != "" {
		t.Errorf("the Machine's mark is %q, want none", got)
	}
}

// TestNodeHasTheVersion asks about a node that has the version and is out of service: no upgrade is made for it,
// which would end at once, again and again.
func TestNodeHasTheVersion(t *testing.T) {
	w := newWorld(t)
	w.start(cp1)
	w.upgradeNode("cp1")
	w.changeNode("cp1", func(n *corev1.Node, _ *v1alpha1.NodeUpgrade) { n.Spec.Unschedulable = true })
	for range 2 {
		wantsRetry(t, w.updateMachine(ofControlPlane), "cp1 waits: the node has v1.34.4 and is cordoned: uncordon it")
	}
	if got := w.upgrades(); len(got) > 0 {
		t.Errorf("upgrades are made: %v", got)
	}
}

func TestForeignMarkStays(t *testing.T) {
	w := newWorld(t)
	w.start(w1)
	change(w, w.management, w1, func(m *clusterv1.Machine) { m.Annotations[clusterv1.MachineSkipRemediationAnnotation] = "true" })
	w.updateMachine(ofWorker)
	w.upgradeNode("w1")
	if got := w.updateMachine(ofWorker); got.RetryAfterSeconds != 0 {
		t.Errorf("got %q, again after %d s, want done", got.Message, got.RetryAfterSeconds)
	}
	if got := w.mark(w1); got != "true" {
		t.Errorf("someone else's mark is %q now, want true", got)
	}
}

// TestMachinesAtOnce asks for many machines at once, each twice, as two replicas would.
func TestMachinesAtOnce(t *testing.T) {
	const machines = 10
	w := newWorld(t)
	data, err := os.ReadFile("testdata/updatemachine-worker.json")
	if err != nil {
		t.Fatal(err)
	}
	base := get[clusterv1.Machine](w, w.management, "default", w1)
	var want []string
	for i := range machines {
		m := base.DeepCopy()
		m.ResourceVersion, m.Name, m.Status.NodeRef.Name = "", fmt.Sprintf("m%d", i), fmt.Sprintf("n%d", i)
		w.write(w.management.Create(t.Context(), m))
		w.start(m.Name)
		w.write(w.workload.Create(t.Context(), node(m.Status.NodeRef.Name)))
		w.write(w.workload.Create(t.Context(), order(m.Status.NodeRef.Name)))
		want = append(want, fmt.Sprint("n", i))
	}
	ask := func() {
		var group sync.WaitGroup
		for i := range 2 * machines {
			group.Go(func() {
				request := strings.ReplaceAll(string(data), w1, fmt.Sprintf("m%d", i/2))
				post[runtimehooksv1.UpdateMachineResponse](w, "updatemachine/update-machine", []byte(request))
			})
		}
		group.Wait()
	}
	// Writers in conflict give up after some tries, and Cluster API asks again.
	for range 5 {
		ask()
	}
	got := w.upgrades()["capi-v1.34.4"]
	slices.Sort(got)
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("requested nodes (-want +got):\n%s", difference)
	}
	if len(w.upgrades()) != 1 {
		t.Errorf("got upgrades %v, want one", w.upgrades())
	}
}

// TestKilled lets each write of a call be the last one of the program, and then asks again: the outcome is
// the same.
func TestKilled(t *testing.T) {
	killed := errors.New("the program was killed")
	for _, upgraded := range []bool{false, true} {
		for last := range 6 {
			w := newWorld(t)
			w.start(w1)
			if upgraded {
				w.updateMachine(ofWorker)
				w.upgradeNode("w1")
			}
			writes := 0
			count := func() error {
				if writes++; writes > last {
					return killed
				}
				return nil
			}
			limit := func(c client.WithWatch) client.WithWatch {
				return interceptor.NewClient(c, interceptor.Funcs{
					Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
						if err := count(); err != nil {
							return err
						}
						return c.Create(ctx, o, options...)
					},
					Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
						if err := count(); err != nil {
							return err
						}
						return c.Patch(ctx, o, patch, options...)
					},
				})
			}
			healthy, reached := w.management, w.workload
			w.extension.Management, w.workload = limit(healthy), limit(reached)
			w.updateMachine(ofWorker)
			w.extension.Management, w.workload = healthy, reached
			got := w.updateMachine(ofWorker)
			want, mark := map[string][]string{"capi-v1.34.4": {"w1"}}, management.Marked
			if upgraded {
				want, mark = map[string][]string{"capi-v1.34.4": {}}, ""
				if got.RetryAfterSeconds != 0 {
					t.Errorf("killed after write %d of the end: got %q, again after %d s, want done", last, got.Message, got.RetryAfterSeconds)
				}
			}
			if difference := cmp.Diff(want, w.upgrades()); difference != "" || w.mark(w1) != mark {
				t.Errorf("killed after write %d (upgraded: %t): mark %q, want %q; upgrades (-want +got):\n%s", last, upgraded, w.mark(w1), mark, difference)
			}
		}
	}
}

func TestBefore(t *testing.T) {
	w := newWorld(t)
	ask := func(hook, name, to string) runtimehooksv1.CommonRetryResponse {
		t.Helper()
		request, err := json.Marshal(map[string]any{"cluster": map[string]any{"metadata": map[string]any{"namespace": "default", "name": "prod"}}, "fromKubernetesVersion": "v1.34.3", "toKubernetesVersion": to})
		if err != nil {
			t.Fatal(err)
		}
		return post[runtimehooksv1.CommonRetryResponse](w, hook+"/"+name, request)
	}
	expect := func(got runtimehooksv1.CommonRetryResponse, message string) {
		t.Helper()
		if got.Status != runtimehooksv1.ResponseStatusSuccess || got.Message != message || (got.RetryAfterSeconds == 0) != (message == "") {
			t.Errorf("got %s %q, again after %d s, want Success %q", got.Status, got.Message, got.RetryAfterSeconds, message)
		}
	}
	ask("beforeclusterupgrade", "before-cluster-upgrade", "v1.34.4")
	w.plan(map[string]v1alpha1.Reason{"cp1": v1alpha1.ReasonExcluded, "w1": v1alpha1.ReasonNotRequested})
	expect(ask("beforeclusterupgrade", "before-cluster-upgrade", "v1.34.4"), "cp1 waits: because of Excluded")
	expect(ask("beforecontrolplaneupgrade", "before-control-plane-upgrade", "v1.34.4"), "cp1 waits: because of Excluded")
	expect(ask("beforeworkersupgrade", "before-workers-upgrade", "v1.34.4"), "")
	w.plan(map[string]v1alpha1.Reason{"cp1": v1alpha1.ReasonNotRequested})
	expect(ask("beforecontrolplaneupgrade", "before-control-plane-upgrade", "v1.34.4"), "")
	expect(ask("beforecontrolplaneupgrade", "before-control-plane-upgrade", "v1.35.0"), "Cluster default/prod was changed meanwhile: it wants v1.34.4, and the request is about v1.35.0")
}
