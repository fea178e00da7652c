package machine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// model is a model of one node, its slot, and all that the agent's actions change. It
// checks the machine's promises, and lists broken ones in broken.
type model struct {
	sentences map[string]bool // that people were told
	now       time.Time
	started   time.Time // of the agent
	deletions int       // upgrades that were deleted, and may be created again
	managed   bool      // the NodeUpgrade says so
	giveBack  bool      // the NodeUpgrade says that it is not managed
	spec      v1alpha1.NodeUpgradeSpec
	node      Node
	host      Host
	work      map[verb.Verb]Work
	kubelet   string // the version whose process runs; empty: none
	packages  string // the version on the disk if it comes from packages; empty: from an image

	aliveAt        time.Time // the kubelet ran
	renewedAt      time.Time // the kubelet renewed its Lease
	apiSilent      bool      // the API server answers neither kubelet nor agent
	leaseReadSince time.Time

	gatheredAt       time.Time // when the agent last gathered the host's facts
	gatheredKubelet  string    // what was wrong with the kubelet
	blockers         []string  // what is mounted below /usr
	gatheredBlockers []string
	confs            string // the present problem with the conf directory
	gathering        bool
	ended            string // the verbs that had ended when the facts were last asked for
	refresh          string // the outcome of a restart that fails: "refused", "nothing" or "no kubelet"
	kubeletSilent    bool   // the kubelet has not reported yet
	rebootsAlways    bool   // the operating system requires a reboot after each reboot
	rebootsLater     bool   // the operating system requires another reboot than the first

	from, to string // the versions that the upgrade goes from, and to

	state     State // the agent's own
	persisted State // what the API server has

	lacks        []string // parts that the node had
	kept         []string // what keeps pods from it that did not before
	wholeUnknown bool     // what the node has cannot be read

	gate                 clusterstate.Hold
	gateUnknown          bool // the gate is not known
	reserved             bool
	held                 string
	pods                 int
	blocked, spared      bool // the pods: by a budget, and as they must not be disrupted
	healthy              bool
	healthUnknown        bool      // the control plane's health is not known
	unverified           bool      // the node was changed, and not seen healthy since
	pullProblem          string    // why a pull cannot be started
	busFails             verb.Verb // the system bus fails once, when this is started
	pulled               bool      // the container images are present
	configurationChanged bool      // since the last pull
	snapshots            int       // snapshots of etcd
	rebootTriedAt        time.Time
	rebootAskedAt        time.Time
	drained              *Drain
	volumes              []string // that are attached
	volumesUnread        string   // why they cannot be read
	looked               *Volumes

	tellsConditions bool          // a story asks for the Node's conditions
	conditions      string        // that were told last
	conditionsStep  v1alpha1.Step // in which the agent looked at them last
	observed        Observation   // the last one

	foreignCordon bool
	boots         int
	reboots       int            // requested
	rebootsOf     map[string]int // requested, by attempt and boot
	rebootWorks   bool
	softReboot    string // what a soft reboot does that fails: "nothing" happens, or the "former" version is merged again
	lastCheckOpen bool   // the gate was open at the last check
	stuckKubelet  bool   // the kubelet of the new boot does not become Ready
	rebootProblem string // why logind does not reboot
	hostProblem   string // why the host cannot be read
	broken        []string
}

const (
	oldVersion = "v1.34.3"
	newVersion = "v1.34.4"
)

func newModel() *model {
	m := &model{
		now:         time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC),
		gate:        clusterstate.Hold{},
		healthy:     true,
		work:        map[verb.Verb]Work{},
		rebootWorks: true,
		rebootsOf:   map[string]int{},
		kubelet:     oldVersion,
		from:        oldVersion,
		to:          newVersion,
	}
	m.started, m.managed = m.now, true
	m.node = Node{Ready: true, KubeletVersion: oldVersion, BootID: "boot-0"}
	m.host = Host{HostFacts: verb.HostFacts{BootID: "boot-0", Installed: []string{oldVersion}, Active: oldVersion, Merged: oldVersion}}
	m.spec = m.idleSpec()
	return m
}

// usePackages makes Kubernetes come from packages. One kind of such nodes has an image
// merged, which is not where the agent could replace it.
func (m *model) usePackages(merged bool) {
	m.packages = oldVersion
	m.host.Unsupported = &v1alpha1.Problem{Reason: v1alpha1.NoSysextImage, Message: "Kubernetes comes from packages"}
	m.host.Installed, m.host.Active = nil, ""
	if !merged {
		m.host.Merged = ""
	}
}

// setSnapshot sets whether the node is to take a snapshot of etcd.
func (m *model) setSnapshot(required bool) {
	m.spec.EtcdSnapshotPolicy = v1alpha1.EtcdSnapshotSkip
	if required {
		m.spec.EtcdSnapshotPolicy = v1alpha1.EtcdSnapshotRequired
	}
}

// idleSpec returns an order without an upgrade.
func (m *model) idleSpec() v1alpha1.NodeUpgradeSpec {
	spec := v1alpha1.NodeUpgradeSpec{Release: v1alpha1.ReleaseNone, Pace: v1alpha1.DefaultStrategy().Pace}
	spec.SettleSeconds, spec.MinReadySeconds = ptr.To[int32](120), nil // the stories of the watch set both
	spec.Drain.DoNotDisruptSeconds = m.spec.Drain.DoNotDisruptSeconds
	spec.EtcdSnapshotPolicy, spec.MinReadySeconds = m.spec.EtcdSnapshotPolicy, cmp.Or(m.spec.MinReadySeconds, spec.MinReadySeconds)
	return spec
}

func (m *model) reference(upgrade string) *v1alpha1.UpgradeReference {
	return &v1alpha1.UpgradeReference{Name: upgrade, UID: fmt.Sprintf("%s-%d", upgrade, m.deletions)}
}

func (m *model) want(upgrade string) {
	m.spec.Upgrade, m.spec.Type, m.spec.Version, m.spec.FromBootID = m.reference(upgrade), v1alpha1.TypePatch, m.to, ""
	m.spec.Image = &v1alpha1.Image{Digest: v1alpha1.DigestOf(strings.Repeat("a", 64))}
}

// wantBack requests a Rollback: the node has been upgraded before.
func (m *model) wantBack(upgrade string) {
	m.from, m.to = newVersion, oldVersion
	m.kubelet, m.node.KubeletVersion = m.from, m.from
	m.host.Installed, m.host.Active, m.host.Merged, m.host.KubeadmVersion = []string{oldVersion, newVersion}, m.from, m.from, m.from
	if m.host.ControlPlane {
		m.host.ControlPlaneVersion = m.from
	}
	m.want(upgrade)
	m.spec.Type = v1alpha1.TypeRollback
}

// wantReboot requests a Reboot, which the operating system requires.
func (m *model) wantReboot(upgrade string) {
	m.spec.Upgrade, m.spec.Type, m.spec.Version, m.spec.Image, m.spec.FromBootID = m.reference(upgrade), v1alpha1.TypeReboot, "", nil, ""
	m.host.RebootRequired, m.host.RebootReason = true, "update_engine has updated the system"
}

// wantRebootAlways requests a Reboot of the boot that the node is in, whether its operating system requires one or not.
func (m *model) wantRebootAlways(upgrade string) {
	asks := m.host.RebootRequired
	m.wantReboot(upgrade)
	m.spec.FromBootID, m.host.RebootRequired = m.host.BootID, asks
}

// wantCertificates requests the renewal of the node's certificates.
func (m *model) wantCertificates(upgrade string) {
	m.spec.Upgrade, m.spec.Type, m.spec.Version, m.spec.Image, m.spec.FromBootID = m.reference(upgrade), v1alpha1.TypeCertificates, "", nil, ""
}

func (m *model) observe() Observation {
	ended := m.endedVerbs()
	pending := m.hostProblem == "" && m.ended != ended
	switch {
	case pending: // facts from before a verb ended do not count
		m.gathering, m.ended = true, ended
	case m.gathering: // the facts have arrived by now
		m.gathering, m.gatheredAt, m.gatheredBlockers = false, m.now, m.blockers
		m.host.ConfProblem, m.gatheredKubelet = m.confs, m.kubeletProblem()
	case m.gatheredKubelet != "" && m.now.Sub(m.gatheredAt) >= 15*time.Second, m.gatheredAt.Before(HostSince(m.state, Observation{Now: m.now, WatchingSince: m.started, Spec: m.spec, Node: m.node}, m.host.ConfProblem)):
		m.gathering = true
	}
	host := m.host
	host.At, host.Node.RefreshBlockers, host.KubeletProblem = m.gatheredAt, m.gatheredBlockers, m.gatheredKubelet
	host.ConfigurationChanged = m.configurationChanged
	o := Observation{
		Now: m.now, WatchingSince: m.started, Managed: m.managed, GiveBack: m.giveBack, Spec: m.spec, Node: m.node, Host: &host,
		Slot:  Slot{Reserved: map[bool]string{true: "slot-0"}[m.reserved], Held: m.held},
		Work:  maps.Clone(m.work),
		Drain: m.drained, Volumes: m.looked, RebootTriedAt: m.rebootTriedAt, RebootAskedAt: m.rebootAskedAt, RebootProblem: m.rebootProblem,
	}
	if snapshot := m.work[verb.Snapshot]; snapshot.OK && !snapshot.Running {
		o.EtcdSnapshot = &v1alpha1.EtcdSnapshot{Node: "n", Path: fmt.Sprintf("/snapshot-%d", m.snapshots)}
	}
	o.Lease = m.lease(o)
	if NeedsParts(m.state) && !m.wholeUnknown {
		o.Parts = &v1alpha1.NodeParts{}
	}
	if m.state.Parts != nil {
		o.KeptOut = m.kept
	}
	if pending {
		o.Host = nil
	}
	if m.hostProblem != "" {
		o.Host, o.HostProblem = nil, m.hostProblem
		if m.state.Step != v1alpha1.StepDraining {
			return o
		}
	}
	if NeedsRules(m.state, o) && !m.gateUnknown {
		gate := m.gate
		o.Rules = &gate
		if m.state.Step == v1alpha1.StepLastCheck {
			m.lastCheckOpen = !gate.Holds() && m.held != ""
		}
	}
	if NeedsHealth(m.state, o) && !m.healthUnknown {
		m.unverified = m.unverified && !m.healthy
		o.Health = &Health{OK: m.healthy, Message: "kube-apiserver is not Ready"}
		if host.KubeletProblem != "" {
			o.Health = &Health{Message: host.KubeletProblem}
		}
	}
	if NeedsWhole(m.state, o) && !m.wholeUnknown {
		o.Whole = &Whole{Missing: m.lacks}
	}
	return o
}

// endedVerbs tells which verbs have ended, and when.
func (m *model) endedVerbs() string {
	var ended strings.Builder
	for _, v := range slices.Sorted(maps.Keys(m.work)) {
		fmt.Fprintf(&ended, "%s@%s ", v, m.work[v].FinishedAt)
	}
	return ended.String()
}

// kill ends the kubelet. The API server notices most of a minute later.
func (m *model) kill() {
	if m.kubelet != "" {
		m.kubelet, m.aliveAt, m.renewedAt = "", m.now, m.now
	}
}

// kubeletProblem is what the host shows of the kubelet.
func (m *model) kubeletProblem() string {
	if m.kubelet == "" && m.packages == "" {
		return "the kubelet does not run"
	}
	return ""
}

// lease returns the kubelet's Lease as the agent reads it.
func (m *model) lease(o Observation) *Lease {
	if m.kubelet != "" {
		m.aliveAt = m.now
	}
	if m.kubelet != "" && !m.apiSilent {
		m.renewedAt = m.now
	}
	switch {
	case m.apiSilent || !NeedsLease(m.state, o):
		m.leaseReadSince = time.Time{}
	case m.leaseReadSince.IsZero():
		m.leaseReadSince = m.now
	}
	if !NeedsLease(m.state, o) {
		return nil
	}
	return &Lease{RenewedAt: m.renewedAt, Lasts: 40 * time.Second, ReadSince: m.leaseReadSince}
}

// next runs the agent's loop once, up to the action.
func (m *model) next() (before State, a Action) {
	before = m.state
	m.observed = m.observe()
	m.state, a = Next(m.state, m.observed)
	m.checkObserved(before)
	return before, a
}

func (m *model) persist() { m.persisted = m.state }

func (m *model) check(ok bool, format string, args ...any) {
	if !ok {
		m.broken = append(m.broken, fmt.Sprintf(format, args...)+fmt.Sprintf(" (step %s)", m.state.Step))
	}
}

// do carries out an action, as the host and the API server do.
func (m *model) do(a Action) {
	switch a.Do {
	case DoWork:
		m.run(a)
	case DoTake:
		if m.reserved && m.held == "" {
			m.held = "slot-0"
		}
	case DoCordon:
		m.check(m.held != "", "the node is cordoned without a slot")
		m.check(!m.gate.Holds() || m.host.Merged == "", "the node is cordoned with the gate closed")
		m.check(!m.state.restarts() && m.state.Method != "", "the node is cordoned by method %q", m.state.Method)
		if !m.node.Unschedulable {
			m.node.OurCordon = true
		}
		m.node.Unschedulable, m.node.SlotMark = true, m.held
	case DoDrain:
		m.check(m.held != "" && m.node.Unschedulable, "pods are evicted without slot or cordon")
		m.check(!m.gate.Holds() && !m.gateUnknown, "pods are evicted with the gate closed, or unknown")
		if m.pods > 0 && (!m.blocked || a.Delete) && (!m.spared || a.Disrupt) {
			m.pods--
		}
		m.drained = &Drain{At: m.now, Left: m.pods, Blocked: m.blocked, Message: fmt.Sprintf("%d pods left", m.pods)}
	case DoLook:
		m.check(m.pods == 0 && m.held != "" && m.node.Unschedulable, "volumes are waited for on a node that is not drained")
		m.looked = &Volumes{At: m.now, Attached: m.volumes, Problem: m.volumesUnread}
		if m.volumesUnread != "" {
			m.looked.Attached = nil
		}
	case DoReboot:
		m.reboot(v1alpha1.MethodReboot)
	case DoSoftReboot:
		m.reboot(v1alpha1.MethodSoftReboot)
	case DoUncordon:
		m.check(!m.busy(), "the node is uncordoned while work runs on it")
		m.check(m.held != "" || m.hostProblem != "" || !m.guardMayAct(), "the node is uncordoned without its slot while the guard may reboot it")
		m.check(m.state.Step != v1alpha1.StepUncordoning || m.state.Parts == nil || len(m.lacks) == 0, "the node is uncordoned without %v", m.lacks)
		if m.node.OurCordon {
			m.node.Unschedulable = false
		}
		m.node.OurCordon, m.node.SlotMark, m.node.GuardReport = false, "", false
	case DoHold:
		m.node.OnHold = true
	case DoDisown:
		m.node.OurCordon = false
	case DoFree:
		m.check(!m.busy(), "the slot is freed while work runs on the node")
		m.check(!m.host.RenewalLeft || m.hostProblem != "", "the slot is freed while certificates are half renewed")
		m.check(m.hostProblem != "" || !m.guardMayAct(), "the slot is freed while the guard may reboot the node")
		m.check(!m.node.OurCordon && m.node.SlotMark == "", "the slot is freed before the uncordon")
		m.check(!m.node.GuardReport, "the slot is freed while the guard's report is on the Node")
		m.check(m.state.Step != v1alpha1.StepUnlocking && m.state.Step != v1alpha1.StepIdle || !m.unverified, "the slot is freed before the node was seen healthy")
		m.held, m.reserved, m.unverified = "", false, false
	}
	m.check(!m.foreignCordon || m.node.Unschedulable, "a person's cordon is gone")
}

// waitedForVolumes reports whether the volumes were waited for as long as they may be, and the
// node may then go on.
func (m *model) waitedForVolumes() bool {
	for _, one := range m.state.Steps {
		if one.Step == v1alpha1.StepDetaching && one.FinishedAt.Sub(one.StartedAt) >= clusterstate.Seconds(m.spec.Drain.VolumesDetachedSeconds) {
			return m.spec.Drain.OnTimeout == v1alpha1.OnTimeoutDelete
		}
	}
	return false
}

// busy reports whether a verb runs for which the node keeps its slot.
func (m *model) busy() bool {
	for _, v := range []verb.Verb{verb.Snapshot, verb.Kubeadm, verb.Renew, verb.PutBack, verb.Activate, verb.Restart} {
		if m.work[v].Running {
			return true
		}
	}
	return false
}

// refusedStart reports whether a verb could not be started.
func (m *model) refusedStart(a Action) bool {
	u := StartFailure{Key: a.Key, Reason: v1alpha1.ReasonHostUnreachable, Message: "the bus is away", RetryAt: m.now.Add(5 * time.Second)}
	switch {
	case a.Verb == verb.Pull && m.pullProblem != "":
		u = StartFailure{Key: a.Key, Reason: v1alpha1.ReasonPullFailed, Message: m.pullProblem}
	case a.Verb == m.busFails:
		m.busFails = ""
	default:
		return false
	}
	work := m.work[a.Verb]
	work.StartFailure = u
	m.work[a.Verb] = work
	return true
}

// run starts a verb.
func (m *model) run(a Action) {
	if m.refusedStart(a) {
		return
	}
	m.check(m.managed || !BetweenAttempts(m.state.Step) || a.Verb == verb.Uninstall || a.Verb == verb.PutBack, "%s begins on a node that is not managed", a.Verb)
	m.check(a.Verb != verb.Uninstall || m.giveBack && m.held == "" && !m.node.Marked() && !m.busy(), "uninstall begins on a node that is being upgraded")
	m.host.HasFiles = true
	m.check(m.packages == "" || slices.Contains([]verb.Verb{verb.Uninstall, verb.Confirm, verb.Renew, verb.PutBack}, a.Verb), "%s runs on a node without a sysext image", a.Verb)
	switch a.Verb {
	case verb.Snapshot:
		m.check(m.held != "" && !m.gate.Holds(), "a snapshot is taken without a slot, or with the gate closed")
		m.check(m.host.KubeadmVersion != m.to, "a snapshot is taken after kubeadm")
	case verb.Kubeadm:
		m.check(m.spec.Type != v1alpha1.TypeRollback, "a Rollback runs kubeadm")
		ahead := m.state.Step == v1alpha1.StepKubeadmAhead
		m.check(m.held != "" || ahead && !m.host.ControlPlane && m.spec.Release == v1alpha1.ReleaseKubeadmAhead, "kubeadm begins without a slot")
		m.check(!m.gate.Holds(), "kubeadm begins with the gate closed")
		m.check(m.pulled || !m.host.ControlPlane, "kubeadm begins before its images are pulled")
		m.check(m.spec.EtcdSnapshotPolicy != v1alpha1.EtcdSnapshotRequired || !m.host.ControlPlane || m.snapshots > 0 && m.persisted.Snapshot != nil, "kubeadm begins before a snapshot is in the status")
		m.unverified = m.spec.Release == v1alpha1.ReleaseControlPlane
	case verb.Renew:
		m.check(m.spec.Type == v1alpha1.TypeCertificates && m.host.ControlPlane, "certificates are renewed in a %s", m.spec.Type)
		m.check(m.held != "" && !m.gate.Holds(), "certificates are renewed without a slot, or with the gate closed")
		m.check(!m.host.RenewalLeft, "certificates are renewed while those of a former renewal are half done")
		m.host.RenewalLeft, m.unverified = true, true
	case verb.PutBack:
		m.check(m.host.RenewalLeft && !m.work[verb.Renew].Running, "certificates are put back that are not half renewed, or while that runs")
	case verb.Activate:
		flipped := m.host.Active == m.spec.Version
		m.check(flipped || m.held != "" && m.lastCheckOpen, "the image is activated after a last check with a closed gate")
		m.check(m.spec.Type != v1alpha1.TypeReboot, "a Reboot activates an image")
		m.check(len(m.volumes) == 0 || clusterstate.Seconds(m.spec.Drain.VolumesDetachedSeconds) == 0 || m.state.restarts() || m.waitedForVolumes(), "the image is activated before the volumes are detached")
		m.check(m.state.restarts() || m.node.Unschedulable && m.pods == 0, "the image is activated on a node that is not drained")
		m.check(m.state.Parts != nil, "the image is activated before it is written down what the node has")
		m.check(!m.state.restarts() || m.mountsChecked(), "a restart begins without fresh facts about the mounts")
		m.check(m.mayBeOutOfService(), "the image is activated with a slot that is gone")
	case verb.Restart:
		m.unverified = true
		m.check(m.spec.Type == v1alpha1.TypePatch && m.state.restarts(), "method %q restarts", m.state.Method)
		m.check(m.host.Active == m.spec.Version, "the node is refreshed into %s", m.host.Active)
		m.check(m.mayBeOutOfService(), "the restart begins with a slot that is gone")
		m.check(m.persisted.Step == v1alpha1.StepRestarting, "the restart begins before the status says so")
	}
	if a.Verb == verb.Confirm {
		m.confirm(a.Key)
		return
	}
	m.work[a.Verb] = Work{Running: true, Result: verb.Result{Key: a.Key}}
}

// confirm ends the guard's watch at once, unless a rollback has begun or the kubelet is gone.
func (m *model) confirm(key string) {
	work := Work{Result: verb.Result{Key: key, OK: m.host.Rollback == nil, FinishedAt: m.now}}
	if !work.OK {
		work.Reason, work.Message = v1alpha1.ReasonRolledBack, "the guard returns the node"
	} else if problem := m.kubeletProblem(); problem != "" {
		work.OK, work.Reason, work.Message = false, v1alpha1.ReasonUnhealthy, problem
	}
	m.work[verb.Confirm], m.host.Guarded = work, m.host.Guarded && !work.OK
}

// ready sets the node's Ready condition.
func (m *model) ready(is bool) {
	if m.node.Ready != is {
		m.node.Ready, m.node.ReadySince = is, m.now
	}
}

// checkObserved checks that a node goes back into service with a kubelet, and frees its slot only
// after it has been Ready for minReadySeconds.
func (m *model) checkObserved(before State) {
	if left := before.Step != m.state.Step; left && (before.Step == v1alpha1.StepSettling || before.Step == v1alpha1.StepObserving) &&
		(m.state.Step == v1alpha1.StepUncordoning || m.state.Step == v1alpha1.StepObserving || m.state.Step == v1alpha1.StepUnlocking && m.held != "") {
		gone := m.now.Sub(m.aliveAt)
		m.check(gone <= time.Minute, "%s ends although the kubelet has been gone for %s", before.Step, gone)
	}
	if m.state.Step == v1alpha1.StepUnlocking && m.held != "" && m.state.Parts != nil && before.Step != m.state.Step {
		m.check(len(m.kept) == 0, "%s ends although pods are kept away: %v", before.Step, m.kept)
	}
	pause := clusterstate.Seconds(m.spec.MinReadySeconds)
	if m.state.Step != v1alpha1.StepUnlocking || m.held == "" || pause == 0 {
		return
	}
	switch before.Step {
	case v1alpha1.StepSettling, v1alpha1.StepUncordoning:
		m.check(false, "the node is not observed after %s", before.Step)
	case v1alpha1.StepObserving:
		since := before.Since
		if m.node.ReadySince.After(since) && !m.node.ReadySince.After(m.now) {
			since = m.node.ReadySince
		}
		m.check(m.node.Ready && !m.now.Before(since.Add(pause)), "the node was not Ready for long enough")
	}
}

// mountsChecked reports whether the mounts were checked in the last LastCheck.
func (m *model) mountsChecked() bool {
	for _, step := range slices.Backward(m.state.Steps) {
		if step.Step == v1alpha1.StepLastCheck {
			return !m.gatheredAt.Before(step.StartedAt) && len(m.gatheredBlockers) == 0
		}
	}
	return m.host.Active == m.spec.Version
}

// reboot reboots the node by one of the methods that do so.
func (m *model) reboot(method v1alpha1.Method) {
	if m.rebootTriedAt.Before(m.state.Since) {
		m.rebootTriedAt = m.now
	}
	if m.rebootProblem != "" {
		return
	}
	m.reboots++
	m.unverified = true
	m.rebootAskedAt = m.now
	m.check(m.node.Unschedulable, "the node is rebooted without a cordon")
	m.check(m.mayBeOutOfService(), "the node is rebooted with a slot that is gone")
	m.check(m.persisted.RebootedFrom == m.host.BootID && m.persisted.FromSoftReboots == m.host.SoftReboots, "the reboot is requested before the status says so")
	into := m.spec.Version
	if m.spec.Type == v1alpha1.TypeReboot {
		into = m.host.Merged
	}
	m.check(m.packages != "" || m.host.Active == into, "the node is rebooted into %s", m.host.Active)
	m.check(m.pods == 0 || m.host.Merged == "", "the node is rebooted with pods on it")
	m.check(m.state.Method == method, "method %q requests a %s", m.state.Method, method)
	m.check(m.spec.FromBootID == "" || !m.state.Follows(m.spec) || m.host.BootID == m.spec.FromBootID, "the node reboots in boot %s for an upgrade that ends %s", m.host.BootID, m.spec.FromBootID)
	if method == v1alpha1.MethodSoftReboot {
		m.bootSoftly()
		return
	}
	if !m.rebootWorks {
		return
	}
	key := fmt.Sprintf("%s/%d", m.state.Upgrade.UID, m.state.Attempts)
	m.rebootsOf[key]++
	m.check(m.rebootsOf[key] == 1, "attempt %s rebooted the node twice", key)
	m.boot()
}

// bootSoftly starts everything again but the kernel. The API server notices nothing.
func (m *model) bootSoftly() {
	m.check(m.host.Node.SoftRebootBlocker == nil, "the node is soft-rebooted although %s", m.host.Node.SoftRebootBlocker.Text())
	m.check(m.spec.Type != v1alpha1.TypeReboot, "a Reboot is done softly")
	if m.softReboot == "nothing" {
		return
	}
	m.host.SoftReboots++
	if m.softReboot == "" {
		m.host.Merged = m.host.Active
	}
	m.kubelet = m.host.Merged
	m.restartAll()
}

// boot boots the node, after a power failure or a reboot.
func (m *model) boot() {
	m.boots++
	m.host.BootID, m.host.SoftReboots = fmt.Sprintf("boot-%d", m.boots), 0
	if m.packages == "" {
		m.host.Merged = m.host.Active
	}
	m.kubelet = cmp.Or(m.packages, m.host.Active)
	m.host.RebootRequired = m.host.RebootRequired && m.rebootsAlways
	m.rebootsLater = false
	m.ready(false)
	m.restartAll()
}

// restartAll kills what runs on the node, and starts the agent.
func (m *model) restartAll() {
	m.crash()
	for v, work := range m.work {
		if work.Running {
			m.work[v] = Work{Result: verb.Result{Key: work.Key, Reason: v1alpha1.ReasonHostUnreachable, Message: "ended without a result", FinishedAt: m.now}}
		}
	}
}

// guardMayAct reports whether the guard watches the new version.
func (m *model) guardMayAct() bool {
	return m.host.Guarded && m.host.Active == m.to && m.host.Merged != m.from
}

// rollBack returns the node to its former version, as the guard does at its limit. It
// reports whether there was an activation to roll back.
func (m *model) rollBack() bool {
	if !m.guardMayAct() {
		return false
	}
	m.host.Active, m.host.KubeadmVersion, m.host.Guarded = m.from, "", false
	m.host.Rollback = &verb.Rollback{Upgrade: m.spec.Upgrade.UID, From: m.from, To: m.to, FinishedAt: m.now, Message: "the kubelet does not run", Log: "panic: broken"}
	m.node.GuardReport = true
	m.boot()
	return true
}

// crash restarts the agent.
func (m *model) crash() {
	m.state, m.started = m.persisted, m.now
	m.rebootTriedAt, m.rebootAskedAt, m.drained = time.Time{}, time.Time{}, nil
	m.looked = nil
}

// loseState deletes the NodeUpgrade, creates it again and replaces the agent.
func (m *model) loseState() {
	m.persisted = State{}
	m.crash()
	clear(m.rebootsOf) // the number of attempts is lost too
}

// abandon withdraws the release and frees the slot, as when a person abandons the node.
func (m *model) abandon() {
	m.spec.Release = v1alpha1.ReleaseNone
	m.held, m.reserved = "", false
}

// mayBeOutOfService reports whether the slot is not another node's.
func (m *model) mayBeOutOfService() bool {
	return m.held != "" || m.spec.Release != v1alpha1.ReleaseNone
}

// settle ends all running verbs, successfully if ok, and lets the kubelet report.
func (m *model) settle(ok bool) {
	end := func(v verb.Verb, reason v1alpha1.Reason) bool {
		if !m.work[v].Running {
			return false
		}
		work := Work{Result: verb.Result{Key: m.work[v].Key, OK: ok, FinishedAt: m.now}}
		if !ok {
			work.Reason, work.Message, work.LogTail = reason, "broken", "kubeadm: error"
		}
		m.work[v] = work
		return ok
	}
	if end(verb.Disarm, v1alpha1.ReasonConfConflict) {
		m.host.Armed = false
	}
	if end(verb.Uninstall, v1alpha1.ReasonHostUnreachable) {
		m.host.HasFiles = false
	}
	if end(verb.Stage, v1alpha1.ReasonHashMismatch) {
		m.host.Installed = []string{m.from, m.to}
	}
	if end(verb.Pull, v1alpha1.ReasonPullFailed) {
		m.pulled, m.host.ImagesMissing, m.configurationChanged = true, nil, false
	}
	if end(verb.Snapshot, v1alpha1.ReasonSnapshotFailed) {
		m.snapshots++
	}
	if end(verb.Kubeadm, v1alpha1.ReasonKubeadmFailed) {
		m.host.KubeadmVersion = m.to
		if m.host.ControlPlane {
			m.host.ControlPlaneVersion = m.to
		}
	}
	if m.work[verb.Renew].Running {
		m.host.RenewalLeft = false
	}
	if end(verb.Renew, v1alpha1.ReasonRenewalFailed) {
		m.host.CertificatesRenewed = &v1alpha1.CertificatesRenewed{Upgrade: *m.spec.Upgrade}
	}
	if end(verb.PutBack, v1alpha1.ReasonRenewalFailed) {
		m.host.RenewalLeft = false
	}
	if end(verb.Activate, v1alpha1.ReasonActivateFailed) {
		m.host.Active, m.host.Guarded, m.host.Rollback = m.to, true, nil
		if m.spec.Type == v1alpha1.TypeRollback {
			m.host.KubeadmVersion = "" // its files are those of the former version
		}
	}
	running := m.work[verb.Restart].Running
	if end(verb.Restart, v1alpha1.ReasonRestartFailed) {
		m.host.Merged, m.kubelet = m.host.Active, m.host.Active
	} else if running {
		m.breakRefresh()
	}
	m.report()
}

// breakRefresh leaves the host as a failed restart does.
func (m *model) breakRefresh() {
	switch m.refresh {
	case "nothing":
		m.host.Merged = ""
	case "no kubelet":
		m.host.Merged, m.kubelet = m.host.Active, ""
	}
}

// report lets the kubelet report the node's status. Without a kubelet the last status
// stays, but for Ready.
func (m *model) report() {
	if m.kubeletSilent {
		return
	}
	m.ready(m.kubelet != "" && !m.stuckKubelet)
	if m.kubelet != "" {
		m.node.BootID, m.node.KubeletVersion = m.host.BootID, m.kubelet
	}
}
