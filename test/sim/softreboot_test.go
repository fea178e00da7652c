package sim

import "context"

// SoftReboot is logind's.
func (h hostOf) SoftReboot(context.Context) error {
	if h.agent.dead() {
		return errDead
	}
	h.w.checkReboot(h.agent)
	h.w.checkSoftReboot(h.agent)
	if !h.losesRequest("reboot") && h.w.script.Soft[h.name] != softNothing {
		h.softReboot()
	}
	return nil
}

// softReboot stops everything but the kernel, and starts it again.
func (n *node) softReboot() {
	if !n.on || n.shutting {
		return
	}
	n.shutting, n.ours, n.changedAt = true, true, n.w.now()
	n.w.note("%s soft-reboots", n.name)
	boot := n.boots
	n.w.after(shutdownTakes, "soft reboot "+n.name, func() {
		if n.on && n.boots == boot {
			former := n.merged
			n.cut()
			n.verified, n.on, n.shutting = "", true, false
			n.boots, n.softs = n.boots+1, n.softs+1
			n.startSoftly(former)
		}
	})
}

func (n *node) startSoftly(former string) {
	boot := n.boots
	n.w.after(softTakes, "start "+n.name, func() {
		switch {
		case !n.on || n.boots != boot:
		case n.w.script.Soft[n.name] == softFormer:
			n.putBackAtBoot()
			n.merged = former
			n.startGuard()
			n.startKubelet()
		default:
			n.merge()
		}
	})
}

// checkSoftReboot checks that a node is not soft-rebooted that cannot be, or whose kernel is
// to be replaced.
func (w *world) checkSoftReboot(a *agentProgram) {
	n := a.node
	if u := w.upgradeOf(a); !w.script.SoftReboot || u != nil && u.Spec.Version == "" {
		w.broken("method", "%s soft-reboots, and that was not asked for", n.name)
	}
	if w.script.Soft[n.name] == softImpossible {
		w.broken("method", "%s soft-reboots, and cannot", n.name)
	}
	if (n.osReboot || n.updateEngine) && n.asksSince.Before(n.factsAt) && n.factsAt.Before(a.ranAt) {
		w.broken("method", "%s soft-reboots, and its operating system asks for a reboot", n.name)
	}
}
