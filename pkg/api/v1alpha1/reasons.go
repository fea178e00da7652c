package v1alpha1

// Reason is the code for why a node waits, stopped or failed. NodeUpgrades, conditions,
// events and the CLI use the same codes.
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
type Reason string

// The reasons. Reasons describes each.
const (
	ReasonUpToDate              Reason = "UpToDate"
	ReasonNoUpgrade             Reason = "NoUpgrade"
	ReasonUnsupported           Reason = "Unsupported"
	ReasonUnmanaged             Reason = "Unmanaged"
	ReasonObserved              Reason = "Observed"
	ReasonNotSelected           Reason = "NotSelected"
	ReasonNotRequested          Reason = "NotRequested"
	ReasonQueued                Reason = "Queued"
	ReasonNotStaged             Reason = "NotStaged"
	ReasonWindowClosed          Reason = "WindowClosed"
	ReasonCertificateEndsFirst  Reason = "CertificateEndsFirst"
	ReasonExcluded              Reason = "Excluded"
	ReasonScheduleInvalid       Reason = "ScheduleInvalid"
	ReasonPolicyInvalid         Reason = "PolicyInvalid"
	ReasonPolicyMissing         Reason = "PolicyMissing"
	ReasonInsufficientTime      Reason = "InsufficientTime"
	ReasonSuspended             Reason = "Suspended"
	ReasonNotStarted            Reason = "NotStarted"
	ReasonApprovalRequired      Reason = "ApprovalRequired"
	ReasonOnHold                Reason = "OnHold"
	ReasonControlPlaneFirst     Reason = "ControlPlaneFirst"
	ReasonNotItsTurn            Reason = "NotItsTurn"
	ReasonNoSlot                Reason = "NoSlot"
	ReasonUnknownMark           Reason = "UnknownMark"
	ReasonLabelMissing          Reason = "LabelMissing"
	ReasonClockDiffers          Reason = "ClockDiffers"
	ReasonCoordinatorNotRunning Reason = "CoordinatorNotRunning"
	ReasonAgentNotAnswering     Reason = "AgentNotAnswering"
	ReasonAgentNotRunning       Reason = "AgentNotRunning"
	ReasonNodeFailed            Reason = "NodeFailed"
	ReasonNodeNotBack           Reason = "NodeNotBack"
	ReasonNotReadyAfterUpgrade  Reason = "NotReadyAfterUpgrade"
	ReasonNodeCordoned          Reason = "NodeCordoned"
	ReasonNodeNotReady          Reason = "NodeNotReady"
	ReasonSkew                  Reason = "Skew"
	ReasonEtcdQuorum            Reason = "EtcdQuorum"
	ReasonOtherRebootManager    Reason = "OtherRebootManager"
	ReasonPreflight             Reason = "Preflight"
	ReasonWebhookBackend        Reason = "WebhookBackend"
	ReasonExternalGateClosed    Reason = "ExternalGateClosed"
	ReasonExternalGateUnknown   Reason = "ExternalGateUnknown"
	ReasonNotSoaked             Reason = "NotSoaked"
	ReasonHookRunning           Reason = "HookRunning"
	ReasonHookFailed            Reason = "HookFailed"
	ReasonReleased              Reason = "Released"
	ReasonAbandoned             Reason = "Abandoned"
	ReasonUpgradeInvalid        Reason = "UpgradeInvalid"
	ReasonSuperseded            Reason = "Superseded"
	ReasonSourceUnavailable     Reason = "SourceUnavailable"
	ReasonSourceEmpty           Reason = "SourceEmpty"
	ReasonSourceInvalid         Reason = "SourceInvalid"
	ReasonNotOffered            Reason = "NotOffered"
	ReasonImageTooNew           Reason = "ImageTooNew"
	ReasonAutomaticInterval     Reason = "AutomaticInterval"
	ReasonAwaitingRelease       Reason = "AwaitingRelease"
	ReasonStaging               Reason = "Staging"
	ReasonHashMismatch          Reason = "HashMismatch"
	ReasonSignatureInvalid      Reason = "SignatureInvalid"
	ReasonOrderMismatch         Reason = "OrderMismatch"
	ReasonContentMismatch       Reason = "ContentMismatch"
	ReasonConfConflict          Reason = "ConfConflict"
	ReasonRunningImageGone      Reason = "RunningImageGone"
	ReasonDiskFull              Reason = "DiskFull"
	ReasonStageFailed           Reason = "StageFailed"
	ReasonPullingImages         Reason = "PullingImages"
	ReasonPullFailed            Reason = "PullFailed"
	ReasonSnapshotFailed        Reason = "SnapshotFailed"
	ReasonKubeadmFailed         Reason = "KubeadmFailed"
	ReasonRenewalFailed         Reason = "RenewalFailed"
	ReasonKubeadmConfigDiffers  Reason = "KubeadmConfigDiffers"
	ReasonUnhealthy             Reason = "Unhealthy"
	ReasonDraining              Reason = "Draining"
	ReasonDrainBlocked          Reason = "DrainBlocked"
	ReasonDrainTimeout          Reason = "DrainTimeout"
	ReasonVolumesAttached       Reason = "VolumesAttached"
	ReasonRulesUnknown          Reason = "RulesUnknown"
	ReasonAPIWriteFailed        Reason = "APIWriteFailed"
	ReasonActivateFailed        Reason = "ActivateFailed"
	ReasonRestartFailed         Reason = "RestartFailed"
	ReasonObserving             Reason = "Observing"
	ReasonRebootFailed          Reason = "RebootFailed"
	ReasonRebootStillRequired   Reason = "RebootStillRequired"
	ReasonNextBootDiffers       Reason = "NextBootDiffers"
	ReasonWrongVersion          Reason = "WrongVersion"
	ReasonRolledBack            Reason = "RolledBack"
	ReasonNodeAtFault           Reason = "NodeAtFault"
	ReasonNotReadyInTime        Reason = "NotReadyInTime"
	ReasonNotWhole              Reason = "NotWhole"
	ReasonHostUnreachable       Reason = "HostUnreachable"
	ReasonRehearsalFailed       Reason = "RehearsalFailed"
	ReasonUpgradeWithdrawn      Reason = "UpgradeWithdrawn"
)

// Giver is the component that sets a reason.
type Giver string

// The givers.
const (
	GivenByPlanner Giver = "planner" // to a node that may not begin, or an upgrade
	GivenBySource  Giver = "source"  // about the source of images
	GivenByAgent   Giver = "agent"   // about what happens on its node
	GivenByPlugin  Giver = "plugin"  // about a coordinator or an agent that cannot report itself
)

// ReasonInfo describes a reason. False is the usual value of each flag.
type ReasonInfo struct {
	Reason Reason
	// Former is the code that an earlier version writes for it. Empty: there is none.
	Former Reason
	Giver  Giver
	// Meaning explains the reason in docs and in kubectl.
	Meaning string

	// Ends says in docs when the reason ends. Empty: it follows from the flags.
	Ends string
	// NeedsPerson marks a reason that does not pass by itself.
	NeedsPerson bool
	// HeldByPeople marks a decision of people, independent of windows.
	HeldByPeople bool
	// WaitsForOthers marks a reason that is about other nodes, or whom Cluster API asks for.
	WaitsForOthers bool
	// StopsStaging marks a reason why an image cannot be staged or pulled.
	StopsStaging bool
	// AboutImage marks a reason that is about the image of one version, and not about the node.
	AboutImage bool
	// RetriedWithoutLimit marks a failure that does not count towards Failed.
	RetriedWithoutLimit bool
	// Routine marks a reason that is not worth showing to a person who follows an
	// upgrade.
	Routine bool
	// Resumes marks a reason of an upgrade that waits for a person, and continues by itself as soon as
	// the cause is gone.
	Resumes bool
}

// Reasons are all reasons. A new one is a constant above and a row here;
// docs/reasons.md and the behavior of planner, agent and kubectl come from it.
var Reasons = []ReasonInfo{
	{Reason: ReasonUpToDate, Giver: GivenByPlanner, Meaning: "the kubelet, and on a control plane its components, run the version", Routine: true},
	{Reason: ReasonNoUpgrade, Giver: GivenByPlanner, Meaning: "there is no upgrade", Routine: true},
	{Reason: ReasonUnsupported, Giver: GivenByPlanner, Meaning: "Kubernetes does not come to this node as a sysext image, so no upgrade changes its version; or no agent can run on it; or the nodeSelectors leave no node", NeedsPerson: true},
	{Reason: ReasonUnmanaged, Giver: GivenByPlanner, Meaning: "the UpgradePolicy's nodeSelector does not match this node: nothing on it is changed", Routine: true},
	{Reason: ReasonObserved, Giver: GivenByPlanner, Meaning: "spec.mode of the UpgradePolicy is Observe: nothing on any node is changed", NeedsPerson: true, HeldByPeople: true, Resumes: true},
	{Reason: ReasonNotSelected, Giver: GivenByPlanner, Meaning: "the ClusterUpgrade's nodeSelector does not match this node, or its type has nothing to do on nodes like it", Routine: true},
	{Reason: ReasonNotRequested, Giver: GivenByPlanner, Meaning: "Cluster API decides on versions here, and has not asked for this node", Ends: "when Cluster API updates the node's Machine", WaitsForOthers: true},
	{Reason: ReasonQueued, Giver: GivenByPlanner, Meaning: "another ClusterUpgrade is active; or the node is a control plane that joined late and gets a ClusterUpgrade of its own", Routine: true},
	{Reason: ReasonNotStaged, Giver: GivenByPlanner, Meaning: "the image is not on the node's disk yet", Routine: true, Resumes: true},
	{Reason: ReasonWindowClosed, Giver: GivenByPlanner, Meaning: "no maintenance window is open"},
	{Reason: ReasonCertificateEndsFirst, Giver: GivenByPlanner, Meaning: "a certificate ends before a window opens in which it could be renewed, or while an exclusion holds", Ends: "when a window opens before, the exclusion ends, or the upgrade ignores windows", NeedsPerson: true, Resumes: true},
	{Reason: ReasonExcluded, Giver: GivenByPlanner, Meaning: "a maintenance exclusion or a freeze is in effect", HeldByPeople: true},
	{Reason: ReasonScheduleInvalid, Giver: GivenByPlanner, Meaning: "a schedule is invalid: all windows stay closed", NeedsPerson: true},
	{Reason: ReasonPolicyInvalid, Giver: GivenByPlanner, Meaning: "the UpgradePolicy is invalid: nothing begins", NeedsPerson: true},
	{Reason: ReasonPolicyMissing, Giver: GivenByPlanner, Meaning: "there is no UpgradePolicy: nothing begins, and no node is given back, until an administrator creates it", NeedsPerson: true, Resumes: true},
	{Reason: ReasonInsufficientTime, Giver: GivenByPlanner, Meaning: "the node needs longer than is left before its window closes or an exclusion starts"},
	{Reason: ReasonSuspended, Giver: GivenByPlanner, Meaning: "spec.suspend of the ClusterUpgrade is true", HeldByPeople: true, Resumes: true},
	{Reason: ReasonNotStarted, Giver: GivenByPlanner, Meaning: "spec.startTime is in the future", HeldByPeople: true, Routine: true},
	{Reason: ReasonApprovalRequired, Giver: GivenByPlanner, Meaning: "the strategy requires an approval that is not given yet", NeedsPerson: true, HeldByPeople: true, Resumes: true},
	{Reason: ReasonOnHold, Giver: GivenByPlanner, Meaning: "the Node has the label kubectl-upgrade.dev/hold", NeedsPerson: true, HeldByPeople: true, Resumes: true},
	{Reason: ReasonControlPlaneFirst, Giver: GivenByPlanner, Meaning: "control planes are upgraded first", WaitsForOthers: true, Routine: true},
	{Reason: ReasonNotItsTurn, Giver: GivenByPlanner, Meaning: "other nodes go first", WaitsForOthers: true, Routine: true},
	{Reason: ReasonNoSlot, Giver: GivenByPlanner, Meaning: "all slots are taken, or the Lease of this node's slot was deleted", WaitsForOthers: true, Routine: true},
	{Reason: ReasonUnknownMark, Giver: GivenByPlanner, Meaning: "the Node's annotation kubectl-upgrade.dev/slot names a slot that was not reserved for it; the agent removes it"},
	{Reason: ReasonLabelMissing, Giver: GivenByPlanner, Meaning: "the node reports that it runs a kube-apiserver, and has not the control plane's label, which an upgrade to a version takes", Ends: "when a person labels the Node, or the report is corrected", NeedsPerson: true, Resumes: true},
	{Reason: ReasonClockDiffers, Giver: GivenByPlanner, Meaning: "the node's or the coordinator's clock, by which windows are judged, differs by more than 30 seconds from the API server's", Ends: "when a person sets the clock"},
	{Reason: ReasonNodeFailed, Giver: GivenByPlanner, Meaning: "another node failed: no other node begins", Ends: "when that node recovers, or a person retries the upgrade or abandons the node", Routine: true},
	{Reason: ReasonNodeNotBack, Giver: GivenByPlanner, Meaning: "a node that is out of service has not come back: no other node begins", Ends: "when it is back, or a person abandons it", Resumes: true},
	{Reason: ReasonNodeCordoned, Giver: GivenByPlanner, Meaning: "nodes that another client has cordoned use up maxUnavailable (strategy.cordonedNodes)", Ends: "when they are uncordoned"},
	{Reason: ReasonNodeNotReady, Giver: GivenByPlanner, Meaning: "a node is NotReady: this one, or others that use up maxUnavailable", Ends: "when it is Ready; often a person has to repair it"},
	{Reason: ReasonAgentNotAnswering, Giver: GivenByPlanner, Meaning: "the node's agent is not Ready, or did not take up an order in time, which is withdrawn", Ends: "when it answers; often a person has to repair its pod", Resumes: true},
	{Reason: ReasonNotReadyAfterUpgrade, Giver: GivenByPlanner, Meaning: "a node that was upgraded stopped being Ready soon after: no other node begins", Ends: "when it is Ready again, or a person abandons it", Resumes: true},
	{Reason: ReasonSkew, Giver: GivenByPlanner, Meaning: "Kubernetes' version skew rules forbid this version on the node", NeedsPerson: true},
	{Reason: ReasonEtcdQuorum, Giver: GivenByPlanner, Meaning: "etcd would lose its quorum", NeedsPerson: true},
	{Reason: ReasonOtherRebootManager, Giver: GivenByPlanner, Meaning: "kured or FLUO may reboot nodes now", Ends: "when kured frees its lock, or a person removes or pauses FLUO"},
	{Reason: ReasonPreflight, Giver: GivenByPlanner, Meaning: "a preflight check blocks: see the upgrade's findings", Ends: "when the cause is gone; often a person has to remove it", Resumes: true},
	{Reason: ReasonWebhookBackend, Giver: GivenByPlanner, Meaning: "an admission webhook would lose its last ready backend with this node", Ends: "when another backend is ready; often a person has to start one", Resumes: true},
	{Reason: ReasonExternalGateClosed, Giver: GivenByPlanner, Meaning: "a gate of the UpgradePolicy is closed", Ends: "when the gate opens", Resumes: true},
	{Reason: ReasonExternalGateUnknown, Giver: GivenByPlanner, Meaning: "a gate of the UpgradePolicy has not been asked yet, or could not be", Ends: "when it is answered; after five minutes often a person has to repair what it asks", Resumes: true},
	{Reason: ReasonNotSoaked, Giver: GivenByPlanner, Meaning: "the cluster that this one follows has not run the version for long enough, or not well", Ends: "when it has; if a node failed there, when a person has solved that", Resumes: true},
	{Reason: ReasonHookRunning, Giver: GivenByPlanner, Meaning: "a hook of the UpgradePolicy runs before or after a node or the upgrade", Ends: "when its Job ends, or after the hook's timeoutSeconds"},
	{Reason: ReasonHookFailed, Giver: GivenByPlanner, Meaning: "a hook of the UpgradePolicy failed: no other node begins", Ends: "when a person retries the upgrade, or the policy has no such hook any more, or continues without it", NeedsPerson: true, Resumes: true},
	{Reason: ReasonReleased, Giver: GivenByPlanner, Meaning: "the coordinator released the node, which is being upgraded", Routine: true},
	{Reason: ReasonAbandoned, Giver: GivenByPlanner, Meaning: "a person declared that the node will not come back", Ends: "when its agent reports again and it is Ready", NeedsPerson: true},
	{Reason: ReasonUpgradeInvalid, Giver: GivenByPlanner, Meaning: "the ClusterUpgrade requests something that is impossible or not supported", Ends: "when a person corrects or deletes it"},
	{Reason: ReasonSuperseded, Giver: GivenByPlanner, Meaning: "a newer upgrade includes this version", Routine: true},
	{Reason: ReasonSourceUnavailable, Giver: GivenBySource, Meaning: "the index could not be read, or a node could not download the image", StopsStaging: true, AboutImage: true, Resumes: true},
	{Reason: ReasonSourceEmpty, Giver: GivenBySource, Meaning: "the index offers no Kubernetes image at all", Resumes: true},
	{Reason: ReasonSourceInvalid, Giver: GivenBySource, Meaning: "the index is invalid, or not signed as the UpgradePolicy requires", Ends: "when the index or the policy is corrected", Resumes: true},
	{Reason: ReasonImageTooNew, Giver: GivenByPlanner, Meaning: "an image of an automatic patch was replaced, and is not minAgeSeconds old yet"},
	{Reason: ReasonAutomaticInterval, Giver: GivenByPlanner, Meaning: "the last automatic upgrade of this type ended less than minIntervalSeconds ago", HeldByPeople: true, Routine: true},
	{Reason: ReasonNotOffered, Giver: GivenBySource, Meaning: "the index does not list the version for the node's architecture, or the listed image is not there", StopsStaging: true, AboutImage: true, Resumes: true},
	{Reason: ReasonAwaitingRelease, Giver: GivenByAgent, Meaning: "the node is ready to begin; the condition Admitted says what it waits for", Routine: true},
	{Reason: ReasonStaging, Giver: GivenByAgent, Meaning: "the image is being downloaded or checked", Routine: true},
	{Reason: ReasonHashMismatch, Giver: GivenByAgent, Meaning: "the image does not have the digest (sha256) that the upgrade recorded", Ends: "when the download is right; if the image at the source was replaced, when a person restores it, or deletes the upgrade and creates it again", StopsStaging: true, AboutImage: true},
	{Reason: ReasonSignatureInvalid, Giver: GivenByAgent, Meaning: "the index has no valid signature by a key of the UpgradePolicy's keyring", StopsStaging: true, AboutImage: true},
	{Reason: ReasonOrderMismatch, Giver: GivenByAgent, Meaning: "NodeUpgrade and ClusterUpgrade disagree about version or image", StopsStaging: true, AboutImage: true},
	{Reason: ReasonContentMismatch, Giver: GivenByAgent, Meaning: "the image contains another version than its name says", StopsStaging: true, AboutImage: true},
	{Reason: ReasonConfConflict, Giver: GivenByAgent, Meaning: "/etc/sysupdate.kubernetes.d has transfer definitions of two minors", StopsStaging: true},
	{Reason: ReasonRunningImageGone, Giver: GivenByAgent, Meaning: "the running image is not on the disk, so the guard could not return the node to it", Ends: "when a person puts the file back", StopsStaging: true},
	{Reason: ReasonDiskFull, Giver: GivenByAgent, Meaning: "the disk has no space for the image", StopsStaging: true},
	{Reason: ReasonStageFailed, Giver: GivenByAgent, Meaning: "staging failed for another reason", StopsStaging: true},
	{Reason: ReasonPullingImages, Giver: GivenByAgent, Meaning: "the control plane's container images are being pulled", Routine: true},
	{Reason: ReasonPullFailed, Giver: GivenByAgent, Meaning: "a container image of the control plane could not be pulled", StopsStaging: true},
	{Reason: ReasonSnapshotFailed, Giver: GivenByAgent, Meaning: "etcd's snapshot could not be taken or verified", RetriedWithoutLimit: true},
	{Reason: ReasonKubeadmConfigDiffers, Giver: GivenByAgent, Meaning: "the ConfigMap kubeadm-config says another version than the upgrade, and kubeadm upgrade node would bring the node to that", Ends: "when the ConfigMap says the version of the upgrade: a GitOps tool may have put the former one back", NeedsPerson: true},
	{Reason: ReasonRenewalFailed, Giver: GivenByAgent, Meaning: "certificates could not be renewed, or a program does not use the new ones: the former ones are back"},
	{Reason: ReasonKubeadmFailed, Giver: GivenByAgent, Meaning: "kubeadm could not be run, or ended with an error"},
	{Reason: ReasonUnhealthy, Giver: GivenByAgent, Meaning: "static pods, etcd or the node are not healthy after kubeadm or the restart"},
	{Reason: ReasonDraining, Giver: GivenByAgent, Meaning: "pods are being evicted"},
	{Reason: ReasonDrainBlocked, Giver: GivenByAgent, Meaning: "a PodDisruptionBudget, a drain rule, or the lack of a controller keeps a pod from being evicted"},
	{Reason: ReasonDrainTimeout, Giver: GivenByAgent, Meaning: "the drain took longer than its limit and was aborted", RetriedWithoutLimit: true},
	{Reason: ReasonVolumesAttached, Giver: GivenByAgent, Meaning: "the node is drained, and volumes of its pods are still attached to it (drain.volumesDetachedSeconds)", RetriedWithoutLimit: true},
	{Reason: ReasonRulesUnknown, Former: "GateUnknown", Giver: GivenByAgent, Meaning: "the agent could not determine whether the node may begin"},
	{Reason: ReasonAPIWriteFailed, Giver: GivenByAgent, Meaning: "the API server refuses what the node has to write, or does not answer"},
	{Reason: ReasonActivateFailed, Giver: GivenByAgent, Meaning: "the guard could not be armed, or the definition or symlink of the image not be changed"},
	{Reason: ReasonRestartFailed, Giver: GivenByAgent, Meaning: "systemd-sysext refresh or the restart of the kubelet failed"},
	{Reason: ReasonObserving, Giver: GivenByAgent, Meaning: "uncordoned; has to stay Ready for minReadySeconds", Routine: true},
	{Reason: ReasonRebootFailed, Giver: GivenByAgent, Meaning: "the reboot was requested and did not happen"},
	{Reason: ReasonRebootStillRequired, Giver: GivenByAgent, Meaning: "the node rebooted, and its operating system asks for another reboot"},
	{Reason: ReasonRolledBack, Giver: GivenByAgent, Meaning: "the new version did not become healthy; the guard returned the node to its former one", NeedsPerson: true},
	{Reason: ReasonNodeAtFault, Giver: GivenByAgent, Meaning: "the node did not become healthy for a cause of its own, such as another extension, containerd or its network; nothing is held against the version", NeedsPerson: true},
	{Reason: ReasonNextBootDiffers, Giver: GivenByAgent, Meaning: "the next boot would change the Kubernetes version, which a Reboot must not do", NeedsPerson: true, RetriedWithoutLimit: true},
	{Reason: ReasonWrongVersion, Giver: GivenByAgent, Meaning: "the node came back with another kubelet version than requested"},
	{Reason: ReasonNotReadyInTime, Giver: GivenByAgent, Meaning: "the node came back and did not become Ready"},
	{Reason: ReasonNotWhole, Giver: GivenByAgent, Meaning: "the node is Ready, and something that it had before is not back, or keeps pods away (strategy.whole)", Ends: "when all of it is back, was removed, or is ignored"},
	{Reason: ReasonRehearsalFailed, Giver: GivenByPlanner, Meaning: "the node's next boot was tried on the node, with the node left as it is, and would not bring it back", Ends: "when the next trial finds nothing, a few minutes after a person has removed the cause; or when the upgrade ignores the check rehearsal", NeedsPerson: true, Resumes: true},
	{Reason: ReasonHostUnreachable, Giver: GivenByAgent, Meaning: "systemd on the host does not answer", StopsStaging: true},
	{Reason: ReasonUpgradeWithdrawn, Giver: GivenByAgent, Meaning: "the ClusterUpgrade was deleted, or the coordinator withdrew the release", Routine: true},
	{Reason: ReasonCoordinatorNotRunning, Giver: GivenByPlugin, Meaning: "no coordinator renews its Lease: no node is released, and other reasons may be old", Ends: "when a coordinator runs; with a single control plane, when that node is back in service"},
	{Reason: ReasonAgentNotRunning, Giver: GivenByPlugin, Meaning: "no agent is Ready on a Ready node: its step and reason may be old", Ends: "when the agent runs"},
}

var reasonInfos = func() map[Reason]ReasonInfo {
	infos := make(map[Reason]ReasonInfo, len(Reasons))
	for _, info := range Reasons {
		infos[info.Reason] = info
		if info.Former != "" {
			infos[info.Former] = info
		}
	}
	return infos
}()

// Known reports whether this version knows the reason.
func (r Reason) Known() bool {
	_, known := reasonInfos[r]
	return known
}

// Info describes the reason. An unknown one, of a newer agent, has only its code.
func (r Reason) Info() ReasonInfo {
	if info, known := reasonInfos[r]; known {
		return info
	}
	return ReasonInfo{Reason: r}
}
