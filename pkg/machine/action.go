package machine

import "time"

// Do is one kind of action.
type Do string

// The actions. Each may be done twice in a row without harm.
const (
	DoNothing  Do = ""
	DoDisarm   Do = "Disarm"   // keep others from activating or deleting images, under Key
	DoStage    Do = "Stage"    // have the image staged, under Key
	DoPull     Do = "Pull"     // have the control plane's container images pulled, under Key
	DoTake     Do = "Take"     // take the slot that is reserved
	DoSnapshot Do = "Snapshot" // have a snapshot of etcd taken, under Key
	DoKubeadm  Do = "Kubeadm"  // run kubeadm upgrade, under Key
	DoCordon   Do = "Cordon"   // cordon and mark in one update
	DoDrain    Do = "Drain"    // one round of evictions
	DoActivate Do = "Activate" // arm the guard and flip, under Key
	DoRestart  Do = "Restart"  // refresh the merged image and restart the kubelet, under Key
	DoReboot   Do = "Reboot"   // ask for the reboot
	DoUncordon Do = "Uncordon" // lift our own cordon and clear the marks
	DoFree     Do = "Free"     // free the slot
)

// Action is what to do now, and when to look again if nothing happens before.
type Action struct {
	Do Do
	// Key of the work on the host, for what has it done: DoDisarm, DoStage, DoPull,
	// DoSnapshot, DoKubeadm, DoActivate and DoRestart.
	Key string
	// Delete makes DoDrain delete the pods that are left.
	Delete bool
	// Wake is when to look again at the latest. Zero: when something happens.
	Wake time.Time
}

func act(do Do) Action {
	return Action{Do: do}
}

func wait(until time.Time) Action {
	return Action{Wake: until}
}

// Harmless is true for what may be done though the State could not be persisted:
// its result says all that there is to remember.
func (d Do) Harmless() bool { return d == DoStage || d == DoPull || d == DoDisarm }

// GivesBack is true for what brings a node that is out of service back: it is
// done even where nobody keeps the State any more, as the Node's marks and the
// slot's Lease say all that there is to undo.
func (d Do) GivesBack() bool { return d == DoReboot || d == DoUncordon || d == DoFree }
