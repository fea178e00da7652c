package v1alpha1

// Step is the state of a node in an upgrade. An agent newer than the custom resource
// definition may use steps that are not listed here.
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
type Step string

// The steps. Steps, below, describes each.
const (
	StepIdle         Step = "Idle"
	StepUnsupported  Step = "Unsupported"
	StepStaging      Step = "Staging"
	StepWaiting      Step = "Waiting"
	StepKubeadmAhead Step = "KubeadmAhead"
	StepLocking      Step = "Locking"
	StepSnapshotting Step = "Snapshotting"
	StepKubeadm      Step = "Kubeadm"
	StepChecking     Step = "Checking"
	StepCordoning    Step = "Cordoning"
	StepDraining     Step = "Draining"
	StepDetaching    Step = "Detaching"
	StepLastCheck    Step = "LastCheck"
	StepActivating   Step = "Activating"
	StepRebooting    Step = "Rebooting"
	StepRestarting   Step = "Restarting"
	StepVerifying    Step = "Verifying"
	StepSettling     Step = "Settling"
	StepUncordoning  Step = "Uncordoning"
	StepObserving    Step = "Observing"
	StepUnlocking    Step = "Unlocking"
	StepAborting     Step = "Aborting"
	StepFailed       Step = "Failed"
	StepRolledBack   Step = "RolledBack"
)

// Phase classifies the steps by what may be done with a node in them.
type Phase string

// The phases.
const (
	PhaseInService   Phase = "InService"   // in service, without a slot, or about to free it
	PhaseRevocable   Phase = "Revocable"   // has begun, and can still abort
	PhaseCommitted   Phase = "Committed"   // must finish
	PhaseStopped     Phase = "Stopped"     // failed: keeps its slot until a person acts
	PhaseUnsupported Phase = "Unsupported" // its versions are not upgraded; a Reboot begins with Waiting
)

// StepInfo describes a step.
type StepInfo struct {
	Step Step
	// Phase is what may be done with a node in this step.
	Phase Phase
	// Meaning explains the step in the docs.
	Meaning string
	// Doing completes the sentence "node w1 …".
	Doing string
	// Share is how much of a node's pass is over when the step begins, in percent, from
	// the times of nodes in the lab. It is used only to show progress.
	Share int
	// Event reports whether the node's agent records an event when the step begins, for people
	// to read.
	Event bool
}

// Steps are all steps, in the order in which a node goes through them. Pass 1 is
// Locking, Snapshotting on the first control plane, Kubeadm, Checking, Unlocking;
// pass 2 runs from Locking to Unlocking without Snapshotting and Checking, and without
// Kubeadm on a worker that was at KubeadmAhead.
var Steps = []StepInfo{
	{StepIdle, PhaseInService, "there is no order, or the node is up to date", "is idle", 0, true},
	{StepUnsupported, PhaseUnsupported, "Kubernetes does not come to this node as a sysext image", "is not supported", 0, false},
	{StepStaging, PhaseInService, "the image is downloaded and checked", "stages the image", 0, false},
	{StepWaiting, PhaseInService, "staged; waits for its release", "waits", 0, false},
	{StepKubeadmAhead, PhaseInService,
		"a worker that goes next: kubeadm runs from the staged image while the node is in service, without a slot", "runs kubeadm ahead of its turn", 0, false},
	{StepLocking, PhaseRevocable, "window, release and skew are checked, the slot is taken", "takes its slot", 0, true},
	{StepSnapshotting, PhaseRevocable, "a snapshot of etcd is taken and verified", "takes a snapshot of etcd", 0, false},
	{StepKubeadm, PhaseRevocable, "kubeadm runs from the staged image", "runs kubeadm", 1, true},
	{StepChecking, PhaseRevocable, "pass 1: static pods and node become healthy", "waits for its control plane", 88, false},
	{StepCordoning, PhaseRevocable, "the node is cordoned: it gets no new pods", "is cordoned", 6, false},
	{StepDraining, PhaseRevocable, "pods are evicted", "is drained", 7, true},
	{StepDetaching, PhaseRevocable, "drain.volumesDetachedSeconds: the volumes of the pods that have gone are detached", "waits for its volumes", 41, false},
	{StepLastCheck, PhaseRevocable, "window, release and slot are checked for the last time", "makes the last check", 41, false},
	{StepActivating, PhaseCommitted, "the guard is armed, conf and symlink are switched", "activates the image", 42, false},
	{StepRebooting, PhaseCommitted, "the reboot was requested", "reboots", 44, true},
	{StepRestarting, PhaseCommitted, "method Restart: the merged image is refreshed, the kubelet restarted", "restarts its kubelet", 44, true},
	{StepVerifying, PhaseCommitted, "the kubelet has to run the version and be Ready", "comes back", 72, false},
	{StepSettling, PhaseCommitted, "the node has to stay Ready for settleSeconds", "settles", 72, false},
	{StepUncordoning, PhaseCommitted, "the agent's own cordon and the slot annotation are removed", "is uncordoned", 99, false},
	{StepObserving, PhaseCommitted, "uncordoned; has to stay Ready for minReadySeconds", "is observed", 99, false},
	{StepUnlocking, PhaseCommitted, "the slot is freed", "frees its slot", 99, false},
	{StepAborting, PhaseRevocable, "aborts the attempt: uncordons, frees the slot, waits", "aborts its attempt", 0, true},
	{StepFailed, PhaseStopped, "needs a person; keeps its slot", "failed", 0, true},
	{StepRolledBack, PhaseStopped, "the guard took the kubelet back; keeps its slot", "was rolled back", 0, true},
}

var stepInfos = func() map[Step]StepInfo {
	infos := make(map[Step]StepInfo, len(Steps))
	for _, info := range Steps {
		infos[info.Step] = info
	}
	return infos
}()

// Known reports whether this version knows the step.
func (s Step) Known() bool {
	_, known := stepInfos[s]
	return known
}

// Info describes the step. An unknown step, of a newer agent, is treated as one that
// must finish.
func (s Step) Info() StepInfo {
	if info, known := stepInfos[s]; known {
		return info
	}
	if s == "" {
		return StepInfo{Phase: PhaseInService, Doing: "has not reported yet"}
	}
	return StepInfo{Step: s, Phase: PhaseCommitted, Meaning: "a step of a newer agent", Doing: "is at " + string(s)}
}
