package sysupdate

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// StageArgs are the arguments of Stage.
type StageArgs struct {
	// Version such as v1.34.4.
	Version string `json:"version"`
	// URL of the image file; the index SHA256SUMS is in the same folder.
	URL string `json:"url"`
	// SHA256 of the file in lower-case hex, as fixed at the trigger.
	SHA256 string `json:"sha256"`
	// Keyring has the armored OpenPGP public keys that may sign the index. Empty
	// means that no signature is needed.
	Keyring string `json:"keyring,omitempty"`
}

// StageOutput is the output of Stage.
type StageOutput struct {
	// Path of the image.
	Path string `json:"path"`
	// Downloaded is false if the right file was already present.
	Downloaded bool `json:"downloaded"`
	// Bytes is the image's size.
	Bytes int64 `json:"bytes"`
	// Notes are sentences, one for each thing that was corrected.
	Notes []string `json:"notes,omitempty"`
}

// ActivateArgs are the arguments of Activate.
type ActivateArgs struct {
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
	// Upgrade is the UID of the ClusterUpgrade.
	Upgrade string `json:"upgrade"`
	// Method is how the image will be merged.
	Method v1alpha1.Method `json:"method"`
	// SoftReboots is how many soft reboots there were in this boot.
	SoftReboots int32 `json:"softReboots,omitempty"`
	// GuardWithin is how long the new kubelet may take to become healthy, see package
	// guard. Zero means DefaultGuardWithin.
	GuardWithin time.Duration `json:"guardWithin,omitempty"`
}

// DefaultGuardWithin is the default of ActivateArgs.GuardWithin.
const DefaultGuardWithin = 3 * time.Minute

// ActivateOutput is the output of Activate.
type ActivateOutput struct {
	// From is the version that runs, To the one that the next boot merges.
	From string `json:"from"`
	To   string `json:"to"`
	// Conf is the name of the node's sysupdate definition; empty if it has none.
	Conf string `json:"conf,omitempty"`
}
