package rules

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestTookSlot checks by which steps and annotations a node has taken its slot.
func TestTookSlot(t *testing.T) {
	const (
		locking, kubeadm, draining = v1alpha1.StepLocking, v1alpha1.StepKubeadm, v1alpha1.StepDraining
		settling, unlocking        = v1alpha1.StepSettling, v1alpha1.StepUnlocking
		waiting, verifying         = v1alpha1.StepWaiting, v1alpha1.StepVerifying
		aborting, failed           = v1alpha1.StepAborting, v1alpha1.StepFailed
	)
	for name, test := range map[string]struct {
		steps      []v1alpha1.Step // the last one has not ended
		annotation string
		want       bool
	}{
		"it waits":                             {steps: []v1alpha1.Step{waiting}},
		"it runs kubeadm":                      {steps: []v1alpha1.Step{waiting, locking, kubeadm}, want: true},
		"it drains":                            {steps: []v1alpha1.Step{waiting, locking, draining}, annotation: "slot-0", want: true},
		"its cordon names another slot":        {steps: []v1alpha1.Step{waiting, locking, draining}, annotation: "slot-1"},
		"its cordon came before its status":    {steps: []v1alpha1.Step{waiting}, annotation: "slot-0", want: true},
		"its status was lost":                  {steps: []v1alpha1.Step{settling}, want: true},
		"it is about to free it":               {steps: []v1alpha1.Step{locking, settling, unlocking}},
		"it freed it":                          {steps: []v1alpha1.Step{locking, settling, unlocking, waiting}},
		"it freed it and took it again":        {steps: []v1alpha1.Step{locking, unlocking, waiting, locking, kubeadm}, want: true},
		"it aborts":                            {steps: []v1alpha1.Step{locking, draining, aborting}, annotation: "slot-0", want: true},
		"it failed after its attempts":         {steps: []v1alpha1.Step{locking, draining, aborting, failed}, want: true},
		"it aborted, and was annotated after":  {steps: []v1alpha1.Step{locking, draining, aborting, waiting, verifying}, annotation: "slot-2"},
		"somebody annotated it after":          {steps: []v1alpha1.Step{locking, unlocking, waiting, verifying}, annotation: "slot-2"},
		"somebody put its own annotation back": {steps: []v1alpha1.Step{locking, unlocking, waiting, verifying}, annotation: "slot-0", want: true},
	} {
		t.Run(name, func(t *testing.T) {
			u := &v1alpha1.NodeUpgrade{Spec: v1alpha1.NodeUpgradeSpec{Slot: "slot-0"}}
			at := metav1.NewMicroTime(time.Date(2026, 11, 23, 14, 0, 0, 0, time.UTC))
			for i, step := range test.steps {
				one := v1alpha1.StepTime{Step: step, StartTime: at}
				if i < len(test.steps)-1 {
					one.EndTime = &at
				}
				u.Status.Step, u.Status.Steps = step, append(u.Status.Steps, one)
			}
			if got := TookSlot(u, test.annotation); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

// TestNodeLeftAloneKeepsNoSlot checks that a Lease and an annotation which both name a slot do not make it the slot
// of a node on which nothing of kubectl-upgrade is.
func TestNodeLeftAloneKeepsNoSlot(t *testing.T) {
	for name, test := range map[string]struct {
		managed  bool
		observed int64
		files    metav1.ConditionStatus
		keeps    bool
	}{
		"not managed":                  {false, 2, metav1.ConditionFalse, false},
		"managed":                      {true, 2, metav1.ConditionFalse, true},
		"its agent does not know":      {false, 1, metav1.ConditionFalse, true},
		"its files are on it":          {false, 2, metav1.ConditionTrue, true},
		"its agent has not reported":   {false, 0, metav1.ConditionFalse, true},
		"it is not known what it runs": {false, 2, "", true},
	} {
		u := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
		u.Spec.Managed, u.Status.ObservedGeneration, u.Status.Step = test.managed, test.observed, v1alpha1.StepIdle
		if test.files != "" {
			u.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionManaged, Status: test.files}}
		}
		if got := MayKeepSlot(u, true, "slot-0", "slot-0"); got != test.keeps {
			t.Errorf("%s: keeps the slot: %v", name, got)
		}
	}
}
