package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// Guard has what the guard needs to return to the former version. The verb "activate"
// records it before it changes the symlink.
type Guard struct {
	// Upgrade is the UID of the ClusterUpgrade.
	Upgrade string `json:"upgrade,omitempty"`
	// Method is how the image is merged.
	Method v1alpha1.Method `json:"method,omitempty"`
	// From is the former version, To the one that was activated.
	From string `json:"from"`
	To   string `json:"to"`
	// SHA256 of the image of To, as fixed at the trigger.
	SHA256 string `json:"sha256,omitempty"`
	// BootID is the boot at the time of activation, see BootName.
	BootID  string    `json:"bootID"`
	ArmedAt time.Time `json:"armedAt"`
	// Within is how long after the guard's start the new kubelet may take to become
	// healthy.
	Within time.Duration `json:"within"`
	// DefaultRoute reports whether the node had a default route.
	DefaultRoute bool `json:"defaultRoute,omitempty"`
	// StaticPods is the folder in which the former kubelet looked for static pods: a kubelet that looks elsewhere does not
	// run those of a control plane. Empty: an earlier version has recorded this.
	StaticPods string  `json:"staticPods,omitempty"`
	Restore    Restore `json:"restore"`
}

// Restore has what returning to the former version has to restore.
type Restore struct {
	// Link is the symlink, LinkTarget its former target.
	Link       string `json:"link"`
	LinkTarget string `json:"linkTarget"`
	// Confs maps the name of each sysupdate definition to its former text.
	Confs map[string]string `json:"confs,omitempty"`
	// Files maps the path of each saved file to the path of its copy.
	Files map[string]string `json:"files,omitempty"`
}

// Guard returns the guard that was recorded last, or nil if there is none.
func (l Layout) Guard() (*Guard, error) { return readJSON[Guard](guardFile(l.Root())) }

// SetGuard records a guard.
func (l Layout) SetGuard(g Guard) error { return writeJSON(guardFile(l.Root()), g) }

// ArmGuard records the guard and has its unit start at each boot until DisarmGuard is
// called. It reserves disk space for a rollback and removes the record of the former one.
func (l Layout) ArmGuard(g Guard) error {
	if err := l.checkMask(); err != nil {
		return err
	}
	if err := l.reserve(); err != nil {
		return err
	}
	if err := l.SetGuard(g); err != nil {
		return err
	}
	if err := errors.Join(remove(rollbackFile(l.Root())), remove(bootsFile(l.Root())), remove(triesFile(l.Root())), remove(l.At(GuardStartFile))); err != nil {
		return err
	}
	if err := WriteFile(armedFile(l.Root()), nil, 0o600); err != nil {
		return fmt.Errorf("arming the guard: %w", err)
	}
	return l.EnableGuard()
}

// DisarmGuard ends the guard's watch for good: its unit no longer starts at boot. It
// needs no disk space, and a second call does nothing.
func (l Layout) DisarmGuard() error {
	err := remove(armedFile(l.Root()))
	return errors.Join(err, remove(bootsFile(l.Root())), l.disableGuard(), remove(l.At(GuardStartFile)), l.ReleaseReserve())
}

// DisableUnarmedGuard disables the guard's unit unless the guard is armed.
func (l Layout) DisableUnarmedGuard() error {
	armed, err := l.GuardArmed()
	if err != nil || armed {
		return err
	}
	return l.disableGuard()
}

// CountGuardBoot counts this boot, and returns how many were counted since the activation, or
// ForgetGuardBoots.
func (l Layout) CountGuardBoot() (int, error) {
	boots, err := readJSON[int](bootsFile(l.Root()))
	if err != nil {
		return 0, err
	}
	n := 1
	if boots != nil {
		n += *boots
	}
	return n, writeJSON(bootsFile(l.Root()), n)
}

// ForgetGuardBoots begins to count anew.
func (l Layout) ForgetGuardBoots() error { return remove(bootsFile(l.Root())) }

// GuardBoots returns how many boots were counted since the activation, or ForgetGuardBoots.
func (l Layout) GuardBoots() int {
	boots, err := readJSON[int](bootsFile(l.Root()))
	if err != nil || boots == nil {
		return 0
	}
	return *boots
}

// GuardArmed reports whether the guard may still return to the former version.
func (l Layout) GuardArmed() (bool, error) {
	_, err := os.Stat(armedFile(l.Root()))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// ActivationPending reports whether the symlink points to an image that the verb
// "activate" activated, that the guard watches and that is not merged yet. Such a node is about
// to reboot, so its symlink and confs must not change. The record of a guard that has ended
// shows nothing: another program may have moved the symlink there.
func (l Layout) ActivationPending() (bool, error) {
	armed, err := l.GuardArmed()
	if err != nil || !armed {
		return false, err
	}
	guard, err := l.Guard()
	if err != nil || guard == nil {
		return false, err
	}
	active, err := l.Active()
	if err != nil {
		return false, err
	}
	merged, err := l.Merged()
	return guard.To == active.Version() && (err != nil || merged != active), nil
}

// remove removes a file durably, and does nothing if there is none.
func remove(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// IsRollbackOf reports whether r, which may be nil, is the record of the activation's rollback.
func IsRollbackOf(r *verb.Rollback, activation Guard) bool {
	return r != nil && r.Upgrade == activation.Upgrade && r.To == activation.To
}

// Rollback returns the record of the last rollback, or nil if there was none since the
// last activation.
func (l Layout) Rollback() (*verb.Rollback, error) {
	return readJSON[verb.Rollback](rollbackFile(l.Root()))
}

// SetRollback records a rollback.
func (l Layout) SetRollback(r verb.Rollback) error { return writeJSON(rollbackFile(l.Root()), r) }

// BeginRollback records a rollback in the space that ArmGuard reserved for the record. The
// reserve becomes the record, so no other program can take the space in between.
func (l Layout) BeginRollback(r verb.Rollback) error {
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

// Runner runs a program of the host, as RunProgram does.
type Runner func(ctx context.Context, log *Log, program string, args ...string) (stdout string, err error)

// StopGuard ends the guard for good. It fails with the reason RolledBack if a rollback has
// begun, which then continues. A second call does nothing.
func (l Layout) StopGuard(ctx context.Context, log *Log, run Runner) error {
	armed, err := l.GuardArmed()
	if err != nil || !armed {
		return err
	}
	if err := l.rollbackBegan(); err != nil {
		return errors.Join(err, continueRollback(ctx, log, run))
	}
	if _, err := run(ctx, log, "systemctl", "stop", GuardUnit); err != nil {
		log.Printf("%v", err) // systemd may not know the unit yet
	}
	state, err := run(ctx, log, "systemctl", "show", "--value", "--property=ActiveState", GuardUnit)
	if state = strings.TrimSpace(state); err != nil || state != "inactive" && state != "failed" {
		return errors.Join(err, fmt.Errorf("%s was not stopped: it is %q", GuardUnit, state))
	}
	if err := l.rollbackBegan(); err != nil {
		return errors.Join(err, continueRollback(ctx, log, run))
	}
	return l.EndGuard(ctx, log, run)
}

// EndGuard disarms the guard, and has systemd forget its unit, whose files are removed:
// otherwise it stays in the list of units, and in that of failed ones if it was killed.
func (l Layout) EndGuard(ctx context.Context, log *Log, run Runner) error {
	if err := l.DisarmGuard(); err != nil {
		return err
	}
	for _, args := range [][]string{{"daemon-reload"}, {"reset-failed", GuardUnit + "*"}} { // a pattern may match nothing
		if _, err := run(ctx, log, "systemctl", args...); err != nil {
			log.Printf("%v", err)
		}
	}
	return nil
}

// rollbackBegan returns an error if a rollback of the guarded activation has begun.
func (l Layout) rollbackBegan() error {
	guard, err := l.Guard()
	if err != nil || guard == nil {
		return err
	}
	r, err := l.Rollback()
	if err != nil || !IsRollbackOf(r, *guard) || !r.FinishedAt.IsZero() {
		return err
	}
	return Fail(v1alpha1.ReasonRolledBack, "the guard returns the node to %s: %s", r.From, r.Message)
}

func continueRollback(ctx context.Context, log *Log, run Runner) error {
	_, err := run(ctx, log, "systemctl", "start", "--no-block", GuardUnit)
	return err
}
