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
	// GuardStartFile has the time at which the guard first started in this boot. /run is
	// empty after a boot.
	GuardStartFile = "/run/kubectl-upgrade/guard-start"
)

// guardUnit is the text of the unit. It is started again however it is killed, but for
// `systemctl stop`; it ends with 0 when there is nothing left to do.
const guardUnit = `# Written by kubectl-upgrade, while an upgrade of this node is not verified.
[Unit]
Description=kubectl-upgrade: return to the former Kubernetes if the new one does not become healthy
RequiresMountsFor=/opt/kubectl-upgrade /opt/extensions /var/lib/kubelet /etc/kubernetes
ConditionFileIsExecutable=/opt/kubectl-upgrade/bin/node-agent
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=/opt/kubectl-upgrade/bin/node-agent guard
Restart=always
RestartPreventExitStatus=0
RestartSec=2
OOMScoreAdjust=-1000
`

// EnableGuard writes the guard's unit and has it start at each boot.
func (l Layout) EnableGuard() error {
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

// disableGuard removes the unit's files. A guard that runs goes on.
func (l Layout) disableGuard() error {
	if err := errors.Join(remove(l.At(guardWants)), remove(l.At(guardUnitFile))); err != nil {
		return fmt.Errorf("disabling %s: %w", GuardUnit, err)
	}
	return nil
}
