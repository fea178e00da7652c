package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Rollback records that the guard returned, or is returning, to the former version.
type Rollback struct {
	// Upgrade is the UID of the ClusterUpgrade that was rolled back.
	Upgrade string `json:"upgrade,omitempty"`
	From    string `json:"from"`
	To      string `json:"to"`
	// Message says what was wrong with To.
	Message string `json:"message"`
	// Log is the end of the kubelet's journal.
	Log       string    `json:"log,omitempty"`
	StartedAt time.Time `json:"startedAt"`
	// BootID is the boot (see BootName) in which the rollback last changed something, and
	// Reboots how often it has rebooted the node.
	BootID  string `json:"bootID"`
	Reboots int    `json:"reboots,omitempty"`
	// FinishedAt is when From was merged again and all files were restored. Zero means
	// that the guard has not finished.
	FinishedAt time.Time `json:"finishedAt,omitzero"`
	// Impossible reports whether the guard ended without returning the node: the image of
	// From is gone.
	Impossible bool `json:"impossible,omitempty"`
}

// Of reports whether r, which may be nil, is the record of an activation's rollback.
func (r *Rollback) Of(activation Guard) bool {
	return r != nil && r.Upgrade == activation.Upgrade && r.To == activation.To
}

// Rollback returns the record of the last rollback, or nil if there was none since the
// last activation.
func (l Layout) Rollback() (*Rollback, error) { return readJSON[Rollback](rollbackFile(l.Root())) }

// SetRollback records a rollback.
func (l Layout) SetRollback(r Rollback) error { return writeJSON(rollbackFile(l.Root()), r) }

// BeginRollback records a rollback in the space that ArmGuard reserved for the record. The
// reserve becomes the record, so no other program can take the space in between.
func (l Layout) BeginRollback(r Rollback) error {
	data, err := encodeJSON(r)
	if err != nil {
		return err
	}
	reserve := l.At(StateDir(Root), reserveName)
	switch err := overwrite(reserve, data); {
	case errors.Is(err, fs.ErrNotExist):
		return l.SetRollback(r)
	case err != nil:
		return fmt.Errorf("recording the rollback in %s: %w", reserve, err)
	}
	if err := os.Rename(reserve, rollbackFile(l.Root())); err != nil {
		return fmt.Errorf("recording the rollback: %w", err)
	}
	return SyncDir(StateDir(l.Root()))
}
