package sysupdate

import "time"

// StageArgs ask for an image on the node's disk.
type StageArgs struct {
	// Version such as v1.34.4.
	Version string `json:"version"`
	// URL of the image file; the index SHA256SUMS lies beside it.
	URL string `json:"url"`
	// SHA256 of the file in lower-case hex, as fixed at the trigger.
	SHA256 string `json:"sha256"`
	// Keyring are the armored OpenPGP public keys that may sign the index. Empty:
	// no signature is asked for.
	Keyring string `json:"keyring,omitempty"`
}

// StageOutput says what staging found and did.
type StageOutput struct {
	// Path of the image.
	Path string `json:"path"`
	// Downloaded is false when the right file was there already.
	Downloaded bool `json:"downloaded"`
	// Bytes is the image's size.
	Bytes int64 `json:"bytes"`
	// Notes are things that were put right on the way, a sentence each.
	Notes []string `json:"notes,omitempty"`
}

// ActivateArgs ask for a staged image to be the next boot's.
type ActivateArgs struct {
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
	// GuardWithin is how long after boot the new kubelet has to become
	// healthy. Zero: DefaultGuardWithin.
	GuardWithin time.Duration `json:"guardWithin,omitempty"`
}

// DefaultGuardWithin is the guard's patience.
const DefaultGuardWithin = 10 * time.Minute

// ActivateOutput says what was flipped.
type ActivateOutput struct {
	// From is the version that was active before, To the one that is now.
	From string `json:"from"`
	To   string `json:"to"`
	// Conf is the one file in the sysupdate definitions, empty when the node
	// has none.
	Conf string `json:"conf,omitempty"`
}
