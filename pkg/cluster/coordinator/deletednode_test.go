package coordinator

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// TestSlotOfGoneNode checks that the slot of a Node that is deleted under an armed guard stays taken
// until the guard cannot act any more, and that of one that was deleted before does not. A coordinator
// that has just started does not know, and waits for the longest guard that the API allows.
func TestSlotOfGoneNode(t *testing.T) {
	owner := clusterstate.Owner{Node: "w1", UID: "uid"}
	begin := time.Date(2026, 11, 24, 23, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		of   v1alpha1.UpgradeType
		step v1alpha1.Step
		want time.Duration
	}{
		"it drains":   {v1alpha1.TypePatch, v1alpha1.StepDraining, 0},
		"it verifies": {v1alpha1.TypePatch, v1alpha1.StepVerifying, 15 * time.Minute},
		"it settles":  {v1alpha1.TypePatch, v1alpha1.StepSettling, 15 * time.Minute},
		"it settles after a Reboot, which activates no image": {v1alpha1.TypeReboot, v1alpha1.StepSettling, 0},
		"it failed":         {v1alpha1.TypePatch, v1alpha1.StepFailed, 15 * time.Minute},
		"a new coordinator": {v1alpha1.TypePatch, "", 40 * time.Minute},
		"it rests":          {v1alpha1.TypePatch, v1alpha1.StepIdle, 0},
	} {
		c := &Coordinator{}
		s := clusterstate.Snapshot{Slots: []clusterstate.Slot{{Name: "slot-0", Holder: owner, ReservedFor: owner}, {Name: "slot-1"}}}
		gone := s
		if test.step != "" {
			u := v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "w1", OwnerReferences: []metav1.OwnerReference{{Kind: "Node", Name: "w1", UID: "uid"}}}}
			u.Status.Step, u.Spec.Type, u.Spec.GuardSeconds = test.step, test.of, ptr.To[int32](300)
			s.Nodes, s.NodeUpgrades = []clusterstate.Node{{Name: "w1", UID: "uid"}}, []v1alpha1.NodeUpgrade{u}
			if next := c.noteHolders(s, begin); next != nil {
				t.Errorf("%s: something is due at %s while the Node is there", name, next)
			}
		}
		next := c.noteHolders(gone, begin)
		for at := time.Duration(0); at <= 45*time.Minute; at += time.Minute {
			c.noteHolders(gone, begin.Add(at))
			if keeps := c.mayReturn(owner); keeps != (at < test.want) {
				t.Errorf("%s: %s after the Node was deleted the slot is kept: %t", name, at, keeps)
			}
		}
		if due := begin.Add(test.want); test.want > 0 && (next == nil || !next.Equal(due)) || test.want == 0 && next != nil {
			t.Errorf("%s: the next plan is at %v, want %s", name, next, due)
		}
		if c.mayReturn(clusterstate.Owner{Node: "w2", UID: "uid"}) {
			t.Errorf("%s: a node without a slot is waited for", name)
		}
	}
}
