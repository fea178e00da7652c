package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// newStory returns a simulated cluster, and a function that executes commands of a script in it.
func newStory(t *testing.T) (*sim, func(lines ...string)) {
	s := newSim(time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC))
	return s, func(lines ...string) {
		t.Helper()
		for _, line := range lines {
			if err := (&script{s}).run(nil, strings.Fields(line)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestTurnsFitTheAPI checks that texts which come from elsewhere are cut to the API's limits: why a Job
// cannot be created or has failed, and the version that a kubelet reports. Otherwise the API server
// would refuse every status of the policy.
func TestTurnsFitTheAPI(t *testing.T) {
	long := strings.Repeat("ü", 2000)
	for name, job := range map[string]clusterstate.HookJob{
		"cannot be created": {Problem: long},
		"failed":            {UID: "job", Ended: true, Reason: long, Message: long},
	} {
		s, play := newStory(t)
		play("node w1 v1.34.3", "hook leave BeforeNode", "hook report AfterUpgrade", "upgrade r type=Reboot ignore", "os w1 asks", "tick 1")
		s.Nodes[0].Kubelet = "v1.34.3+" + long
		s.step()
		var runs int
		for range 2 {
			for _, turn := range s.policy().Status.HookTurns {
				for _, run := range turn.Hooks {
					if run.State == v1alpha1.HookRunning {
						s.HookJobs[run.Job] = job
					}
				}
			}
			p := plan.Decide(s.Snapshot, s.now)
			for _, turn := range p.HookTurns {
				checkFits(t, name+": from", turn.From, 64)
				for _, run := range turn.Hooks {
					runs++
					checkFits(t, name+": reason", run.Reason, 64)
					checkFits(t, name+": message", run.Message, 512)
				}
			}
			s.now = s.now.Add(time.Hour)
		}
		if runs == 0 {
			t.Errorf("%s: no hook has begun", name)
		}
	}
}

func checkFits(t *testing.T, what, text string, limit int) {
	t.Helper()
	if len(text) > limit || !utf8.ValidString(text) {
		t.Errorf("%s has %d bytes, at most %d fit, valid: %t", what, len(text), limit, utf8.ValidString(text))
	}
}

// TestEachUpgradeHasItsHooks checks that a node for which a slot is reserved does not begin for another
// upgrade without the hook before it: its last turn, after which no hook runs, was the former upgrade's.
func TestEachUpgradeHasItsHooks(t *testing.T) {
	s, play := newStory(t)
	play("node w1 v1.34.3", "hook backup BeforeNode", "upgrade r type=Reboot ignore", "os w1 asks", "tick 4")
	p := s.decide()
	if p.Nodes[0].Slot != "slot-0" {
		t.Fatalf("w1 is not released: %+v", p.Nodes[0])
	}
	s.reserve("slot-0", p.Nodes[0].Owner) // the next write fails
	s.writeTurns(p)
	play("remove r", "upgrade r2 type=Reboot ignore")
	if got := s.decide().Nodes[0]; got.Reason != v1alpha1.ReasonHookRunning || got.Slot != "" {
		t.Errorf("w1: %s, slot %q: %s", got.Reason, got.Slot, got.Message)
	}
}

// TestRetryOfTheHookBeforeAnUpgrade checks that no node begins without it when the upgrade in which it
// failed goes on, as the write of its end fails.
func TestRetryOfTheHookBeforeAnUpgrade(t *testing.T) {
	s, play := newStory(t)
	play("node w1 v1.34.3", "hook prepare BeforeUpgrade", "jobs prepare fails", "upgrade r type=Reboot ignore", "os w1 asks", "tick 6")
	if got := s.decide().Nodes[0]; got.Reason != v1alpha1.ReasonHookFailed {
		t.Fatalf("w1: %s: %s", got.Reason, got.Message)
	}
	play("jobs prepare hangs", "upgrade r2 type=Reboot ignore retry=r")
	p := s.decide()
	p.Statuses = nil
	s.write(p)
	play("tick 3")
	if got := s.decide().Nodes[0]; got.Reason != v1alpha1.ReasonHookRunning {
		t.Errorf("w1: %s: %s", got.Reason, got.Message)
	}
}

// TestTurnsFitIntoTheStatus checks that an upgrade whose own hooks begin while there are many turns does
// not make the policy's status longer than the API allows.
func TestTurnsFitIntoTheStatus(t *testing.T) {
	s, play := newStory(t)
	for i := range 200 {
		play(fmt.Sprintf("node w%d v1.34.3", i))
	}
	play("hook prepare BeforeUpgrade", "hook leave BeforeNode", "hook join AfterNode", "upgrade r type=Reboot ignore max=200")
	for i := range 200 {
		play(fmt.Sprintf("os w%d asks", i))
	}
	for i := range 128 {
		turn := v1alpha1.HookTurn{ID: int64(i), Node: fmt.Sprintf("gone%d", i), NodeUID: "gone", Outcome: v1alpha1.TurnDeleted}
		turn.Hooks = []v1alpha1.HookRun{{Name: "join", When: v1alpha1.AfterNode, State: v1alpha1.HookRunning, StartTime: &metav1.Time{Time: s.now}}}
		s.policy().Status.HookTurns = append(s.policy().Status.HookTurns, turn)
	}
	play("jobs join refused", "tick 4")
	if got := len(s.policy().Status.HookTurns); got > 128 {
		t.Errorf("there are %d turns, at most 128 fit", got)
	}
}

// TestHooksFitIntoTheStatus checks the same of hooks, of which each node has many.
func TestHooksFitIntoTheStatus(t *testing.T) {
	s, play := newStory(t)
	for i := range 60 {
		play(fmt.Sprintf("node w%d v1.34.3", i))
	}
	for i := range 16 {
		play(fmt.Sprintf("hook leave%d BeforeNode", i))
	}
	play("upgrade r type=Reboot ignore max=200")
	for i := range 60 {
		play(fmt.Sprintf("os w%d asks", i))
	}
	play("jobs leave0 hangs", "tick 4")
	runs := 0
	for _, turn := range s.policy().Status.HookTurns {
		runs += len(turn.Hooks)
	}
	if runs > 512 || runs < 400 {
		t.Errorf("%d hooks run, or are to run, want at most 512 and not many less", runs)
	}
}

// TestWhyAHookWaits checks that a plan says why a hook cannot be started, or what is known of one that has
// been, also where Jobs are not read, as in the plugin.
func TestWhyAHookWaits(t *testing.T) {
	s, play := newStory(t)
	play("node w1 v1.34.3", "hook leave BeforeNode", "jobs leave refused", "upgrade r type=Reboot ignore", "os w1 asks", "tick 4")
	message := func(want string) {
		t.Helper()
		if got := s.decide().Nodes[0]; got.Reason != v1alpha1.ReasonHookRunning || !strings.Contains(got.Message, want) {
			t.Errorf("w1: %s: %s", got.Reason, got.Message)
		}
	}
	message("CronJob leave does not exist")
	read := s.HookJobs
	s.HookJobs = nil
	message("CronJob leave does not exist")
	s.HookJobs = read
	play("jobs leave hangs", "tick 2")
	run := s.policy().Status.HookTurns[0].Hooks[0]
	s.HookJobs = map[string]clusterstate.HookJob{run.Job: {Problem: "the Jobs of hooks cannot be read: forbidden"}}
	message("shows its log; the Jobs of hooks cannot be read: forbidden")
}

// TestNothingKnownOfANodeAtWork checks that the hook after a node waits until its agent reports again
// when its NodeUpgrade and its Lease were deleted while it works, also if the node is not managed any more.
func TestNothingKnownOfANodeAtWork(t *testing.T) {
	for _, unmanaged := range []bool{false, true} {
		s, play := newStory(t)
		play("node w1 v1.34.3", "hook leave BeforeNode", "hook join AfterNode", "upgrade r type=Reboot ignore", "os w1 asks", "tick 8")
		if s.NodeUpgrades[0].Status.Step.Info().Phase == v1alpha1.PhaseInService {
			t.Fatalf("w1 has not begun: %s", s.NodeUpgrades[0].Status.Step)
		}
		at := s.NodeUpgrades[0]
		s.NodeUpgrades, s.Nodes[0].SlotAnnotation = nil, ""
		play("drop slot-0")
		if unmanaged {
			play("manage pool=none")
		}
		p := s.decide()
		if len(p.HookTurns) != 1 || p.HookTurns[0].Outcome != "" {
			t.Errorf("unmanaged %t: the turn has ended: %+v", unmanaged, p.HookTurns)
		}
		at.Spec, at.Status.Step = v1alpha1.NodeUpgradeSpec{Release: v1alpha1.ReleaseNone}, v1alpha1.StepWaiting
		s.NodeUpgrades = append(s.NodeUpgrades, at)
		if p = s.decide(); len(p.HookTurns) != 1 || p.HookTurns[0].Outcome != v1alpha1.TurnAborted {
			t.Errorf("unmanaged %t: the turn has not ended: %+v", unmanaged, p.HookTurns)
		}
	}
}

// TestRetriedOnce has the API server's clock go ahead of the coordinator's: a hook that fails again at once, after a
// person has retried the upgrade, does not run once more by itself. It does for the next retry.
func TestRetriedOnce(t *testing.T) {
	for _, hook := range []string{"backup BeforeNode", "report AfterNode", "spare BeforeUpgrade"} {
		s, play := newStory(t)
		name, _, _ := strings.Cut(hook, " ")
		play("node w1 v1.34.3", "hook "+hook, "jobs "+name+" fails", "upgrade r type=Reboot ignore", "os w1 asks", "tick 20")
		for i, retry := range []string{"r2", "r3"} {
			ran := len(s.started)
			if ran != i+1 {
				t.Fatalf("%s: it has run as %q before %s", hook, s.started, retry)
			}
			play("upgrade " + retry + " type=Reboot ignore retry=" + []string{"r", "r2"}[i])
			ahead := metav1.NewTime(s.now.Add(time.Hour))
			s.upgrade(retry).CreationTimestamp = ahead
			play("tick 20")
			if len(s.started) != ran+1 {
				t.Errorf("%s: after the retry %s it has run as %q", hook, retry, s.started)
			}
		}
	}
}

// TestFromIsAVersion checks that hooks are told a version or nothing: a kubelet writes its own.
func TestFromIsAVersion(t *testing.T) {
	for reported, want := range map[string]string{"v1.34.3": "v1.34.3", "1.34.3+k3s1": "v1.34.3+k3s1", "v1.34.3$(reboot)": "", "--all": "", "": ""} {
		s, play := newStory(t)
		play("node w1 v1.34.3", "hook leave BeforeNode", "upgrade r type=Reboot ignore", "os w1 asks", "tick 1")
		s.Nodes[0].Kubelet = reported
		s.step()
		if turns := s.policy().Status.HookTurns; len(turns) != 1 || turns[0].From != want {
			t.Errorf("the kubelet reports %q: the turns are %+v, want from %q", reported, turns, want)
		}
	}
}
