package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

var errLost = errors.New("the reply was lost")

// happen has a fault happen.
func (w *world) happen(f fault) {
	if w.repaired {
		return
	}
	if f.Step != "" {
		w.waiting = append(w.waiting, f)
		return
	}
	w.tell("FAULT %s", strings.TrimSpace(f.String()[9:]))
	n := w.node(f.Who)
	switch f.Kind {
	case "crash agent", "crash coordinator", "lose reply", "stall", "miss", "interleave":
		w.disturb(f)
	case "coordinator away":
		w.awayUntil = w.now().Add(f.For)
		if c := w.coordinators[0]; c != nil {
			c.kill()
		}
		w.until(f, func() { w.startCoordinator(0) })
	case "second coordinator":
		w.startCoordinator(1)
		w.until(f, func() {
			if c := w.coordinators[1]; c != nil {
				c.kill()
			}
		})
	case "api down":
		w.apiDownUntil = w.now().Add(f.For)
	case "delete lease", "clear lease", "garble lease", "unlabel lease":
		w.tamper(f)
	case "close window", "freeze", "invalid schedule", "suspend":
		w.forbid(f)
	case "delete nodeupgrade":
		w.api.remove("admin", key{Resource: "nodeupgrades", Name: f.Who})
	case "delete upgrade", "recreate upgrade":
		w.api.remove("admin", key{Resource: "clusterupgrades", Name: "upgrade"})
		if f.Kind == "recreate upgrade" {
			w.after(f.For/10, "create upgrade", w.createUpgrade)
		}
	case "republish":
		w.published = digest(2)
	case "finding":
		w.findings = []v1alpha1.Finding{{ID: "simulated", Level: v1alpha1.LevelBlock, Message: "something is wrong"}}
		w.until(f, func() { w.findings = nil })
	default:
		if n != nil {
			w.happenTo(n, f)
		}
	}
}

// entered has the faults happen that wait for a node to enter a step.
func (w *world) entered(name string, step v1alpha1.Step) {
	w.waiting = slices.DeleteFunc(w.waiting, func(f fault) bool {
		if f.Step != step {
			return false
		}
		switch {
		case strings.HasPrefix(f.Who, "agent "):
			f.Who = "agent " + name
		case f.Who != "coordinator":
			f.Who = name
		}
		f.Step = ""
		w.after(time.Duration(f.Number)*150*time.Millisecond, f.Kind, func() { w.happen(f) })
		return true
	})
}

// until has a fault end.
func (w *world) until(f fault, end func()) { w.after(f.For, "end of "+f.Kind, end) }

// happenTo has a fault happen to a node.
func (w *world) happenTo(n *node, f fault) {
	k := key{Resource: "nodes", Name: n.name}
	switch f.Kind {
	case "power cut":
		n.cut()
		w.until(f, n.power)
	case "manual reboot":
		n.shutdown(false, "a person reboots it")
	case "partition":
		n.partitioned = true
		w.watchLost(n)
		w.until(f, func() { w.heal(n) })
	case "replace node", "delete node":
		w.remove(n, f)
	case "cordon":
		w.edit(k, func(t tree) {
			annotations := child(t, "metadata", "annotations")
			if spec := child(t, "spec"); spec["unschedulable"] != true && annotations[v1alpha1.CordonAnnotation] == nil {
				spec["unschedulable"] = true
				w.foreign[n.uid] = true
			}
		})
	case "uncordon":
		w.edit(k, func(t tree) { delete(child(t, "spec"), "unschedulable") })
		delete(w.foreign, n.uid)
	case "verb fails":
		n.failing[verb.Verb(f.Other)] = f.Number
	case "drain blocked":
		n.blocked = true
		w.until(f, func() { n.blocked = false })
	case "forge mark":
		w.edit(k, func(t tree) {
			annotations := child(t, "metadata", "annotations")
			if annotations[v1alpha1.SlotAnnotation] == nil {
				annotations[v1alpha1.SlotAnnotation] = fmt.Sprintf("slot-%d", f.Number%3)
			}
		})
	case "forge snapshot":
		if n.controlPlane {
			return // its own agent is believed
		}
		k := key{Resource: "nodeupgrades", Name: n.name}
		w.edit(k, func(t tree) {
			child(t, "status")["etcdSnapshot"] = tree{"node": n.name, "path": "/forged", "digest": v1alpha1.DigestOf(digest(9)), "creationTime": w.now().UTC().Format(time.RFC3339)}
		})
	}
}

func (w *world) heal(n *node) {
	if !n.partitioned {
		return
	}
	n.partitioned = false
	w.report(n)
	w.pods(n)
	w.startAgent(n)
}

// remove deletes a Node whose machine is gone. Another one may come under its name.
func (w *world) remove(n *node, f fault) {
	if n.controlPlane {
		return // that is another procedure
	}
	n.cut()
	n.removed = true
	w.api.remove("admin", key{Resource: "nodes", Name: n.name})
	w.collect(n.uid)
	if f.Kind == "replace node" {
		w.after(time.Second+f.For/4, "join "+n.name, func() { w.join(n.name, false) })
	}
}

// disturb has a fault happen to a program.
func (w *world) disturb(f fault) {
	p := w.program(f.Who)
	if p == nil {
		return
	}
	switch f.Kind {
	case "crash agent", "crash coordinator":
		p.traps = append(p.traps, trap{requests: f.Number, writes: f.Number%2 == 0, after: f.After, do: func() error {
			w.tell("%s is killed", p.name)
			p.kill()
			return errDead
		}})
	case "lose reply":
		p.traps = append(p.traps, trap{requests: f.Number / 2, writes: true, after: true, do: func() error { return errLost }})
	case "interleave":
		p.traps = append(p.traps, trap{requests: f.Number, after: f.After, do: func() error {
			w.between(f.Other)
			return nil
		}})
	case "stall":
		for i, v := range p.views {
			if f.After || i == f.Number%len(p.views) {
				v.stalledUntil = w.now().Add(f.For)
			}
		}
	case "miss":
		v := p.views[f.Number%len(p.views)]
		if log := w.api.log[v.resource]; len(log) > 0 {
			v.missing = map[string]bool{log[len(log)-1].name: true}
		}
		w.until(f, func() { v.list(len(w.api.log[v.resource])); p.wake(0) })
	}
}

// between has another program run between two requests of the one that runs.
func (w *world) between(name string) {
	if w.depth > 0 {
		return
	}
	w.depth++
	if other := w.program(name); other != nil && !other.running && !other.wakeAt.IsZero() {
		for _, v := range other.views {
			if !w.now().Before(v.stalledUntil) && other.reachable() {
				v.deliver()
			}
		}
		w.tell("meanwhile %s runs", other.name)
		other.wakeAt = time.Time{}
		other.run()
	}
	w.depth--
}

func (w *world) program(name string) *program {
	for _, p := range w.programs() {
		if p.name == name {
			return p
		}
	}
	return nil
}

// tamper changes a Lease of a slot as a person may.
func (w *world) tamper(f fault) {
	k := key{"leases", v1alpha1.Namespace, fmt.Sprintf("slot-%d", f.Number%max(1, w.script.Budget))}
	switch f.Kind {
	case "delete lease":
		w.api.remove("admin", k)
	case "clear lease":
		w.edit(k, func(t tree) {
			delete(child(t, "spec"), "holderIdentity")
			delete(child(t, "metadata", "annotations"), v1alpha1.ReservedForAnnotation)
		})
	case "garble lease":
		w.edit(k, func(t tree) { child(t, "spec")["holderIdentity"] = "nobody" })
		w.until(f, func() {
			if found := w.api.objects[k]; found != nil && child(clone(found.tree).(tree), "spec")["holderIdentity"] == "nobody" {
				w.api.remove("admin", k)
			}
		})
	case "unlabel lease":
		w.edit(k, func(t tree) { delete(metadata(t), "labels") })
	}
}

// forbid closes windows, or suspends the upgrade.
func (w *world) forbid(f fault) {
	switch f.Kind {
	case "close window":
		w.api.remove("admin", key{Resource: "maintenanceschedules", Name: "window"})
		w.until(f, func() { w.openWindow("window", w.script.Opens, w.script.Closes) })
	case "freeze":
		w.createSchedule("freeze", tree{"maintenanceExclusions": []any{w.period("freeze", w.now().Sub(w.started), w.now().Sub(w.started)+f.For)}})
	case "invalid schedule":
		period := w.period("invalid", 0, time.Hour)
		period["recurrence"] = "FREQ=NEVER"
		w.createSchedule("invalid", tree{"maintenanceWindows": []any{period}})
		w.until(f, func() { w.api.remove("admin", key{Resource: "maintenanceschedules", Name: "invalid"}) })
	case "suspend":
		k := key{Resource: "clusterupgrades", Name: "upgrade"}
		w.edit(k, func(t tree) { child(t, "spec")["suspend"] = true })
		w.until(f, func() { w.edit(k, func(t tree) { delete(child(t, "spec"), "suspend") }) })
	}
}

// evict reports whether a pod may be evicted.
func (w *world) evict(k key) error {
	found := w.api.objects[k]
	if found == nil {
		return nil
	}
	if n := w.node(text(child(clone(found.tree).(tree), "spec"), "nodeName")); n != nil && n.blocked {
		return apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
	}
	return nil
}

// repair ends all faults.
func (w *world) repair() {
	w.repaired = true
	w.tell("all faults are over")
	w.awayUntil = time.Time{}
	w.startCoordinator(0)
	w.apiDownUntil, w.findings, w.published = time.Time{}, nil, digest(1)
	for _, n := range w.nodes {
		n.blocked, n.failing = false, map[verb.Verb]int{}
		n.power()
		w.heal(n)
	}
	if c := w.coordinators[1]; c != nil {
		c.kill()
	}
	for i := range 4 {
		k := key{"leases", v1alpha1.Namespace, fmt.Sprintf("slot-%d", i)}
		if found := w.api.objects[k]; found != nil && child(clone(found.tree).(tree), "spec")["holderIdentity"] == "nobody" {
			w.api.remove("admin", k)
		}
	}
	w.edit(key{Resource: "clusterupgrades", Name: "upgrade"}, func(t tree) { delete(child(t, "spec"), "suspend") })
	w.api.remove("admin", key{Resource: "maintenanceschedules", Name: "freeze"})
	w.api.remove("admin", key{Resource: "maintenanceschedules", Name: "invalid"})
	w.openWindow("always", 0, 1000*time.Hour)
	for _, p := range w.programs() {
		p.traps = nil
		for _, v := range p.views {
			v.stalledUntil = time.Time{}
			v.list(len(w.api.log[v.resource]))
		}
		p.wake(0)
	}
}
