package agent

import (
	"context"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/etcd"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/hostverb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// How old an answer of etcd may be.
const (
	etcdAge = 5 * time.Second
	// For preflight, which reads it in the status, and where something is wrong.
	etcdTold      = time.Minute
	etcdToldAmiss = 10 * time.Second
)

// etcdView is what etcd's members said last. One may have broken since the node
// was let go, with no coordinator to call it back.
type etcdView struct {
	facts  *v1alpha1.EtcdFacts // nil: no member runs here
	at     time.Time           // when that was asked for; zero: nothing is known
	asked  question
	wanted bool // this turn needs an answer
}

// lookAtEtcd reports whether there is an answer that is fresh, and was asked for
// not before since. Otherwise it has the host ask, and the caller looks again when
// the answer is there. Only control planes have a member.
func (a *Agent) lookAtEtcd(ctx context.Context, o machine.Observation, since time.Time) bool {
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
	if seen.asked.open && last != nil && last.Key == seen.asked.key {
		seen.answer(last)
		// Members that are down let the question wait for as long as an answer
		// may be old: it counts from when it came.
		if !seen.at.Before(since) && o.Now.Sub(last.FinishedAt) < etcdAge {
			return true
		}
	}
	if !seen.at.IsZero() && !seen.at.Before(since) && o.Now.Sub(seen.at) < etcdAge {
		return true
	}
	key := o.Now.UTC().Format(time.RFC3339Nano)
	if err := a.start(ctx, verb.Etcd, key, hostverb.Order{}); err != nil {
		a.Log.WarnContext(ctx, "asking etcd", "node", a.Node, "error", err)
		return false
	}
	seen.asked = question{key: key, at: o.Now, open: true}
	return false
}

// keepEtcdKnown asks now and then, for those who read the inventory. Not while a node
// is out of service: that its member is away is no news, and preflight would hold
// the next one by it.
func (a *Agent) keepEtcdKnown(ctx context.Context, o machine.Observation) {
	if !o.Host.ControlPlane || a.someSlotHeld() {
		return
	}
	age := etcdTold
	if amiss(a.etcd.facts) {
		age, a.etcd.wanted = etcdToldAmiss, true
	}
	if o.Now.Sub(a.etcd.at) >= age {
		a.lookAtEtcd(ctx, o, time.Time{})
	}
}

// amiss reports whether a member is not well, or that is not known.
func amiss(facts *v1alpha1.EtcdFacts) bool {
	return facts != nil && (facts.Problem != "" || slices.ContainsFunc(facts.Members, func(m v1alpha1.EtcdMember) bool { return !m.Healthy }))
}

// someSlotHeld reports whether any node may be out of service by our doing.
func (a *Agent) someSlotHeld() bool {
	return slices.ContainsFunc(a.leases.GetStore().List(), func(object any) bool {
		s, err := slot.FromLease(object.(*coordinationv1.Lease))
		return err != nil || s.Holder != (fleet.Owner{})
	})
}

func (v *etcdView) answer(last *host.Result) {
	v.asked.open, v.at = false, v.asked.at
	var out etcd.HealthOutput
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
