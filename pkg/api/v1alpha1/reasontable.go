package v1alpha1

// Giver is the part of the system that gives a reason.
type Giver string

// The givers.
const (
	GivenByPlanner Giver = "planner" // to a node that may not begin, or an upgrade
	GivenBySource  Giver = "source"  // about the source of images
	GivenByAgent   Giver = "agent"   // about what happens on its node
)

// ReasonInfo is what there is to know of a reason. A field that is false is the
// usual case.
type ReasonInfo struct {
	Reason Reason
	Giver  Giver
	// Meaning explains the reason in docs and in kubectl.
	Meaning string

	// NeedsPerson marks a reason that does not pass by itself.
	NeedsPerson bool
	// HeldByPeople marks a reason for which people hold an upgrade back, whatever
	// the windows are.
	HeldByPeople bool
	// WaitsForOthers marks a reason that points to other nodes.
	WaitsForOthers bool
	// StopsStaging marks a reason for which an image cannot be staged or pulled.
	StopsStaging bool
	// RetriedWithoutLimit marks a failure that does not count towards Failed.
	RetriedWithoutLimit bool
	// Routine marks a reason that a person who watches an upgrade need not read.
	Routine bool
	// Resumes marks a reason for which an upgrade is stalled, and goes on by itself
	// as soon as the cause is gone.
	Resumes bool
}

// Reasons are all reasons. A new one is a constant in reasons.go and a row here;
// docs/reasons.md and the behavior of planner, agent and kubectl come from it.
var Reasons = []ReasonInfo{
	{Reason: ReasonUpToDate, Giver: GivenByPlanner, Meaning: "every part runs what is asked for", Routine: true},
	{Reason: ReasonNoUpgrade, Giver: GivenByPlanner, Meaning: "nothing is asked for", Routine: true},
	{Reason: ReasonUnsupported, Giver: GivenByPlanner, Meaning: "Kubernetes does not come to this node as a sysext image", NeedsPerson: true},
	{Reason: ReasonUnmanaged, Giver: GivenByPlanner, Meaning: "the UpgradePolicy's nodeSelector does not match this node", Routine: true},
	{Reason: ReasonNotSelected, Giver: GivenByPlanner, Meaning: "the ClusterUpgrade's nodeSelector does not match this node", Routine: true},
	{Reason: ReasonQueued, Giver: GivenByPlanner, Meaning: "another ClusterUpgrade is active", Routine: true},
	{Reason: ReasonNotStaged, Giver: GivenByPlanner, Meaning: "the image is not on the node's disk yet", Routine: true, Resumes: true},
	{Reason: ReasonWindowClosed, Giver: GivenByPlanner, Meaning: "no maintenance window is open"},
	{Reason: ReasonExcluded, Giver: GivenByPlanner, Meaning: "a maintenance exclusion or a freeze holds", HeldByPeople: true},
	{Reason: ReasonScheduleInvalid, Giver: GivenByPlanner, Meaning: "a schedule cannot be understood: everything stays closed", NeedsPerson: true},
	{Reason: ReasonPolicyInvalid, Giver: GivenByPlanner, Meaning: "the UpgradePolicy cannot be understood: nothing begins", NeedsPerson: true},
	{Reason: ReasonInsufficientTime, Giver: GivenByPlanner, Meaning: "the window, or an exclusion's start, leaves less time than a node is expected to need"},
	{Reason: ReasonSuspended, Giver: GivenByPlanner, Meaning: "spec.suspend of the ClusterUpgrade", HeldByPeople: true, Resumes: true},
	{Reason: ReasonNotStarted, Giver: GivenByPlanner, Meaning: "spec.startTime is still to come", HeldByPeople: true, Routine: true},
	{Reason: ReasonApprovalRequired, Giver: GivenByPlanner, Meaning: "the strategy asks for an approval, and spec.approved does not give it", NeedsPerson: true, HeldByPeople: true, Resumes: true},
	{Reason: ReasonOnHold, Giver: GivenByPlanner, Meaning: "the Node bears the label kubectl-upgrade.dev/hold", NeedsPerson: true, HeldByPeople: true, Resumes: true},
	{Reason: ReasonControlPlaneFirst, Giver: GivenByPlanner, Meaning: "pass 1 is not over, or a control-plane node goes first", WaitsForOthers: true, Routine: true},
	{Reason: ReasonNotItsTurn, Giver: GivenByPlanner, Meaning: "other nodes go first", WaitsForOthers: true, Routine: true},
	{Reason: ReasonNoSlot, Giver: GivenByPlanner, Meaning: "all slots are taken, or the node has lost its own", WaitsForOthers: true, Routine: true},
	{Reason: ReasonUnknownMark, Giver: GivenByPlanner, Meaning: "the Node bears the mark of a slot that was not reserved for it"},
	{Reason: ReasonNodeFailed, Giver: GivenByPlanner, Meaning: "another node failed: no node starts after it", Routine: true},
	{Reason: ReasonNodeNotBack, Giver: GivenByPlanner, Meaning: "a node that went out of service does not come back: no node starts after it", Resumes: true},
	{Reason: ReasonNodeNotReady, Giver: GivenByPlanner, Meaning: "a NotReady node uses the budget up"},
	{Reason: ReasonSkew, Giver: GivenByPlanner, Meaning: "Kubernetes' version skew rules forbid it", NeedsPerson: true},
	{Reason: ReasonEtcdQuorum, Giver: GivenByPlanner, Meaning: "etcd would lose its quorum", NeedsPerson: true},
	{Reason: ReasonOtherRebootManager, Giver: GivenByPlanner, Meaning: "kured or FLUO may reboot nodes now"},
	{Reason: ReasonPreflight, Giver: GivenByPlanner, Meaning: "a preflight check blocks: see the upgrade's findings", Resumes: true},
	{Reason: ReasonWebhookBackend, Giver: GivenByPlanner, Meaning: "an admission webhook would lose its last ready backend with this node", Resumes: true},
	{Reason: ReasonReleased, Giver: GivenByPlanner, Meaning: "the coordinator released the node, and its agent is at work", Routine: true},
	{Reason: ReasonAbandoned, Giver: GivenByPlanner, Meaning: "a person declared that the node will not come back", NeedsPerson: true},
	{Reason: ReasonUpgradeInvalid, Giver: GivenByPlanner, Meaning: "the ClusterUpgrade asks for what is not possible or not supported"},
	{Reason: ReasonSuperseded, Giver: GivenByPlanner, Meaning: "a newer upgrade brought more than this one asks for", Routine: true},
	{Reason: ReasonSourceUnavailable, Giver: GivenBySource, Meaning: "the index could not be read", StopsStaging: true, Resumes: true},
	{Reason: ReasonSourceEmpty, Giver: GivenBySource, Meaning: "the index offers no Kubernetes image at all", Resumes: true},
	{Reason: ReasonSourceInvalid, Giver: GivenBySource, Meaning: "the index lists what is not a version or not a hash", Resumes: true},
	{Reason: ReasonNotOffered, Giver: GivenBySource, Meaning: "the version is not on offer for the node's architecture", StopsStaging: true, Resumes: true},
	{Reason: ReasonAwaitingRelease, Giver: GivenByAgent, Meaning: "the node is ready to begin; the condition Admitted says what it waits for", Routine: true},
	{Reason: ReasonStaging, Giver: GivenByAgent, Meaning: "the image is being downloaded or checked", Routine: true},
	{Reason: ReasonHashMismatch, Giver: GivenByAgent, Meaning: "the image's bytes are not those that were promised", StopsStaging: true},
	{Reason: ReasonSignatureInvalid, Giver: GivenByAgent, Meaning: "the index of images has no good signature by a key of the UpgradePolicy's keyring", StopsStaging: true},
	{Reason: ReasonOrderMismatch, Giver: GivenByAgent, Meaning: "the order names another version or image than its upgrade fixed at the trigger", StopsStaging: true},
	{Reason: ReasonContentMismatch, Giver: GivenByAgent, Meaning: "the image holds another version than its name says", StopsStaging: true},
	{Reason: ReasonConfConflict, Giver: GivenByAgent, Meaning: "the conf directory has the confs of two minors", StopsStaging: true},
	{Reason: ReasonDiskFull, Giver: GivenByAgent, Meaning: "no room for the image", StopsStaging: true},
	{Reason: ReasonStageFailed, Giver: GivenByAgent, Meaning: "staging failed for another reason", StopsStaging: true},
	{Reason: ReasonPullingImages, Giver: GivenByAgent, Meaning: "the control plane's container images are being pulled", Routine: true},
	{Reason: ReasonPullFailed, Giver: GivenByAgent, Meaning: "a container image of the control plane could not be pulled", StopsStaging: true},
	{Reason: ReasonSnapshotFailed, Giver: GivenByAgent, Meaning: "etcd's snapshot could not be taken or verified", RetriedWithoutLimit: true},
	{Reason: ReasonKubeadmFailed, Giver: GivenByAgent, Meaning: "kubeadm ended with an error"},
	{Reason: ReasonUnhealthy, Giver: GivenByAgent, Meaning: "static pods or the node are not healthy after kubeadm"},
	{Reason: ReasonDraining, Giver: GivenByAgent, Meaning: "pods are leaving"},
	{Reason: ReasonDrainBlocked, Giver: GivenByAgent, Meaning: "a pod cannot leave, as a PodDisruptionBudget, a rule or its owner forbids it"},
	{Reason: ReasonDrainTimeout, Giver: GivenByAgent, Meaning: "the drain took longer than its limit and was aborted", RetriedWithoutLimit: true},
	{Reason: ReasonGateUnknown, Giver: GivenByAgent, Meaning: "what decides whether the node may begin could not be read"},
	{Reason: ReasonAPIWriteFailed, Giver: GivenByAgent, Meaning: "the API server refuses what the node has to write, or does not answer"},
	{Reason: ReasonActivateFailed, Giver: GivenByAgent, Meaning: "conf or symlink could not be switched"},
	{Reason: ReasonRestartFailed, Giver: GivenByAgent, Meaning: "the merged image could not be refreshed, or the kubelet not restarted"},
	{Reason: ReasonObserving, Giver: GivenByAgent, Meaning: "uncordoned; has to stay Ready for minReadySeconds", Routine: true},
	{Reason: ReasonRebootFailed, Giver: GivenByAgent, Meaning: "the reboot was asked for and did not happen"},
	{Reason: ReasonRebootStillRequired, Giver: GivenByAgent, Meaning: "the node rebooted, and its operating system asks for another reboot"},
	{Reason: ReasonNextBootDiffers, Giver: GivenByAgent, Meaning: "the next boot would bring another Kubernetes than runs, and a Reboot changes none", NeedsPerson: true, RetriedWithoutLimit: true},
	{Reason: ReasonWrongVersion, Giver: GivenByAgent, Meaning: "the node came back with another kubelet than wanted"},
	{Reason: ReasonNotReadyInTime, Giver: GivenByAgent, Meaning: "the node came back and did not become Ready"},
	{Reason: ReasonHostUnreachable, Giver: GivenByAgent, Meaning: "systemd on the host does not answer", StopsStaging: true},
	{Reason: ReasonUpgradeWithdrawn, Giver: GivenByAgent, Meaning: "the ClusterUpgrade or the release is gone", Routine: true},
}

var reasonInfos = func() map[Reason]ReasonInfo {
	infos := make(map[Reason]ReasonInfo, len(Reasons))
	for _, info := range Reasons {
		infos[info.Reason] = info
	}
	return infos
}()

// Info returns what there is to know of the reason. One that is not known here, as
// a newer agent may give, has only its code.
func (r Reason) Info() ReasonInfo {
	if info, known := reasonInfos[r]; known {
		return info
	}
	return ReasonInfo{Reason: r}
}
