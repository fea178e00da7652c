package machine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// world is a model of one node, its slot, and all that the agent's actions change. It
// checks the machine's promises, and lists broken ones in broken.
type world struct {
	now     time.Time
	started time.Time // of the agent
	made    int       // upgrades that were deleted, and may be created again
	managed bool      // there is a NodeUpgrade
	spec    v1alpha1.NodeUpgradeSpec
	node    Node
	host    Host
	work    map[verb.Verb]Work
	kubelet string // the version whose process runs; empty: none

	seenAt       time.Time // when the agent last gathered the host's facts
	blockers     []string  // what is mounted below /usr
	seenBlockers []string
	confs        string // the present problem with the conf directory
	asking       bool
	refresh      string // the outcome of a restart that fails: "refused", "nothing" or "no kubelet"
	mute         bool   // the kubelet has not reported yet
	stubborn     bool   // the operating system requires a reboot after each reboot
	late         bool   // the operating system requires another reboot than the first

	state     State // the agent's own
	persisted State // what the API server has

	gate     Gate
	gateless bool // the gate is not known
	reserved bool
	held     string
	pods     int
	blocked  bool
	healthy  bool
	untold   bool      // the control plane's health is not known
	unsure   bool      // the node was changed, and not seen healthy since
	noPull   string    // why a pull cannot be started
	busFails verb.Verb // the system bus fails once, when this is started
	pulled   bool      // the container images are present
	taken    int       // snapshots of etcd
	asked    time.Time
	drained  *Drain

	foreignCordon bool
	boots         int
	reboots       int            // requested
	rebootsOf     map[string]int // requested, by attempt and boot
	rebootWorks   bool
	lastCheckOpen bool   // the gate was open at the last check
	stuckKubelet  bool   // the kubelet of the new boot does not become Ready
	refused       string // why logind does not reboot
	silent        string // why the host cannot be read
	broken        []string
}

const (
	oldVersion = "v1.34.3"
	newVersion = "v1.34.4"
)

func newWorld() *world {
	w := &world{
		now:         time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC),
		gate:        Gate{Open: true},
		healthy:     true,
		work:        map[verb.Verb]Work{},
		rebootWorks: true,
		rebootsOf:   map[string]int{},
		kubelet:     oldVersion,
	}
	w.started, w.managed = w.now, true
	w.node = Node{Ready: true, KubeletVersion: oldVersion, BootID: "boot-0"}
	w.host = Host{BootID: "boot-0", Supported: true, Installed: []string{oldVersion}, Active: oldVersion, Merged: oldVersion}
	w.spec = w.nothing()
	return w
}

// nothing returns an order without an upgrade.
func (w *world) nothing() v1alpha1.NodeUpgradeSpec {
	spec := v1alpha1.NodeUpgradeSpec{Release: v1alpha1.ReleaseNone, Pace: v1alpha1.DefaultStrategy().Pace}
	spec.EtcdSnapshot, spec.MinReadySeconds = w.spec.EtcdSnapshot, cmp.Or(w.spec.MinReadySeconds, spec.MinReadySeconds)
	return spec
}

func (w *world) refer(upgrade string) *v1alpha1.UpgradeReference {
	return &v1alpha1.UpgradeReference{Name: upgrade, UID: fmt.Sprintf("%s-%d", upgrade, w.made)}
}

func (w *world) want(upgrade string) {
	w.spec.Upgrade, w.spec.Type, w.spec.Version = w.refer(upgrade), v1alpha1.TypePatch, newVersion
	w.spec.Image = &v1alpha1.Image{Digest: v1alpha1.DigestOf(strings.Repeat("a", 64))}
}

// wantReboot requests a Reboot, which the operating system requires.
func (w *world) wantReboot(upgrade string) {
	w.spec.Upgrade, w.spec.Type, w.spec.Version, w.spec.Image = w.refer(upgrade), v1alpha1.TypeReboot, "", nil
	w.host.RebootRequired, w.host.RebootReason = true, "update_engine has updated the system"
}

func (w *world) observe() Observation {
	switch {
	case w.asking: // the facts have arrived by now
		w.asking, w.seenAt, w.seenBlockers = false, w.now, w.blockers
		w.host.ConfProblem = w.confs
	case NeedsFreshHost(w.state, w.host.ConfProblem) && w.seenAt.Before(w.state.Since):
		w.asking = true
	}
	host := w.host
	host.At, host.RefreshBlockers = w.seenAt, w.seenBlockers
	o := Observation{
		Now: w.now, WatchingSince: w.started, Managed: w.managed, Spec: w.spec, Node: w.node, Host: &host,
		Slot:  Slot{Reserved: w.reserved, Held: w.held},
		Work:  maps.Clone(w.work),
		Drain: w.drained, RebootAskedAt: w.asked, RebootProblem: w.refused,
	}
	if snapshot := w.work[verb.Snapshot]; snapshot.OK && !snapshot.Running {
		o.EtcdSnapshot = &v1alpha1.EtcdSnapshot{Node: "n", Path: fmt.Sprintf("/snapshot-%d", w.taken)}
	}
	if w.silent != "" {
		o.Host, o.HostProblem = nil, w.silent
		if w.state.Step != v1alpha1.StepDraining {
			return o
		}
	}
	if NeedsGate(w.state, o) && !w.gateless {
		gate := w.gate
		o.Gate = &gate
		if w.state.Step == v1alpha1.StepLastCheck {
			w.lastCheckOpen = gate.Open && w.held != ""
		}
	}
	if NeedsHealth(w.state, o) && !w.untold {
		w.unsure = w.unsure && !w.healthy
		o.Health = &Health{OK: w.healthy, Message: "kube-apiserver is not Ready"}
	}
	return o
}

// next runs the agent's loop once, up to the action.
func (w *world) next() (before State, a Action) {
	before = w.state
	w.state, a = Next(w.state, w.observe())
	w.checkObserved(before)
	return before, a
}

func (w *world) persist() { w.persisted = w.state }

func (w *world) check(ok bool, format string, args ...any) {
	if !ok {
		w.broken = append(w.broken, fmt.Sprintf(format, args...)+fmt.Sprintf(" (step %s)", w.state.Step))
	}
}

// do carries out an action, as the host and the API server do.
func (w *world) do(a Action) {
	switch a.Do {
	case DoWork:
		w.run(a)
	case DoTake:
		if w.reserved && w.held == "" {
			w.held = "slot-0"
		}
	case DoCordon:
		w.check(w.held != "", "the node is cordoned without a slot")
		w.check(w.gate.Open || w.host.Merged == "", "the node is cordoned with the gate closed")
		w.check(w.state.Method == v1alpha1.MethodReboot, "the node is cordoned by method %q", w.state.Method)
		if !w.node.Unschedulable {
			w.node.OurCordon = true
		}
		w.node.Unschedulable, w.node.SlotMark = true, w.held
	case DoDrain:
		w.check(w.held != "" && w.node.Unschedulable, "pods are evicted without slot or cordon")
		w.check(w.gate.Open && !w.gateless, "pods are evicted with the gate closed, or unknown")
		if w.pods > 0 && (!w.blocked || a.Delete) {
			w.pods--
		}
		w.drained = &Drain{At: w.now, Left: w.pods, Blocked: w.blocked, Message: fmt.Sprintf("%d pods left", w.pods)}
	case DoReboot:
		w.reboot()
	case DoUncordon:
		w.check(!w.busy(), "the node is uncordoned while work runs on it")
		if w.node.OurCordon {
			w.node.Unschedulable = false
		}
		w.node.OurCordon, w.node.SlotMark = false, ""
	case DoFree:
		w.check(!w.busy(), "the slot is freed while work runs on the node")
		w.check(!w.node.OurCordon && w.node.SlotMark == "", "the slot is freed before the uncordon")
		w.check(w.state.Step != v1alpha1.StepUnlocking || !w.unsure, "the slot is freed before the node was seen healthy")
		w.held, w.reserved, w.unsure = "", false, false
	}
	w.check(!w.foreignCordon || w.node.Unschedulable, "a person's cordon is gone")
}

// busy reports whether a verb runs for which the node keeps its slot.
func (w *world) busy() bool {
	for _, v := range []verb.Verb{verb.Snapshot, verb.Kubeadm, verb.Activate, verb.Restart} {
		if w.work[v].Running {
			return true
		}
	}
	return false
}

// refusedStart reports whether a verb could not be started.
func (w *world) refusedStart(a Action) bool {
	u := StartFailure{Key: a.Key, Reason: v1alpha1.ReasonHostUnreachable, Message: "the bus is away", RetryAt: w.now.Add(5 * time.Second)}
	switch {
	case a.Verb == verb.Pull && w.noPull != "":
		u = StartFailure{Key: a.Key, Reason: v1alpha1.ReasonPullFailed, Message: w.noPull}
	case a.Verb == w.busFails:
		w.busFails = ""
	default:
		return false
	}
	work := w.work[a.Verb]
	work.StartFailure = u
	w.work[a.Verb] = work
	return true
}

// run starts a verb.
func (w *world) run(a Action) {
	if w.refusedStart(a) {
		return
	}
	switch a.Verb {
	case verb.Snapshot:
		w.check(w.held != "" && w.gate.Open, "a snapshot is taken without a slot, or with the gate closed")
		w.check(w.host.KubeadmVersion != newVersion, "a snapshot is taken after kubeadm")
	case verb.Kubeadm:
		w.check(w.held != "", "kubeadm begins without a slot")
		w.check(w.gate.Open, "kubeadm begins with the gate closed")
		w.check(w.pulled || !w.host.ControlPlane, "kubeadm begins before its images are pulled")
		w.check(!w.spec.EtcdSnapshot || !w.host.ControlPlane || w.taken > 0 && w.persisted.Snapshot != nil, "kubeadm begins before a snapshot is in the status")
		w.unsure = w.spec.Release == v1alpha1.ReleaseControlPlane
	case verb.Activate:
		flipped := w.host.Active == w.spec.Version
		w.check(flipped || w.held != "" && w.lastCheckOpen, "the image is activated after a last check with a closed gate")
		w.check(w.spec.Type != v1alpha1.TypeReboot, "a Reboot activates an image")
		w.check(w.state.restarts() || w.node.Unschedulable && w.pods == 0, "the image is activated on a node that is not drained")
		w.check(!w.state.restarts() || w.mountsChecked(), "a restart begins without fresh facts about the mounts")
		w.check(w.mayGoOn(), "the image is activated with a slot that is gone")
	case verb.Restart:
		w.unsure = true
		w.check(w.spec.Type == v1alpha1.TypePatch && w.state.restarts(), "method %q restarts", w.state.Method)
		w.check(w.host.Active == w.spec.Version, "the node is refreshed into %s", w.host.Active)
		w.check(w.mayGoOn(), "the restart begins with a slot that is gone")
		w.check(w.persisted.Step == v1alpha1.StepRestarting, "the restart begins before the status says so")
	}
	w.work[a.Verb] = Work{Running: true, Key: a.Key}
}

// ready sets the node's Ready condition.
func (w *world) ready(is bool) {
	if w.node.Ready != is {
		w.node.Ready, w.node.ReadySince = is, w.now
	}
}

// checkObserved checks that a node frees its slot only after it has been Ready for
// minReadySeconds.
func (w *world) checkObserved(before State) {
	pause := seconds(w.spec.MinReadySeconds)
	if w.state.Step != v1alpha1.StepUnlocking || w.held == "" || pause == 0 {
		return
	}
	switch before.Step {
	case v1alpha1.StepSettling, v1alpha1.StepUncordoning:
		w.check(false, "the node is not observed after %s", before.Step)
	case v1alpha1.StepObserving:
		since := before.Since
		if w.node.ReadySince.After(since) && !w.node.ReadySince.After(w.now) {
			since = w.node.ReadySince
		}
		w.check(w.node.Ready && !w.now.Before(since.Add(pause)), "the node was not Ready for long enough")
	}
}

// mountsChecked reports whether the mounts were checked in the last LastCheck.
func (w *world) mountsChecked() bool {
	for _, step := range slices.Backward(w.state.Steps) {
		if step.Step == v1alpha1.StepLastCheck {
			return !w.seenAt.Before(step.StartedAt) && len(w.seenBlockers) == 0
		}
	}
	return w.host.Active == w.spec.Version
}

func (w *world) reboot() {
	if w.refused != "" {
		return
	}
	w.reboots++
	w.unsure = true
	w.asked = w.now
	w.check(w.node.Unschedulable, "the node is rebooted without a cordon")
	w.check(w.mayGoOn(), "the node is rebooted with a slot that is gone")
	w.check(w.persisted.RebootedFrom == w.host.BootID, "the reboot is requested before the status says so")
	into := w.spec.Version
	if w.spec.Type == v1alpha1.TypeReboot {
		into = w.host.Merged
	}
	w.check(w.host.Active == into, "the node is rebooted into %s", w.host.Active)
	w.check(w.pods == 0 || w.host.Merged == "", "the node is rebooted with pods on it")
	w.check(w.state.Method == v1alpha1.MethodReboot, "the node is rebooted by method %q", w.state.Method)
	if !w.rebootWorks {
		return
	}
	key := fmt.Sprintf("%s/%d", w.state.Upgrade.UID, w.state.Attempts)
	w.rebootsOf[key]++
	w.check(w.rebootsOf[key] == 1, "attempt %s rebooted the node twice", key)
	w.boot()
}

// boot boots the node, after a power failure or a reboot.
func (w *world) boot() {
	w.boots++
	w.host.BootID = fmt.Sprintf("boot-%d", w.boots)
	w.host.Merged, w.kubelet = w.host.Active, w.host.Active
	w.host.RebootRequired = w.host.RebootRequired && w.stubborn
	w.late = false
	w.ready(false)
	w.crash()
	for v, work := range w.work {
		if work.Running {
			w.work[v] = Work{Key: work.Key, Reason: v1alpha1.ReasonHostUnreachable, Message: "ended without a result", FinishedAt: w.now}
		}
	}
}

// crash restarts the agent.
func (w *world) crash() {
	w.state, w.started = w.persisted, w.now
	w.asked, w.drained = time.Time{}, nil
}

// lose deletes the NodeUpgrade, creates it again and replaces the agent.
func (w *world) lose() {
	w.persisted = State{}
	w.crash()
	clear(w.rebootsOf) // the number of attempts is lost too
}

// abandon withdraws the release and frees the slot, as when a person abandons the node.
func (w *world) abandon() {
	w.spec.Release = v1alpha1.ReleaseNone
	w.held, w.reserved = "", false
}

// mayGoOn reports whether no other node may be out of service in this one's place.
func (w *world) mayGoOn() bool { return w.held != "" || w.spec.Release != v1alpha1.ReleaseNone }

// settle ends all running verbs, successfully if ok, and lets the kubelet report.
func (w *world) settle(ok bool) {
	end := func(v verb.Verb, reason v1alpha1.Reason) bool {
		if !w.work[v].Running {
			return false
		}
		work := Work{Key: w.work[v].Key, OK: ok, FinishedAt: w.now}
		if !ok {
			work.Reason, work.Message, work.Log = reason, "broken", "kubeadm: error"
		}
		w.work[v] = work
		return ok
	}
	if end(verb.Disarm, v1alpha1.ReasonConfConflict) {
		w.host.Armed = false
	}
	if end(verb.Stage, v1alpha1.ReasonHashMismatch) {
		w.host.Installed = []string{oldVersion, newVersion}
	}
	if end(verb.Pull, v1alpha1.ReasonPullFailed) {
		w.pulled = true
	}
	if end(verb.Snapshot, v1alpha1.ReasonSnapshotFailed) {
		w.taken++
	}
	if end(verb.Kubeadm, v1alpha1.ReasonKubeadmFailed) {
		w.host.KubeadmVersion = newVersion
		if w.host.ControlPlane {
			w.host.ControlPlaneVersion = newVersion
		}
	}
	if end(verb.Activate, v1alpha1.ReasonActivateFailed) {
		w.host.Active = newVersion
	}
	running := w.work[verb.Restart].Running
	if end(verb.Restart, v1alpha1.ReasonRestartFailed) {
		w.host.Merged, w.kubelet = w.host.Active, w.host.Active
	} else if running {
		w.breakRefresh()
	}
	w.report()
}

// breakRefresh leaves the host as a failed restart does.
func (w *world) breakRefresh() {
	switch w.refresh {
	case "nothing":
		w.host.Merged = ""
	case "no kubelet":
		w.host.Merged, w.kubelet = w.host.Active, ""
	}
}

// report lets the kubelet report the node's status. Without a kubelet the last status
// stays, but for Ready.
func (w *world) report() {
	if w.mute {
		return
	}
	w.ready(w.kubelet != "" && !w.stuckKubelet)
	if w.kubelet != "" {
		w.node.BootID, w.node.KubeletVersion = w.host.BootID, w.kubelet
	}
}
