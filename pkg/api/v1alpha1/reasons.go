package v1alpha1

// Reason is the one code that says why a node waits, stopped or failed. The
// same code stands in NodeUpgrade, conditions, events and the CLI.
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
type Reason string

// Reasons that the planner gives to a node that may not go.
const (
	ReasonUpToDate           Reason = "UpToDate"           // every part is as wanted
	ReasonNoUpgrade          Reason = "NoUpgrade"          // nothing is asked for
	ReasonUnsupported        Reason = "Unsupported"        // Kubernetes does not come to this node as a sysext image
	ReasonQueued             Reason = "Queued"             // another ClusterUpgrade is active
	ReasonNotStaged          Reason = "NotStaged"          // the image is not on the node's disk yet
	ReasonWindowClosed       Reason = "WindowClosed"       // no maintenance window is open
	ReasonExcluded           Reason = "Excluded"           // a maintenance exclusion or a freeze holds
	ReasonScheduleInvalid    Reason = "ScheduleInvalid"    // a schedule cannot be understood: everything stays closed
	ReasonTimeLeft           Reason = "TimeLeft"           // the window, or an exclusion's start, leaves less time than a node is expected to need
	ReasonSuspended          Reason = "Suspended"          // spec.suspend of the ClusterUpgrade
	ReasonNotStarted         Reason = "NotStarted"         // spec.startTime is still to come
	ReasonControlPlaneFirst  Reason = "ControlPlaneFirst"  // pass 1 is not over, or a control-plane node is before it
	ReasonNotItsTurn         Reason = "NotItsTurn"         // other nodes are before it
	ReasonNoSlot             Reason = "NoSlot"             // all slots are taken, or the node has lost its own
	ReasonNodeFailed         Reason = "NodeFailed"         // another node failed: nobody starts after it
	ReasonNodeNotReady       Reason = "NodeNotReady"       // a NotReady node uses the budget up
	ReasonSkew               Reason = "Skew"               // Kubernetes' version skew rules forbid it
	ReasonEtcdQuorum         Reason = "EtcdQuorum"         // etcd would lose its quorum
	ReasonOtherRebootManager Reason = "OtherRebootManager" // kured or FLUO may reboot nodes now
	ReasonPreflight          Reason = "Preflight"          // a preflight check blocks: see the upgrade's findings
	ReasonWebhookBackend     Reason = "WebhookBackend"     // an admission webhook would lose its last ready backend with this node
	ReasonReleased           Reason = "Released"           // the coordinator let it go; the agent is at work
	ReasonAbandoned          Reason = "Abandoned"          // a person gave the node up
	ReasonUpgradeInvalid     Reason = "UpgradeInvalid"     // the ClusterUpgrade asks for what is not possible or not supported
)

// Reasons about the source of images.
const (
	ReasonSourceUnavailable Reason = "SourceUnavailable" // the index could not be read
	ReasonSourceEmpty       Reason = "SourceEmpty"       // the index offers no Kubernetes image at all
	ReasonSourceInvalid     Reason = "SourceInvalid"     // the index lists what is not a version or not a hash
	ReasonNotOffered        Reason = "NotOffered"        // the version is not on offer for the node's architecture
)

// Reasons that an agent gives.
const (
	ReasonStaging             Reason = "Staging"             // the image is being downloaded or checked
	ReasonHashMismatch        Reason = "HashMismatch"        // the image's bytes are not those that were promised
	ReasonContentMismatch     Reason = "ContentMismatch"     // the image holds another version than its name says
	ReasonConfConflict        Reason = "ConfConflict"        // the conf directory has the confs of two minors
	ReasonDiskFull            Reason = "DiskFull"            // no room for the image
	ReasonStageFailed         Reason = "StageFailed"         // staging failed for another reason
	ReasonPullingImages       Reason = "PullingImages"       // the control plane's container images are being pulled
	ReasonPullFailed          Reason = "PullFailed"          // a container image of the control plane could not be pulled
	ReasonSnapshotFailed      Reason = "SnapshotFailed"      // etcd's snapshot could not be taken or verified
	ReasonKubeadmFailed       Reason = "KubeadmFailed"       // kubeadm ended with an error
	ReasonUnhealthy           Reason = "Unhealthy"           // static pods or the node are not healthy after kubeadm
	ReasonDraining            Reason = "Draining"            // pods are leaving
	ReasonDrainBlocked        Reason = "DrainBlocked"        // a pod cannot be evicted, as a PodDisruptionBudget or its owner forbids it
	ReasonDrainTimeout        Reason = "DrainTimeout"        // the drain took longer than its limit and was given up
	ReasonGateClosed          Reason = "GateClosed"          // what stands against beginning could not be read
	ReasonActivateFailed      Reason = "ActivateFailed"      // conf or symlink could not be switched
	ReasonRestartFailed       Reason = "RestartFailed"       // the merged image could not be refreshed, or the kubelet not restarted
	ReasonRebootFailed        Reason = "RebootFailed"        // the reboot was asked for and did not happen
	ReasonRebootStillRequired Reason = "RebootStillRequired" // the node rebooted, and its operating system asks for another reboot
	ReasonNextBootDiffers     Reason = "NextBootDiffers"     // the next boot would bring another Kubernetes than runs, and a Reboot changes none
	ReasonWrongVersion        Reason = "WrongVersion"        // the node came back with another kubelet than wanted
	ReasonNotReadyInTime      Reason = "NotReadyInTime"      // the node came back and did not become Ready
	ReasonHostUnreachable     Reason = "HostUnreachable"     // systemd on the host does not answer
	ReasonUpgradeWithdrawn    Reason = "UpgradeWithdrawn"    // the ClusterUpgrade or the release is gone
)
