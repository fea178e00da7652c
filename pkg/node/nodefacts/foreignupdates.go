package nodefacts

import (
	"slices"
	"strings"
)

// Names of systemd-sysupdate's timer and service. Up to systemd 261 they have the first;
// since 262 that is an alias of the second, and a mask of an alias masks nothing.
const (
	sysupdate       = "systemd-sysupdate"
	sysupdateUpdate = "systemd-sysupdate-update"
)

// foreignUpdates collects what else may fetch images on the node, merge them or reboot it:
// the units of systemd-sysupdate, and locksmithd.
func (g *gatherer) foreignUpdates() {
	for _, name := range []string{sysupdate, sysupdateUpdate} {
		for _, suffix := range []string{".service", ".timer"} {
			for _, path := range g.dropIns(name + suffix) {
				if !strings.HasPrefix(path, "/usr/lib/") { // the operating system's own
					g.facts.SysupdateTimerDropIns = append(g.facts.SysupdateTimerDropIns, path)
				}
			}
		}
	}
	slices.Sort(g.facts.SysupdateTimerDropIns)
	const timer = sysupdateUpdate + ".timer"
	if g.unit(sysupdate+".timer").masked && g.unitState(timer) == "enabled" {
		g.facts.SysupdateTimerUnmasked = timer
	}
	g.facts.SysextRefreshSocket = g.unitState("systemd-sysupdate-notify-sysext.socket")
	g.facts.Locksmithd = g.unitState("locksmithd.service")
}

// unitState returns masked, enabled or disabled, or an empty string if there is no such
// unit. A unit that a link below /usr starts, as Flatcar's own, is enabled; systemctl
// is-enabled calls it disabled.
func (g *gatherer) unitState(name string) string {
	u := g.unit(name)
	switch {
	case u.fragment == "":
		return ""
	case u.masked:
		return "masked"
	case g.wanted(name):
		return "enabled"
	default:
		return "disabled"
	}
}
