package machine

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestPromises moves a node through an upgrade while at random the agent crashes, the
// power fails, windows close, releases change and verbs fail. The world checks every
// promise at each action. In the end all faults are over, and the node must finish.
func TestPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.wantAny(t)
		w.spec.EtcdSnapshot = w.spec.Type == v1alpha1.TypePatch && rapid.Bool().Draw(t, "a snapshot is required")
		w.spec.MinReadySeconds = rapid.SampledFrom([]*int32{nil, ptr.To[int32](45), ptr.To[int32](600)}).Draw(t, "it must stay Ready")
		if rapid.Bool().Draw(t, "control plane") {
			w.host.ControlPlane, w.host.ControlPlaneVersion = true, oldVersion
		}
		if rapid.Bool().Draw(t, "a person cordoned it") {
			w.foreignCordon, w.node.Unschedulable = true, true
		}
		failures := rapid.IntRange(0, 2).Draw(t, "failures")
		for range rapid.IntRange(0, 15).Draw(t, "head start") {
			w.advance()
		}
		for range rapid.IntRange(0, 150).Draw(t, "moves") {
			w.randomEvent(t, &failures)
			if len(w.broken) > 0 {
				t.Fatalf("broken: %v\n%+v", w.broken, w.state)
			}
		}
		w.recoverAll()
		if len(w.broken) > 0 {
			t.Fatalf("broken: %v\n%+v", w.broken, w.state)
		}
		if attempts := len(w.rebootsOf); w.spec.Type == v1alpha1.TypeReboot && attempts > MaxAttempts {
			t.Fatalf("%d attempts rebooted the node: %v", attempts, w.rebootsOf)
		}
		if w.state.Step == v1alpha1.StepFailed && w.state.Failures >= MaxAttempts {
			return // it failed too often to go on, and says so
		}
		if w.state.Step == v1alpha1.StepFailed && w.state.Reason == v1alpha1.ReasonActivateFailed && w.host.Active == newVersion {
			return // the next boot would bring the new version: a person has to look
		}
		if !w.finished() || w.held != "" || w.node.Marked() {
			t.Fatalf("the node does not finish: %+v\nnode %+v, slot %q", w.state, w.node, w.held)
		}
		if w.node.Unschedulable != w.foreignCordon {
			t.Fatalf("unschedulable %t, cordoned by a person %t", w.node.Unschedulable, w.foreignCordon)
		}
	})
}

// randomEvent makes one random event happen.
func (w *world) randomEvent(t *rapid.T, failures *int) {
	switch rapid.SampledFrom([]string{
		"reconcile", "reconcile", "reconcile", "reconcile", "reconcile and crash", "reconcile without the API", "on", "on",
		"work", "work", "failure", "time", "gate", "release", "release", "withdraw",
		"power", "pods", "pass 1", "kubelet", "night", "host", "abandon", "mounts", "need", "health", "skip", "lose",
	}).Draw(t, "move") {
	case "reconcile":
		w.reconcile(true, true)
	case "reconcile and crash":
		persisted := rapid.Bool().Draw(t, "persisted")
		done := persisted && rapid.Bool().Draw(t, "done")
		w.reconcile(persisted, done)
		w.crash()
	case "reconcile without the API":
		w.reconcile(false, false)
	case "work":
		w.settle(true)
	case "on":
		w.advance()
	case "mounts":
		w.blockers = rapid.SampledFrom([][]string{nil, nil, {"/usr/share/x"}}).Draw(t, "mounts")
	case "need":
		if w.spec.Type == v1alpha1.TypeReboot && !w.host.RebootRequired {
			w.host.RebootRequired, w.late = true, true
		}
	case "failure":
		w.refresh = rapid.SampledFrom([]string{"refused", "nothing", "no kubelet"}).Draw(t, "refresh")
		w.settle(*failures == 0)
		*failures = max(0, *failures-1)
	case "time":
		w.pass(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, 6 * time.Minute, 20 * time.Minute}).Draw(t, "passes"))
	case "host":
		w.silent = rapid.SampledFrom([]string{"", "", "the disk is full"}).Draw(t, "silent")
	case "health":
		w.healthy = !w.healthy
	case "skip": // the coordinator no longer requires a snapshot
		if BetweenAttempts(w.state.Step) {
			w.spec.EtcdSnapshot = rapid.Bool().Draw(t, "required")
		}
	case "lose": // the NodeUpgrade is deleted and created again, and the agent replaced
		w.lose()
	case "night": // no agent runs
		w.now = w.now.Add(8 * time.Hour)
		w.crash()
	case "gate":
		w.gate = Gate{Open: !w.gate.Open, Reason: v1alpha1.ReasonWindowClosed}
	case "release":
		w.coordinate(v1alpha1.ReleaseNode)
	case "pass 1":
		w.coordinate(v1alpha1.ReleaseControlPlane)
	case "withdraw":
		w.spec.Release = v1alpha1.ReleaseNone
		w.reserved = w.reserved && w.held != ""
	case "abandon":
		w.abandon()
		w.unsure = false // a person has seen it
	case "power":
		if *failures > 0 {
			*failures--
			w.boot()
		}
	case "pods":
		if !w.node.Unschedulable {
			w.pods = rapid.IntRange(0, 3).Draw(t, "pods")
		}
		w.blocked = rapid.Bool().Draw(t, "blocked")
	case "kubelet":
		w.stuckKubelet = !w.stuckKubelet
		w.settleKubelet()
	}
}

// pass advances the clock and reconciles twice a minute.
func (w *world) pass(d time.Duration) {
	for ; d > 0; d -= 30 * time.Second {
		w.now = w.now.Add(min(d, 30*time.Second))
		w.reconcile(true, true)
	}
}

// settleKubelet lets the kubelet report, and leaves verbs running.
func (w *world) settleKubelet() {
	w.report()
}

// reconcile runs the loop once. If the State is not persisted, only a State without an
// action is kept, in memory.
func (w *world) reconcile(persisted, done bool) {
	w.now = w.now.Add(time.Millisecond)
	before, a := w.next()
	if !persisted {
		if a.Do != DoNothing {
			w.state = before
		}
		return
	}
	w.persist()
	if done {
		w.do(a)
	}
}

// coordinate releases the node as the coordinator does: with a slot reserved.
func (w *world) coordinate(release v1alpha1.Release) {
	if w.held == "" {
		w.spec.Release, w.reserved = release, true
	}
}

// recoverAll ends all faults and gives the node what it needs.
func (w *world) recoverAll() {
	w.gate, w.blocked, w.stuckKubelet, w.silent, w.healthy = Gate{Open: true}, false, false, "", true
	for range 500 {
		if w.finished() && w.held == "" && !w.node.Marked() {
			return
		}
		if w.kubelet == "" { // systemd starts it again and again
			w.kubelet = w.host.Merged
		}
		w.advance()
	}
}

// advance moves the world on while nothing is wrong.
func (w *world) advance() {
	if w.spec.Release == v1alpha1.ReleaseNone || !w.reserved || w.spec.Release == v1alpha1.ReleaseControlPlane {
		w.coordinate(v1alpha1.ReleaseNode)
	}
	w.reconcile(true, true)
	w.settle(true)
	w.now = w.now.Add(30 * time.Second)
}

// wantAny requests a patch by either method, or a reboot.
func (w *world) wantAny(t *rapid.T) {
	switch rapid.SampledFrom([]string{"patch", "restart", "reboot"}).Draw(t, "what") {
	case "restart":
		w.want("patch")
		w.spec.Method = v1alpha1.MethodRestart
	case "reboot":
		w.wantReboot("reboot")
		w.stubborn = rapid.Bool().Draw(t, "requires another reboot after each")
	default:
		w.want("patch")
	}
}

// finished reports whether the node has reached the requested upgrade and is Idle.
func (w *world) finished() bool {
	if w.spec.Type == v1alpha1.TypeReboot {
		return w.state.Step == v1alpha1.StepIdle && w.host.Active == oldVersion && (!w.host.RebootRequired || w.late && w.state.RebootedFrom != "")
	}
	return w.state.Step == v1alpha1.StepIdle && w.node.KubeletVersion == newVersion
}

// TestNextIsPure checks that Next returns the same for the same input, and does not
// modify the State.
func TestNextIsPure(t *testing.T) {
	w := newWorld()
	w.want("patch")
	w.state, _ = Next(w.state, w.observe())
	steps := w.state.Steps
	o := w.observe()
	o.Host.Supported = false
	for range 2 {
		after, _ := Next(w.state, o)
		if after.Step != v1alpha1.StepUnsupported {
			t.Fatalf("step %s", after.Step)
		}
	}
	if !steps[0].FinishedAt.IsZero() {
		t.Error("Next modified the timeline of its input")
	}
}
