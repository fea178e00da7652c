package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// How old an answer of etcd may be.
const (
	etcdAge = 5 * time.Second
	// How often it is read for the NodeInventory, normally and while a member is unhealthy.
	etcdRefresh         = time.Minute
	etcdDegradedRefresh = 10 * time.Second
)

// etcdSense knows the health of etcd's members. A member may have failed after the node was released, and the
// coordinator may be unavailable.
type etcdSense struct {
	*Config
	host  *hostSense
	slots *slotSense

	facts *v1alpha1.EtcdFacts // nil: no member runs here
	at    time.Time           // when facts were requested; zero if there are none
	asked pendingRequest
	// dueSince is since when a reboot or a restart of the kubelet waits for an answer; zero: none does.
	dueSince time.Time
}

// add adds the health of the node and of its control plane, if machine needs it.
func (e *etcdSense) add(ctx context.Context, r *round) {
	if r.Host == nil {
		return
	}
	if machine.NeedsHealth(r.state, r.Observation) && e.check(ctx, r, r.state.Since) {
		r.Health = e.health(ctx, r)
	}
	e.refresh(ctx, r)
}

// check reports whether there is an answer that was requested at notBefore or later
// and is younger than etcdAge. Otherwise it requests one, and the caller retries when the
// verb has ended. It is always true on a node without a control plane and without etcd.
func (e *etcdSense) check(ctx context.Context, r *round, notBefore time.Time) bool {
	if !r.Host.OneAtATime {
		return true
	}
	seen := e
	r.wantsEtcd = true
	running, last, err := e.Host.Last(ctx, verb.Etcd)
	if err != nil {
		e.Log.WarnContext(ctx, "looking for etcd's answer", "node", e.Node, "error", err)
		return false
	}
	if running {
		return false
	}
	age := r.Now.Sub(seen.at)
	if seen.asked.open && last != nil && last.Key == seen.asked.key {
		seen.answer(last)
		// A new answer's age counts from when the verb ended: with members down the verb
		// takes as long as etcdAge.
		age = r.Now.Sub(last.FinishedAt)
	}
	if !seen.at.IsZero() && !seen.at.Before(notBefore) && age >= 0 && age < etcdAge { // less than 0: the clock was set back since
		return true
	}
	e.request(ctx, r.Now)
	return false
}

// request starts the verb that reads etcd's health.
func (e *etcdSense) request(ctx context.Context, now time.Time) {
	key := now.UTC().Format(time.RFC3339Nano)
	if err := e.host.start(ctx, verb.Etcd, key, verb.Input{}, false); err != nil {
		e.Log.WarnContext(ctx, "asking etcd", "node", e.Node, "error", err)
		return
	}
	e.asked = pendingRequest{key: key, at: now, open: true}
}

// isPaused reports whether etcd's health is not read for the NodeInventory, as a node is out of service: that node's
// member is expected to be down, and preflight would report it.
func (e *etcdSense) isPaused() bool { return e.slots.anyHeld() }

// refresh reads etcd's health periodically for the NodeInventory.
func (e *etcdSense) refresh(ctx context.Context, r *round) {
	if !r.Host.OneAtATime || e.isPaused() {
		return
	}
	age := etcdRefresh
	if degraded(e.facts) {
		age, r.wantsEtcd = etcdDegradedRefresh, true
	}
	if since := r.Now.Sub(e.at); since >= age || since < 0 { // less than 0: the clock was set back since
		e.check(ctx, r, time.Time{})
	}
}

// degraded reports whether a member is unhealthy or etcd's health is unknown.
func degraded(facts *v1alpha1.EtcdFacts) bool {
	return facts != nil && (facts.Problem != "" || slices.ContainsFunc(facts.Members, func(m v1alpha1.EtcdMember) bool { return !m.Healthy }))
}

func (e *etcdSense) answer(last *verb.Result) {
	e.asked.open, e.at = false, e.asked.at
	var out verb.EtcdOutput
	err := last.Decode(&out)
	switch {
	case !last.OK:
		e.facts = &v1alpha1.EtcdFacts{Problem: last.Message}
	case err != nil:
		e.facts = &v1alpha1.EtcdFacts{Problem: err.Error()}
	default:
		e.facts = out.Etcd
	}
}

// members returns this node's own member, which is the first, and the others. etcd always
// lists the member that answers.
func (e *etcdSense) members() (own v1alpha1.EtcdMember, others []v1alpha1.EtcdMember) {
	return e.facts.Members[0], e.facts.Members[1:]
}

// voters returns the voting members. This node's own has the node's name.
func (e *etcdSense) voters(node string) []clusterstate.StaticPod {
	var list []clusterstate.StaticPod
	own, others := e.members()
	own.Name = node
	for _, m := range append([]v1alpha1.EtcdMember{own}, others...) {
		if !m.Learner {
			list = append(list, clusterstate.StaticPod{Node: m.Name, Ready: m.Healthy})
		}
	}
	return list
}

// hold holds a node whose member etcd needs for its majority, or if that
// is not known, unless the upgrade ignores the check.
func (e *etcdSense) hold(r *round, upgrade v1alpha1.ClusterUpgradeSpec) clusterstate.Hold {
	facts := e.facts
	if r.Host == nil || !r.Host.OneAtATime || facts == nil || upgrade.Ignores(rules.EtcdQuorum) {
		return clusterstate.Hold{}
	}
	if facts.Problem != "" {
		return clusterstate.Hold{Reason: v1alpha1.ReasonEtcdQuorum, Message: "could not determine whether etcd keeps its majority without this node: " + facts.Problem}
	}
	voters := e.voters(e.Node)
	check := rules.Etcd
	if r.Spec.Type == v1alpha1.TypeCertificates {
		check = rules.EtcdForRenewal
	}
	hold := check(voters, len(voters), e.Node)
	if hold.Reason != "" {
		_, others := e.members()
		hold.Message += describeUnhealthy(others)
	}
	return hold
}

// majorityWithin is how long an answer of etcd before a reboot may take, until the status says that it is missing.
const majorityWithin = 30 * time.Second

// keepsMajority returns an error if etcd would lose its majority while this node is away, or if that cannot be told.
// It asks etcd before each request for a reboot and for a restart of the kubelet: members may have failed since the
// last check, or since the last request. answered is false while the answer is on its way.
func (e *etcdSense) keepsMajority(ctx context.Context, r *round) (answered bool, refused error) {
	if member := r.Host != nil && r.Host.OneAtATime; !member {
		return true, nil
	}
	due := &e.dueSince
	if due.IsZero() || due.After(r.Now) {
		*due = r.Now
	}
	if !e.check(ctx, r, *due) {
		if r.Now.Sub(*due) < majorityWithin {
			return false, nil
		}
		why := cmp.Or(e.host.startFailures[verb.Etcd].Message, "it has not answered for "+majorityWithin.String())
		return true, host.Fail(v1alpha1.ReasonEtcdQuorum, "could not determine whether etcd keeps its majority without this node: %s", why)
	}
	*due = time.Time{}
	hold := e.hold(r, v1alpha1.ClusterUpgradeSpec{})
	if !hold.Holds() || e.ignoresMajority(ctx, r) {
		return true, nil
	}
	return true, host.Fail(hold.Reason, "%s", hold.Message)
}

// ignoresMajority reports whether the upgrade that the node carries out is known to ignore that check.
func (e *etcdSense) ignoresMajority(ctx context.Context, r *round) bool {
	if r.state.Upgrade.UID == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, abandonedTimeout)
	defer cancel()
	upgrade, err := e.upgradeOf(ctx, &r.state.Upgrade)
	return err == nil && upgrade != nil && upgrade.Spec.Ignores(rules.EtcdQuorum)
}

// describeUnhealthy returns the problems of unhealthy members, for a message.
func describeUnhealthy(members []v1alpha1.EtcdMember) string {
	text := ""
	for _, m := range members {
		if !m.Healthy {
			text += fmt.Sprintf("; member %s %s", m.Name, m.Problem)
		}
	}
	return text
}
