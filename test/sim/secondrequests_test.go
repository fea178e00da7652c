package sim

import (
	"math/rand/v2"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// An action whose first request has no effect is requested a second time. What the first one went by may not
// hold any more.

// requestedIn has the step before which the first request of each action gets lost.
var requestedIn = []struct {
	action string
	step   v1alpha1.Step
}{
	{"reboot", v1alpha1.StepLastCheck}, {"reboot", v1alpha1.StepLastCheck}, {"reboot", v1alpha1.StepLastCheck},
	{string(verb.Restart), v1alpha1.StepLastCheck}, {string(verb.Activate), v1alpha1.StepLastCheck},
	{string(verb.Kubeadm), v1alpha1.StepLocking}, {string(verb.Snapshot), v1alpha1.StepLocking},
}

// meanwhile are the faults by which conditions of an action change between its two requests. Lost majority is
// that another control plane loses power.
var meanwhile = []string{
	"lost majority", "lost majority", "lost majority", "abandon", "abandon", "freeze", "suspend", "delete policy", "edit source", "delete nodeupgrade", "hold",
	"replace upgrade",
}

// anySecondRequests returns actions whose first request gets lost, and what changes then, in one seed of five.
func anySecondRequests(s script) (list []fault) {
	r := rand.New(rand.NewPCG(s.Seed, 18))
	if r.IntN(5) > 0 {
		return nil
	}
	names := s.nodes()
	for range 1 + r.IntN(2) {
		action := requestedIn[r.IntN(len(requestedIn))]
		list = append(list, fault{
			At: early(r.Float64()*r.Float64(), s.Lasts/2), Kind: "request lost", Who: names[r.IntN(len(names))], Step: action.step, Other: action.action,
			Number: r.IntN(len(meanwhile)), After: r.IntN(3) == 0, For: []time.Duration{2 * time.Minute, 6 * time.Minute, 8 * time.Minute}[r.IntN(3)],
		})
	}
	return list
}

// anyLostMajority has a control plane's member of etcd fail between the last check of another one and the second
// request for its reboot or restart, in one of two seeds with three.
func anyLostMajority(s *script) {
	r := rand.New(rand.NewPCG(s.Seed, 23))
	if s.ControlPlanes != 3 || r.IntN(2) == 0 {
		return
	}
	action := "reboot"
	if s.Restart {
		action = string(verb.Restart)
	}
	s.Lasts = max(s.Lasts, s.Opens+20*time.Minute)
	s.Faults = append(s.Faults, fault{
		At: early(r.Float64()*r.Float64(), s.Lasts/4), Kind: "request lost", Who: s.nodes()[0], Step: v1alpha1.StepLastCheck, Other: action,
		For: 8 * time.Minute, After: r.IntN(4) == 0, // meanwhile begins with a lost majority
	})
}

// loseRequest has the next request of an action have no effect, and something else happen. If After is set, the
// agent does not run meanwhile.
func (w *world) loseRequest(n *node, f fault) {
	n.lost[f.Other] = func() {
		w.note("the request of %s for %s has no effect", n.name, f.Other)
		if f.After {
			w.kill(n, f.For/2)
		}
		changed := fault{Kind: meanwhile[f.Number%len(meanwhile)], Who: n.name, For: f.For}
		switch changed.Kind {
		case "lost majority":
			changed.Kind, changed.Who = "power cut", ""
			for _, other := range w.controlPlanes() {
				if other != n && other.on && n.controlPlane {
					changed.Who = other.name
				}
			}
		case "replace upgrade":
			changed.Kind = "recreate upgrade"
		}
		w.after(time.Second, changed.Kind, func() { w.inject(changed) })
	}
}

// losesRequest reports whether the request of an action has no effect.
func (n *node) losesRequest(action string) bool {
	then := n.lost[action]
	if then == nil {
		return false
	}
	delete(n.lost, action)
	then()
	return true
}

// kill ends the node's agent, which starts again after a while.
func (w *world) kill(n *node, d time.Duration) {
	if a := w.agents[n.uid]; a != nil && !a.isDead {
		a.kill()
		a.restart = func() {}
		w.after(d, "start agent "+n.name, func() { w.startAgent(n) })
	}
}

// checkRestart checks a restart of the kubelet by an agent. It passed the last check, but for what only this
// moment can tell.
func (w *world) checkRestart(a *agentProgram) {
	w.checkAbandonedReboot(a)
	if !w.givenUp(a.node) {
		w.checkOthers(a.node, "restarts its kubelet")
	}
}
