package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/guard"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// How long a simulated node takes.
const (
	shutdownTakes = 5 * time.Second
	bootTakes     = 15 * time.Second // from power to the guard and the kubelet
	readyTakes    = 8 * time.Second  // from the kubelet's start to Ready
	restartTakes  = 3 * time.Second  // from the kubelet's start to its pods, such as the agent
	lostAfter     = 40 * time.Second // without a kubelet the node controller makes the Node NotReady
	guardPause    = 5 * time.Second
)

// What may be wrong with an image.
const (
	imageCrashes  = "crashes"   // its kubelet does not stay up
	imageNotReady = "not-ready" // its kubelet runs, and never gets Ready
	imageNoMerge  = "no-merge"  // it cannot be merged
)

// node is a simulated node: disk, systemd, kubelet and guard.
type node struct {
	w            *world
	name, uid    string
	controlPlane bool
	labels       map[string]string
	removed      bool // its Node was deleted for good

	// On the disk.
	installed   map[string]string // version to digest
	active      string
	kubeadm     string // the record of the last kubeadm
	staticPods  string // the version in the manifests
	guardRecord *host.Guard
	armed       bool
	rollback    *host.Rollback
	requests    map[verb.Verb]*host.Request
	results     map[verb.Verb]*host.Result

	// Running.
	on           bool
	boots        int // also the boot ID
	merged       string
	kubelet      string // the version that runs; empty: none
	kubeletSince time.Time
	ready        bool
	units        map[verb.Verb]time.Time // running verbs, and when they end
	shutting     bool
	ours         bool      // agent or guard asked for the reboot
	downSince    time.Time // its static pods do not run since
	changedAt    time.Time // something changed that its agent may not know
	podsUp       bool      // its static pods run, which needs a kubelet once in each boot
	osReboot     bool      // the operating system requires a reboot
	guards       bool      // the guard runs in this boot
	guardBoots   int       // boots in which the guard has run
	guardStart   time.Time
	findingSince time.Duration // after guardStart; the guard has found the same since
	foundHealthy bool

	// Faults.
	broken      map[string]string // version to what is wrong with its image
	failing     map[verb.Verb]int // how often a verb fails next
	partitioned bool
	blocked     bool // evictions are refused
}

func (n *node) bootID() string { return fmt.Sprintf("%s-boot-%d", n.uid, n.boots) }

// power turns the node on.
func (n *node) power() {
	if n.on || n.removed {
		return
	}
	n.on, n.shutting = true, false
	n.boots++
	boot := n.boots
	n.w.after(bootTakes, "boot "+n.name, func() {
		if n.on && n.boots == boot {
			n.booted()
		}
	})
}

// booted merges the active image, and starts guard and kubelet.
func (n *node) booted() {
	n.w.tell("%s has booted (boot %d, %s active)", n.name, n.boots, n.active)
	n.osReboot = false
	n.merged = n.active
	if n.broken[n.active] == imageNoMerge {
		n.merged = ""
	}
	n.startGuard()
	n.startKubelet()
}

// cut cuts the power.
func (n *node) cut() {
	n.downSince, n.changedAt = n.w.now(), n.w.now()
	n.on, n.podsUp, n.kubelet, n.ready, n.merged, n.guards = false, false, "", false, "", false
	for v, until := range n.units {
		delete(n.units, v)
		n.interrupted(v, until)
	}
	n.w.stopAgent(n)
	n.w.pods(n)
	n.w.watchLost(n)
}

// interrupted is what a verb leaves that power failed under.
func (n *node) interrupted(v verb.Verb, until time.Time) {
	if v == verb.Activate && n.requests[v] != nil && until.UnixNano()%2 == 0 {
		n.armGuard(args(n.requests[v])) // it is armed before the symlink is changed
	}
}

// shutdown reboots the node.
func (n *node) shutdown(ours bool, why string) {
	if !n.on || n.shutting {
		return
	}
	n.shutting, n.ours, n.changedAt = true, ours, n.w.now()
	n.w.tell("%s reboots: %s", n.name, why)
	boot := n.boots
	n.w.after(shutdownTakes, "reboot "+n.name, func() {
		if n.on && n.boots == boot {
			n.cut()
			n.power()
		}
	})
}

// startKubelet starts the kubelet of the merged image.
func (n *node) startKubelet() {
	n.kubelet, n.ready, n.changedAt = "", false, n.w.now()
	if n.merged == "" || !n.on {
		n.w.watchLost(n)
		return
	}
	if n.broken[n.merged] == imageCrashes {
		n.w.watchLost(n)
		return
	}
	n.kubelet, n.kubeletSince, n.podsUp = n.merged, n.w.now(), true
	n.w.checkKubelet(n)
	boot, since := n.boots, n.kubeletSince
	current := func() bool { return n.on && n.boots == boot && n.kubeletSince.Equal(since) && n.kubelet != "" }
	n.w.report(n)
	n.w.pods(n)
	n.w.after(restartTakes, "start agent "+n.name, func() {
		if current() {
			n.w.startAgent(n)
		}
	})
	n.w.after(readyTakes, "ready "+n.name, func() {
		if current() && n.broken[n.kubelet] != imageNotReady {
			n.ready = true
			n.w.report(n)
		}
	})
}

// healthy reports whether nothing is wrong with the node.
func (n *node) healthy() bool { return n.on && !n.shutting && n.ready && n.kubelet == n.merged }

// memberUp reports whether this node's static pods run, with its member of etcd.
func (n *node) memberUp() bool { return n.controlPlane && n.podsUp }

// The guard. Package guard decides; what package rollback does is modelled here.

func (n *node) armGuard(a verbArgs) {
	from := n.merged
	if from == "" {
		from = n.active
	}
	if g := n.guardRecord; g != nil && g.BootID == n.bootID() && g.To == a.Version && (n.active == a.Version || g.Upgrade == a.Upgrade) {
		from = g.From
	} else if from == a.Version {
		return
	}
	within := time.Duration(a.GuardWithin)
	if within == 0 {
		within = 3 * time.Minute
	}
	n.guardRecord = &host.Guard{Upgrade: a.Upgrade, Method: v1alpha1.Method(a.Method), From: from, To: a.Version, BootID: n.bootID(), Within: within}
	n.armed, n.rollback, n.guardBoots = true, nil, 0
}

func (n *node) startGuard() {
	if !n.armed || n.guards {
		return
	}
	n.guards, n.guardStart, n.findingSince, n.foundHealthy = true, n.w.now(), 0, false
	n.guardBoots++
	n.guardLater()
}

func (n *node) guardLater() {
	boot := n.boots
	n.w.after(guardPause, "guard "+n.name, func() {
		if n.on && n.boots == boot && n.guards && !n.shutting {
			n.guard()
		}
	})
}

func (n *node) guard() {
	if !n.armed {
		n.guards = false
		return
	}
	g := n.guardRecord
	a := guard.Activation{From: g.From, To: g.To, Limit: g.Within, ByReboot: g.Method != v1alpha1.MethodRestart}
	o := guard.Observation{
		Elapsed: n.w.now().Sub(n.guardStart), Rebooted: g.BootID != n.bootID(), Active: n.active, Merged: n.merged,
		Boots: n.guardBoots, Health: n.guardHealth(),
	}
	if r := n.rollback; r != nil && r.FinishedAt.IsZero() {
		o.Returning, o.RebootedSince, o.Reboots = true, r.BootID != n.bootID(), r.Reboots
	}
	if healthy := guard.Problem(a, o) == ""; healthy != n.foundHealthy {
		n.foundHealthy, n.findingSince = healthy, o.Elapsed
	}
	o.Watched, o.Steady = o.Elapsed, o.Elapsed-n.findingSince
	switch verdict, why := guard.Decide(a, o); verdict {
	case guard.Leave:
		n.guards = false
		return
	case guard.Disarm:
		n.armed, n.guards = false, false
		return
	case guard.Restore:
		n.kubeadm = ""
		n.rollback.FinishedAt = n.w.now()
		n.armed, n.guards = false, false
		n.w.tell("%s was returned to %s by its guard", n.name, g.From)
		return
	case guard.Return:
		n.rollBack(why)
	}
	n.guardLater()
}

func (n *node) guardHealth() guard.Health {
	var h guard.Health
	switch {
	case n.kubelet == "":
		h.Kubelet = "the kubelet does not run"
	case !n.ready && !n.partitioned && n.w.apiUp():
		h.API = "the API server says NotReady"
	}
	return h
}

func (n *node) rollBack(why string) {
	g := n.guardRecord
	if n.rollback == nil {
		n.w.tell("the guard of %s returns it to %s: %s", n.name, g.From, why)
		n.rollback = &host.Rollback{Upgrade: g.Upgrade, From: g.From, To: g.To, Message: why, StartedAt: n.w.now()}
	}
	n.rollback.BootID = n.bootID()
	n.kubeadm, n.active = "", g.From
	if g.Method != v1alpha1.MethodRestart || n.merged == g.From {
		n.rollback.Reboots++
		n.shutdown(true, "its guard returns it to "+g.From)
		return
	}
	n.merged = g.From
	n.startKubelet()
}

// facts are what the verb "facts" finds.
func (n *node) facts() host.Facts {
	f := host.Facts{
		BootID: n.bootID(), Supported: true, Active: n.active, Merged: n.merged, ControlPlane: n.controlPlane,
		Kubeadm: host.KubeadmDone{Version: n.kubeadm}, RebootRequired: n.osReboot, Guarded: n.armed, Rollback: n.rollback,
	}
	if n.osReboot {
		f.RebootReason = "/run/reboot-required exists"
	}
	for version := range n.installed {
		f.Installed = append(f.Installed, version)
	}
	slices.Sort(f.Installed)
	if n.controlPlane {
		f.StaticPods = map[string]string{}
		for _, component := range host.ControlPlaneComponents {
			f.StaticPods[component] = n.staticPods
		}
	}
	return f
}

// etcd is what the verb "etcd" finds: this node's member first.
func (n *node) etcd() *v1alpha1.EtcdFacts {
	if !n.controlPlane {
		return nil
	}
	facts := &v1alpha1.EtcdFacts{}
	for _, other := range n.w.controlPlanes() {
		m := v1alpha1.EtcdMember{Name: other.name, Healthy: other.memberUp()}
		if !m.Healthy {
			m.Problem = "does not answer"
		}
		if other == n {
			facts.Members = append([]v1alpha1.EtcdMember{m}, facts.Members...)
		} else {
			facts.Members = append(facts.Members, m)
		}
	}
	return facts
}

// busy returns the disruptive verb that runs, or "".
func (n *node) busy() verb.Verb {
	for _, v := range []verb.Verb{verb.Snapshot, verb.Kubeadm, verb.Activate, verb.Restart} {
		if _, runs := n.units[v]; runs {
			return v
		}
	}
	return ""
}

// minor returns the minor of a version such as v1.34.3.
func minor(version string) int {
	var major, m, patch int
	_, _ = fmt.Sscanf(strings.TrimPrefix(version, "v"), "%d.%d.%d", &major, &m, &patch)
	return m
}
