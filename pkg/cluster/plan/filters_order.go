package plan

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// otherRetries holds every node while one whose attempt failed waits for its retry:
// what stopped it would stop the next.
func otherRetries(s *survey, n *node) clusterstate.Hold {
	first := s.retrying
	switch {
	case first == nil:
		return clusterstate.Hold{}
	case s.cluster.retries(n):
		return clusterstate.Hold{Reason: n.cause.Reason, Message: n.cause.Message, Until: n.retryAt}
	}
	message := fmt.Sprintf("node %s aborted its attempt (%s) and tries again %s; no other node begins before", first.Name, first.cause.Reason, clusterstate.FormatTime(*first.retryAt))
	return clusterstate.Hold{Reason: v1alpha1.ReasonNotItsTurn, Message: message, Until: first.retryAt}
}

// formerAtWork holds every node while one is at work for an upgrade that is not active any more, such as
// one that a person retried: one upgrade is active at a time.
func formerAtWork(s *survey, _ *node) clusterstate.Hold {
	if s.former == nil {
		return clusterstate.Hold{}
	}
	message := fmt.Sprintf("node %s is still at work for upgrade %s", s.former.Name, s.former.spec.Upgrade.Name)
	return clusterstate.Hold{Reason: v1alpha1.ReasonNotItsTurn, Message: message}
}

// retries reports whether the node's attempt failed and it waits for its retry.
func (c *cluster) retries(n *node) bool {
	return n.retryAt != nil && n.retryAt.After(c.now) && n.staged
}

// othersNotStaged holds every node until each one in service has its image, and each
// control plane its container images. Once a node has begun, a node waits only for its
// own.
func othersNotStaged(s *survey, _ *node) clusterstate.Hold {
	to := s.cluster.target.to
	switch {
	case s.begun || s.unprepared == nil || s.cluster.target.versionless():
		return clusterstate.Hold{}
	case s.stageError != nil:
		n, what, cause := s.stageError, "staged", s.stageError.cause
		if n.staged {
			what = "pulled the container images of"
		}
		if silent := n.agentHold(s.cluster.now); silent.Holds() {
			cause = silent
		}
		message := fmt.Sprintf("node %s has not %s %s (%s): %s", n.Name, what, to, cause.Reason, cause.Message)
		return clusterstate.Hold{Reason: v1alpha1.ReasonNotStaged, Message: message}
	case s.unprepared.staged:
		return clusterstate.Hold{Reason: v1alpha1.ReasonNotStaged, Message: fmt.Sprintf("not every control-plane node has the container images of %s yet", to)}
	}
	return clusterstate.Hold{Reason: v1alpha1.ReasonNotStaged, Message: fmt.Sprintf("not every node has staged %s yet", to)}
}

// othersFirst holds a node while others go first: control planes in pass 1, then
// control-plane nodes, then group after group.
func othersFirst(s *survey, n *node) clusterstate.Hold { return s.orWriteFailure(s.orderHold(n)) }

// orderHold returns the hold of a node that comes later in the order of nodes.
func (s *survey) orderHold(n *node) clusterstate.Hold {
	if s.pass1 {
		return s.notInPass1(n)
	}
	for i, ahead := range s.ahead[:n.group] {
		switch {
		case ahead == nil:
		case s.cluster.groups[i].name == ControlPlaneGroup:
			return clusterstate.Hold{Reason: v1alpha1.ReasonControlPlaneFirst, Message: controlPlaneFirst}
		default:
			return clusterstate.Hold{Reason: v1alpha1.ReasonNotItsTurn, Message: fmt.Sprintf("group %s goes first", s.cluster.groups[i].name)}
		}
	}
	return clusterstate.Hold{}
}

// controlPlaneFirst is the message of workers, the same until their turn: each change of it
// would be a write for every worker.
const controlPlaneFirst = "control-plane nodes go first"

// notInPass1 holds every node in pass 1 except control planes whose kubeadm has not
// completed, of which the first goes alone.
func (s *survey) notInPass1(n *node) clusterstate.Hold {
	var message string
	switch {
	case n.ControlPlane && s.first != nil && n != s.first:
		message = fmt.Sprintf("kubeadm upgrade apply runs on %s first", s.first.Name)
	case n.ControlPlane && !n.kubeadmDone && s.snapshotNode != nil && n != s.snapshotNode:
		message = fmt.Sprintf("%s takes a snapshot of etcd first", s.snapshotNode.Name)
	case n.ControlPlane && !n.kubeadmDone:
		return clusterstate.Hold{}
	case !n.ControlPlane && !s.oldAPIServerUnlabelled():
		message = controlPlaneFirst
	case s.oldAPIServer != "":
		message = s.notEveryAPIServer()
	case s.cluster.target.certificates:
		message = "other control planes renew their certificates first"
	default:
		message = fmt.Sprintf("kubeadm has not completed on every control-plane node at %s yet", s.cluster.target.to)
	}
	return clusterstate.Hold{Reason: v1alpha1.ReasonControlPlaneFirst, Message: message}
}

// writeFailed reports whether the API server refuses what a node that is being upgraded
// has to write, so that the node cannot continue.
func (n *node) writeFailed() bool { return n.busy() && n.cause.Reason == v1alpha1.ReasonAPIWriteFailed }

// orWriteFailure returns the hold of a node that waits for others. If one of those cannot
// write, it returns a hold that says so instead.
func (s *survey) orWriteFailure(hold clusterstate.Hold) clusterstate.Hold {
	if s.writeFailed == nil || !hold.Holds() {
		return hold
	}
	return s.writeFailed.cannotWrite()
}

func (n *node) cannotWrite() clusterstate.Hold {
	message := fmt.Sprintf("node %s cannot continue from the step %s: %s", n.Name, n.status.Step, n.cause.Message)
	if n.status.Step == v1alpha1.StepIdle {
		message = fmt.Sprintf("node %s cannot free its slot: %s", n.Name, n.cause.Message)
	}
	return clusterstate.Hold{Reason: v1alpha1.ReasonAPIWriteFailed, Message: message}
}

// apiServerTooOld holds every node while the version skew policy forbids its step: its
// kubelet would be newer than an apiserver, or the apiservers too far apart. Not every upgrade
// changes a version. A control plane that goes by request is otherAPIServer's.
func apiServerTooOld(s *survey, n *node) clusterstate.Hold {
	if !s.cluster.target.runsKubeadmUpgrade() { // a kubelet that goes back is older than before
		return clusterstate.Hold{}
	}
	ownFirst := s.cluster.target.clusterAPIDecides && n.ControlPlane
	servers := []version.Version{s.cluster.target.to}
	for _, pod := range s.cluster.apiServers {
		v, err := version.Parse(pod.Version)
		if err == nil && !s.pass1 && !ownFirst {
			err = version.CheckKubelet(s.cluster.target.to, v)
		}
		if err != nil {
			return skew(pod, err)
		}
		servers = append(servers, v)
	}
	if err := version.CheckAPIServers(servers...); err != nil {
		return clusterstate.Hold{Reason: v1alpha1.ReasonSkew, Message: err.Error()}
	}
	return clusterstate.Hold{}
}

// etcdQuorum holds a node without which etcd would lose its quorum. Each node with the control
// plane's label counts as a member, because its pod may be missing for a moment. Members on other
// nodes, which may be forged, count for those nodes alone.
// With two members a person may ignore the check; the API is then unavailable
// meanwhile.
func etcdQuorum(c *cluster, n *node) clusterstate.Hold {
	if !n.oneAtATime() || c.target.Spec.Ignores(rules.EtcdQuorum) {
		return clusterstate.Hold{}
	}
	pods := c.etcd
	if !n.labelled {
		pods = c.reading.snapshot.Etcd
	}
	members := 0
	for _, other := range c.controlPlanes() {
		if other.abandoned == nil && other.labelled {
			members++
		}
	}
	if c.target.certificates {
		return rules.EtcdForRenewal(pods, members, n.Name)
	}
	return rules.Etcd(pods, members, n.Name)
}

// Where Cluster API decides on versions, it asks for one node after another: its order replaces
// the planner's. There is no pass 1: a control-plane node runs kubeadm and gets its kubelet in one
// turn, so that its kubelet may be newer than the other control planes' apiservers, but not than
// its own. Cluster API has changed kubeadm's configuration of the cluster before, so that no node
// runs `kubeadm upgrade apply`.

// clusterAPIAllows reports whether the node may begin as far as Cluster API decides that.
func (t *target) clusterAPIAllows(n *node) bool {
	return !t.clusterAPIDecides || n.stored.RequestedFor(t.UID)
}

// notRequested holds a node that Cluster API does not ask for.
func notRequested(c *cluster, n *node) clusterstate.Hold { return c.target.requestHold(n, c.now) }

func (t *target) requestHold(n *node, now time.Time) clusterstate.Hold {
	switch {
	case !t.clusterAPIAllows(n):
		return rules.NotRequested
	case known(t.awaited) && n.ControlPlane && n.runs.kubelet.Less(t.awaited) && !t.endsSoon(n, now):
		message := fmt.Sprintf("Cluster API is to bring this control plane to %s, which reboots it: out of service before that, its machine might be replaced", t.awaited)
		return clusterstate.Hold{Reason: v1alpha1.ReasonNotRequested, Message: message}
	}
	return clusterstate.Hold{}
}

// awaited returns the newest version that an upgrade is to bring nodes to by Cluster API's requests, if t
// needs no request itself. A control plane that KubeadmControlPlane finds to be outdated and not healthy is
// deleted without a question (Cluster API 1.14, kubeadmcontrolplane/scale.go).
func (r *reading) awaited(t *target) (to version.Version) {
	if t.runsKubeadmUpgrade() || !rules.ClusterAPIDecides(r.snapshot.Policy) {
		return to
	}
	for i := range r.snapshot.Upgrades {
		u := &r.snapshot.Upgrades[i]
		if v := parsed(u.Spec.Version); known(v) && u.Status.Outcome == "" && u.DeletionTimestamp == nil && rules.TypeOf(u) != v1alpha1.TypeRollback && to.Less(v) {
			to = v
		}
	}
	return to
}

// inOneTurn reports whether the node runs kubeadm for its control plane and gets its kubelet in one
// turn, and has not run kubeadm yet.
func (t *target) inOneTurn(n *node) bool {
	return t != nil && t.clusterAPIDecides && n.ControlPlane && !n.kubeadmDone
}

// otherAPIServer holds a control-plane node that would get a newer minor than the other apiservers in
// one turn, and whose kubelet may talk to one of these.
func otherAPIServer(c *cluster, n *node) clusterstate.Hold {
	local := n.facts != nil && n.facts.OwnAPIServer
	if !c.target.clusterAPIDecides || !n.ControlPlane || local {
		return clusterstate.Hold{}
	}
	for _, pod := range c.apiServers {
		if err := version.CheckKubelet(c.target.to, parsed(pod.Version)); err != nil && pod.Node != n.Name {
			message := fmt.Sprintf("its kubelet does not talk to its own kube-apiserver, and that of node %s is older: /etc/kubernetes/kubelet.conf has to name this node's address (kubeadm's feature gate ControlPlaneKubeletLocalMode, on since 1.33)", pod.Node)
			return clusterstate.Hold{Reason: v1alpha1.ReasonSkew, Message: message}
		}
	}
	return clusterstate.Hold{}
}
