package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
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
	// dueSince is since when a reboot or a restart of the kubelet waits for an answer; zero: none does.
	dueSince time.Time
}

// checkEtcd reports whether there is an answer that was requested at notBefore or later
// and is younger than etcdAge. Otherwise it requests one, and the caller retries when the
// verb has ended. It is always true on a node without a control plane and without etcd.
func (a *Agent) checkEtcd(ctx context.Context, o machine.Observation, notBefore time.Time) bool {
	if !o.Host.OneAtATime {
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
	if !seen.at.IsZero() && !seen.at.Before(notBefore) && age >= 0 && age < etcdAge { // less than 0: the clock was set back since
		return true
	}
	a.requestEtcd(ctx, o.Now)
	return false
}

// requestEtcd starts the verb that reads etcd's health.
func (a *Agent) requestEtcd(ctx context.Context, now time.Time) {
	key := now.UTC().Format(time.RFC3339Nano)
	if err := a.start(ctx, verb.Etcd, key, verb.Input{}, false); err != nil {
		a.Log.WarnContext(ctx, "asking etcd", "node", a.Node, "error", err)
		return
	}
	a.etcd.asked = question{key: key, at: now, open: true}
}

// refreshEtcd reads etcd's health periodically for the NodeInventory. It does not while a
// node is out of service: that node's member is expected to be down, and preflight would
// report it.
func (a *Agent) refreshEtcd(ctx context.Context, o machine.Observation) {
	if !o.Host.OneAtATime || a.anySlotHeld() {
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

// readEtcdSnapshot reads the result of the verb snapshot, for the status.
func (a *Agent) readEtcdSnapshot(last *verb.Result, o *machine.Observation) {
	var out verb.SnapshotOutput
	if err := last.Decode(&out); err != nil {
		work := o.Work[verb.Snapshot]
		work.OK, work.Message = false, "what the snapshot left cannot be read: "+err.Error()
		o.Work[verb.Snapshot] = work
		return
	}
	o.EtcdSnapshot = &v1alpha1.EtcdSnapshot{
		Node: a.Node, Path: out.Path, Digest: v1alpha1.DigestOf(out.SHA256), CreationTime: *timeOf(out.TakenAt),
	}
}

// health returns the health of this node and its control plane. A static pod's Ready
// condition is enough, as the kubelet probes it; etcd's members were asked directly.
func (a *Agent) health(ctx context.Context, o machine.Observation) *machine.Health {
	if err := a.unhealthy(ctx, o); err != nil {
		return &machine.Health{Message: err.Error()}
	}
	return &machine.Health{OK: true}
}

func (a *Agent) unhealthy(ctx context.Context, o machine.Observation) error {
	if !o.Node.Ready {
		return fmt.Errorf("the node is not Ready")
	}
	if o.Host.KubeletProblem != "" {
		return errors.New(o.Host.KubeletProblem)
	}
	if !o.Host.ControlPlane {
		return a.etcdHealth()
	}
	ctx, cancel := context.WithTimeout(ctx, gateTimeout)
	defer cancel()
	pods, err := a.Kubelet.Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{
		LabelSelector: "tier=control-plane",
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", a.Node).String(),
	})
	if err != nil {
		return fmt.Errorf("listing this node's static pods: %w", err)
	}
	byComponent := map[string]*corev1.Pod{}
	for i := range pods.Items {
		if pod := &pods.Items[i]; fleet.IsStaticPod(pod) {
			byComponent[pod.Labels["component"]] = pod
		}
	}
	for _, component := range host.ControlPlaneComponents {
		pod := byComponent[component]
		switch {
		case pod == nil:
			return fmt.Errorf("found no %s pod", component)
		case o.Spec.Type != v1alpha1.TypeReboot && a.state.Follows(o.Spec) && !version.AtLeast(fleet.StaticPodVersion(pod), o.Spec.Version):
			return fmt.Errorf("%s is still at %s", component, fleet.StaticPodVersion(pod))
		case !fleet.PodReady(pod):
			return fmt.Errorf("%s is not Ready", component)
		}
	}
	// etcd's version is not compared, because kubeadm decides when to change it. A member
	// that answers may still wait for its pod's probes, and preflight would find it
	// unready.
	if pod := byComponent["etcd"]; pod != nil && !fleet.PodReady(pod) {
		return fmt.Errorf("etcd is not Ready")
	}
	return a.etcdHealth()
}

// members returns this node's own member, which is the first, and the others. etcd always
// lists the member that answers.
func (v *etcdView) members() (own v1alpha1.EtcdMember, others []v1alpha1.EtcdMember) {
	return v.facts.Members[0], v.facts.Members[1:]
}

// voters returns the voting members. This node's own has the node's name.
func (v *etcdView) voters(node string) []fleet.StaticPod {
	var list []fleet.StaticPod
	own, others := v.members()
	own.Name = node
	for _, m := range append([]v1alpha1.EtcdMember{own}, others...) {
		if !m.Learner {
			list = append(list, fleet.StaticPod{Node: m.Name, Ready: m.Healthy})
		}
	}
	return list
}

// etcdHold holds a node whose member etcd needs for its majority, or if that
// is not known, unless the upgrade ignores the check.
func (a *Agent) etcdHold(o machine.Observation, upgrade v1alpha1.ClusterUpgradeSpec) fleet.Hold {
	facts := a.etcd.facts
	if o.Host == nil || !o.Host.OneAtATime || facts == nil || upgrade.Ignores(rules.EtcdQuorum) {
		return fleet.Hold{}
	}
	if facts.Problem != "" {
		return fleet.Hold{Reason: v1alpha1.ReasonEtcdQuorum, Message: "could not determine whether etcd keeps its majority without this node: " + facts.Problem}
	}
	voters := a.etcd.voters(a.Node)
	hold := rules.Etcd(voters, len(voters), a.Node)
	if hold.Reason != "" {
		_, others := a.etcd.members()
		hold.Message += describeUnhealthy(others)
	}
	return hold
}

// majorityWithin is how long an answer of etcd before a reboot may take, until the status says that it is missing.
const majorityWithin = 30 * time.Second

// keepsMajority returns an error if etcd would lose its majority while this node is away, or if that cannot be told.
// It asks etcd before each request for a reboot and for a restart of the kubelet: members may have failed since the
// last check, or since the last request. answered is false while the answer is on its way.
func (a *Agent) keepsMajority(ctx context.Context, o machine.Observation) (answered bool, refused error) {
	if member := o.Host != nil && o.Host.OneAtATime; !member {
		return true, nil
	}
	due := &a.etcd.dueSince
	if due.IsZero() || due.After(o.Now) {
		*due = o.Now
	}
	if !a.checkEtcd(ctx, o, *due) {
		if o.Now.Sub(*due) < majorityWithin {
			return false, nil
		}
		why := cmp.Or(a.startFailures[verb.Etcd].Message, "it has not answered for "+majorityWithin.String())
		return true, host.Fail(v1alpha1.ReasonEtcdQuorum, "could not determine whether etcd keeps its majority without this node: %s", why)
	}
	*due = time.Time{}
	hold := a.etcdHold(o, v1alpha1.ClusterUpgradeSpec{})
	if !hold.Holds() || a.ignoresMajority(ctx) {
		return true, nil
	}
	return true, host.Fail(hold.Reason, "%s", hold.Message)
}

// ignoresMajority reports whether the upgrade that the node carries out is known to ignore that check.
func (a *Agent) ignoresMajority(ctx context.Context) bool {
	if a.state.Upgrade.UID == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, abandonedTimeout)
	defer cancel()
	upgrade, err := a.upgradeOf(ctx, &a.state.Upgrade)
	return err == nil && upgrade != nil && upgrade.Spec.Ignores(rules.EtcdQuorum)
}

// etcdHealth returns an error unless this node's member and a majority are healthy.
func (a *Agent) etcdHealth() error {
	facts := a.etcd.facts
	switch {
	case facts == nil:
		return nil
	case facts.Problem != "":
		return fmt.Errorf("etcd: %s", facts.Problem)
	}
	if own, _ := a.etcd.members(); !own.Healthy {
		return fmt.Errorf("this node's member of etcd %s", own.Problem)
	}
	voters, healthy := a.etcd.voters(a.Node), 0
	for _, one := range voters {
		if one.Ready {
			healthy++
		}
	}
	if healthy < fleet.Majority(len(voters)) {
		return fmt.Errorf("%d of etcd's %d members are healthy%s", healthy, len(voters), describeUnhealthy(facts.Members))
	}
	return nil
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
