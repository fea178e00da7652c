package sim

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/guard"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// The guard. Package guard decides; what package rollback does is modelled here.

func (n *node) armGuard(a verbArgs) {
	from := n.merged
	if from == "" {
		from = n.active
	}
	if g := n.guardRecord; g != nil && g.BootID == n.bootName() && g.To == a.Version && (n.active == a.Version || g.Upgrade == a.Upgrade) {
		from = g.From
	} else if from == a.Version {
		return
	}
	within := time.Duration(a.GuardWithin)
	if within == 0 {
		within = 3 * time.Minute
	}
	n.guardRecord = &host.Guard{Upgrade: a.Upgrade, Method: v1alpha1.Method(a.Method), From: from, To: a.Version, BootID: n.bootName(), Within: within}
	n.armed, n.rollback, n.culprit, n.guardBoots, n.tried = true, nil, "", 0, guard.Tried{}
}

func (n *node) startGuard() {
	if !n.armed || n.guards {
		return
	}
	n.guards, n.guardStart, n.findingSince, n.foundHealthy, n.answersSince = true, n.w.now(), 0, false, time.Time{}
	n.tried.At = 0
	n.guardBoots++
	n.guardLater()
}

func (n *node) guardLater() {
	boot := n.boots
	n.w.after(guardPause, "guard "+n.name, func() {
		if n.on && n.boots == boot && n.guards && !n.shutting {
			n.guard()
		}
	})
}

func (n *node) guard() {
	if !n.armed {
		n.guards = false
		return
	}
	g := n.guardRecord
	a := guard.Activation{From: g.From, To: g.To, Limit: g.Within, ByReboot: g.Method != v1alpha1.MethodRestart}
	o := guard.Observation{
		Elapsed: n.w.now().Sub(n.guardStart), Rebooted: g.BootID != n.bootName(), Active: n.active, Merged: n.merged,
		Boots: n.guardBoots, FormerGone: n.installed[g.From] == "", Health: n.guardHealth(), Tried: n.tried,
	}
	if !n.firstStart.IsZero() {
		o.KubeletStarted = max(n.firstStart.Sub(n.guardStart), 1)
	}
	if n.noRuntime {
		o.Runtime = "containerd has failed"
	}
	switch now := n.w.now(); {
	case n.partitioned || !n.w.apiUp():
		n.answersSince = time.Time{}
	case n.answersSince.IsZero():
		n.answersSince = now
	default:
		o.Answers = now.Sub(n.answersSince)
	}
	if r := n.rollback; r != nil {
		o.Returning, o.Returned = r.FinishedAt.IsZero(), !r.FinishedAt.IsZero()
		o.RebootedSince, o.Reboots = r.BootID != n.bootName(), r.Reboots
	}
	if healthy := guard.Problem(a, o) == ""; healthy != n.foundHealthy {
		n.foundHealthy, n.findingSince = healthy, o.Elapsed
	}
	o.Watched, o.Steady = o.Elapsed, o.Elapsed-n.findingSince
	if guard.Survived(a, o) {
		n.guardBoots = 0
	}
	switch verdict, why := guard.Decide(a, o); verdict {
	case guard.Leave:
		n.guards = false
		return
	case guard.Disarm:
		n.armed, n.guards = false, false
		return
	case guard.Restore:
		n.kubeadm = ""
		n.rollback.FinishedAt = n.w.now()
		n.armed, n.guards = false, false
		n.w.note("%s was returned to %s by its guard", n.name, g.From)
		return
	case guard.Stay:
		n.recordRollback(a, o, why)
		n.rollback.FinishedAt, n.rollback.Impossible = n.w.now(), true
		n.rollback.NodesFault, n.culprit = n.rollback.NodesFault || guard.NodesFault(a, o), n.findCulprit()
		n.armed, n.guards = false, false
		return
	case guard.Merge:
		n.tried.Merge, n.tried.At = true, max(o.Elapsed, 1)
		if n.refresh(); n.merged != g.To {
			n.tried.MergeFailure = n.notMerged()
		}
	case guard.Return:
		n.recordRollback(a, o, why)
		n.rollBack()
	}
	n.guardLater()
}

func (n *node) guardHealth() guard.Health {
	var h guard.Health
	switch {
	case n.kubelet == "":
		h.Kubelet = "the kubelet does not run"
	case n.controlPlane && !n.podsUp:
		h.StaticPods = "the static pods do not run"
	case !n.ready && !n.partitioned && n.w.apiUp():
		h.API = "the API server says NotReady"
	}
	return h
}

// recordRollback records that the guard returns the node, or cannot, unless it has before.
func (n *node) recordRollback(a guard.Activation, o guard.Observation, why string) {
	if n.rollback != nil {
		return
	}
	g := n.guardRecord
	n.w.note("the guard of %s does not find it healthy with %s: %s", n.name, g.To, why)
	n.rollback = &verb.Rollback{Upgrade: g.Upgrade, From: g.From, To: g.To, Message: why, StartedAt: n.w.now(), NodesFault: guard.NodesFault(a, o)}
	n.culprit = n.findCulprit()
}

func (n *node) rollBack() {
	g := n.guardRecord
	n.rollback.BootID = n.bootName()
	n.kubeadm, n.active = "", g.From
	if n.merged == "" && g.BootID != n.bootName() {
		if n.refresh(); n.merged == "" {
			n.tried.FormerFailure = n.notMerged()
		}
		return
	}
	if g.Method != v1alpha1.MethodRestart || n.merged == g.From || n.odd {
		n.rollback.Reboots++
		n.shutdown(true, "its guard returns it to "+g.From)
		return
	}
	n.merged = g.From
	n.startKubelet()
}

// refresh merges the active image without a reboot.
func (n *node) refresh() {
	if n.merged = n.mergeable(); n.merged != "" {
		n.startKubelet()
	} else if n.odd {
		n.oddBoot = true // removing the extension merges what it has kept from being merged
	}
}
