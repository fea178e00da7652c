package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// GuardUnit is the unit that runs the guard.
const GuardUnit = "kubectl-upgrade-guard.service"

const (
	guardUnitFile = "/etc/systemd/system/" + GuardUnit
	guardWants    = "/etc/systemd/system/multi-user.target.wants/" + GuardUnit
	// GuardStartFile has the time at which the guard first started in this boot, and the
	// boot's name: /run is empty after a boot, but not after a soft reboot.
	GuardStartFile = "/run/kubectl-upgrade/guard-start"
	// GuardProgram is the unit's own copy of the program. An agent of another version,
	// which may have another guard or none, does not replace it.
	GuardProgram = Root + "/bin/node-agent-guard"
)

// guardUnit is the text of the unit. It is started again however it is killed, but for
// `systemctl stop`; it ends with 0 when there is nothing left to do, and with 143 when
// it gets SIGTERM, so that `systemctl stop` does not leave a failed unit.
const guardUnit = `# Written by kubectl-upgrade, while an upgrade of this node is not verified.
[Unit]
Description=kubectl-upgrade: return to the former Kubernetes if the new one does not become healthy
RequiresMountsFor=/opt/kubectl-upgrade /opt/extensions /var/lib/kubelet /etc/kubernetes
ConditionFileIsExecutable=` + GuardProgram + `
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=` + GuardProgram + ` guard
Restart=always
RestartPreventExitStatus=0
SuccessExitStatus=143
RestartSec=2
OOMScoreAdjust=-1000
`

// EnableGuard writes the guard's unit and has it start at each boot. It fails if an
// administrator has masked the unit.
func (l Layout) EnableGuard() error {
	if err := l.checkMask(); err != nil {
		return err
	}
	if err := l.keepGuardProgram(); err != nil {
		return fmt.Errorf("keeping the guard's program: %w", err)
	}
	if err := WriteFile(l.At(guardUnitFile), []byte(guardUnit), 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", guardUnitFile, err)
	}
	wants := l.At(guardWants)
	if target, err := os.Readlink(wants); err == nil && target == guardUnitFile {
		return nil
	}
	//nolint:gosec // systemd's folders are readable by all
	if err := errors.Join(os.MkdirAll(filepath.Dir(wants), 0o755), remove(wants)); err != nil {
		return fmt.Errorf("enabling %s: %w", GuardUnit, err)
	}
	if err := os.Symlink(guardUnitFile, wants); err != nil {
		return fmt.Errorf("enabling %s: %w", GuardUnit, err)
	}
	return SyncDir(filepath.Dir(wants))
}

// keepGuardProgram links the installed program to GuardProgram. Install replaces the
// program by a rename, which leaves the link as it is.
func (l Layout) keepGuardProgram() error {
	program, kept := Program(l.Root()), l.At(GuardProgram)
	info, err := os.Stat(program)
	if err != nil {
		return err
	}
	if there, err := os.Stat(kept); err == nil && os.SameFile(info, there) {
		return nil
	}
	partial := kept + ".new"
	if err := errors.Join(remove(partial), os.Link(program, partial)); err != nil {
		return err
	}
	if err := os.Rename(partial, kept); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(kept))
}

// checkMask returns an error if an administrator has masked the guard's unit: without it
// nothing would return the node.
func (l Layout) checkMask() error {
	for _, path := range []string{guardUnitFile, "/run/systemd/system/" + GuardUnit} {
		if l.masked(path) {
			return fmt.Errorf("%[1]s is masked on the node, and nothing is activated without it: `systemctl unmask %[1]s` allows it", GuardUnit)
		}
	}
	return nil
}

// masked reports whether a unit's file masks the unit (systemctl(1), mask).
func (l Layout) masked(path string) bool {
	target, err := os.Readlink(l.At(path))
	return err == nil && target == "/dev/null"
}

// disableGuard removes the unit's files, unless the unit is masked. A guard that runs
// continues.
func (l Layout) disableGuard() error {
	paths := []string{guardWants, guardUnitFile, GuardProgram}
	if l.masked(guardUnitFile) {
		paths = []string{guardWants, GuardProgram}
	}
	for _, path := range paths {
		if err := remove(l.At(path)); err != nil {
			return fmt.Errorf("disabling %s: %w", GuardUnit, err)
		}
	}
	return nil
}
