package agent

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// moment is when in its turn the node asks the rules.
type moment uint8

const (
	beforeItBegins    moment = 1 << iota // it has no slot yet
	aheadOfItsTurn                       // kubeadm is to run before the node has a slot
	duringTheDrain                       // with the slot, before each round of evictions, and while volumes detach
	untilTheLastCheck                    // with the slot, before anything else that disrupts the node
	atEachMoment      = beforeItBegins | aheadOfItsTurn | duringTheDrain | untilTheLastCheck
)

func momentOf(r *round) moment {
	switch {
	case r.Spec.Release == v1alpha1.ReleaseKubeadmAhead:
		return aheadOfItsTurn
	case r.Slot.Held == "":
		return beforeItBegins
	case r.state.Step == v1alpha1.StepDraining || r.state.Step == v1alpha1.StepDetaching:
		return duringTheDrain
	}
	return untilTheLastCheck
}

// rule is one reason for which the node may not go on now.
type rule struct {
	// asks is the question, for docs/node.md.
	asks string
	// at are the moments at which it counts.
	at moment
	// reads is what is read live for it, once the rules before it are open.
	reads source
	// hold returns why the node may not go on, or an error if that is not known.
	hold func(*question) (clusterstate.Hold, error)
}

// ruleTable has the rules in the order in which they are asked: what costs the API server least comes first.
//
// A version counts neither ahead of the node's turn nor during the drain, as it is compared before the slot is taken
// and at the last check. Once the node has its slot, the hold label, other programs that reboot nodes and the time that
// is left in the window no longer count. Ahead of its turn the node is not rebooted: no other program counts, and the
// hold label counts as the watch shows it.
var ruleTable = []rule{
	{"the mode of the UpgradePolicy is Manage", atEachMoment, thePolicy, (*question).policyHold},
	{"the image was staged with the policy's present keyring", atEachMoment, lastStaging, (*question).keyringHold},
	{"the ClusterUpgrade exists", atEachMoment, theUpgrade, (*question).upgradeHold},
	{"the node's clock agrees with the API server's", atEachMoment, source{}, (*question).clockHold},
	{"the order is what the upgrade fixed", atEachMoment, source{}, (*question).specHold},
	{"the upgrade is not suspended, has started and is approved; a window is open, and no exclusion holds", atEachMoment, schedules, (*question).windowHold},
	{"the time that is left is enough", beforeItBegins | aheadOfItsTurn, source{}, (*question).timeHold},
	{"the node is still released, and not abandoned", atEachMoment, theOrder, (*question).releaseHold},
	{"Cluster API asks for the node, where it decides", atEachMoment, source{}, (*question).requestHold},
	{"the node still holds its slot", atEachMoment, theSlot, (*question).slotHold},
	{"etcd keeps its majority without this node's member", atEachMoment, source{}, (*question).etcdHold},
	{"Kubernetes' version skew policy allows the version", beforeItBegins | untilTheLastCheck, apiServers, (*question).skewHold},
	{"the node's next boot was tried, and nothing was found that would keep the node from coming back", beforeItBegins | aheadOfItsTurn, source{}, (*question).rehearsalHold},
	{"the node has no hold label, as the watch shows it", aheadOfItsTurn, source{}, (*question).watchedLabelHold},
	{"the node has no hold label", beforeItBegins, theNode, (*question).labelHold},
	{"no other program may reboot nodes now", beforeItBegins, rebootManagers, (*question).managerHold},
}

// question is what the rules are asked about, with what has been read for them.
type question struct {
	*round
	config *Config
	etcd   *etcdSense

	policy     *v1alpha1.UpgradePolicy
	upgrade    *v1alpha1.ClusterUpgrade
	staged     verb.StageArgs
	schedules  []v1alpha1.MaintenanceSchedule
	live       *v1alpha1.NodeUpgrade // the node's order, as it is now
	holder     clusterstate.Owner    // of the slot that the watch says is held
	apiServers []corev1.Pod
	labels     map[string]string
	manager    clusterstate.Hold

	// stageAgain reports whether the image has to be staged again.
	stageAgain bool
	// daemonSets are those that were found; nil: they were not read.
	daemonSets map[types.NamespacedName]bool
}

// ask returns the first hold. One that could not be determined holds as well.
func (q *question) ask(ctx context.Context) clusterstate.Hold {
	ctx, cancel := context.WithTimeout(ctx, rulesTimeout)
	defer cancel()
	now := momentOf(q.round)
	for _, rule := range ruleTable {
		if rule.at&now == 0 {
			continue
		}
		if err := rule.reads.readFor(ctx, q); err != nil {
			return clusterstate.Hold{Reason: v1alpha1.ReasonRulesUnknown, Message: err.Error()}
		}
		hold, err := rule.hold(q)
		if err != nil {
			return clusterstate.Hold{Reason: v1alpha1.ReasonRulesUnknown, Message: err.Error()}
		}
		if hold.Holds() {
			return hold
		}
	}
	return clusterstate.Hold{}
}

func (q *question) policyHold() (clusterstate.Hold, error) { return rules.Policy(q.policy), nil }

// keyringHold holds a node whose image was staged before the UpgradePolicy had its present
// keyring, and has it staged again: the verb asks whether a key of that keyring signed it.
// A node without a slot is then no longer staged, and need not be held.
func (q *question) keyringHold() (clusterstate.Hold, error) {
	keyring := q.policy.Spec.Source.Keyring
	switch {
	case keyring == "" || !q.Spec.Type.HasVersion() || q.staged.Keyring == keyring:
		return clusterstate.Hold{}, nil
	case !machine.Staged(q.Observation) && q.Slot.Held == "":
		return clusterstate.Hold{}, nil
	}
	q.stageAgain = true
	return clusterstate.Hold{Reason: v1alpha1.ReasonStaging, Message: "the image was staged before the UpgradePolicy had its keyring: its signature is checked now"}, nil
}

func (q *question) upgradeHold() (clusterstate.Hold, error) {
	if q.upgrade != nil {
		return clusterstate.Hold{}, nil
	}
	return upgradeGone, nil
}

// clockHold compares with the time of the API server's last answers, to what was read before.
func (q *question) clockHold() (clusterstate.Hold, error) {
	return rules.Clock("this node", q.config.clockAhead()), nil
}

func (q *question) specHold() (clusterstate.Hold, error) {
	return specHold(q.config.Node, q.Spec, q.upgrade), nil
}

func (q *question) requestHold() (clusterstate.Hold, error) {
	return rules.Request(q.policy, q.upgrade.UID, q.Spec.Type, q.live), nil
}

func (q *question) windowHold() (clusterstate.Hold, error) { return q.window(0), nil }

func (q *question) timeHold() (clusterstate.Hold, error) {
	return q.window(time.Duration(ptr.Deref(q.Spec.ExpectedSeconds, 0)) * time.Second), nil
}

func (q *question) window(need time.Duration) clusterstate.Hold {
	return rules.Window(q.upgrade, q.Spec.Type, q.schedules, q.node.Labels, q.Now, need)
}

func (q *question) releaseHold() (clusterstate.Hold, error) {
	return stillReleased(q.Spec, q.live), nil
}

// slotHold holds the node if it no longer holds the slot that the watch shows.
func (q *question) slotHold() (clusterstate.Hold, error) {
	if q.Slot.Held == "" || q.holder == ownerOf(q.node) {
		return clusterstate.Hold{}, nil
	}
	return clusterstate.Hold{Reason: v1alpha1.ReasonNoSlot, Message: fmt.Sprintf("this node no longer holds slot %s; its holder is %q", q.Slot.Held, q.holder.Node)}, nil
}

func (q *question) etcdHold() (clusterstate.Hold, error) {
	return q.etcd.hold(q.round, q.upgrade.Spec), nil
}

// skewHold holds an upgrade that violates Kubernetes' version skew policy: no skipped minor, no
// downgrade but that of a kubelet within its minor, by a Rollback, and no kubelet newer than a
// running apiserver.
func (q *question) skewHold() (clusterstate.Hold, error) {
	if !q.Spec.Type.HasVersion() {
		return clusterstate.Hold{}, nil
	}
	clusterAPIDecides := rules.ClusterAPIDecides(q.policy)
	switch err := checkSkew(q.node.Name, q.apiServers, q.Observation, clusterAPIDecides); {
	case err != nil && clusterAPIDecides && q.Host == nil: // whether it is a control plane is not known
		return clusterstate.Hold{}, err
	case err != nil:
		return clusterstate.Hold{Reason: v1alpha1.ReasonSkew, Message: err.Error()}, nil
	}
	return clusterstate.Hold{}, nil
}

// rehearsalHold needs facts of this round: they are gathered anew before the node takes its slot.
func (q *question) rehearsalHold() (clusterstate.Hold, error) {
	if q.Host == nil || q.Spec.Type == v1alpha1.TypeCertificates {
		return clusterstate.Hold{}, nil // locking waits for them, and nothing boots where certificates are renewed
	}
	version := q.Spec.Version
	if q.Spec.Type == v1alpha1.TypeReboot {
		version = q.Host.Active
	}
	return rules.Rehearsal(q.upgrade.Spec, &q.Host.Node, version), nil
}

func (q *question) watchedLabelHold() (clusterstate.Hold, error) {
	return rules.Label(q.node.Labels), nil
}

func (q *question) labelHold() (clusterstate.Hold, error) { return rules.Label(q.labels), nil }

func (q *question) managerHold() (clusterstate.Hold, error) { return q.manager, nil }
