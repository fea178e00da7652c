package plan

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// question describes a filter or a claim: what it asks, and the reasons it may return.
// The list in docs/planning.md is generated from it.
type question struct {
	text    string
	reasons []v1alpha1.Reason
}

func asks(text string, reasons ...v1alpha1.Reason) question { return question{text, reasons} }

// filter holds nodes for one cause.
type filter struct {
	question
	// hold returns why the node may not begin. It changes nothing.
	hold func(*cluster, *node) fleet.Hold
	// withdraws marks a filter that also applies to a node that has begun, until its
	// last check: the node's release is withdrawn, and it aborts its attempt.
	withdraws bool
	// groupsSkip marks a filter that may hold a worker forever: later groups do not
	// wait for such a worker.
	groupsSkip bool
	// agents marks a filter that may also return a reason of the node's agent.
	agents bool
}

// filters decide whether a node may be released. The first that holds is shown to
// people, so the most helpful come first: what the node itself lacks, what stops every
// node, what people decided, the order of nodes, and what is dangerous now. Within each
// of these, the rows may be in any order, except where a comment says so.
//
// To add a reason to wait, add a file filter_….go, a row here, and its code with a row
// in v1alpha1.Reasons. What spends something shared, such as a slot, is a claim of the
// allocation instead.
var filters = []filter{
	// First: without a trigger the target version is not fixed.
	{hold: notTriggered, question: asks("can the upgrade begin at all?", v1alpha1.ReasonUnsupported, v1alpha1.ReasonUpgradeInvalid, v1alpha1.ReasonPolicyInvalid, v1alpha1.ReasonPolicyMissing, v1alpha1.ReasonObserved, v1alpha1.ReasonSkew,
		v1alpha1.ReasonNotOffered, v1alpha1.ReasonImageTooNew, v1alpha1.ReasonSourceUnavailable, v1alpha1.ReasonSourceEmpty, v1alpha1.ReasonSourceInvalid)},

	{hold: stepForbidden, groupsSkip: true, question: asks("does Kubernetes allow the node's step?", v1alpha1.ReasonSkew, v1alpha1.ReasonNextBootDiffers)},
	{hold: notReady, groupsSkip: true, question: asks("is the node Ready?", v1alpha1.ReasonNodeNotReady)},
	{hold: labelMissing, question: asks("does a node that runs a kube-apiserver have the control plane's label?", v1alpha1.ReasonLabelMissing)},
	{hold: lateControlPlane, question: asks("is it a control plane that joined late?", v1alpha1.ReasonQueued, v1alpha1.ReasonSkew, v1alpha1.ReasonOnHold, v1alpha1.ReasonWindowClosed)},
	{hold: agentNotAnswering, groupsSkip: true, question: asks("does its agent answer?", v1alpha1.ReasonAgentNotAnswering)},
	{hold: unknownMark, groupsSkip: true, question: asks("is its slot annotation known?", v1alpha1.ReasonUnknownMark)},
	// After notReady: a node that is unreachable cannot stage.
	{hold: cannotPrepare, agents: true, groupsSkip: true, question: asks("can its images be staged?")},
	{hold: notPrepared, question: asks("are all images on the node?", v1alpha1.ReasonNotStaged, v1alpha1.ReasonPullingImages,
		v1alpha1.ReasonSourceUnavailable, v1alpha1.ReasonSourceEmpty, v1alpha1.ReasonSourceInvalid)},

	{hold: nodeFailed, withdraws: true, question: asks("did another node fail?", v1alpha1.ReasonNodeFailed, v1alpha1.ReasonNotItsTurn)},
	{hold: notBack, question: asks("has a node not come back?", v1alpha1.ReasonNodeNotBack, v1alpha1.ReasonNotReadyAfterUpgrade)},
	{hold: otherManager, withdraws: true, question: asks("may another program reboot nodes?", v1alpha1.ReasonOtherRebootManager)},
	{hold: checkBlocks, groupsSkip: true, question: asks("what did the checks find?", v1alpha1.ReasonPreflight, v1alpha1.ReasonNotItsTurn)},

	{hold: onHold, withdraws: true, groupsSkip: true, question: asks("is the node on hold?", v1alpha1.ReasonOnHold)},
	{hold: upgradeHeld, withdraws: true, question: asks("is the upgrade held by a person?", v1alpha1.ReasonSuspended, v1alpha1.ReasonNotStarted, v1alpha1.ReasonApprovalRequired)},
	{hold: groupNotApproved, withdraws: true, question: asks("is its group approved?", v1alpha1.ReasonApprovalRequired)},
	{hold: clockDiffers, withdraws: true, groupsSkip: true, question: asks("are the clocks right?", v1alpha1.ReasonClockDiffers)},
	{hold: windowClosed, withdraws: true, question: asks("is its window open?", v1alpha1.ReasonWindowClosed, v1alpha1.ReasonExcluded, v1alpha1.ReasonScheduleInvalid)},
	// After windowClosed: a closed window has no time left.
	{hold: timeTooShort, withdraws: true, question: asks("can it finish in time?", v1alpha1.ReasonInsufficientTime)},

	{hold: otherRetries, agents: true, question: asks("does a node wait to retry?", v1alpha1.ReasonNotItsTurn)},
	{hold: othersNotStaged, question: asks("is the image on every node?", v1alpha1.ReasonNotStaged)},
	{hold: othersFirst, question: asks("do other nodes go first?", v1alpha1.ReasonControlPlaneFirst, v1alpha1.ReasonAPIWriteFailed, v1alpha1.ReasonNotItsTurn)},

	{hold: apiServerTooOld, question: asks("do the apiservers allow its kubelet?", v1alpha1.ReasonSkew)},
	{hold: etcdQuorum, withdraws: true, question: asks("does etcd keep its majority?", v1alpha1.ReasonEtcdQuorum)},
}

// upgradeFilters are the holds that people put on a whole upgrade, in any order.
var upgradeFilters = []upgradeFilter{suspended, notStarted, notApproved}
