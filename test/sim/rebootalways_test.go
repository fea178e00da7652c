package sim

import (
	"fmt"
	"math/rand/v2"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// A Reboot with the rebootPolicy Always reboots nodes that do not ask for it: no operating system then says that a node
// has been rebooted.

// anyAlways reports whether the Reboot of the script is one, as every second is.
func anyAlways(s script) bool {
	return s.Reboot && rand.New(rand.NewPCG(s.Seed, 29)).IntN(2) == 0
}

// checkEndsBoot checks a reboot that an agent asks for by such a Reboot: the first boot in which it does so for the
// upgrade is the only one, and is the one that the upgrade fixed at its trigger.
func (w *world) checkEndsBoot(n *node, u *v1alpha1.ClusterUpgrade) {
	if boot := u.Status.BootOf(n.name); n.bootID() != boot {
		w.broken("reboot", "%s is in boot %s and reboots for upgrade %s, which ends boot %s", n.name, n.bootID(), u.Name, boot)
	}
	once := fmt.Sprintf("%s of %s", u.UID, n.uid)
	if boot, before := w.ended[once]; before && boot != n.boots {
		w.broken("reboot", "%s reboots for upgrade %s once more", n.name, u.Name)
	}
	w.ended[once] = n.boots
}

// checkBootsEnded checks such a Reboot that has just succeeded: no node is in the boot that it was to end.
func (w *world) checkBootsEnded(u *v1alpha1.ClusterUpgrade) {
	for _, n := range w.nodes {
		if nu := w.nodeUpgrade(n.name); n.removed || nu == nil || nu.Abandoned != nil || w.lied[n.name] || n.unmanaged || w.now().Sub(w.since["unmanaged "+n.uid]) <= grace {
			continue
		}
		if boot := u.Status.BootOf(n.name); n.on && boot != "" && n.bootID() == boot {
			w.broken("reboot", "upgrade %s, a Reboot, succeeds, and %s is still in boot %s, which it was to end", u.Name, n.name, boot)
		}
	}
	if len(u.Status.Boots) == 0 && u.Spec.AlwaysReboots() {
		w.broken("reboot", "upgrade %s reboots nodes whether they ask or not, and has succeeded without one", u.Name)
	}
}
