package sim

import (
	"math/rand/v2"
	"reflect"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
)

// foreignReason is the reason of conditions that people set.
const foreignReason = "Hardware"

// anyConditions returns conditions that people set on Nodes, for a while, in one story of four.
func anyConditions(s script) (list []fault) {
	r := rand.New(rand.NewPCG(s.Seed, 11))
	if r.IntN(4) > 0 {
		return nil
	}
	names := s.nodes()
	for range 1 + r.IntN(3) {
		f := anyFault(r, s, early(r.Float64(), s.Lasts))
		f.Kind, f.Who = "condition", names[r.IntN(len(names))]
		f.Other = string(machine.NodeConditionTypes[r.IntN(len(machine.NodeConditionTypes))])
		if r.IntN(2) == 0 {
			f.Step = triggers[r.IntN(len(triggers))]
		}
		list = append(list, f)
	}
	return list
}

// injectCondition sets a condition as a person, also in place of the agent's, and removes it later.
func (w *world) injectCondition(n *node, f fault) {
	k := key{Resource: "nodes", Name: n.name}
	w.edit(k, func(t tree) {
		setConditions(child(t, "status"), tree{"type": f.Other, "status": "True", "reason": foreignReason, "lastTransitionTime": w.now().UTC().Format("2006-01-02T15:04:05Z")})
	})
	w.until(f, func() {
		if found := w.api.objects[k]; found == nil || reasonOf(found, f.Other) != foreignReason {
			return
		}
		_, _ = w.api.conditionsPatch("admin", k, tree{"status": tree{"conditions": []any{tree{"type": f.Other, "$patch": "delete"}}}})
	})
}

// conditionsAt returns the conditions of a Node by their type.
func conditionsAt(s *stored) map[string]tree {
	_, all := entries(inner(s.tree, "status")["conditions"], "type")
	return all
}

func reasonOf(s *stored, kind string) string { return text(conditionsAt(s)[kind], "reason") }

// checkConditions checks an agent's change of its Node: the conditions of people stay, and a
// drain or maintenance is shown only of a node that the agent has at least taken the slot for.
func (w *world) checkConditions(by string, before, after *stored) {
	if before == nil || after == nil || by == "admin" {
		return
	}
	was, is := conditionsAt(before), conditionsAt(after)
	name := text(metadata(after.tree), "name")
	marked := text(inner(metadata(after.tree), "annotations"), v1alpha1.SlotAnnotation) != ""
	for _, kind := range machine.NodeConditionTypes {
		old, now := was[string(kind)], is[string(kind)]
		if reflect.DeepEqual(old, now) {
			continue
		}
		w.note("%s: Node %s %s: %q", by, name, kind, text(now, "reason"))
		if text(old, "reason") == foreignReason {
			w.broken("conditions", "%s changes %s of %s, which a person set", by, kind, name)
		}
		if now != nil && !marked && (kind == corev1.NodeDrainInProgress || kind == corev1.NodeDrained) {
			w.broken("conditions", "%s shows %s of %s, which it has not cordoned", by, kind, name)
		}
		if n := w.node(name); now != nil && n != nil {
			w.checkEverManaged(n, "shows "+string(kind))
		}
	}
}

// shows reports whether the Node has a condition of its agent.
func (w *world) shows(n *node) bool {
	found := w.api.objects[key{Resource: "nodes", Name: n.name}]
	if found == nil {
		return false
	}
	for _, kind := range machine.NodeConditionTypes {
		if reasonOf(found, string(kind)) == v1alpha1.NodeConditionReason {
			return true
		}
	}
	return false
}

// checkConditionsEnd checks that every way out of an attempt has removed them, but that of a node
// which still needs a person.
func (w *world) checkConditionsEnd() {
	for _, n := range w.nodes {
		nu := w.nodeUpgrade(n.name)
		if !n.removed && nu != nil && machine.BetweenAttempts(nu.Status.Step) && nu.Status.Step != v1alpha1.StepWaiting && w.shows(n) {
			w.broken("conditions", "%s is in step %s in the end, and its Node still shows the conditions of an attempt: %s", n.name, nu.Status.Step, w.describe())
		}
	}
}
