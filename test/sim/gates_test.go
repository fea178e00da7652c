package sim

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/gate"
)

// The gates of stories with gates. Nodes of group a ask the database only.
const (
	alertsGate   = "alerts"   // a query, before everything
	databaseGate = "database" // an object of the cluster, before each node
	backupGate   = "backup"   // a query, before each control plane
	changeGate   = "change"   // a query, before the upgrade
)

// newGates returns the gates of the UpgradePolicy.
func newGates() []any {
	query := func(name string, at ...any) tree {
		g := tree{"name": name, "timeoutSeconds": 5.0, "prometheus": tree{"url": "http://prometheus.example", "query": name, "expect": "Empty"}}
		if len(at) > 0 {
			g["at"] = at
		}
		return g
	}
	database := tree{"name": databaseGate, "timeoutSeconds": 5.0, "at": []any{"Node"}, "object": tree{
		"apiVersion": "apps/v1", "kind": "StatefulSet", "namespace": "shop", "name": "db", "condition": "true",
	}}
	return []any{query(alertsGate), database, query(backupGate, "ControlPlane"), query(changeGate, "Upgrade")}
}

// anyGates gives the policy gates in one seed of four. They close, cannot be asked, are taken away
// and added again, and are ignored.
func anyGates(s *script) {
	r := rand.New(rand.NewPCG(s.Seed, 12))
	if s.Gates = r.IntN(4) == 0; !s.Gates {
		return
	}
	for range 2 + r.IntN(4) {
		f := fault{
			At: early(r.Float64(), s.Lasts), Kind: []string{"close gate", "close gate", "lose gate", "remove gates", "ignore gate"}[r.IntN(5)],
			Who: []string{alertsGate, databaseGate, backupGate, changeGate}[r.IntN(4)], For: time.Duration(15+r.IntN(240)) * time.Second,
		}
		if r.IntN(2) == 0 {
			f.Step = []v1alpha1.Step{v1alpha1.StepStaging, v1alpha1.StepWaiting, v1alpha1.StepLocking, v1alpha1.StepUnlocking}[r.IntN(4)]
		}
		s.Faults = append(s.Faults, f)
		if f.Kind == "close gate" && r.IntN(2) == 0 { // no coordinator runs when it closes
			stop := f
			stop.Kind, stop.Who, stop.For = "stop coordinator", "coordinator", f.For/2
			s.Faults = append(s.Faults, stop)
		}
	}
}

// injectGate closes, loses, removes or ignores a gate.
func (w *world) injectGate(f fault) {
	switch f.Kind {
	case "close gate":
		w.setGate(f.Who, v1alpha1.GateClosed)
		w.until(f, func() { w.setGate(f.Who, v1alpha1.GateOpen) })
	case "lose gate":
		w.setGate(f.Who, v1alpha1.GateUnknown)
		w.until(f, func() { w.setGate(f.Who, v1alpha1.GateOpen) })
	case "remove gates":
		w.editPolicy(func(spec tree) { delete(spec, "gates") })
		w.until(f, w.addGates)
	case "ignore gate":
		for _, u := range w.upgrades() {
			w.edit(key{Resource: "clusterupgrades", Name: u.Name}, func(t tree) {
				child(t, "spec")["ignoreGates"] = []any{tree{"name": f.Who, "comment": "simulated"}}
			})
		}
	}
}

// addGates gives the policy its gates.
func (w *world) addGates() {
	w.since["gates"] = w.now()
	w.editPolicy(func(spec tree) { spec["gates"] = newGates() })
}

// setGate sets what a gate is answered with from now on.
func (w *world) setGate(name string, state v1alpha1.GateState) {
	if w.gates[name] != state {
		w.note("gate %s: %s", name, state)
	}
	if was, set := w.gates[name]; state != v1alpha1.GateOpen && (!set || was == v1alpha1.GateOpen) {
		w.since["gate "+name] = w.now()
	}
	w.gates[name] = state
}

// answer answers a gate's question.
func (w *world) answer(_ context.Context, g v1alpha1.Gate) gate.Answer {
	if g.Cluster != nil {
		return w.askLeader()
	}
	state, set := w.gates[g.Name]
	if !set {
		state = v1alpha1.GateOpen
	}
	if g.Object != nil && !w.apiUp() {
		state = v1alpha1.GateUnknown
	}
	return gate.Answer{State: state, Message: "simulated"}
}

// notOpenSince returns the gate that has not been open for longest of those that the node asks, and
// from when on a coordinator knows so that makes a plan: its answers are at most gate.Interval old.
func (w *world) notOpenSince(n *node, u *v1alpha1.ClusterUpgrade) (name string, since time.Time) {
	policy := w.livePolicy()
	if policy == nil {
		return "", time.Time{}
	}
	for _, g := range policy.Spec.Gates {
		state, set := w.gates[g.Name]
		ofAnotherGroup := w.group(n) == "a" && g.Name != databaseGate
		ignored := u != nil && slices.ContainsFunc(u.Spec.IgnoreGates, func(i v1alpha1.IgnoredGate) bool { return i.Name == g.Name })
		ofControlPlanes := g.Name == backupGate && !n.controlPlane
		passed := g.Name == changeGate && u != nil && (w.began[string(u.UID)] || u.Status.Outcome != "")
		if !set || state == v1alpha1.GateOpen || ofAnotherGroup || ofControlPlanes || passed || ignored {
			continue
		}
		known := w.since["gate "+g.Name].Add(gate.Interval)
		for _, edited := range []string{"gates", "policy"} {
			if w.since[edited].After(known) {
				known = w.since[edited]
			}
		}
		if name == "" || known.Before(since) {
			name, since = g.Name, known
		}
	}
	return name, since
}

// checkGates checks that a node does not take its slot while a gate is not open, if a coordinator
// could have taken back the release.
func (w *world) checkGates(a *agentProgram) {
	if name, since := w.notOpenSince(a.node, w.upgradeOf(a)); name != "" && w.decidedSince(since, a) {
		w.broken("gate", "%s takes a slot, and gate %s is %s for %s", a.node.name, name, w.gates[name], w.now().Sub(w.since["gate "+name]))
	}
}

// checkReleaseByGates checks that a coordinator releases no node by a plan that it began to make
// while a gate was not open.
func (w *world) checkReleaseByGates(by, name, upgrade string) {
	n := w.node(name)
	for _, c := range w.coordinators {
		if n == nil || c == nil || c.isDead || c.name != by || !c.saw || w.held(n) != "" || w.marked(n) {
			continue
		}
		for _, u := range w.upgrades() {
			if string(u.UID) != upgrade {
				continue
			}
			if gate, since := w.notOpenSince(n, u); gate != "" && since.Before(c.ranAt) {
				w.broken("gate", "%s releases %s, and gate %s is %s for %s", by, name, gate, w.gates[gate], w.now().Sub(w.since["gate "+gate]))
			}
		}
	}
}

// openGates opens all gates, and gives the policy those that it had.
func (w *world) openGates() {
	if !w.script.Gates {
		return
	}
	for name := range w.gates {
		w.setGate(name, v1alpha1.GateOpen)
	}
	w.addGates()
}
