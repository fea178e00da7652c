package sim

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// settleLimit is how long all upgrades may take after the last fault. Pauses between
// attempts grow to an hour.
const settleLimit = 4 * time.Hour

// outcome is the result of a script.
type outcome struct {
	failure string
	story   string
	begins  int
	steps   int
	ended   time.Duration
	status  string
	events  *recorded
	reads   []access
	writes  []access
	// In a chain.
	history  history
	followed int
}

// simulate runs a script.
func simulate(t *testing.T, s script, verbose bool) (result outcome) {
	synctest.Test(t, func(*testing.T) {
		w := newWorld(s, verbose)
		w.run(w.started.Add(s.Lasts), func() bool { return false })
		if w.failure == "" {
			w.repair()
			w.run(w.now().Add(settleLimit), w.settled)
		}
		if w.failure == "" {
			w.checkEnd()
		}
		for _, p := range w.programs() {
			p.cancel()
		}
		w.turns.end()
		result = outcome{failure: w.failure, story: w.story(), begins: w.begins, steps: w.steps, ended: w.now().Sub(w.started), status: w.upgradeStatus(), events: &w.recorded, reads: w.reads, writes: w.writes, history: w.history, followed: w.followed}
	})
	return result
}

func newWorld(s script, verbose bool) *world {
	w := &world{
		script: s, started: time.Now(), rng: rand.New(rand.NewPCG(s.Seed, 2)), api: newAPI(), turns: newTurns(), log: discard, verbose: verbose,
		agents: map[string]*agentProgram{}, published: digest(1), snapshots: map[string]int{}, fixed: map[string]string{}, ended: map[string]int{},
		foreign: map[string]bool{}, lastHolder: map[string]string{}, specChangedAt: map[string]time.Time{}, lastStep: map[string]v1alpha1.Step{}, since: map[string]time.Time{}, explained: map[string]bool{},
		budgets: []budget{{of: s.Budget}}, policyBudgets: []budget{{of: 1}}, edited: map[string]editedLease{}, gates: map[string]v1alpha1.GateState{}, hooked: newHooked(),
		kubelets: map[string]string{}, ran: map[string]bool{}, versions: map[string]string{}, liars: map[string]*liar{}, lied: map[string]bool{}, began: map[string]bool{}, takenBack: map[string]time.Time{},
		suspects: map[string][]string{}, renewals: map[string]bool{},
	}
	w.api.onWrite = w.wrote
	for _, name := range s.nodes() {
		w.join(name, true)
	}
	if s.Automatic {
		w.policyBudgets[0].of = s.Budget
	}
	w.policy = w.newPolicy()
	w.createPolicy()
	w.createCronJob()
	w.api.put("admin", key{"configmaps", "kube-system", "kubeadm-config"}, tree{
		"apiVersion": "v1", "kind": "ConfigMap", "data": tree{"ClusterConfiguration": "kind: ClusterConfiguration"},
	})
	w.openWindow("window", s.Opens, s.Closes)
	if s.Reboot { // it ends at once if no agent has reported that a reboot is required
		w.after(10*time.Second, "create upgrade", w.createUpgrade)
	} else {
		w.createUpgrade()
	}
	if s.ClusterAPIDecides {
		w.after(2*time.Second, "Cluster API asks", w.keepAsking)
	}
	w.after(time.Second, "start coordinator", func() { w.startCoordinator(0) })
	w.watchCertificates()
	w.checkScript()
	for _, f := range s.Faults {
		w.after(f.At, f.Kind, func() { w.inject(f) })
	}
	return w
}

// join adds a node, which runs already or boots.
func (w *world) join(name string, runs bool) {
	n := &node{
		w: w, name: name, controlPlane: name[0] == 'c', labels: map[string]string{"pool": string('a' + name[len(name)-1]%2)},
		installed: map[string]string{w.script.From: digest(0)}, active: w.script.From,
		requests: map[verb.Verb]*verb.Request{}, results: map[verb.Verb]*verb.Result{}, units: map[verb.Verb]time.Time{},
		broken: map[string]string{}, failing: map[verb.Verb]int{}, keyrings: map[string]string{}, lost: map[string]func(){}, packages: slices.Contains(w.script.Packages, name),
		unmanaged: slices.Contains(w.script.Unmanaged, name),
	}
	n.managedOnce = !n.unmanaged
	if wrong := w.script.Broken[name]; wrong != "" {
		n.broken[w.script.To] = wrong
	}
	labels := tree{"pool": n.labels["pool"], "kubernetes.io/hostname": name}
	if n.unmanaged {
		labels["unmanaged"] = ""
	}
	if n.controlPlane {
		n.staticPods, n.certificates.issued = w.script.From, w.firstIssued(name)
		labels["node-role.kubernetes.io/control-plane"] = ""
	}
	k := key{Resource: "nodes", Name: name}
	s := w.api.put("admin", k, tree{"apiVersion": "v1", "kind": "Node", "metadata": tree{"labels": labels}, "spec": tree{}, "status": tree{
		"nodeInfo": tree{"kubeletVersion": n.active, "operatingSystem": "linux", "architecture": arch}, // its kubelet registers it with them
	}})
	n.uid = text(metadata(s.tree), "uid")
	w.nodes = append(w.nodes, n)
	if !runs {
		n.power()
		return
	}
	n.firstStart = w.now()
	n.on, n.boots, n.merged, n.podsUp, n.kubelet, n.ready, n.verified = true, 1, n.active, true, n.active, true, n.active
	n.kubeletSince = w.now()
	n.osReboot = w.script.Reboot && !w.script.Always
	w.setNode(n, true)
	w.setPods(n, true)
	w.schedule(n)
	w.after(time.Duration(w.noise(3000))*time.Millisecond, "start agent", func() { w.startAgent(n) })
}
