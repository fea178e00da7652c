package agent

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/pretend"
)

// TestStateSurvivesStatus checks that the machine's state can be restored from the status.
func TestStateSurvivesStatus(t *testing.T) {
	at := time.Date(2026, 11, 21, 1, 2, 3, 0, time.UTC)
	want := machine.State{
		Upgrade: v1alpha1.UpgradeReference{Name: "patch", UID: "uid-1"}, From: "v1.34.3", Step: v1alpha1.StepRebooting, Since: at.Add(2500 * time.Microsecond), Reason: v1alpha1.ReasonReleased, Message: "m",
		Until: at.Add(time.Minute), Attempts: 2, Failures: 1, RetryAt: at.Add(time.Hour), RebootedFrom: "boot-0", FromSoftReboots: 2,
		Method: v1alpha1.MethodReboot, MethodMessage: "why", Rehearsal: &v1alpha1.RehearsalOutcome{Result: v1alpha1.RehearsalPassed, Boot: v1alpha1.BootUp},
		Parts: &v1alpha1.NodeParts{Resources: []v1alpha1.NodeResource{{Name: "nvidia.com/gpu", Allocatable: 8}}, Drivers: []string{"csi.example.com"}, NetworkUnavailable: true},
		Steps: []machine.StepTime{
			{Step: v1alpha1.StepLocking, StartedAt: at.Add(1500 * time.Microsecond), FinishedAt: at.Add(2500 * time.Microsecond)},
			{Step: v1alpha1.StepRebooting, StartedAt: at.Add(2500 * time.Microsecond)},
		},
	}
	status := statusOf(want)
	status.Conditions = conditions(nil, want, machine.Observation{Now: at}, 7, "")
	text, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	var read v1alpha1.NodeUpgradeStatus
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	same := cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })
	if diff := cmp.Diff(want, stateOf(read), same); diff != "" {
		t.Error(diff)
	}
}

// TestLowest checks which version of the static pods is a control plane's.
func TestLowest(t *testing.T) {
	for name, test := range map[string]struct {
		pods map[string]string
		want string
	}{
		"a worker":         {nil, ""},
		"the same version": {map[string]string{"kube-apiserver": "v1.34.4", "kube-scheduler": "v1.34.4", "etcd": "3.6.5-0"}, "v1.34.4"},
		"half-way":         {map[string]string{"kube-apiserver": "v1.34.4", "kube-scheduler": "v1.34.3"}, "v1.34.3"},
		"not a version":    {map[string]string{"kube-apiserver": "latest", "kube-scheduler": "v1.34.3"}, ""},
	} {
		if got := lowest(test.pods); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestKubeadmVersion checks that on a control plane the record of kubeadm counts only as far
// as the static pods run that version.
func TestKubeadmVersion(t *testing.T) {
	pods := func(version string) map[string]string {
		return map[string]string{"kube-apiserver": "v1.34.4", "kube-scheduler": version}
	}
	for name, test := range map[string]struct {
		record string
		pods   map[string]string
		want   string
	}{
		"a worker":                {"v1.34.4", nil, "v1.34.4"},
		"both agree":              {"v1.34.4", pods("v1.34.4"), "v1.34.4"},
		"the pods are older":      {"v1.34.4", pods("v1.34.3"), "v1.34.3"},
		"the pods are newer":      {"v1.34.3", pods("v1.34.4"), "v1.34.3"},
		"never":                   {"", pods("v1.34.4"), ""},
		"a pod without a version": {"v1.34.4", pods("latest"), ""},
	} {
		if got := kubeadmVersion(verb.HostFacts{Kubeadm: verb.KubeadmDone{Version: test.record}, StaticPods: test.pods}); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestNodePatches checks that a patch has the resourceVersion that it was decided on, and
// does not change another client's cordon.
func TestNodePatches(t *testing.T) {
	marks := func(marks ...string) map[string]string {
		m := map[string]string{}
		for _, mark := range marks {
			m[mark] = "x"
		}
		return m
	}
	for name, test := range map[string]struct {
		unschedulable bool
		marks         map[string]string
		manager       string // of the cordon
		cordon        string
		uncordon      string
	}{
		"in service": {
			cordon:   `{"metadata":{"resourceVersion":"7","annotations":{"cluster-autoscaler.kubernetes.io/scale-down-disabled":"true","kubectl-upgrade.dev/cordoned-for":"patch","kubectl-upgrade.dev/scale-down-disabled":"patch","kubectl-upgrade.dev/slot":"slot-0"}},"spec":{"unschedulable":true}}`,
			uncordon: `{"metadata":{"resourceVersion":"7","annotations":{"kubectl-upgrade.dev/cordoned-for":null,"kubectl-upgrade.dev/slot":null}}}`,
		},
		"cordoned by another client": {
			unschedulable: true, marks: marks(v1alpha1.SlotAnnotation),
			cordon:   `{"metadata":{"resourceVersion":"7","annotations":{"cluster-autoscaler.kubernetes.io/scale-down-disabled":"true","kubectl-upgrade.dev/scale-down-disabled":"patch","kubectl-upgrade.dev/slot":"slot-0"}}}`,
			uncordon: `{"metadata":{"resourceVersion":"7","annotations":{"kubectl-upgrade.dev/cordoned-for":null,"kubectl-upgrade.dev/slot":null}}}`,
		},
		"cordoned by us": {
			unschedulable: true, marks: marks(v1alpha1.SlotAnnotation, v1alpha1.CordonAnnotation),
			cordon:   `{"metadata":{"resourceVersion":"7","annotations":{"cluster-autoscaler.kubernetes.io/scale-down-disabled":"true","kubectl-upgrade.dev/scale-down-disabled":"patch","kubectl-upgrade.dev/slot":"slot-0"}}}`,
			uncordon: `{"metadata":{"resourceVersion":"7","annotations":{"kubectl-upgrade.dev/cordoned-for":null,"kubectl-upgrade.dev/slot":null}},"spec":{"unschedulable":null}}`,
		},
		"with a report of the guard": {
			unschedulable: true, marks: marks(v1alpha1.SlotAnnotation, v1alpha1.CordonAnnotation, v1alpha1.GuardAnnotation),
			cordon:   `{"metadata":{"resourceVersion":"7","annotations":{"cluster-autoscaler.kubernetes.io/scale-down-disabled":"true","kubectl-upgrade.dev/guard":null,"kubectl-upgrade.dev/scale-down-disabled":"patch","kubectl-upgrade.dev/slot":"slot-0"}}}`,
			uncordon: `{"metadata":{"resourceVersion":"7","annotations":{"kubectl-upgrade.dev/cordoned-for":null,"kubectl-upgrade.dev/guard":null,"kubectl-upgrade.dev/slot":null}},"spec":{"unschedulable":null}}`,
		},
		"cordoned by us, uncordoned, and cordoned by another client": {
			unschedulable: true, marks: marks(v1alpha1.SlotAnnotation, v1alpha1.CordonAnnotation), manager: "kubectl",
			cordon:   `{"metadata":{"resourceVersion":"7","annotations":{"cluster-autoscaler.kubernetes.io/scale-down-disabled":"true","kubectl-upgrade.dev/scale-down-disabled":"patch","kubectl-upgrade.dev/slot":"slot-0"}}}`,
			uncordon: `{"metadata":{"resourceVersion":"7","annotations":{"kubectl-upgrade.dev/cordoned-for":null,"kubectl-upgrade.dev/slot":null}}}`,
		},
		"cordoned by us, and then by another client": {
			unschedulable: true, marks: marks(v1alpha1.SlotAnnotation, v1alpha1.CordonAnnotation), manager: fieldManager,
			cordon:   `{"metadata":{"resourceVersion":"7","annotations":{"cluster-autoscaler.kubernetes.io/scale-down-disabled":"true","kubectl-upgrade.dev/scale-down-disabled":"patch","kubectl-upgrade.dev/slot":"slot-0"}}}`,
			uncordon: `{"metadata":{"resourceVersion":"7","annotations":{"kubectl-upgrade.dev/cordoned-for":null,"kubectl-upgrade.dev/slot":null}},"spec":{"unschedulable":null}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7", Annotations: test.marks}}
			if test.manager != "" {
				node.ManagedFields = []metav1.ManagedFieldsEntry{
					{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:podCIDR":{}}}`)},
					{Manager: test.manager, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:unschedulable":{}}}`)},
				}
			}
			node.Spec.Unschedulable = test.unschedulable
			for want, patch := range map[string]nodePatch{test.cordon: cordon(node, "patch", "slot-0"), test.uncordon: uncordon(node)} {
				got, err := json.Marshal(patch)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, string(got)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// TestFactsAreGatheredAfterWork checks that no new result is observed with old facts: the
// machine would take an activated image for one that is not.
func TestFactsAreGatheredAfterWork(t *testing.T) {
	h := pretend.NewHost()
	h.Takes = 0
	now := time.Now()
	a := assemble(Config{Host: h, Install: func() error { return nil }, Now: time.Now})
	read := func() machine.Observation {
		r := &round{Observation: machine.Observation{Now: now}}
		if err := a.host.read(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		return r.Observation
	}
	settled := func() machine.Observation {
		for range 2000 {
			if o := read(); o.Host != nil {
				return o
			}
			time.Sleep(5 * time.Millisecond)
		}
		t.Fatal("the host was never read")
		return machine.Observation{}
	}
	if read().Host != nil {
		t.Error("got facts before any were gathered")
	}
	if o := settled(); o.Host.Active != "v1.34.3" {
		t.Errorf("active image is %s, want v1.34.3", o.Host.Active)
	}
	request, err := verb.NewRequest(verb.Activate, "k", map[string]string{"Version": "v1.34.4"})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(t.Context(), request, verb.Options{}); err != nil {
		t.Fatal(err)
	}
	h.AwaitEnd(t.Context(), verb.Activate)
	if o := settled(); !o.Work[verb.Activate].OK || o.Host.Active != "v1.34.4" {
		t.Fatalf("the activation has ended with %+v and the facts have %s, want v1.34.4", o.Work[verb.Activate], o.Host.Active)
	}
	asked := a.host.seen.asked.key
	read()
	if a.host.seen.asked.key != asked {
		t.Error("facts are gathered again though they are fresh")
	}
	now = now.Add(factsAge)
	read()
	if a.host.seen.asked.key == asked {
		t.Error("old facts are not gathered again")
	}
}

// TestConditions checks the conditions of states.
func TestConditions(t *testing.T) {
	now := time.Date(2026, 11, 21, 1, 2, 3, 0, time.UTC)
	admitted := metav1.Condition{Type: v1alpha1.ConditionAdmitted, Status: metav1.ConditionFalse, Reason: "NotItsTurn", LastTransitionTime: metav1.NewTime(now)}
	const upToDate, reconciling, stalled = v1alpha1.ConditionUpToDate, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled
	for name, test := range map[string]struct {
		state  machine.State
		want   map[string]metav1.ConditionStatus
		reason v1alpha1.Reason
	}{
		"done":        {machine.State{Step: v1alpha1.StepIdle, Reason: v1alpha1.ReasonUpToDate}, map[string]metav1.ConditionStatus{upToDate: "True"}, "UpToDate"},
		"no order":    {machine.State{Step: v1alpha1.StepIdle, Reason: v1alpha1.ReasonNoUpgrade}, map[string]metav1.ConditionStatus{upToDate: "True"}, "NoUpgrade"},
		"waits":       {machine.State{Step: v1alpha1.StepWaiting, Reason: v1alpha1.ReasonAwaitingRelease}, map[string]metav1.ConditionStatus{upToDate: "False", reconciling: "True"}, "AwaitingRelease"},
		"works":       {machine.State{Step: v1alpha1.StepRebooting}, map[string]metav1.ConditionStatus{upToDate: "False", reconciling: "True"}, "Released"},
		"failed":      {machine.State{Step: v1alpha1.StepFailed, Reason: v1alpha1.ReasonKubeadmFailed}, map[string]metav1.ConditionStatus{upToDate: "False", stalled: "True"}, "KubeadmFailed"},
		"unsupported": {machine.State{Step: v1alpha1.StepUnsupported, Reason: v1alpha1.ReasonUnsupported}, map[string]metav1.ConditionStatus{upToDate: "False", stalled: "True"}, "Unsupported"},
		"unreachable": {machine.State{Step: v1alpha1.StepIdle, Reason: v1alpha1.ReasonHostUnreachable}, map[string]metav1.ConditionStatus{upToDate: "False", reconciling: "True"}, "HostUnreachable"},
	} {
		test.state.Message = "why"
		got := conditions([]metav1.Condition{admitted}, test.state, machine.Observation{Now: now}, 7, "")
		seen, messages := map[string]metav1.ConditionStatus{}, ""
		for _, c := range got {
			seen[c.Type], messages = c.Status, messages+c.Message
			if c.Reason != string(test.reason) || c.ObservedGeneration != 7 || !c.LastTransitionTime.Equal(&metav1.Time{Time: now}) {
				t.Errorf("%s: got condition %+v", name, c)
			}
		}
		if diff := cmp.Diff(test.want, seen); diff != "" || messages != "why" {
			t.Errorf("%s: messages %q, conditions (-want +got):\n%s", name, messages, diff)
		}
		again := conditions(got, test.state, machine.Observation{Now: now.Add(time.Hour)}, 7, "")
		if diff := cmp.Diff(got, again); diff != "" {
			t.Errorf("%s: conditions changed though the state did not (-first +second):\n%s", name, diff)
		}
	}
	long := machine.State{Step: v1alpha1.StepFailed, Reason: v1alpha1.ReasonKubeadmFailed, Message: strings.Repeat("long ", 10_000)}
	for _, c := range conditions(nil, long, machine.Observation{Now: now}, 7, "") {
		if len(c.Message) > 32768 {
			t.Errorf("the API refuses a message of %d bytes", len(c.Message))
		}
	}
}
