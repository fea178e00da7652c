package sim

import (
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// A person touches or removes /run/reboot-required, and asks for a Reboot right after that. An agent looks at the file
// every five minutes: what it has said before is older than the question.

// anyTouches returns such files, in one seed of eight.
func anyTouches(s script) []fault {
	r := rand.New(rand.NewPCG(s.Seed, 25))
	if r.IntN(8) > 0 {
		return nil
	}
	names := s.nodes()
	f := fault{
		At: s.Lasts / 20 * time.Duration(r.IntN(16)), Kind: "touch reboot file", Who: names[r.IntN(len(names))], For: time.Duration(1000+r.IntN(2000)) * time.Millisecond,
	}
	switch {
	case s.Reboot: // the file is there from the start on, and the request comes after ten seconds
		f.At, f.Kind = time.Duration(5+r.IntN(5))*time.Second, "remove reboot file"
	case r.IntN(3) == 0:
		f.At, f.Kind = f.At/2, "remove reboot file"
	}
	return []fault{f}
}

// touchRebootFile touches or removes the file, of which no signal tells the agent, and asks for a Reboot a moment later.
// What is removed has been there for so long that the agent knows it.
func (w *world) touchRebootFile(n *node, f fault) {
	switch {
	case w.repaired || n.removed || !n.on:
		return
	case f.Kind == "remove reboot file" && !n.osReboot:
		n.ask(&n.osReboot)
		w.after(330*time.Second, f.Kind, func() {
			if n.osReboot {
				w.touchRebootFile(n, f)
			}
		})
		return
	}
	n.osReboot, n.asksSince = f.Kind == "touch reboot file", w.now()
	w.until(f, func() { w.request("touched", w.upgradeSpec("")) })
}

// checkRebooted checks a Reboot that a person has asked for, and that has just succeeded: no node asks for a reboot that
// did so before the request.
func (w *world) checkRebooted(u *v1alpha1.ClusterUpgrade) {
	if _, byItself := u.Annotations[v1alpha1.CreatedByAnnotation]; byItself || u.Spec.Type != v1alpha1.TypeReboot {
		return
	}
	for _, n := range w.nodes {
		object := get[*corev1.Node](w.api, key{Resource: "nodes", Name: n.name})
		nu := w.nodeUpgrade(n.name)
		concerned := object != nil && string(object.UID) == n.uid && object.CreationTimestamp.Before(&u.CreationTimestamp) && !n.unmanaged && w.now().Sub(w.since["unmanaged "+n.uid]) > grace
		if !concerned || nu == nil || !nu.Spec.Managed || nu.Abandoned != nil || w.lied[n.name] {
			continue
		}
		if (n.osReboot || n.updateEngine) && n.on && n.asksSince.Before(u.CreationTimestamp.Time) {
			w.broken("reboot", "upgrade %s, a Reboot, succeeds, and %s has asked for one since before the request", u.Name, n.name)
		}
	}
}

// checkNeedsReboot checks that a node is not rebooted by a Reboot if it has asked for none since before the request.
func (w *world) checkNeedsReboot(a *agentProgram) {
	n, u := a.node, w.upgradeOf(a)
	if u != nil && u.Status.BootOf(n.name) != "" {
		w.checkEndsBoot(n, u)
		return
	}
	if u != nil && u.Spec.Type == v1alpha1.TypeReboot && !n.osReboot && !n.updateEngine && n.asksSince.Before(u.CreationTimestamp.Time) {
		w.broken("reboot", "%s reboots for upgrade %s, and has not asked for a reboot since before the request", n.name, u.Name)
	}
}
