package sysupdate

import (
	"time"
)

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

// DefaultGuardWithin is the default of verb.ActivateArgs.GuardWithin.
const DefaultGuardWithin = 3 * time.Minute

// ActivateOutput is the output of Activate.
type ActivateOutput struct {
	// From is the version that runs, To the one that the next boot merges.
	From string `json:"from"`
	To   string `json:"to"`
	// Conf is the name of the node's sysupdate definition; empty if it has none.
	Conf string `json:"conf,omitempty"`
}
