package agent

import (
	"context"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/slot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// How old an answer of etcd may be.
const (
	etcdAge = 5 * time.Second
	// How often it is read for the NodeInventory, normally and while a member is unhealthy.
	etcdRefresh         = time.Minute
	etcdDegradedRefresh = 10 * time.Second
)

// etcdView is the last known health of etcd's members. A member may have failed after the
// node was released, and the coordinator may be unavailable.
type etcdView struct {
	facts  *v1alpha1.EtcdFacts // nil: no member runs here
	at     time.Time           // when facts were requested; zero if there are none
	asked  question
	wanted bool // this reconcile needs an answer
}

// checkEtcd reports whether there is an answer that was requested at notBefore or later
// and is younger than etcdAge. Otherwise it requests one, and the caller retries when the
// verb has ended. It is always true on a worker.
func (a *Agent) checkEtcd(ctx context.Context, o machine.Observation, notBefore time.Time) bool {
	if !o.Host.ControlPlane {
		return true
	}
	seen := &a.etcd
	seen.wanted = true
	running, last, err := a.Host.Last(ctx, verb.Etcd)
	if err != nil {
		a.Log.WarnContext(ctx, "looking for etcd's answer", "node", a.Node, "error", err)
		return false
	}
	if running {
		return false
	}
	age := o.Now.Sub(seen.at)
	if seen.asked.open && last != nil && last.Key == seen.asked.key {
		seen.answer(last)
		// A new answer's age counts from when the verb ended: with members down the verb
		// takes as long as etcdAge.
		age = o.Now.Sub(last.FinishedAt)
	}
	if !seen.at.IsZero() && !seen.at.Before(notBefore) && age < etcdAge {
		return true
	}
	a.requestEtcd(ctx, o.Now)
	return false
}

// requestEtcd starts the verb that reads etcd's health.
func (a *Agent) requestEtcd(ctx context.Context, now time.Time) {
	key := now.UTC().Format(time.RFC3339Nano)
	if err := a.start(ctx, verb.Etcd, key, verb.Input{}); err != nil {
		a.Log.WarnContext(ctx, "asking etcd", "node", a.Node, "error", err)
		return
	}
	a.etcd.asked = question{key: key, at: now, open: true}
}

// refreshEtcd reads etcd's health periodically for the NodeInventory. It does not while a
// node is out of service: that node's member is expected to be down, and preflight would
// report it.
func (a *Agent) refreshEtcd(ctx context.Context, o machine.Observation) {
	if !o.Host.ControlPlane || a.anySlotHeld() {
		return
	}
	age := etcdRefresh
	if etcdDegraded(a.etcd.facts) {
		age, a.etcd.wanted = etcdDegradedRefresh, true
	}
	if o.Now.Sub(a.etcd.at) >= age {
		a.checkEtcd(ctx, o, time.Time{})
	}
}

// etcdDegraded reports whether a member is unhealthy or etcd's health is unknown.
func etcdDegraded(facts *v1alpha1.EtcdFacts) bool {
	return facts != nil && (facts.Problem != "" || slices.ContainsFunc(facts.Members, func(m v1alpha1.EtcdMember) bool { return !m.Healthy }))
}

// anySlotHeld reports whether a node may be out of service for an upgrade.
func (a *Agent) anySlotHeld() bool {
	return slices.ContainsFunc(a.leases.leases(), func(lease *coordinationv1.Lease) bool {
		s, err := slot.FromLease(lease)
		return err != nil || s.Holder != (fleet.Owner{})
	})
}

func (v *etcdView) answer(last *verb.Result) {
	v.asked.open, v.at = false, v.asked.at
	var out verb.EtcdOutput
	err := last.Decode(&out)
	switch {
	case !last.OK:
		v.facts = &v1alpha1.EtcdFacts{Problem: last.Message}
	case err != nil:
		v.facts = &v1alpha1.EtcdFacts{Problem: err.Error()}
	default:
		v.facts = out.Etcd
	}
}
