package machine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// inAttempt returns a node in that step of an attempt that has drained it, with its order.
func inAttempt(step v1alpha1.Step) (State, Observation) {
	upgrade := v1alpha1.UpgradeReference{Name: "patch", UID: "uid"}
	s := State{Upgrade: upgrade, Step: step}
	for _, passed := range []v1alpha1.Step{v1alpha1.StepLocking, v1alpha1.StepCordoning, v1alpha1.StepDraining, step} {
		s.Steps = append(s.Steps, StepTime{Step: passed})
	}
	o := Observation{Node: Node{SlotMark: "slot-0"}, Slot: Slot{Held: "slot-0", Reserved: "slot-0"}, Host: &Host{HostFacts: verb.HostFacts{}}}
	o.Spec.Upgrade, o.Spec.Release = &upgrade, v1alpha1.ReleaseNode
	return s, o
}

// TestConditionsOfEachStep checks what a drained node shows in each step that there is.
func TestConditionsOfEachStep(t *testing.T) {
	want := map[v1alpha1.Step]string{
		v1alpha1.StepWaiting: "MaintenancePlanned", v1alpha1.StepKubeadmAhead: "MaintenancePlanned", v1alpha1.StepLocking: "MaintenancePlanned",
		v1alpha1.StepSnapshotting: "MaintenancePlanned", v1alpha1.StepKubeadm: "MaintenancePlanned", v1alpha1.StepCordoning: "MaintenancePlanned",
		v1alpha1.StepChecking: "MaintenanceInProgress", v1alpha1.StepRestarting: "MaintenanceInProgress",
		v1alpha1.StepDraining: "MaintenancePlanned DrainInProgress", v1alpha1.StepDetaching: "MaintenancePlanned DrainInProgress",
		v1alpha1.StepLastCheck: "Drained MaintenanceInProgress", v1alpha1.StepActivating: "Drained MaintenanceInProgress",
		v1alpha1.StepRebooting: "Drained MaintenanceInProgress", v1alpha1.StepVerifying: "Drained MaintenanceInProgress",
		v1alpha1.StepSettling: "Drained MaintenanceInProgress", v1alpha1.StepUncordoning: "Drained MaintenanceInProgress",
		v1alpha1.StepFailed: "Drained MaintenanceInProgress", v1alpha1.StepRolledBack: "Drained MaintenanceInProgress",
		v1alpha1.StepIdle: "", v1alpha1.StepUnsupported: "", v1alpha1.StepStaging: "", v1alpha1.StepObserving: "", v1alpha1.StepUnlocking: "", v1alpha1.StepAborting: "",
	}
	for _, info := range v1alpha1.Steps {
		expected, listed := want[info.Step]
		if !listed {
			t.Errorf("this test does not say what a Node shows in step %s", info.Step)
		}
		if got := shown(inAttempt(info.Step)); got != expected {
			t.Errorf("step %s: got %q, want %q", info.Step, got, expected)
		}
	}
}

func shown(s State, o Observation) string {
	shows, known := NodeConditions(s, o)
	if !known {
		return "not known"
	}
	return strings.Trim(fmt.Sprint(shows), "[]")
}

// TestConditionsDependOnMore checks where the step alone does not tell what a Node shows.
func TestConditionsDependOnMore(t *testing.T) {
	for name, test := range map[string]struct {
		step   v1alpha1.Step
		change func(*State, *Observation)
		want   string
	}{
		"a node that is not released": {v1alpha1.StepWaiting, func(_ *State, o *Observation) { o.Spec.Release = v1alpha1.ReleaseNone }, ""},
		"one that goes next": {v1alpha1.StepWaiting, func(_ *State, o *Observation) {
			o.Spec.Release, o.Slot = v1alpha1.ReleaseKubeadmAhead, Slot{}
		}, "MaintenancePlanned"},
		"one that has aborted, and is still released":        {v1alpha1.StepWaiting, func(_ *State, o *Observation) { o.Slot = Slot{} }, ""},
		"one after pass 1":                                   {v1alpha1.StepWaiting, func(_ *State, o *Observation) { o.Spec.Release = v1alpha1.ReleaseControlPlane }, ""},
		"one that waits in another upgrade":                  {v1alpha1.StepWaiting, func(s *State, _ *Observation) { s.Upgrade.UID = "former" }, ""},
		"kubeadm on a control plane":                         {v1alpha1.StepKubeadm, func(_ *State, o *Observation) { o.Host.ControlPlane = true }, "MaintenanceInProgress"},
		"kubeadm on a node that cannot be read":              {v1alpha1.StepKubeadm, func(_ *State, o *Observation) { o.Host = nil }, "not known"},
		"a drain of a node that cannot be read":              {v1alpha1.StepDraining, func(_ *State, o *Observation) { o.Host = nil }, "MaintenancePlanned DrainInProgress"},
		"the last check of a restart":                        {v1alpha1.StepLastCheck, func(s *State, _ *Observation) { s.Steps = s.Steps[:1] }, "MaintenanceInProgress"},
		"an attempt after one that drained the node":         {v1alpha1.StepLastCheck, func(s *State, _ *Observation) { s.Steps = append(s.Steps, StepTime{Step: v1alpha1.StepLocking}) }, "MaintenanceInProgress"},
		"what a lost State had done":                         {v1alpha1.StepVerifying, func(s *State, _ *Observation) { s.Steps = nil }, "MaintenanceInProgress"},
		"a node in service that another client gives a slot": {v1alpha1.StepVerifying, func(_ *State, o *Observation) { o.Node = Node{} }, "MaintenanceInProgress"},
		"a failure in service":                               {v1alpha1.StepFailed, func(_ *State, o *Observation) { o.Node = Node{} }, ""},
		"a failed node that a person abandoned":              {v1alpha1.StepFailed, func(_ *State, o *Observation) { o.Slot = Slot{} }, ""},
		"a node that was rolled back, back in service":       {v1alpha1.StepRolledBack, func(_ *State, o *Observation) { o.Node = Node{} }, ""},
		"an attempt whose slot's Lease was deleted":          {v1alpha1.StepDraining, func(_ *State, o *Observation) { o.Slot = Slot{} }, "MaintenancePlanned DrainInProgress"},
		"a node that was abandoned after its last check":     {v1alpha1.StepVerifying, func(_ *State, o *Observation) { o.Spec.Release, o.Slot = v1alpha1.ReleaseNone, Slot{} }, "Drained MaintenanceInProgress"},
	} {
		s, o := inAttempt(test.step)
		test.change(&s, &o)
		if got := shown(s, o); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestConditionTypes checks that each condition of a step is one that agents remove again.
func TestConditionTypes(t *testing.T) {
	used := map[corev1.NodeConditionType]bool{}
	for step, types := range conditionsIn {
		if !step.Known() {
			t.Errorf("there is no step %s", step)
		}
		for _, one := range types {
			used[one] = true
		}
	}
	var got []corev1.NodeConditionType
	for _, one := range NodeConditionTypes {
		if used[one] {
			got = append(got, one)
		}
	}
	if len(used) != len(got) || !slices.Equal(got, NodeConditionTypes) {
		t.Errorf("the steps use %v; agents remove %v", used, NodeConditionTypes)
	}
}

func TestConditionMessage(t *testing.T) {
	s, o := inAttempt(v1alpha1.StepDraining)
	o.Spec.Type, o.Spec.Version = v1alpha1.TypePatch, "v1.34.4"
	got := []string{ConditionMessage(s, o.Spec, "w1")}
	o.Spec.Type, o.Spec.Version = v1alpha1.TypeReboot, ""
	got = append(got, ConditionMessage(s, o.Spec, "w1"))
	want := []string{
		"upgrade patch: to v1.34.4 (kubectl upgrade status w1)",
		"upgrade patch: a reboot for the operating system (kubectl upgrade status w1)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
