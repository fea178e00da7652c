package v1alpha1

// Step is where a node is on its way. The set is open: an agent newer than the
// custom resource definition may be in a step that it does not know.
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
type Step string

// The steps. Steps, below, says what there is to know of each.
const (
	StepIdle         Step = "Idle"
	StepUnsupported  Step = "Unsupported"
	StepStaging      Step = "Staging"
	StepWaiting      Step = "Waiting"
	StepLocking      Step = "Locking"
	StepSnapshotting Step = "Snapshotting"
	StepKubeadm      Step = "Kubeadm"
	StepChecking     Step = "Checking"
	StepCordoning    Step = "Cordoning"
	StepDraining     Step = "Draining"
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

// Phase sorts the steps by what may be done about a node that is in one.
type Phase string

// The phases.
const (
	PhaseInService   Phase = "InService"   // holds nothing
	PhaseRevocable   Phase = "Revocable"   // has begun, and can still give up
	PhaseCommitted   Phase = "Committed"   // finishes what it began
	PhaseStopped     Phase = "Stopped"     // failed: keeps its slot until a person acts
	PhaseUnsupported Phase = "Unsupported" // is never upgraded
)

// StepInfo is what there is to know of a step.
type StepInfo struct {
	Step Step
	// Phase says what may be done about a node in this step.
	Phase Phase
	// Meaning explains the step in the docs.
	Meaning string
	// Doing completes the sentence "node w1 …" for people who watch.
	Doing string
	// Share is how much of a node's pass is over when the step begins, in percent:
	// of the times that lab/results.md measured for a worker, and for Checking of
	// a control plane's. It draws progress, and decides nothing.
	Share int
}

// Steps are all steps, in the order in which a node goes through them. Pass 1 is
// Locking, Snapshotting on the first control plane, Kubeadm, Checking, Unlocking;
// pass 2 runs from Locking to Unlocking without Snapshotting and Checking.
var Steps = []StepInfo{
	{StepIdle, PhaseInService, "nothing is asked for, or the node is up to date", "is idle", 0},
	{StepUnsupported, PhaseUnsupported, "Kubernetes does not come to this node as a sysext image", "is not supported", 0},
	{StepStaging, PhaseInService, "the image is downloaded and checked", "stages the image", 0},
	{StepWaiting, PhaseInService, "staged; waits to be released", "waits", 0},
	{StepLocking, PhaseRevocable, "window, release and skew are checked, the slot is taken", "takes its slot", 0},
	{StepSnapshotting, PhaseRevocable, "a snapshot of etcd is taken and verified", "takes a snapshot of etcd", 0},
	{StepKubeadm, PhaseRevocable, "kubeadm runs from the staged image", "runs kubeadm", 1},
	{StepChecking, PhaseRevocable, "pass 1: static pods and node become healthy", "waits for its control plane", 88},
	{StepCordoning, PhaseRevocable, "no new pods", "is cordoned", 6},
	{StepDraining, PhaseRevocable, "pods leave", "is drained", 7},
	{StepLastCheck, PhaseRevocable, "window, release and slot are checked for the last time", "makes the last check", 41},
	{StepActivating, PhaseCommitted, "the guard is armed, conf and symlink are switched", "activates the image", 42},
	{StepRebooting, PhaseCommitted, "the reboot was asked for", "reboots", 44},
	{StepRestarting, PhaseCommitted, "method Restart: the merged image is refreshed, the kubelet restarted", "restarts its kubelet", 44},
	{StepVerifying, PhaseCommitted, "the kubelet's version and Ready are awaited", "comes back", 72},
	{StepSettling, PhaseCommitted, "quiet time", "settles", 72},
	{StepUncordoning, PhaseCommitted, "our own cordon is lifted, the mark removed", "is uncordoned", 99},
	{StepObserving, PhaseCommitted, "uncordoned; has to stay Ready for minReadySeconds", "is observed", 99},
	{StepUnlocking, PhaseCommitted, "the slot is freed", "frees its slot", 99},
	{StepAborting, PhaseRevocable, "gives up cleanly: uncordon, unlock, wait", "gives up", 0},
	{StepFailed, PhaseStopped, "needs a person; keeps its slot", "failed", 0},
	{StepRolledBack, PhaseStopped, "the guard took the kubelet back; keeps its slot", "was rolled back", 0},
}

var stepInfos = func() map[Step]StepInfo {
	infos := make(map[Step]StepInfo, len(Steps))
	for _, info := range Steps {
		infos[info.Step] = info
	}
	return infos
}()

// Info returns what there is to know of the step. A step of a newer agent, which
// is not known here, is taken for one that must not be disturbed.
func (s Step) Info() StepInfo {
	if info, known := stepInfos[s]; known {
		return info
	}
	if s == "" {
		return StepInfo{Phase: PhaseInService, Doing: "has not reported yet"}
	}
	return StepInfo{Step: s, Phase: PhaseCommitted, Meaning: "a step of a newer agent", Doing: "is at " + string(s)}
}
