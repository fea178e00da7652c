package plan

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// question is what a filter or a claim asks, and the reasons it may answer with. The
// table in docs/planning.md is made of it.
type question struct {
	text    string
	reasons []v1alpha1.Reason
}

func asks(text string, reasons ...v1alpha1.Reason) question { return question{text, reasons} }

// filter is one reason not to begin.
type filter struct {
	question
	// hold says why the node may not begin. It reads the cluster and the node, and
	// changes nothing.
	hold func(*cluster, *node) fleet.Hold
	// withdraws marks a filter that is asked of a node that has begun, too, until
	// the node passes its last check: the node gives up for it.
	withdraws bool
	// passedOver marks a filter that may hold a worker for good: the groups after
	// the worker's own do not wait for it.
	passedOver bool
	// agents marks a filter that may answer with a reason of the node's agent, too.
	agents bool
}

// filters stand between a node and its release. The first that holds is what
// people are told, so they come in the order in which the answers help: what the
// node itself lacks, what stops every node, what people decided, whose turn it is,
// and what is dangerous now. Within these groups the order is free, but for the two
// places that say why.
//
// A new reason to wait is a file filter_….go, a row here, and its code with a row in
// v1alpha1.Reasons. What spends something that others need, too, such as a slot, is
// a claim of the allocation instead.
var filters = []filter{
	// First: without a trigger there is no version that the others could judge by.
	{hold: notTriggered, question: asks("can the upgrade begin at all?", v1alpha1.ReasonUnsupported, v1alpha1.ReasonUpgradeInvalid, v1alpha1.ReasonPolicyInvalid, v1alpha1.ReasonSkew,
		v1alpha1.ReasonNotOffered, v1alpha1.ReasonSourceUnavailable, v1alpha1.ReasonSourceEmpty, v1alpha1.ReasonSourceInvalid)},

	{hold: stepForbidden, passedOver: true, question: asks("does Kubernetes allow the node's step?", v1alpha1.ReasonSkew, v1alpha1.ReasonNextBootDiffers)},
	{hold: notReady, passedOver: true, question: asks("is the node Ready?", v1alpha1.ReasonNodeNotReady)},
	{hold: unknownMark, passedOver: true, question: asks("is its mark one of ours?", v1alpha1.ReasonUnknownMark)},
	// After notReady: a node that is away cannot stage.
	{hold: notPrepared, agents: true, question: asks("does all that it needs lie on the node?", v1alpha1.ReasonNotStaged, v1alpha1.ReasonPullingImages,
		v1alpha1.ReasonSourceUnavailable, v1alpha1.ReasonSourceEmpty, v1alpha1.ReasonSourceInvalid)},

	{hold: nodeFailed, withdraws: true, question: asks("did another node fail?", v1alpha1.ReasonNodeFailed, v1alpha1.ReasonNotItsTurn)},
	{hold: notBack, question: asks("does a node not come back?", v1alpha1.ReasonNodeNotBack)},
	{hold: otherManager, withdraws: true, question: asks("may another program reboot nodes?", v1alpha1.ReasonOtherRebootManager)},
	{hold: checkBlocks, passedOver: true, question: asks("what did the checks find?", v1alpha1.ReasonPreflight, v1alpha1.ReasonNotItsTurn)},

	{hold: onHold, withdraws: true, passedOver: true, question: asks("is the node on hold?", v1alpha1.ReasonOnHold)},
	{hold: upgradeHeld, withdraws: true, question: asks("do people hold the upgrade?", v1alpha1.ReasonSuspended, v1alpha1.ReasonNotStarted, v1alpha1.ReasonApprovalRequired)},
	{hold: groupNotApproved, withdraws: true, question: asks("is its group approved?", v1alpha1.ReasonApprovalRequired)},
	{hold: windowClosed, withdraws: true, question: asks("is its window open?", v1alpha1.ReasonWindowClosed, v1alpha1.ReasonExcluded, v1alpha1.ReasonScheduleInvalid)},
	// After windowClosed: what is closed has no time left.
	{hold: timeTooShort, withdraws: true, question: asks("can it end in time?", v1alpha1.ReasonInsufficientTime)},

	{hold: otherRetries, agents: true, question: asks("does a node try again later?", v1alpha1.ReasonNotItsTurn)},
	{hold: othersNotStaged, question: asks("has every node its image?", v1alpha1.ReasonNotStaged)},
	{hold: notItsTurn, question: asks("do other nodes go first?", v1alpha1.ReasonControlPlaneFirst, v1alpha1.ReasonAPIWriteFailed, v1alpha1.ReasonNotItsTurn)},

	{hold: apiServerTooOld, question: asks("do the apiservers allow its kubelet?", v1alpha1.ReasonSkew)},
	{hold: etcdQuorum, withdraws: true, question: asks("does etcd keep its majority?", v1alpha1.ReasonEtcdQuorum)},
}

// upgradeFilters hold the whole upgrade, as people decide. Their order is free.
var upgradeFilters = []upgradeFilter{suspended, notStarted, notApproved}
