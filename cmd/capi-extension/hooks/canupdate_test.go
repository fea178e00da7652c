package hooks

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"

	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/workload"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

func TestDiscovery(t *testing.T) {
	w := newWorld(t)
	response := post[runtimehooksv1.DiscoveryResponse](w, "discovery", []byte(`{}`))
	var names []string
	for _, h := range response.Handlers {
		names = append(names, h.RequestHook.APIVersion+" "+h.RequestHook.Hook+" "+h.Name)
	}
	want := []string{
		"hooks.runtime.cluster.x-k8s.io/v1alpha1 CanUpdateMachine can-update-machine",
		"hooks.runtime.cluster.x-k8s.io/v1alpha1 CanUpdateMachineSet can-update-machine-set",
		"hooks.runtime.cluster.x-k8s.io/v1alpha1 UpdateMachine update-machine",
		"hooks.runtime.cluster.x-k8s.io/v1alpha1 BeforeClusterUpgrade before-cluster-upgrade",
		"hooks.runtime.cluster.x-k8s.io/v1alpha1 BeforeControlPlaneUpgrade before-control-plane-upgrade",
		"hooks.runtime.cluster.x-k8s.io/v1alpha1 BeforeWorkersUpgrade before-workers-upgrade",
	}
	if difference := cmp.Diff(want, names); difference != "" || response.Status != runtimehooksv1.ResponseStatusSuccess || response.Kind != "DiscoveryResponse" {
		t.Errorf("got %s %s, handlers (-want +got):\n%s", response.Kind, response.Status, difference)
	}
}

// TestControlPlaneWaitsThenGoes asks for a control plane's machine from the first question to yes.
func TestControlPlaneWaitsThenGoes(t *testing.T) {
	w := newWorld(t)
	got := w.canUpdateMachine()
	want := "cp1 waits: the coordinator has not decided about it yet"
	// The fake API server gives no UID to what it creates: the order of no upgrade looks like one for it.
	if got.Status != runtimehooksv1.ResponseStatusFailure || !strings.HasPrefix(got.Message, "cp1 waits: the coordinator has not") {
		t.Fatalf("the first question: got %s %q, want Failure like %q", got.Status, got.Message, want)
	}
	if difference := cmp.Diff(map[string][]string{"capi-v1.34.4": {}}, w.upgrades()); difference != "" {
		t.Errorf("the upgrade is not made, so that images are staged (-want +got):\n%s", difference)
	}
	w.plan(map[string]v1alpha1.Reason{"cp1": v1alpha1.ReasonWindowClosed})
	for range 2 {
		got = w.canUpdateMachine()
		if want := "cp1 waits: because of WindowClosed"; got.Status != runtimehooksv1.ResponseStatusFailure || got.Message != want {
			t.Errorf("a closed window: got %s %q, want Failure %q", got.Status, got.Message, want)
		}
	}
	told := slices.DeleteFunc(w.events(), func(event string) bool { return !strings.Contains(event, "WindowClosed") })
	if difference := cmp.Diff([]string{"KubeadmControlPlane InPlaceUpgradeWaits cp1 waits: because of WindowClosed", "Machine InPlaceUpgradeWaits cp1 waits: because of WindowClosed"}, told); difference != "" {
		t.Errorf("events (-want +got):\n%s", difference)
	}
	question := w.questions["KubeadmControlPlane default/"+controlPlane]
	if question == nil {
		t.Fatal("the extension does not remember that the control plane waits")
	}
	if err := question(t.Context()); err == nil {
		t.Error("asked again while the window is closed: got yes")
	}
	w.plan(map[string]v1alpha1.Reason{"cp1": v1alpha1.ReasonNotRequested})
	if err := question(t.Context()); err != nil {
		t.Errorf("asked again in the window: got %v", err)
	}
	got = w.canUpdateMachine()
	if got.Status != runtimehooksv1.ResponseStatusSuccess || got.Message != "" {
		t.Errorf("in the window: got %s %q, want Success", got.Status, got.Message)
	}
	if w.questions["KubeadmControlPlane default/"+controlPlane] != nil {
		t.Error("in the window: the extension still remembers that the control plane waits")
	}
	if !got.MachinePatch.IsDefined() || !got.BootstrapConfigPatch.IsDefined() || got.InfrastructureMachinePatch.IsDefined() {
		t.Errorf("in the window: got patches %s, %s, %s", got.MachinePatch.Patch, got.BootstrapConfigPatch.Patch, got.InfrastructureMachinePatch.Patch)
	}
	if difference := cmp.Diff(map[string][]string{"capi-v1.34.4": {}}, w.upgrades()); difference != "" {
		t.Errorf("a question alone asks for a node (-want +got):\n%s", difference)
	}
}

func TestControlPlaneRefused(t *testing.T) {
	for _, test := range []struct {
		name    string
		change  func(*world)
		message string
	}{
		{"paused", func(w *world) {
			change(w, w.management, "prod", func(c *clusterv1.Cluster) { c.Spec.Paused = ptr.To(true) })
		}, "Cluster default/prod is paused"},
		{"changed meanwhile", func(w *world) {
			change(w, w.management, controlPlane, func(k *controlplanev1.KubeadmControlPlane) { k.Spec.Version = "v1.34.5" })
		}, "KubeadmControlPlane default/prod-control-plane was changed meanwhile: it wants v1.34.5, and the request is about v1.34.4"},
		{"another one decides on versions", func(w *world) {
			p := get[v1alpha1.UpgradePolicy](w, w.workload, "", "cluster")
			p.Spec.VersionsFrom = ""
			w.write(w.workload.Update(w.t.Context(), p))
		}, "Cluster API does not decide on versions in cluster default/prod: set spec.versionsFrom to ClusterAPI in its UpgradePolicy cluster"},
		{"not installed", func(w *world) {
			w.write(w.workload.Delete(w.t.Context(), &v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}))
		}, "cluster default/prod has no UpgradePolicy cluster: install kubectl-upgrade there"},
		{"no agent", func(w *world) {
			w.write(w.workload.Delete(w.t.Context(), &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "cp1"}}))
		}, "cp1 is not known to kubectl-upgrade: install its agents in the workload cluster"},
		{"no node", func(w *world) {
			change(w, w.management, cp1, func(m *clusterv1.Machine) { m.Status.NodeRef.Name = "" })
		}, "Machine default/" + cp1 + " has no node yet"},
		{"unreachable", func(w *world) {
			w.unreachable = &workload.Problem{Message: "the API server of cluster default/prod does not answer", Err: errors.New("dial tcp 192.0.2.1:6443: i/o timeout")}
		}, "the API server of cluster default/prod does not answer"},
		{"marked for remediation", func(w *world) {
			change(w, w.management, cp1, func(m *clusterv1.Machine) {
				m.Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineOwnerRemediatedCondition, Status: metav1.ConditionFalse}}
			})
		}, "a MachineHealthCheck has marked Machine default/" + cp1 + " for remediation"},
		{"a wrong annotation", func(w *world) {
			change(w, w.management, controlPlane, func(k *controlplanev1.KubeadmControlPlane) {
				k.Annotations = map[string]string{OnUncoveredAnnotation: "Perhaps"}
			})
		}, `annotation kubectl-upgrade.dev/on-uncovered of KubeadmControlPlane default/prod-control-plane is "Perhaps": it has to be Stop or Replace`},
		{"gone", func(w *world) {
			w.write(w.management.Delete(w.t.Context(), get[clusterv1.Machine](w, w.management, "default", cp1)))
		}, "there is no Machine default/" + cp1},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			test.change(w)
			got := w.canUpdateMachine()
			if got.Status != runtimehooksv1.ResponseStatusFailure || got.Message != test.message {
				t.Errorf("got  %s %q\nwant Failure %q", got.Status, got.Message, test.message)
			}
			if got.MachinePatch.IsDefined() {
				t.Errorf("got a patch: %s", got.MachinePatch.Patch)
			}
		})
	}
}

// TestUncovered changes a request so that more changes than the version.
func TestUncovered(t *testing.T) {
	data, err := os.ReadFile("testdata/canupdatemachine-patch.json")
	if err != nil {
		t.Fatal(err)
	}
	var request map[string]any
	if err := json.Unmarshal(data, &request); err != nil {
		t.Fatal(err)
	}
	desired := request["desired"].(map[string]any)
	desired["infrastructureMachine"].(map[string]any)["spec"].(map[string]any)["size"] = "large"
	desired["bootstrapConfig"].(map[string]any)["spec"].(map[string]any)["preKubeadmCommands"] = []string{"true"}
	if data, err = json.Marshal(request); err != nil {
		t.Fatal(err)
	}
	ask := func(w *world) runtimehooksv1.CanUpdateMachineResponse {
		return post[runtimehooksv1.CanUpdateMachineResponse](w, "canupdatemachine/can-update-machine", data)
	}

	w := newWorld(t)
	want := "KubeadmControlPlane default/prod-control-plane cannot be upgraded in place, because more changes than its version: KubeadmConfig spec.preKubeadmCommands, ExampleMachine spec.size. " +
		"Change these back, or annotate it with kubectl-upgrade.dev/on-uncovered=Replace to have its machines replaced"
	if got := ask(w); got.Status != runtimehooksv1.ResponseStatusFailure || got.Message != want {
		t.Errorf("Stop: got  %s %q\nwant Failure %q", got.Status, got.Message, want)
	}
	if events := w.events(); !slices.Contains(events, "KubeadmControlPlane InPlaceUpgradeRefused "+want) {
		t.Errorf("Stop: events are %q", events)
	}
	change(w, w.management, controlPlane, func(k *controlplanev1.KubeadmControlPlane) {
		k.Annotations = map[string]string{OnUncoveredAnnotation: string(Replace)}
	})
	if got := ask(w); got.Status != runtimehooksv1.ResponseStatusSuccess || got.MachinePatch.IsDefined() || got.BootstrapConfigPatch.IsDefined() {
		t.Errorf("Replace: got %s %q with patch %s, want Success without a patch", got.Status, got.Message, got.MachinePatch.Patch)
	}
	// What is covered is not replaced for that.
	w.upgradeNode("cp1")
	if got := w.canUpdateMachine(); got.Status != runtimehooksv1.ResponseStatusSuccess || !got.MachinePatch.IsDefined() {
		t.Errorf("Replace, and only the version changes: got %s %q", got.Status, got.Message)
	}
}

// TestSteps asks for versions that kubeadm cannot reach in one step, and for a minor.
func TestSteps(t *testing.T) {
	data, err := os.ReadFile("testdata/canupdatemachine-patch.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		to   string
		own  bool
		want string // a part of the message; empty: yes
	}{
		{"v1.36.0", true, "from v1.34.3 to v1.36.0 skips a minor; kubeadm upgrades one minor at a time: v1.35 first"},
		{"v1.34.1", true, "v1.34.1 is older than v1.34.3, and Kubernetes cannot be downgraded"},
		{"v1.35.0", false, "the kubelet of cp1 does not talk to the kube-apiserver of its own node"},
		{"v1.35.0", true, ""},
		{"v1.34.4", false, ""},
	} {
		w := newWorld(t)
		change(w, w.management, controlPlane, func(k *controlplanev1.KubeadmControlPlane) { k.Spec.Version = test.to })
		w.write(w.workload.Create(t.Context(), &v1alpha1.NodeInventory{ObjectMeta: metav1.ObjectMeta{Name: "cp1"}, NodeFacts: v1alpha1.NodeFacts{OwnAPIServer: test.own}}))
		ask := func() runtimehooksv1.CanUpdateMachineResponse {
			request := strings.ReplaceAll(string(data), "v1.34.4", test.to)
			return post[runtimehooksv1.CanUpdateMachineResponse](w, "canupdatemachine/can-update-machine", []byte(request))
		}
		ask()
		if upgrade := "capi-" + test.to; w.upgrades()[upgrade] != nil {
			w.planFor(upgrade, map[string]v1alpha1.Reason{"cp1": v1alpha1.ReasonNotRequested})
		}
		got := ask()
		if (got.Status == runtimehooksv1.ResponseStatusSuccess) != (test.want == "") || !strings.Contains(got.Message, test.want) {
			t.Errorf("to %s, own apiserver %t: got %s %q, want %q", test.to, test.own, got.Status, got.Message, test.want)
		}
	}
}

func TestMachineSet(t *testing.T) {
	w := newWorld(t)
	// The answer is kept for a day, so it does not depend on a window.
	for range 2 {
		got := w.canUpdateMachineSet()
		if got.Status != runtimehooksv1.ResponseStatusSuccess || !got.MachineSetPatch.IsDefined() || !got.BootstrapConfigTemplatePatch.IsDefined() || got.InfrastructureMachineTemplatePatch.IsDefined() {
			t.Errorf("got %s %q, patches %s, %s", got.Status, got.Message, got.MachineSetPatch.Patch, got.BootstrapConfigTemplatePatch.Patch)
		}
	}
	if difference := cmp.Diff(map[string][]string{"capi-v1.34.4": {}}, w.upgrades()); difference != "" {
		t.Errorf("upgrades (-want +got):\n%s", difference)
	}
	w.changeNode("w1", func(_ *corev1.Node, n *v1alpha1.NodeUpgrade) {
		n.Status.ImageProblem = &v1alpha1.Problem{Reason: v1alpha1.NoSysextImage, Message: "Kubernetes is in the OS image"}
	})
	got := w.canUpdateMachineSet()
	if want := "w1 cannot be upgraded in place: Kubernetes is in the OS image"; got.Status != runtimehooksv1.ResponseStatusFailure || got.Message != want {
		t.Errorf("a node that cannot: got %s %q, want Failure %q", got.Status, got.Message, want)
	}
	if w.questions["MachineDeployment default/prod-workers"] == nil {
		t.Error("the extension does not remember that the MachineDeployment waits")
	}
	change(w, w.management, workers, func(d *clusterv1.MachineDeployment) { d.Spec.Template.Spec.Version = "v1.35.0" })
	got = w.canUpdateMachineSet()
	if want := "MachineDeployment default/prod-workers was changed meanwhile: it wants v1.35.0, and the request is about v1.34.4"; got.Message != want {
		t.Errorf("changed meanwhile: got %s %q, want Failure %q", got.Status, got.Message, want)
	}
}

func TestUnreadableRequest(t *testing.T) {
	w := newWorld(t)
	for _, request := range []string{"", "{", `[]`, `{"current":{"machine":3}}`} {
		got := post[runtimehooksv1.CanUpdateMachineResponse](w, "canupdatemachine/can-update-machine", []byte(request))
		if got.Status != runtimehooksv1.ResponseStatusFailure || !strings.HasPrefix(got.Message, "the request cannot be read: ") {
			t.Errorf("%q: got %s %q, want Failure", request, got.Status, got.Message)
		}
	}
	got := post[runtimehooksv1.CanUpdateMachineResponse](w, "canupdatemachine/can-update-machine", []byte(`{}`))
	if got.Status != runtimehooksv1.ResponseStatusFailure {
		t.Errorf("an empty request: got %s %q, want Failure", got.Status, got.Message)
	}
}
