package machine

import (
	"slices"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// atLastCheck returns a drained node that is about to reboot for its operating system.
func atLastCheck(since time.Time) (State, Observation) {
	upgrade := v1alpha1.UpgradeReference{Name: "reboot", UID: "uid-1"}
	s := State{Upgrade: upgrade, Step: v1alpha1.StepLastCheck, Since: since, Attempts: 1, Method: v1alpha1.MethodReboot}
	o := Observation{
		Now:   since.Add(time.Second),
		Spec:  v1alpha1.NodeUpgradeSpec{Upgrade: &upgrade, Type: v1alpha1.TypeReboot, Release: v1alpha1.ReleaseNode},
		Node:  Node{Ready: true, Unschedulable: true, OurCordon: true, SlotMark: "slot-0", KubeletVersion: oldVersion, BootID: "boot-0"},
		Host:  &Host{At: since, HostFacts: verb.HostFacts{BootID: "boot-0", Active: oldVersion, Merged: oldVersion, RebootRequired: true}},
		Slot:  Slot{Held: "slot-0"},
		Rules: &clusterstate.Hold{},
	}
	return s, o
}

// TestLastCheckNeedsFreshFacts checks that facts from before the drain are too old for the
// last check.
func TestLastCheckNeedsFreshFacts(t *testing.T) {
	s, o := atLastCheck(time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC))
	o.Host.At = s.Since.Add(-time.Second)
	if got := HostSince(s, o, ""); got != s.Since {
		t.Errorf("HostSince = %s, want the beginning of the step, %s", got, s.Since)
	}
	if next, a := Next(s, o); a.Do != DoNothing || next.Step != v1alpha1.StepLastCheck {
		t.Errorf("with old facts: got step %s and action %q, want LastCheck and none", next.Step, a)
	}
	o.Host.At = s.Since
	if next, a := Next(s, o); a.Do != DoReboot || next.Step != v1alpha1.StepRebooting {
		t.Errorf("with fresh facts: got step %s and action %q, want Rebooting and a reboot", next.Step, a)
	}
	o.Host.Active = newVersion
	if next, _ := Next(s, o); next.Step != v1alpha1.StepAborting || next.Reason != v1alpha1.ReasonNextBootDiffers {
		t.Errorf("with a symlink that changed during the drain: got step %s (%s), want Aborting (NextBootDiffers)", next.Step, next.Reason)
	}
}

// TestLockingNeedsFreshFacts checks that a node takes no slot with facts from before its
// release, or from long before it if the node ran kubeadm ahead, nor for an image that was
// deleted meanwhile.
func TestLockingNeedsFreshFacts(t *testing.T) {
	s, o := atLastCheck(time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC))
	s.Step, s.Attempts = v1alpha1.StepLocking, 0
	o.Managed = true
	o.Spec.Type, o.Spec.Version, o.Spec.Image = v1alpha1.TypePatch, newVersion, &v1alpha1.Image{Digest: "sha256:abc"}
	o.Node.Unschedulable, o.Node.OurCordon, o.Node.SlotMark, o.Slot = false, false, "", Slot{Reserved: "slot-0"}
	o.Work = map[verb.Verb]Work{verb.Stage: {Result: verb.Result{Key: StageKey(o.Spec), OK: true, FinishedAt: s.Since.Add(-time.Hour)}}}
	o.Host.Installed = []string{oldVersion, newVersion}
	ahead := s
	ahead.Steps = append(slices.Clone(s.Steps), StepTime{Step: v1alpha1.StepKubeadmAhead})
	for _, test := range []struct {
		state State
		age   time.Duration
		want  Do
	}{
		{s, 0, DoTake}, {s, time.Second, DoNothing},
		{ahead, lockingHostAge, DoTake}, {ahead, lockingHostAge + time.Second, DoNothing},
	} {
		o.Host.At = s.Since.Add(-test.age)
		if next, a := Next(test.state, o); a.Do != test.want || next.Step != v1alpha1.StepLocking {
			t.Errorf("with facts from %s before: got step %s and action %q, want Locking and %q", test.age, next.Step, a, test.want)
		}
	}
	o.Host.At = s.Since
	o.Host.Installed = []string{oldVersion}
	if next, a := Next(s, o); next.Step != v1alpha1.StepStaging || a.Verb != verb.Stage {
		t.Errorf("with the image deleted: got step %s and action %q, want Staging and stage", next.Step, a)
	}
	o.Slot = Slot{Held: "slot-0"}
	if next, _ := Next(s, o); next.Step != v1alpha1.StepAborting || next.Reason != v1alpha1.ReasonStaging {
		t.Errorf("with the image deleted and a slot: got step %s (%s), want Aborting (Staging)", next.Step, next.Reason)
	}
}

// TestNextNodeKeepsFactsFresh checks that a node that goes next never has to gather facts
// between its release and its cordon.
func TestNextNodeKeepsFactsFresh(t *testing.T) {
	s, o := atLastCheck(time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC))
	s.Step = v1alpha1.StepWaiting
	o.Spec.Release = v1alpha1.ReleaseNone
	if got := HostSince(s, o, ""); !got.IsZero() {
		t.Errorf("a node that waits: HostSince = %s, want that any facts will do", got)
	}
	o.Spec.Release = v1alpha1.ReleaseKubeadmAhead
	if got, want := HostSince(s, o, ""), o.Now.Add(-nextHostAge); got != want {
		t.Errorf("the next node: HostSince = %s, want %s", got, want)
	}
}

// TestNoRestartAcrossMinors checks that a node which is a minor behind reboots, though the
// upgrade is a patch for all others.
func TestNoRestartAcrossMinors(t *testing.T) {
	for kubelet, want := range map[string]v1alpha1.Method{"v1.34.3": v1alpha1.MethodRestart, "v1.33.9": v1alpha1.MethodReboot} {
		s, o := atLastCheck(time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC))
		o.Spec.Type, o.Spec.Version, o.Spec.Method = v1alpha1.TypePatch, newVersion, v1alpha1.MethodRestart
		o.Node.KubeletVersion = kubelet
		if next, _ := afterKubeadm(s, o); next.Method != want || want == v1alpha1.MethodReboot && next.MethodMessage == "" {
			t.Errorf("from %s: got method %s (%s), want %s", kubelet, next.Method, next.MethodMessage, want)
		}
	}
}

// TestRestartIgnoresEarlierResult checks that the failed restart of an earlier attempt does
// not count, though an uncounted attempt has the same number.
func TestRestartIgnoresEarlierResult(t *testing.T) {
	s, o := atLastCheck(time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC))
	s.Step, s.Method = v1alpha1.StepRestarting, v1alpha1.MethodRestart
	o.Spec.Type, o.Spec.Version, o.Spec.Method = v1alpha1.TypePatch, newVersion, v1alpha1.MethodRestart
	o.Host.Active = newVersion
	refused := Work{Result: verb.Result{Key: restartKey(s, o), Message: "refused", FinishedAt: s.Since.Add(-time.Hour)}}
	o.Work = map[verb.Verb]Work{verb.Restart: refused}
	if _, a := Next(s, o); a.Verb != verb.Restart {
		t.Errorf("with an earlier result: got action %q, want a restart", a)
	}
	refused.FinishedAt = o.Now
	o.Work[verb.Restart] = refused
	if next, _ := Next(s, o); next.Method != v1alpha1.MethodReboot {
		t.Errorf("with its own result: got step %s by %s, want a reboot", next.Step, next.Method)
	}
}

// TestHostUnreadableInLocking checks that a node which has taken its slot, or is cordoned, aborts if its host
// cannot be read any more, and that any other one waits.
func TestHostUnreadableInLocking(t *testing.T) {
	s, o := atLastCheck(time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC))
	s.Step, o.Host, o.HostProblem = v1alpha1.StepLocking, nil, "the bus is away"
	marked, released := o.Node, o.Spec.Release
	for name, test := range map[string]struct {
		slot    string
		node    Node
		release v1alpha1.Release
		after   time.Duration
		want    v1alpha1.Step
	}{
		"a while":                        {"slot-0", marked, released, HostWithin - time.Second, v1alpha1.StepLocking},
		"longer":                         {"slot-0", marked, released, HostWithin, v1alpha1.StepAborting},
		"not cordoned yet":               {"slot-0", Node{Ready: true}, released, HostWithin, v1alpha1.StepAborting},
		"without a slot":                 {"", Node{Ready: true}, released, HostWithin, v1alpha1.StepLocking},
		"abandoned":                      {"", marked, v1alpha1.ReleaseNone, time.Second, v1alpha1.StepAborting},
		"withdrawn, before it has begun": {"", Node{Ready: true}, v1alpha1.ReleaseNone, HostWithin, v1alpha1.StepLocking},
	} {
		o.Slot.Held, o.Node, o.Spec.Release, o.Now = test.slot, test.node, test.release, s.Since.Add(test.after)
		if next, _ := Next(s, o); next.Step != test.want || next.Attempts != s.Attempts {
			t.Errorf("%s: got step %s (%s) and %d attempts, want %s and %d", name, next.Step, next.Reason, next.Attempts, test.want, s.Attempts)
		}
	}
}

// TestSlotOfEndedAttempt checks that a node whose status says that its attempt is over frees the slot that it
// still holds, and that it does not if anything else says that it may be out of service.
func TestSlotOfEndedAttempt(t *testing.T) {
	s, o := atLastCheck(time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC))
	s.Step, s.Reason = v1alpha1.StepIdle, v1alpha1.ReasonUpToDate
	s.Steps = []StepTime{{Step: v1alpha1.StepUnlocking, StartedAt: s.Since, FinishedAt: s.Since}}
	o.Managed, o.Node.Unschedulable, o.Node.OurCordon, o.Node.SlotMark = true, false, false, ""
	for name, test := range map[string]struct {
		change func(*State, *Observation)
		want   Do
	}{
		"the same order":        {func(*State, *Observation) {}, DoFree},
		"withdrawn":             {func(_ *State, o *Observation) { o.Spec.Release = v1alpha1.ReleaseNone }, DoFree},
		"no order":              {func(_ *State, o *Observation) { o.Spec.Upgrade = nil }, DoFree},
		"another order":         {func(_ *State, o *Observation) { o.Spec.Upgrade = &v1alpha1.UpgradeReference{Name: "b", UID: "uid-2"} }, DoFree},
		"cordoned":              {func(_ *State, o *Observation) { o.Node.OurCordon, o.Node.Unschedulable = true, true }, DoNothing},
		"the guard watches":     {func(_ *State, o *Observation) { o.Host.Guarded = true }, DoNothing},
		"the host is not known": {func(_ *State, o *Observation) { o.Host = nil }, DoNothing},
		"the host is unread":    {func(_ *State, o *Observation) { o.Host, o.HostProblem = nil, "the bus is away" }, DoFree},
		"it was unread":         {func(s *State, _ *Observation) { s.Reason = v1alpha1.ReasonHostUnreachable }, DoFree},
		"a status from before":  {func(s *State, _ *Observation) { s.Steps = nil }, DoNothing},
	} {
		s, o := s, o
		host := *o.Host
		o.Host = &host
		test.change(&s, &o)
		if _, a := Next(s, o); a.Do != test.want {
			t.Errorf("%s: got %q, want %q", name, a, test.want)
		}
	}
}
