package plan

import "github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"

// filter is one reason not to begin.
type filter struct {
	// hold says why the node may not begin. It reads the cluster and the node, and
	// changes nothing.
	hold func(*cluster, *node) fleet.Hold
	// withdraws marks a filter that is asked of a node that has begun, too, until
	// the node passes its last check: the node gives up for it.
	withdraws bool
}

// filters stand between a node and its release. The first that holds is what
// people are told, so they come in the order in which the answers help: what the
// node itself lacks, what stops every node, what people decided, whose turn it is,
// and what is dangerous now. Within these groups the order is free, but for the two
// places that say why.
//
// A new reason to wait is a file filter_….go, a row here, and its code with a row in
// v1alpha1.Reasons. Where it may hold a worker for good, holdsUpGroups says whether
// the groups after the worker's own wait for it. What spends something that others need, too, such as a slot, is
// a claim of the allocation instead.
var filters = []filter{
	{hold: notTriggered}, // first: without a trigger there is no version that the others could judge by

	{hold: stepForbidden},
	{hold: notReady},
	{hold: notPrepared}, // after notReady: a node that is away cannot stage

	{hold: nodeFailed, withdraws: true},
	{hold: otherManager, withdraws: true},
	{hold: checkBlocks},

	{hold: onHold, withdraws: true},
	{hold: upgradeHeld, withdraws: true},
	{hold: groupNotApproved, withdraws: true},
	{hold: windowClosed, withdraws: true},
	{hold: timeTooShort, withdraws: true}, // after windowClosed: what is closed has no time left

	{hold: otherRetries},
	{hold: othersNotStaged},
	{hold: notItsTurn},

	{hold: apiServerTooOld},
	{hold: etcdQuorum, withdraws: true},
}

// upgradeFilters hold the whole upgrade, as people decide. Their order is free.
var upgradeFilters = []upgradeFilter{suspended, notStarted, notApproved}
