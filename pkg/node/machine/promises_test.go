package machine

import (
	"cmp"
	"testing"
	"time"

	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// TestPromises moves a node through an upgrade while at random the agent crashes, the
// power fails, windows close, releases change and verbs fail. The model checks every
// promise at each action. In the end all faults are over, and the node must finish.
func TestPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel()
		m.wantAny(t)
		m.setSnapshot(m.spec.Type == v1alpha1.TypePatch && rapid.Bool().Draw(t, "a snapshot is required"))
		m.spec.MinReadySeconds = rapid.SampledFrom([]*int32{nil, ptr.To[int32](45), ptr.To[int32](600)}).Draw(t, "it must stay Ready")
		if rapid.Bool().Draw(t, "control plane") {
			m.host.ControlPlane, m.host.ControlPlaneVersion = true, oldVersion
		}
		if rapid.Bool().Draw(t, "a person cordoned it") {
			m.foreignCordon, m.node.Unschedulable = true, true
		}
		m.spec.Drain.VolumesDetachedSeconds = rapid.SampledFrom([]*int32{nil, ptr.To[int32](60)}).Draw(t, "volumes are waited for")
		failures := rapid.IntRange(0, 2).Draw(t, "failures")
		for range rapid.IntRange(0, 15).Draw(t, "head start") {
			m.advance()
		}
		for range rapid.IntRange(0, 150).Draw(t, "moves") {
			m.randomEvent(t, &failures)
			if len(m.broken) > 0 {
				t.Fatalf("broken promises: %v\nstate %+v", m.broken, m.state)
			}
		}
		m.recoverAll()
		if len(m.broken) > 0 {
			t.Fatalf("broken promises: %v\nstate %+v", m.broken, m.state)
		}
		if attempts := len(m.rebootsOf); m.spec.FromBootID != "" && attempts > 1 {
			t.Fatalf("%d attempts rebooted the node for an upgrade that ends one boot: %v", attempts, m.rebootsOf)
		}
		if attempts := len(m.rebootsOf); m.spec.Type == v1alpha1.TypeReboot && attempts > MaxAttempts {
			t.Fatalf("%d attempts rebooted the node, which is too many: %v", attempts, m.rebootsOf)
		}
		if m.state.Step == v1alpha1.StepFailed && m.state.Failures >= MaxAttempts {
			return // it failed too often, and needs a person
		}
		if m.state.Step == v1alpha1.StepFailed && m.state.Reason == v1alpha1.ReasonActivateFailed && m.host.Active == m.to {
			return // the next boot would bring the new version, and needs a person
		}
		if m.state.Step == v1alpha1.StepRolledBack {
			if m.host.Rollback == nil || m.node.Marked() || m.node.Unschedulable != m.foreignCordon {
				t.Fatalf("the node was rolled back and is not in service: state %+v\nnode %+v", m.state, m.node)
			}
			return // the version is not tried again
		}
		if !m.finished() || m.held != "" || m.node.Marked() {
			t.Fatalf("the node has not finished: state %+v\nnode %+v, slot %q", m.state, m.node, m.held)
		}
		if m.node.Unschedulable != m.foreignCordon {
			t.Fatalf("the node is unschedulable %t, and a person cordoned it %t: want the same", m.node.Unschedulable, m.foreignCordon)
		}
	})
}

// randomEvent makes one random event happen.
func (m *model) randomEvent(t *rapid.T, failures *int) {
	switch rapid.SampledFrom([]string{
		"reconcile", "reconcile", "reconcile", "reconcile", "reconcile and crash", "reconcile without the API", "advance", "advance",
		"work", "work", "failure", "time", "gate", "release", "release", "ahead", "withdraw",
		"power", "soft-reboot", "pods", "pass 1", "kubelet", "night", "host", "abandon", "mounts", "need", "health", "skip", "lose", "guard", "kubelet dies", "api", "parts",
	}).Draw(t, "move") {
	case "reconcile":
		m.reconcile(true, true)
	case "reconcile and crash":
		persisted := rapid.Bool().Draw(t, "persisted")
		done := persisted && rapid.Bool().Draw(t, "done")
		m.reconcile(persisted, done)
		m.crash()
	case "reconcile without the API":
		m.reconcile(false, false)
	case "work":
		m.settle(true)
	case "advance":
		m.advance()
	case "mounts":
		m.blockers = rapid.SampledFrom([][]string{nil, nil, {"/usr/share/x"}}).Draw(t, "mounts")
	case "need":
		if m.spec.Type == v1alpha1.TypeReboot && !m.host.RebootRequired {
			m.host.RebootRequired, m.rebootsLater = true, true
		}
	case "failure":
		m.refresh = rapid.SampledFrom([]string{"refused", "nothing", "no kubelet"}).Draw(t, "refresh")
		m.settle(*failures == 0)
		*failures = max(0, *failures-1)
	case "time":
		m.passTime(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, 6 * time.Minute, 20 * time.Minute}).Draw(t, "passes"))
	case "host":
		m.hostProblem = rapid.SampledFrom([]string{"", "", "the disk is full"}).Draw(t, "silent")
	case "health":
		m.healthy = !m.healthy
	case "skip": // the coordinator no longer requires a snapshot
		if BetweenAttempts(m.state.Step) {
			m.setSnapshot(rapid.Bool().Draw(t, "required"))
		}
	case "lose": // the NodeUpgrade is deleted and created again, and the agent replaced
		m.loseState()
	case "guard":
		if *failures > 0 && m.rollBack() {
			*failures--
		}
	case "night": // no agent runs
		m.now = m.now.Add(8 * time.Hour)
		m.crash()
	case "gate":
		if m.gate.Holds() {
			m.gate = clusterstate.Hold{}
		} else {
			m.gate = clusterstate.Hold{Reason: v1alpha1.ReasonWindowClosed}
		}
	case "release":
		m.coordinate(v1alpha1.ReleaseNode)
	case "pass 1":
		m.coordinate(v1alpha1.ReleaseControlPlane)
	case "ahead":
		if m.held == "" && !m.reserved {
			m.spec.Release = v1alpha1.ReleaseKubeadmAhead
		}
	case "withdraw":
		m.spec.Release = v1alpha1.ReleaseNone
		m.reserved = m.reserved && m.held != ""
	case "abandon":
		m.abandon()
		m.unverified = false // the person vouched for it
	case "power":
		if *failures > 0 {
			*failures--
			m.boot()
		}
	case "soft-reboot":
		m.softReboot = rapid.SampledFrom([]string{"", "nothing", "former"}).Draw(t, "soft reboot does")
		m.host.Node.SoftRebootBlocker = rapid.SampledFrom([]*v1alpha1.Problem{nil, nil, {Reason: v1alpha1.SystemdTooOld, Message: "systemd is too old"}}).Draw(t, "soft reboot is not possible")
	case "pods":
		if !m.node.Unschedulable {
			m.pods = rapid.IntRange(0, 3).Draw(t, "pods")
		}
		m.blocked = rapid.Bool().Draw(t, "blocked")
		looked := m.state.Step == v1alpha1.StepDetaching && len(m.volumes) == 0 || m.state.Step == v1alpha1.StepLastCheck
		if !looked && m.state.Step.Info().Phase != v1alpha1.PhaseCommitted { // no volume comes after the look
			m.volumes = rapid.SampledFrom([][]string{nil, nil, {"v"}}).Draw(t, "volumes")
			m.volumesUnread = rapid.SampledFrom([]string{"", "", "silent"}).Draw(t, "they cannot be read")
		}
	case "parts":
		m.lacks = rapid.SampledFrom([][]string{nil, {"nvidia.com/gpu 0 of 8"}}).Draw(t, "lacks")
		m.kept = rapid.SampledFrom([][]string{nil, {"taint late:NoSchedule"}}).Draw(t, "keeps pods away")
		m.wholeUnknown = rapid.Bool().Draw(t, "that is not known")
	case "kubelet dies":
		m.kill()
	case "api":
		m.apiSilent = !m.apiSilent
	case "kubelet":
		m.stuckKubelet = !m.stuckKubelet
		m.settleKubelet()
	}
}

// passTime advances the clock and reconciles twice a minute.
func (m *model) passTime(d time.Duration) {
	for ; d > 0; d -= 30 * time.Second {
		m.now = m.now.Add(min(d, 30*time.Second))
		m.reconcile(true, true)
	}
}

// settleKubelet lets the kubelet report, and leaves verbs running.
func (m *model) settleKubelet() {
	m.report()
}

// reconcile runs the loop once. If the State is not persisted, only a State without an
// action is kept, in memory.
func (m *model) reconcile(persisted, done bool) {
	m.now = m.now.Add(time.Millisecond)
	before, a := m.next()
	if !persisted {
		if a.Do != DoNothing {
			m.state = before
		}
		return
	}
	m.persist()
	if done {
		m.do(a)
	}
}

// coordinate releases the node as the coordinator does: with a slot reserved.
func (m *model) coordinate(release v1alpha1.Release) {
	if m.held == "" {
		m.spec.Release, m.reserved = release, true
	}
}

// recoverAll ends all faults and gives the node what it needs.
func (m *model) recoverAll() {
	m.gate, m.blocked, m.stuckKubelet, m.hostProblem, m.healthy = clusterstate.Hold{}, false, false, "", true
	m.apiSilent, m.volumes, m.volumesUnread = false, nil, ""
	m.lacks, m.kept, m.wholeUnknown = nil, nil, false
	for range 500 {
		if m.finished() && m.held == "" && !m.node.Marked() {
			return
		}
		if m.host.Merged == "" && m.packages == "" {
			m.rollBack() // no confirm ends the guard's watch of a node without a kubelet
		}
		if m.kubelet == "" { // systemd starts it again and again
			m.kubelet = cmp.Or(m.packages, m.host.Merged)
		}
		m.advance()
	}
}

// advance makes progress while nothing is wrong.
func (m *model) advance() {
	if m.spec.Release == v1alpha1.ReleaseNone || !m.reserved || m.spec.Release == v1alpha1.ReleaseControlPlane {
		m.coordinate(v1alpha1.ReleaseNode)
	}
	m.reconcile(true, true)
	m.settle(true)
	m.now = m.now.Add(30 * time.Second)
}

// wantAny requests a patch by any method, or a reboot.
func (m *model) wantAny(t *rapid.T) {
	switch rapid.SampledFrom([]string{"patch", "restart", "soft-reboot", "reboot", "back", "certificates"}).Draw(t, "what") {
	case "restart":
		m.want("patch")
		m.spec.Method = v1alpha1.MethodRestart
	case "soft-reboot":
		m.want("patch")
		m.spec.Method = v1alpha1.MethodSoftReboot
	case "reboot":
		if rapid.Bool().Draw(t, "always") {
			m.wantRebootAlways("reboot")
		} else {
			m.wantReboot("reboot")
		}
		m.rebootsAlways = rapid.Bool().Draw(t, "requires another reboot after each")
		if rapid.Bool().Draw(t, "from packages") {
			m.usePackages(rapid.Bool().Draw(t, "merged"))
		}
	case "back":
		m.wantBack("back")
		m.spec.HoldAfter = rapid.Bool().Draw(t, "is put on hold")
	case "certificates":
		if !m.host.ControlPlane {
			m.want("patch")
			break
		}
		m.wantCertificates("certificates")
		if rapid.Bool().Draw(t, "from packages") {
			m.usePackages(rapid.Bool().Draw(t, "merged"))
		}
	default:
		m.want("patch")
	}
}

// finished reports whether the node has reached the requested upgrade and is Idle.
func (m *model) finished() bool {
	if from := m.spec.FromBootID; m.spec.Type == v1alpha1.TypeReboot && from != "" {
		return m.state.Step == v1alpha1.StepIdle && m.host.BootID != from
	}
	if m.spec.Type == v1alpha1.TypeCertificates {
		renewed := m.host.CertificatesRenewed
		return m.state.Step == v1alpha1.StepIdle && renewed != nil && renewed.Upgrade == *m.spec.Upgrade && !m.host.RenewalLeft
	}
	if m.spec.Type == v1alpha1.TypeReboot {
		return m.state.Step == v1alpha1.StepIdle && (m.packages != "" || m.host.Active == oldVersion) && (!m.host.RebootRequired || m.rebootsLater && m.state.RebootedFrom != "")
	}
	return m.state.Step == v1alpha1.StepIdle && m.node.KubeletVersion == m.to && (m.node.OnHold || !m.spec.HoldAfter)
}

// TestNextIsPure checks that Next does not modify its input.
func TestNextIsPure(t *testing.T) {
	m := newModel()
	m.want("patch")
	m.state, _ = Next(m.state, m.observe())
	steps := m.state.Steps
	o := m.observe()
	o.Host.Unsupported = &v1alpha1.Problem{Reason: v1alpha1.NoSysextImage, Message: "Kubernetes comes from packages"}
	for range 2 {
		after, _ := Next(m.state, o)
		if after.Step != v1alpha1.StepUnsupported {
			t.Fatalf("got step %s, want Unsupported", after.Step)
		}
	}
	if !steps[0].FinishedAt.IsZero() {
		t.Error("Next modified the timeline of its input")
	}
}
