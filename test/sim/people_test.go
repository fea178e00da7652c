package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// What people, and the policy on their behalf, ask for.

// next is the version that is published after that of the script's upgrade.
func (s script) next() string {
	if minor(s.To) == 34 {
		return "v1.34.5"
	}
	return "v1.35.3"
}

// anyPeople adds what people decide beforehand: approvals, limits, automatic upgrades.
func anyPeople(s *script) {
	r := rand.New(rand.NewPCG(s.Seed, 6))
	s.Automatic = r.IntN(4) == 0
	if s.Groups {
		s.GroupLimit = r.IntN(3)
	}
	if s.Approvals = r.IntN(4) == 0; s.Approvals {
		s.Faults = append(s.Faults, fault{At: early(r.Float64(), s.Lasts), Kind: "approve", For: time.Duration(r.IntN(300)) * time.Second})
	}
	if r.IntN(6) == 0 {
		s.Faults = append(s.Faults, fault{At: early(r.Float64(), s.Lasts), Kind: "finding", For: time.Duration(60+r.IntN(600)) * time.Second})
	}
	if r.IntN(12) == 0 {
		s.Faults = append(s.Faults, fault{At: early(r.Float64(), s.Lasts), Kind: "joined later", Who: s.nodes()[0], For: s.Lasts})
	}
	if r.IntN(6) == 0 {
		who := s.nodes()[r.IntN(len(s.nodes()))]
		s.Faults = append(s.Faults, fault{At: early(r.Float64(), s.Lasts), Kind: "odd extension", Who: who, For: time.Duration(60+r.IntN(1800)) * time.Second})
	}
	slices.SortStableFunc(s.Faults, func(a, b fault) int { return int(a.At - b.At) })
}

// injectRequest asks for something.
func (w *world) injectRequest(f fault) {
	switch f.Kind {
	case "publish":
		w.offersNext = true
	case "request patch":
		w.offersNext = true
		w.request("next", w.upgradeSpec(w.script.next()))
	case "request reboot":
		for _, n := range w.nodes {
			n.ask(&n.osReboot)
		}
		w.after(10*time.Second+f.For, "request reboot", func() { w.request("reboot", w.upgradeSpec("")) })
	case "take back":
		w.takeBack(f)
	case "retry":
		for _, u := range w.upgrades() {
			if u.Status.Outcome == "" && w.anyStopped() {
				spec := w.upgradeSpec(u.Spec.Version)
				if u.Spec.Type == v1alpha1.TypeCertificates {
					spec["type"] = string(u.Spec.Type)
				}
				if u.Spec.AlwaysReboots() {
					spec["rebootPolicy"] = string(v1alpha1.RebootAlways)
				}
				spec["retryOf"] = tree{"name": u.Name, "uid": string(u.UID)}
				if u.Spec.Type == v1alpha1.TypeRollback {
					spec["type"], spec["comment"] = string(u.Spec.Type), u.Spec.Comment
					delete(child(spec, "strategy"), "method")
				}
				w.request(u.Name+"-again", spec)
				return
			}
		}
	case "approve":
		w.approve(tree{"upgrade": true})
		w.until(f, func() { w.approve(approved) })
	case "budget":
		for _, u := range w.upgrades() {
			w.budget(1 + f.Number%3)
			w.edit(key{Resource: "clusterupgrades", Name: u.Name}, func(t tree) {
				child(t, "spec", "strategy")["maxUnavailable"] = float64(w.budgets[len(w.budgets)-1].of)
			})
		}
	}
}

// approve approves all upgrades, and perhaps their groups, now and from now on.
func (w *world) approve(as tree) {
	w.approved = as
	for _, u := range w.upgrades() {
		w.edit(key{Resource: "clusterupgrades", Name: u.Name}, func(t tree) { child(t, "spec")["approved"] = as })
	}
}

var approved = tree{"upgrade": true, "groups": []any{"a"}}

// budget is how many nodes may be out of service from a time on.
type budget struct {
	since time.Time
	of    int
}

func (w *world) budget(of int) { w.budgets = append(w.budgets, budget{w.now(), of}) }

// allowed returns the largest budget that anyone may still act on. Upgrades that the
// UpgradePolicy asks for, and late nodes, have its own.
func (w *world) allowed() int {
	most := 1
	for _, budgets := range [][]budget{w.budgets, w.policyBudgets} {
		for i, b := range budgets {
			if i == len(budgets)-1 || w.now().Sub(budgets[i+1].since) < 10*time.Minute {
				most = max(most, b.of)
			}
		}
	}
	return most
}

// group returns the group of the upgrade's strategy that the node is in.
func (w *world) group(n *node) string {
	if w.script.Groups && !n.controlPlane && n.labels["pool"] == "a" {
		return "a"
	}
	return ""
}

// upgradeOf returns the upgrade that the agent works for, if it still exists.
func (w *world) upgradeOf(a *agentProgram) *v1alpha1.ClusterUpgrade {
	for _, u := range w.upgrades() {
		if string(u.UID) == a.steps.State().Upgrade.UID {
			return u
		}
	}
	return nil
}
