package plan

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// question describes a filter or a claim: what it asks, and the reasons it may return.
// The list in docs/planning.md is generated from it.
type question struct {
	text    string
	reasons []v1alpha1.Reason
}

func newQuestion(text string, reasons ...v1alpha1.Reason) question { return question{text, reasons} }

// filter holds nodes for one cause.
type filter struct {
	question
	// node or all is set, and returns why the node may not begin. A filter of the node does not
	// depend on what other nodes do; the survey of all nodes asks it, too.
	node func(*cluster, *node) clusterstate.Hold
	all  func(*survey, *node) clusterstate.Hold
	// until returns when the filter, which does not hold the node now, may do so by itself. Nil:
	// never, or that is not known.
	until func(*cluster, *node) *time.Time
	// withdraws marks a filter that also applies to a node that has begun, until its
	// last check: the node's release is withdrawn, and it aborts its attempt.
	withdraws bool
	// groupsSkip marks a filter of the node that may hold a worker forever: later groups do not
	// wait for such a worker.
	groupsSkip bool
	// agents marks a filter that may also return a reason of the node's agent.
	agents bool
	// meanwhile marks a filter whose routine reasons end while the node waits for something else: where
	// the next filter that holds the node does so until people act, its hold is shown instead.
	meanwhile bool
}

// firstHold returns what the first filter says that holds the node: of all filters for a node that
// may begin, of those that withdraw for one that has begun. It adds to wake until when the node
// passes a filter.
func (s *survey) firstHold(n *node, begun bool, wake *wakeTime) clusterstate.Hold {
	var hold, passing clusterstate.Hold
	for i := range filters {
		f := &filters[i]
		switch {
		case begun && !f.withdraws:
			continue
		case f.node != nil:
			hold = f.node(s.cluster, n)
		default:
			hold = f.all(s, n)
		}
		switch {
		case !hold.Holds():
			if f.until != nil {
				wake.at(f.until(s.cluster, n))
			}
		case f.meanwhile && hold.Reason.Info().Routine:
			passing = hold
		case passing.Holds() && !hold.NeedsPerson() && !hold.Reason.Info().HeldByPeople:
			return passing
		default:
			return hold
		}
	}
	return passing
}

// filters decide whether a node may be released. The first that holds is shown to
// people, so the most helpful come first: what the node itself lacks, what stops every
// node, what people decided, the order of nodes, and what is dangerous now. Within each
// of these, the rows may be in any order, except where a comment says so.
//
// To add a reason to wait, add a function to the file of its kind, filters_….go, a row here, and its
// code with a row in v1alpha1.Reasons. What spends something shared, such as a slot, is a claim of
// the allocation instead.
var filters = []filter{
	// First: without a trigger the target version is not fixed.
	{node: notTriggered, question: newQuestion("can the upgrade begin at all?", v1alpha1.ReasonUnsupported,
		v1alpha1.ReasonUpgradeInvalid, v1alpha1.ReasonPolicyInvalid, v1alpha1.ReasonPolicyMissing, v1alpha1.ReasonObserved, v1alpha1.ReasonSkew, v1alpha1.ReasonNotOffered,
		v1alpha1.ReasonImageTooNew, v1alpha1.ReasonAutomaticInterval, v1alpha1.ReasonSourceUnavailable, v1alpha1.ReasonSourceEmpty, v1alpha1.ReasonSourceInvalid)},

	// Before all others of the node: what it says is how the planner knows of the withdrawal.
	{node: agentHolds, agents: true, groupsSkip: true, question: newQuestion("did its agent keep it from taking its slot until its release was withdrawn?")},
	{node: stepForbidden, groupsSkip: true, question: newQuestion("does Kubernetes allow the node's step?", v1alpha1.ReasonSkew, v1alpha1.ReasonNextBootDiffers)},
	{node: notReady, groupsSkip: true, question: newQuestion("is the node Ready?", v1alpha1.ReasonNodeNotReady)},
	{node: labelMissing, question: newQuestion("does a node that runs a kube-apiserver have the control plane's label?", v1alpha1.ReasonLabelMissing)},
	{node: lateControlPlane, question: newQuestion("is it a control plane that joined late?",
		v1alpha1.ReasonQueued, v1alpha1.ReasonSkew, v1alpha1.ReasonOnHold, v1alpha1.ReasonWindowClosed)},
	{node: agentNotAnswering, groupsSkip: true, question: newQuestion("does its agent answer?", v1alpha1.ReasonAgentNotAnswering)},
	{node: unknownMark, groupsSkip: true, question: newQuestion("is its slot annotation known?", v1alpha1.ReasonUnknownMark)},
	// After notReady: a node that is unreachable cannot stage.
	{node: cannotPrepare, agents: true, groupsSkip: true, question: newQuestion("can its images be staged?", v1alpha1.ReasonSourceUnavailable, v1alpha1.ReasonNotOffered)},
	{node: rehearsalFailed, withdraws: true, groupsSkip: true, question: newQuestion("would its next boot bring it back?", v1alpha1.ReasonRehearsalFailed)},
	{node: notPrepared, meanwhile: true, question: newQuestion("are all images on the node?", v1alpha1.ReasonNotStaged, v1alpha1.ReasonPullingImages,
		v1alpha1.ReasonSourceUnavailable, v1alpha1.ReasonSourceEmpty, v1alpha1.ReasonSourceInvalid)},

	{all: nodeFailed, withdraws: true, question: newQuestion("did another node fail?", v1alpha1.ReasonNodeFailed, v1alpha1.ReasonNotItsTurn)},
	{all: notBack, question: newQuestion("has a node not come back?", v1alpha1.ReasonNodeNotBack, v1alpha1.ReasonNotReadyAfterUpgrade)},
	{node: otherManager, withdraws: true, question: newQuestion("may another program reboot nodes?", v1alpha1.ReasonOtherRebootManager)},
	{all: checksBlock, question: newQuestion("what did the checks find?", v1alpha1.ReasonPreflight, v1alpha1.ReasonNotItsTurn)},
	{node: checkBlocksNode, groupsSkip: true, question: newQuestion("what did the checks find on the node?", v1alpha1.ReasonPreflight)},

	{all: hookFailed, question: newQuestion("did a hook fail?", v1alpha1.ReasonHookFailed)},

	{node: onHold, withdraws: true, groupsSkip: true, question: newQuestion("is the node on hold?", v1alpha1.ReasonOnHold)},
	{node: upgradeHeld, withdraws: true, question: newQuestion("is the upgrade held by a person?",
		v1alpha1.ReasonSuspended, v1alpha1.ReasonNotStarted, v1alpha1.ReasonApprovalRequired, v1alpha1.ReasonSuperseded)},
	{node: groupNotApproved, withdraws: true, question: newQuestion("is its group approved?", v1alpha1.ReasonApprovalRequired)},
	{node: clockDiffers, withdraws: true, groupsSkip: true, question: newQuestion("are the clocks right?", v1alpha1.ReasonClockDiffers)},
	{node: certificateEndsFirst, withdraws: true, question: newQuestion("does a window open before its certificates end?", v1alpha1.ReasonCertificateEndsFirst)},
	{node: windowClosed, until: windowCloses, withdraws: true, question: newQuestion("is its window open?",
		v1alpha1.ReasonWindowClosed, v1alpha1.ReasonExcluded, v1alpha1.ReasonScheduleInvalid)},
	// After windowClosed: a closed window has no time left.
	{all: timeTooShort, withdraws: true, question: newQuestion("can it finish in time?", v1alpha1.ReasonInsufficientTime)},

	{all: otherRetries, agents: true, question: newQuestion("does a node wait to retry?", v1alpha1.ReasonNotItsTurn)},
	{all: formerAtWork, question: newQuestion("is a node at work for a former upgrade?", v1alpha1.ReasonNotItsTurn)},
	{all: othersNotStaged, question: newQuestion("is the image on every node?", v1alpha1.ReasonNotStaged)},
	// After what people decide: Cluster API asks for a node that would wait for nothing else. Before the
	// order, which is Cluster API's then.
	{node: notRequested, withdraws: true, groupsSkip: true, question: newQuestion("does Cluster API ask for it, where it decides on versions?", v1alpha1.ReasonNotRequested)},
	{all: othersFirst, question: newQuestion("do other nodes go first?", v1alpha1.ReasonControlPlaneFirst, v1alpha1.ReasonAPIWriteFailed, v1alpha1.ReasonNotItsTurn)},

	{node: otherAPIServer, question: newQuestion("does its kubelet talk to its own apiserver, where that goes first?", v1alpha1.ReasonSkew)},
	{all: apiServerTooOld, question: newQuestion("do the apiservers allow its kubelet?", v1alpha1.ReasonSkew)},
	{node: etcdQuorum, withdraws: true, question: newQuestion("does etcd keep its majority?", v1alpha1.ReasonEtcdQuorum)},
	// Last: a gate is shown to nodes that wait for nothing else.
	{all: gateClosed, withdraws: true, question: newQuestion("are its gates open?", v1alpha1.ReasonExternalGateClosed, v1alpha1.ReasonExternalGateUnknown, v1alpha1.ReasonNotSoaked)},
}
