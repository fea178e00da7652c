package nodefacts

import (
	"slices"
	"strings"
)

// foreignUpdates collects what else may fetch images on the node or reboot it: drop-ins of
// Flatcar's own timer, and locksmithd.
func (g *gatherer) foreignUpdates() {
	for _, name := range []string{"systemd-sysupdate.service", "systemd-sysupdate.timer"} {
		for _, path := range g.dropIns(name) {
			if !strings.HasPrefix(path, "/usr/lib/") { // the operating system's own
				g.facts.SysupdateTimerDropIns = append(g.facts.SysupdateTimerDropIns, path)
			}
		}
	}
	slices.Sort(g.facts.SysupdateTimerDropIns)
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
