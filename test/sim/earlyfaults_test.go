package sim

import (
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Moments that several random faults would have to make together, which they seldom do.

// anyUnseenCordon has an agent not see that it has cordoned its node, and lose its release, in one seed of ten.
func anyUnseenCordon(s script) []fault {
	r := rand.New(rand.NewPCG(s.Seed, 20))
	if r.IntN(10) > 0 {
		return nil
	}
	names := s.nodes()
	return []fault{{
		At: early(r.Float64()*r.Float64(), s.Lasts/2), Kind: "cordon unseen", Who: names[r.IntN(len(names))], Step: v1alpha1.StepLocking,
		For: time.Duration(60+r.IntN(120)) * time.Second,
	}}
}

// hideCordon has the reply to the agent's next cordon get lost, its watch of Nodes stall, and the upgrade be
// suspended.
func (w *world) hideCordon(n *node, f fault) {
	a := w.agents[n.uid]
	if a == nil || a.isDead {
		return
	}
	cordons := func(r request) bool {
		return r.method == http.MethodPatch && r.key.Resource == "nodes" && r.subresource == ""
	}
	a.traps = append(a.traps, trap{only: cordons, after: true, do: func() error {
		for _, v := range a.views {
			if v.resource == "nodes" {
				v.stalledUntil = w.now().Add(f.For)
			}
		}
		w.note("%s does not see its cordon", n.name)
		w.after(100*time.Millisecond, "suspend", func() { w.inject(fault{Kind: "suspend", For: f.For / 2}) })
		return errLost
	}})
}

// anyLostOrder has a node's NodeUpgrade be deleted right before the node begins, in one seed of ten. Its agent is not
// told, and no coordinator runs that would create another one.
func anyLostOrder(s script) []fault {
	r := rand.New(rand.NewPCG(s.Seed, 24))
	if r.IntN(10) > 0 {
		return nil
	}
	return []fault{{
		At: early(r.Float64()*r.Float64(), s.Lasts/2), Kind: "lose order", Who: s.nodes()[0], Step: v1alpha1.StepLocking, Number: r.IntN(3),
		For: time.Duration(30+r.IntN(90)) * time.Second,
	}}
}

// loseOrder deletes the node's NodeUpgrade unseen.
func (w *world) loseOrder(n *node, f fault) {
	w.inject(fault{Kind: "stop coordinator", Who: "coordinator", For: f.For})
	if c := w.coordinators[1]; c != nil {
		c.kill()
	}
	if a := w.agents[n.uid]; a != nil {
		for _, v := range a.views {
			if v.resource == "nodeupgrades" {
				v.stalledUntil = w.now().Add(f.For)
			}
		}
	}
	w.api.remove("admin", key{Resource: "nodeupgrades", Name: n.name})
}

// anyUnseenHold has a person put a node on hold while its drain is blocked, in one seed of ten. The coordinator withdraws
// its release, and its agent's watch does not say so until the drain has long ended.
func anyUnseenHold(s script) []fault {
	r := rand.New(rand.NewPCG(s.Seed, 26))
	if r.IntN(10) > 0 {
		return nil
	}
	at, node, blocked := early(r.Float64()*r.Float64(), s.Lasts/2), s.nodes()[0], time.Duration(10+r.IntN(15))*time.Second
	return []fault{
		{At: at, Kind: "stall", Who: "agent " + node, Step: v1alpha1.StepDraining, Number: ordersView, For: 4 * blocked},
		{At: at, Kind: "drain blocked", Step: v1alpha1.StepDraining, For: blocked},
		{At: at, Kind: "hold", Step: v1alpha1.StepDraining, Number: r.IntN(20), For: 4 * blocked},
	}
}

// anyForgottenAbandonment has a person abandon a node while it activates, and the NodeUpgrade that says so be deleted
// before its agent looks again, in one seed of ten. The node's slot is free by then, which its agent's watch does not
// say.
func anyForgottenAbandonment(s script) []fault {
	r := rand.New(rand.NewPCG(s.Seed, 27))
	if r.IntN(10) > 0 {
		return nil
	}
	at, node := early(r.Float64()*r.Float64(), s.Lasts/2), s.nodes()[0]
	return []fault{
		{At: at, Kind: "stall", Who: "agent " + node, Step: v1alpha1.StepActivating, Number: leasesView, For: time.Minute},
		{At: at, Kind: "abandon", Step: v1alpha1.StepActivating, Number: leasesView}, // at the same time
		{At: at, Kind: "delete nodeupgrade", Step: v1alpha1.StepActivating, Number: leasesView + 2 + r.IntN(6)},
	}
}

// ordersView is the number of an agent's view of its NodeUpgrade.
const ordersView = 1

// anyDeadKubelet has a kubelet die while its node settles after a Reboot, which no guard watches. The node settles
// for less time than the node controller needs to notice that.
func anyDeadKubelet(s *script) {
	r := rand.New(rand.NewPCG(s.Seed, 21))
	if !s.Reboot {
		return
	}
	s.Settle = 18 + r.IntN(9)
	s.Faults = append(s.Faults, fault{At: early(r.Float64()*r.Float64(), s.Lasts/2), Kind: "kubelet dies", Who: s.nodes()[0], Step: v1alpha1.StepSettling, For: 5 * time.Minute})
}

// anyOwnFault has a node fail by its own fault, in one seed of eight: around its boot its containerd fails, or a person
// adds an odd extension, which comes after the last rehearsal. No version becomes healthy with that before a person mends
// it, which is mostly after the guard's limit.
func anyOwnFault(s *script) {
	r := rand.New(rand.NewPCG(s.Seed, 28))
	if s.Reboot || r.IntN(8) > 0 {
		return
	}
	f := fault{
		At: early(r.Float64()*r.Float64(), s.Lasts/2), Kind: "odd extension", Who: s.nodes()[0], Step: v1alpha1.StepRebooting, Number: r.IntN(20),
		For: time.Duration(120+r.IntN(900)) * time.Second,
	}
	if s.Restart {
		f.Step = v1alpha1.StepRestarting
	}
	if r.IntN(2) == 0 {
		f.Kind = "containerd fails"
		f.Step = []v1alpha1.Step{f.Step, v1alpha1.StepVerifying}[r.IntN(2)]
	}
	quieten(s)
	s.Faults = append(s.Faults, f)
}

// quieten leaves two faults of a script.
func quieten(s *script) { s.Faults = s.Faults[:min(2, len(s.Faults))] }
