package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/guard"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// How long a simulated node takes.
const (
	shutdownTakes = 5 * time.Second
	softTakes     = 3 * time.Second  // a soft reboot, to the guard and the kubelet
	bootTakes     = 15 * time.Second // from power to the guard and the kubelet
	readyTakes    = 8 * time.Second  // from the kubelet's start to Ready
	restartTakes  = 3 * time.Second  // from the kubelet's start to its pods, such as the agent
	lostAfter     = 40 * time.Second // without a kubelet the node controller makes the Node NotReady
	guardPause    = 5 * time.Second
)

// What may be wrong with soft reboots.
const (
	softImpossible = "impossible" // the node says so
	softNothing    = "nothing"    // nothing happens
	softFormer     = "former"     // the former image is merged again
)

// What may be wrong with an image.
const (
	imageCrashes  = "crashes"   // its kubelet does not stay up
	imageNotReady = "not-ready" // its kubelet runs, and never gets Ready
	imageNoMerge  = "no-merge"  // it cannot be merged
	imageNoPods   = "no-pods"   // its kubelet starts no static pods
)

// node is a simulated node: disk, systemd, kubelet and guard.
type node struct {
	w            *world
	name, uid    string
	controlPlane bool
	labels       map[string]string
	removed      bool   // its Node was deleted for good
	hasFiles     bool   // its agent has taken it over
	ran          string // the version of the kubelet that started last
	unmanaged    bool   // the UpgradePolicy does not select it
	managedOnce  bool   // it did at some time
	comesBack    bool   // it is unmanaged for a while only
	packages     bool   // its Kubernetes comes from packages: active stands for them, and is not replaced

	// On the disk.
	installed    map[string]string // version to digest
	keyrings     map[string]string // version to the keyring with which it was staged last
	active       string
	kubeadm      string // the record of the last kubeadm
	ahead        bool   // the last kubeadm began ahead of the node's turn
	snapshotFor  string // UID of the upgrade for which the last snapshot of etcd began
	staticPods   string // the version in the manifests
	guardRecord  *host.Guard
	armed        bool
	rollback     *verb.Rollback
	tried        guard.Tried
	culprit      string // whose fault it is that its guard returned it, or could not
	requests     map[verb.Verb]*verb.Request
	results      map[verb.Verb]*verb.Result
	certificates controlPlaneCertificates

	// Running.
	on           bool
	boots        int   // soft ones too
	softs        int32 // soft reboots since it was turned on
	merged       string
	kubelet      string // the version that runs; empty: none
	kubeletSince time.Time
	firstStart   time.Time // systemd first started a kubelet in this boot; zero: it has not
	diedAt       time.Time // its kubelet died
	healedAt     time.Time // its last partition ended
	renewedAt    time.Time // its kubelet last renewed its Lease
	ready        bool
	verified     string                  // what was merged when it was Ready last; empty after a reboot by an upgrade
	units        map[verb.Verb]time.Time // running verbs, and when they end
	shutting     bool
	ours         bool      // agent or guard asked for the reboot
	downSince    time.Time // its static pods do not run since
	changedAt    time.Time // something changed that its agent may not know
	podsUp       bool      // its static pods run, which needs a kubelet once in each boot
	osReboot     bool      // the operating system requires a reboot
	asksSince    time.Time
	updateEngine bool // Flatcar's update_engine says so
	guards       bool // the guard runs in this boot
	guardBoots   int  // boots in which the guard has run
	guardStart   time.Time
	findingSince time.Duration // after guardStart; the guard has found the same since
	foundHealthy bool
	answersSince time.Time // the guard has heard from the API server

	// Faults.
	parts       parts
	broken      map[string]string // version to what is wrong with its image
	failing     map[verb.Verb]int // how often a verb fails next
	lost        map[string]func() // what happens when the next request of an action has no effect
	says        string            // what its kubelet says in place of its version
	partitioned bool
	blocked     bool // evictions are refused
	clock       clock
	joinedLater bool      // kubelet.conf is newer than any record of kubeadm, which is not believed
	kubeadms    int       // how often kubeadm has completed since a fault explained another run
	vanishedAt  time.Time // an image was deleted
	factsAt     time.Time // the agent learned the facts last
	odd         bool      // it has an extension with which no boot merges anything
	oddBoot     bool      // its boot has merged nothing because of that
	oddSeen     bool      // the agent's last facts say so
	noRuntime   bool      // its containerd has failed, without which no kubelet starts
}

// bootID returns the kernel's, and bootName that of this boot or soft reboot.
func (n *node) bootID() string   { return fmt.Sprintf("%s-boot-%d", n.uid, n.boots-int(n.softs)) }
func (n *node) bootName() string { return host.BootName(n.bootID(), n.softs) }

// power turns the node on.
func (n *node) power() {
	if n.on || n.removed {
		return
	}
	n.on, n.shutting = true, false
	n.boots, n.softs = n.boots+1, 0
	boot := n.boots
	n.w.after(bootTakes, "boot "+n.name, func() {
		if n.on && n.boots == boot {
			n.booted()
		}
	})
}

// booted starts the node after a boot.
func (n *node) booted() {
	n.w.note("%s has booted (boot %d, %s active)", n.name, n.boots, n.active)
	n.osReboot, n.updateEngine = false, false
	n.merge()
}

// merge merges the active image, and starts guard and kubelet.
func (n *node) merge() {
	n.putBackAtBoot()
	n.merged = n.mergeable()
	if n.oddBoot = n.odd && n.merged == ""; n.oddBoot {
		n.w.explainNode(n)
	}
	n.startGuard()
	n.startKubelet()
}

// mergeable returns the active version, if its image can be merged.
func (n *node) mergeable() string {
	if _, there := n.installed[n.active]; n.broken[n.active] == imageNoMerge || (!there || n.odd) && !n.packages {
		return ""
	}
	return n.active
}

// cut cuts the power.
func (n *node) cut() {
	n.renew()
	n.downSince, n.changedAt = n.w.now(), n.w.now()
	n.on, n.podsUp, n.kubelet, n.ready, n.merged, n.guards, n.oddBoot, n.firstStart = false, false, "", false, "", false, false, time.Time{}
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
	if v == verb.Kubeadm && n.controlPlane && until.UnixNano()%2 == 0 {
		n.staticPods = args(n.requests[v]).Version // and no record says so
	}
	if v == verb.Renew {
		n.cutRenewal(until)
	}
}

// shutdown reboots the node.
func (n *node) shutdown(ours bool, why string) {
	if !n.on || n.shutting {
		return
	}
	n.shutting, n.ours, n.changedAt = true, ours, n.w.now()
	n.w.note("%s reboots: %s", n.name, why)
	boot := n.boots
	n.w.after(shutdownTakes, "reboot "+n.name, func() {
		if n.on && n.boots == boot {
			n.cut()
			if ours {
				n.verified = ""
			}
			n.power()
		}
	})
}

// startKubelet starts the kubelet of the merged image.
func (n *node) startKubelet() {
	n.renew()
	n.kubelet, n.ready, n.changedAt = "", false, n.w.now()
	if n.merged == "" || !n.on {
		n.w.watchLost(n)
		return
	}
	if n.firstStart.IsZero() {
		n.firstStart = n.w.now()
	}
	if n.broken[n.merged] == imageCrashes {
		n.w.watchLost(n)
		return
	}
	if n.noRuntime {
		n.diedAt = n.w.now()
		n.w.watchLost(n)
		return
	}
	n.parts.restarted(n.w.now())
	n.kubelet, n.kubeletSince, n.podsUp = n.merged, n.w.now(), n.broken[n.merged] != imageNoPods && !n.certificates.half
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
			n.ready, n.verified = true, n.merged
			n.w.report(n)
		}
	})
}

// healthy reports whether nothing is wrong with the node.
func (n *node) healthy() bool { return n.on && !n.shutting && n.ready && n.kubelet == n.merged }

// memberUp reports whether this node's static pods run, with its member of etcd.
func (n *node) memberUp() bool { return n.controlPlane && n.podsUp }

func (n *node) owner() clusterstate.Owner { return clusterstate.Owner{Node: n.name, UID: n.uid} }

// busy returns the disruptive verb that runs, or "". Kubeadm ahead of the node's turn disrupts
// nothing.
func (n *node) busy() verb.Verb {
	for _, v := range []verb.Verb{verb.Snapshot, verb.Kubeadm, verb.Renew, verb.PutBack, verb.Activate, verb.Restart} {
		if _, runs := n.units[v]; runs && (v != verb.Kubeadm || !n.ahead) {
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
