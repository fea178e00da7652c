package nodefacts

import (
	"slices"
	"strings"
)

// foreignUpdates are what else on the node may fetch images or reboot it:
// Flatcar's own timer, with drop-ins that were added to it, and locksmithd.
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

// unitState is masked, enabled or disabled, or empty where there is no such
// unit. systemctl's is-enabled knows nothing of links below /usr, by which
// Flatcar starts its own units, and calls such a unit disabled.
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
