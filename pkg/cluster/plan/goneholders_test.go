package plan_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// TestSlotOfGoneNode deletes a Node that holds a slot, and checks for how long the slot is kept: as long after a Reboot
// as after an activation, and not at all if the machine was in service. A coordinator that has just started does not
// know, and waits for the longest guard that the API allows. A Node of the same name that is back in service, and no
// other one, frees it at once.
func TestSlotOfGoneNode(t *testing.T) {
	owner := clusterstate.Owner{Node: "w1", UID: "uid"}
	begin := time.Date(2026, 11, 24, 23, 0, 0, 0, time.UTC)
	const back = 5 * time.Minute // when another Node joins
	reported := func(step v1alpha1.Step, uid string) []v1alpha1.NodeUpgrade {
		u := v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "w1", OwnerReferences: []metav1.OwnerReference{{Kind: "Node", Name: "w1", UID: types.UID(uid)}}}}
		u.Status.Step, u.Spec.GuardSeconds = step, ptr.To[int32](300)
		return []v1alpha1.NodeUpgrade{u}
	}
	joined := clusterstate.Node{Name: "w1", UID: "again", OS: "linux", Ready: true, Kubelet: "v1.34.4"}
	notReady, other := joined, joined
	notReady.Ready, other.Name = false, "w2"
	for name, test := range map[string]struct {
		of      v1alpha1.UpgradeType
		step    v1alpha1.Step // empty: the coordinator starts after the deletion
		joins   *clusterstate.Node
		reports v1alpha1.Step // what its agent reports
		want    time.Duration
		notBack bool
	}{
		"it drains":                            {of: v1alpha1.TypePatch, step: v1alpha1.StepDraining},
		"it rests":                             {of: v1alpha1.TypePatch, step: v1alpha1.StepIdle},
		"it drains for a Reboot":               {of: v1alpha1.TypeReboot, step: v1alpha1.StepDraining},
		"it verifies":                          {of: v1alpha1.TypePatch, step: v1alpha1.StepVerifying, want: 15 * time.Minute, notBack: true},
		"it reboots for a Reboot":              {of: v1alpha1.TypeReboot, step: v1alpha1.StepRebooting, want: 15 * time.Minute, notBack: true},
		"it failed":                            {of: v1alpha1.TypePatch, step: v1alpha1.StepFailed, want: 15 * time.Minute, notBack: true},
		"a new coordinator":                    {want: 40 * time.Minute, notBack: true},
		"it joins again":                       {of: v1alpha1.TypePatch, step: v1alpha1.StepRebooting, joins: &joined, reports: v1alpha1.StepIdle, want: back},
		"it joins again after a Reboot":        {of: v1alpha1.TypeReboot, step: v1alpha1.StepRebooting, joins: &joined, reports: v1alpha1.StepWaiting, want: back},
		"it joins again, unknown":              {joins: &joined, reports: v1alpha1.StepIdle, want: back},
		"it joins again, and is not Ready":     {of: v1alpha1.TypePatch, step: v1alpha1.StepRebooting, joins: &notReady, reports: v1alpha1.StepIdle, want: 15 * time.Minute, notBack: true},
		"it joins again without an agent":      {of: v1alpha1.TypePatch, step: v1alpha1.StepRebooting, joins: &joined, want: 15 * time.Minute, notBack: true},
		"it joins again, and aborts something": {of: v1alpha1.TypePatch, step: v1alpha1.StepRebooting, joins: &joined, reports: v1alpha1.StepAborting, want: 15 * time.Minute, notBack: true},
		"another one joins":                    {of: v1alpha1.TypePatch, step: v1alpha1.StepRebooting, joins: &other, want: 15 * time.Minute, notBack: true},
	} {
		var holders plan.Holders
		s := clusterstate.Snapshot{Policy: managing(), Slots: []clusterstate.Slot{{Name: "slot-0", Holder: owner, ReservedFor: owner}}}
		if test.step != "" {
			s.Nodes, s.NodeUpgrades = []clusterstate.Node{{Name: "w1", UID: "uid", OS: "linux", Ready: true}}, reported(test.step, "uid")
			s.NodeUpgrades[0].Spec.Type = test.of
			holders = holders.Note(&s, begin)
			if len(s.KeptUntil) > 0 {
				t.Errorf("%s: while the Node is there: %v", name, s.KeptUntil)
			}
			s.Nodes, s.NodeUpgrades = nil, nil
		}
		for at := time.Duration(0); at <= 45*time.Minute; at += time.Minute {
			now := begin.Add(at)
			if test.joins != nil && at == back {
				s.Nodes, s.NodeUpgrades = []clusterstate.Node{*test.joins}, reported(test.reports, test.joins.UID)
			}
			holders = holders.Note(&s, now)
			p := plan.Decide(s, now)
			freed := slices.Contains(p.Slots.Reap, owner)
			if freed != (at >= test.want) || slices.Contains(p.Slots.NotBack, owner) != (freed && test.notBack) {
				t.Fatalf("%s: %s after the Node was deleted: freed %t, not back %v", name, at, freed, p.Slots.NotBack)
			}
			if due := begin.Add(test.want); test.notBack && !freed && (p.Next == nil || p.Next.After(due)) {
				t.Fatalf("%s: the next plan is at %v, want %s", name, p.Next, due)
			}
		}
		s.Slots[0].Holder, s.Slots[0].ReservedFor = clusterstate.Owner{}, clusterstate.Owner{}
		if holders = holders.Note(&s, begin); len(s.KeptUntil) > 0 || len(holders) > 0 {
			t.Errorf("%s: remembered once the slot is free: %v", name, holders)
		}
	}
}

// TestHolderWithoutItsLease deletes a Node whose Lease was deleted a moment before.
func TestHolderWithoutItsLease(t *testing.T) {
	now := time.Date(2026, 11, 24, 23, 0, 0, 0, time.UTC)
	s := clusterstate.Snapshot{Nodes: []clusterstate.Node{{Name: "w1", UID: "uid"}}}
	held := []clusterstate.Slot{{Name: "slot-0", Holder: s.Nodes[0].Owner(), ReservedFor: s.Nodes[0].Owner()}}
	u := v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "w1", OwnerReferences: []metav1.OwnerReference{{Kind: "Node", Name: "w1", UID: "uid"}}}}
	u.Status.Step = v1alpha1.StepDraining
	s.NodeUpgrades, s.Slots = []v1alpha1.NodeUpgrade{u}, held
	holders := plan.Holders{}.Note(&s, now)
	s.Slots = nil
	holders = holders.Note(&s, now)
	s.Nodes, s.NodeUpgrades, s.Slots = nil, nil, held
	if holders.Note(&s, now); len(s.KeptUntil) > 0 {
		t.Errorf("the coordinator has forgotten that the node was in service: %v", s.KeptUntil)
	}
}
