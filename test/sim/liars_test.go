package sim

import (
	"math/rand/v2"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// An agent that lies. What it does on its node is as always; what others read in its NodeUpgrade's status
// is not. A worker's token is enough for that.

// liar is the agent of a node that lies in fields of its NodeUpgrade's status.
type liar struct {
	lies map[string]any // by field; nil: it leaves the field out
	told tree           // the status that the agent wants to be there; nil: none yet
}

// agentsStatus is under which name agents apply their status.
const agentsStatus = agentManager + "/status"

// anyLies returns lies, in one seed of five: mostly of workers, several at one moment. Where gates are closed, or
// hooks are to run, before the first node, one says from the start on that it has begun.
func anyLies(s script) (list []fault) {
	r := rand.New(rand.NewPCG(s.Seed, 15))
	if r.IntN(5) > 0 {
		return nil
	}
	names := s.nodes()
	who, at, step := names[r.IntN(len(names))], early(r.Float64()*r.Float64(), s.Lasts), v1alpha1.Step("")
	if s.Workers > 0 && r.IntN(4) > 0 {
		who = names[s.ControlPlanes+r.IntN(s.Workers)]
	}
	if r.IntN(2) == 0 {
		step = triggers[r.IntN(len(triggers))]
	}
	for range 1 + r.IntN(3) {
		f := fault{At: at, Kind: "lie", Who: who, Step: step, Other: lies[r.IntN(len(lies))].field, Number: r.IntN(lieKinds), For: time.Duration(30+r.IntN(600)) * time.Second}
		if r.IntN(4) == 0 {
			f.Other = "conditions" // which go to most other places
		}
		list = append(list, f)
	}
	return append(list, anyBegun(s, who, r)...)
}

// anyBegun has an agent say from the start on that its node has been upgraded, while nothing has begun.
func anyBegun(s script, who string, r *rand.Rand) (list []fault) {
	if !s.Gates && !s.Hooks || r.IntN(2) == 0 {
		return nil
	}
	list = append(list, fault{At: time.Duration(r.IntN(20)) * time.Second, Kind: "lie", Who: who, Other: "steps", For: 10 * time.Minute})
	if s.Gates {
		list = append(list, fault{At: time.Second, Kind: "close gate", Who: changeGate, For: s.Opens + time.Duration(3+r.IntN(5))*time.Minute})
	}
	return list
}

// lie has the node's agent lie in a field for a while. Only control planes can say whether there is a snapshot of etcd:
// root on one of them has etcd.
func (w *world) lie(n *node, f fault) {
	if n.controlPlane && f.Other == "etcdSnapshot" {
		return
	}
	l := w.liars[n.name]
	if l == nil {
		l = &liar{lies: map[string]any{}}
		w.liars[n.name] = l
	}
	w.lied[n.name] = true
	for _, one := range lies {
		if one.field == f.Other {
			l.lies[f.Other] = one.as(w, n, f.Number)
		}
	}
	w.retell(n.name, l)
	w.until(f, func() { w.endLie(n.name, f.Other) })
}

// endLie ends a lie, and has the agent tell the truth.
func (w *world) endLie(name, field string) {
	l := w.liars[name]
	if l == nil {
		return
	}
	if delete(l.lies, field); len(l.lies) == 0 {
		delete(w.liars, name)
	}
	w.retell(name, l)
}

func (w *world) endLies() {
	for _, name := range w.script.nodes() {
		for _, one := range lies {
			w.endLie(name, one.field)
		}
	}
}

// retell writes what the agent has told, with its lies as they are now.
func (w *world) retell(name string, l *liar) {
	k := key{Resource: "nodeupgrades", Name: name}
	if former := w.api.applied[k][agentsStatus]; l.told == nil && former != nil {
		l.told, _ = clone(inner(former, "status")).(tree)
	}
	if w.api.objects[k] == nil || l.told == nil {
		return
	}
	body := tree{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "NodeUpgrade", "status": clone(l.told)}
	if _, err := w.api.apply("agent "+name, k, l.tell(body), agentManager, "status"); err != nil {
		w.broken("lie", "%s cannot lie: %v", name, err)
	}
}

// tell returns what is written in place of a status.
func (l *liar) tell(body tree) tree {
	l.told, _ = clone(inner(body, "status")).(tree)
	body = clone(body).(tree)
	for field, lie := range l.lies {
		setField(child(body, "status"), field, lie)
	}
	return body
}

// truth returns the NodeUpgrade as the liar's own agent has to see it.
func (l *liar) truth(s *stored) *stored {
	if s == nil || l.told == nil {
		return s
	}
	t := clone(s.tree).(tree)
	status := child(t, "status")
	for field := range l.lies {
		if field != "conditions" {
			setField(status, field, fieldOf(l.told, field))
			continue
		}
		conditions, _ := clone(l.told["conditions"]).([]any)
		if _, others := entries(inner(s.tree, "status")["conditions"], "type"); others[v1alpha1.ConditionAdmitted] != nil {
			conditions = append(conditions, others[v1alpha1.ConditionAdmitted])
		}
		setField(status, field, conditions)
	}
	return &stored{tree: t, version: s.version}
}

// fieldOf returns the value of a field such as retry.attempts, and setField sets it; nil removes it.
func fieldOf(t tree, field string) any {
	outer, in, nested := strings.Cut(field, ".")
	if !nested {
		return t[outer]
	}
	return inner(t, outer)[in]
}

func setField(t tree, field string, value any) {
	outer, in, nested := strings.Cut(field, ".")
	if nested {
		t, outer = child(t, outer), in
	}
	if t[outer] = value; value == nil {
		delete(t, outer)
	}
}
