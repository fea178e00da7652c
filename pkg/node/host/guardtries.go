package host

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// GuardTries is what the guard has tried in an activation, each once. Nil: it has not.
type GuardTries struct {
	// Merge is one more merge of the activated image.
	Merge *GuardTry `json:"merge,omitempty"`
	// Kubelet is one more start of a kubelet that systemd had given up on.
	Kubelet *GuardTry `json:"kubelet,omitempty"`
	// Former is the merge of the former image, without a reboot, where the boot had merged none.
	Former *GuardTry `json:"former,omitempty"`
}

// GuardTry is one try. It is recorded before it begins, so that one which a power cut ends counts.
type GuardTry struct {
	// Boot is the name of the boot (see BootName), and At the time since it began.
	Boot string        `json:"boot"`
	At   time.Duration `json:"at"`
	// Cause is why it was tried, if systemd says more than that it was necessary.
	Cause string `json:"cause,omitempty"`
	// Failure is why it did not succeed, in the program's words.
	Failure string `json:"failure,omitempty"`
}

// GuardTries returns what the guard has tried in the last activation.
func (l Layout) GuardTries() (GuardTries, error) {
	tries, err := readJSON[GuardTries](triesFile(l.Root()))
	if err != nil || tries == nil {
		return GuardTries{}, err
	}
	return *tries, nil
}

// guardTried returns what the guard has tried so that the node came up with the image that was activated last.
func (l Layout) guardTried() (*verb.GuardTried, error) {
	tries, err := l.GuardTries()
	if err != nil || tries.Merge == nil && tries.Kubelet == nil {
		return nil, err
	}
	guard, err := l.Guard()
	if err != nil || guard == nil {
		return nil, err
	}
	tried := &verb.GuardTried{Upgrade: guard.Upgrade, Merge: tries.Merge != nil}
	if tries.Kubelet != nil {
		tried.Kubelet = tries.Kubelet.Cause
	}
	return tried, nil
}

// SetGuardTries records what the guard has tried.
func (l Layout) SetGuardTries(t GuardTries) error { return writeJSON(triesFile(l.Root()), t) }
