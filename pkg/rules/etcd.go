package rules

import (
	"fmt"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// Etcd holds the node if, without it, fewer ready members than a majority would be
// left. members is the expected number, if that is larger than len(etcd). A single
// member is allowed: the API is then unavailable as long as its node is. The agent
// calls it again with what it reads itself.
func Etcd(etcd []clusterstate.StaticPod, members int, node string) clusterstate.Hold {
	members = max(members, len(etcd))
	others := 0
	for _, pod := range etcd {
		if pod.Ready && pod.Node != node {
			others++
		}
	}
	majority := clusterstate.Majority(members)
	if len(etcd) == 0 || members == 1 || others >= majority {
		return clusterstate.Hold{}
	}
	message := fmt.Sprintf("etcd has %d members and would have %d of the %d it needs while this node is away", members, others, majority)
	if members == 2 {
		message += "; add a third control-plane node"
	}
	return clusterstate.Hold{Reason: v1alpha1.ReasonEtcdQuorum, Message: message}
}

// EtcdForRenewal is Etcd for the renewal of certificates. It takes no member away, as etcd loads its certificates
// by itself: it waits only where a member is missing already.
func EtcdForRenewal(etcd []clusterstate.StaticPod, members int, node string) clusterstate.Hold {
	if len(etcd) >= members && !slices.ContainsFunc(etcd, func(pod clusterstate.StaticPod) bool { return !pod.Ready }) {
		return clusterstate.Hold{}
	}
	return Etcd(etcd, members, node)
}

// EtcdQuorum is the id of the check that the planner and the agents repeat before a node
// begins, unless the upgrade ignores it.
const EtcdQuorum = "etcd-quorum"
