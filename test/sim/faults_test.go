package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// inject injects a fault.
func (w *world) inject(f fault) {
	if w.repaired {
		return
	}
	if f.Step != "" {
		w.waiting = append(w.waiting, f)
		return
	}
	w.note("FAULT %s", strings.TrimSpace(f.String()[9:]))
	w.explain(f)
	n := w.node(f.Who)
	switch f.Kind {
	case "crash agent", "crash coordinator", "lose reply", "stall", "miss", "interleave":
		w.injectProgram(f)
	case "stop coordinator":
		w.coordinatorStoppedUntil = w.now().Add(f.For)
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
		for _, n := range w.nodes {
			n.renew()
		}
		w.apiDownUntil = w.now().Add(f.For)
	case "delete lease", "clear lease", "garble lease", "unlabel lease", "edit lease":
		w.injectLease(f)
	case "close window", "freeze", "invalid schedule", "suspend":
		w.injectSchedule(f)
	case "edit strategy", "edit source", "delete policy":
		w.injectPolicy(f)
	case "close gate", "lose gate", "remove gates", "ignore gate":
		w.injectGate(f)
	case "job fails", "job hangs", "lose jobs", "delete cron job", "remove hooks":
		w.injectHook(f)
	case "odd kubelet", "odd jobs":
		w.injectText(f)
	case "set coordinators' clock":
		w.setCoordinatorsClock(f)
	case "leave pool", "switch node", "observe":
		w.injectSwitch(f)
	case "publish", "request patch", "request reboot", "take back", "retry", "approve", "budget":
		w.injectRequest(f)
	case "request renewal", "delete renewals", "freeze versions", "freeze certificates", "meet renewal":
		w.injectRenewal(f)
	case "join":
		if name := fmt.Sprintf("w%d", len(w.nodes)+10); len(w.nodes) < 14 {
			w.join(name, false)
		}
	case "delete nodeupgrade":
		w.api.remove("admin", key{Resource: "nodeupgrades", Name: f.Who})
	case "delete upgrade", "recreate upgrade":
		w.api.remove("admin", key{Resource: "clusterupgrades", Name: "upgrade"})
		if f.Kind == "recreate upgrade" {
			w.after(f.For/10, "create upgrade", w.createUpgrade)
		}
	case "republish":
		w.published = digest(2)
	case "ask for nobody":
		w.since["nobody"] = w.now().Add(f.For)
		if w.script.ClusterAPIDecides {
			w.ask()
		}
	case "finding":
		w.blockedSince = w.now()
		w.findings = []v1alpha1.Finding{{ID: "simulated", Level: v1alpha1.LevelBlock, Message: "something is wrong"}}
		w.until(f, func() { w.findings = nil })
	default:
		if n != nil {
			w.injectNode(n, f)
		} else if !slices.Contains(ofNodes, f.Kind) {
			w.broken("script", "there is no fault %q", f.Kind)
		}
	}
}

// entered injects the faults that wait for a node to enter a step, which its agent logs: a step that
// only passes is in no status.
func (w *world) entered(name string, step v1alpha1.Step) {
	w.waiting = slices.DeleteFunc(w.waiting, func(f fault) bool {
		if f.Step != step {
			return false
		}
		switch {
		case strings.HasPrefix(f.Who, "agent "):
			f.Who = "agent " + name
		case f.Kind == "power cut" && f.Other != "":
			f.Who = f.Other // another node, at that moment
		case !strings.HasSuffix(f.Who, "coordinator"):
			f.Who = name
		}
		f.Step = ""
		w.after(time.Duration(f.Number)*150*time.Millisecond, f.Kind, func() { w.inject(f) })
		return true
	})
}

// until has a fault end.
func (w *world) until(f fault, end func()) { w.after(f.For, "end of "+f.Kind, end) }

// injectSchedule closes windows, or suspends the upgrade.
func (w *world) injectSchedule(f fault) {
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
		for _, u := range w.upgrades() {
			k := key{Resource: "clusterupgrades", Name: u.Name}
			w.edit(k, func(t tree) { child(t, "spec")["suspend"] = true })
			w.until(f, func() { w.edit(k, func(t tree) { delete(child(t, "spec"), "suspend") }) })
		}
	}
}

// repair ends all faults.
func (w *world) repair() {
	w.repaired, w.since["repaired"] = true, w.now()
	w.note("all faults are over")
	w.coordinatorStoppedUntil = time.Time{}
	w.startCoordinator(0)
	w.approve(approved)
	w.apiDownUntil, w.findings, w.published = time.Time{}, nil, digest(1)
	w.since["nobody"] = time.Time{}
	w.createPolicy()
	w.openGates()
	w.unfollow()
	w.endHookFaults()
	w.endSwitches()
	w.endLies()
	w.coordinatorsClock, w.jobsSay = 0, ""
	for _, n := range w.nodes {
		clear(n.lost)
		w.endText(n)
		w.setHold(n, false)
		w.restoreImages(n)
		n.certificates.hangs = 0
		n.blocked, n.failing = false, map[verb.Verb]int{}
		n.power()
		w.heal(n)
		n.restartKubelet()
	}
	if c := w.coordinators[1]; c != nil {
		c.kill()
	}
	for i := range 4 {
		k := key{"leases", v1alpha1.Namespace, fmt.Sprintf("slot-%d", i)}
		if found := w.api.objects[k]; found != nil && child(clone(found.tree).(tree), "spec")["holderIdentity"] == "garbled" {
			w.api.remove("admin", k)
		}
	}
	for _, u := range w.upgrades() {
		w.edit(key{Resource: "clusterupgrades", Name: u.Name}, func(t tree) { delete(child(t, "spec"), "suspend") })
	}
	for _, name := range []string{"freeze", "freeze-versions", "freeze-certificates", "invalid"} {
		w.api.remove("admin", key{Resource: "maintenanceschedules", Name: name})
	}
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
