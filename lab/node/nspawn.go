package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/cgroup"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/network"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/process"
)

// statusReboot is what systemd-nspawn ends with when the machine in it
// rebooted, and the caller with --keep-unit has to start it again.
const statusReboot = 133

// nspawn is the command that runs the machine for one boot.
//
// With /proc/sys writable for the network alone, nothing in a machine can
// change the kernel that it shares with its host; and with /sys read-only, udev
// stays away from the host's devices.
func (m *Machine) nspawn(ctx context.Context, groups cgroup.Version) *exec.Cmd {
	args := []string{
		"--register=no", "--keep-unit", "--settings=no", "--link-journal=no",
		"--resolv-conf=off", "--timezone=off", "--console=read-only",
		"--machine=" + m.Spec.Name, "--directory=" + m.root(),
		"--network-bridge=" + network.Bridge,
		"--capability=all", "--system-call-filter=@known",
		"--bind=/dev/loop-control", "--bind=/dev/kmsg",
		"--bind=" + m.containerd() + ":/var/lib/containerd",
		"--bind=" + m.Journal() + ":/var/log/journal",
	}
	env := []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"SYSTEMD_NSPAWN_API_VFS_WRITABLE=network",
	}
	if groups == cgroup.V1 {
		// systemd 257 boots on version 1 only when forced.
		const force = "SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1"
		args = append(args, "--setenv="+force)
		env = append(env, force, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=0")
	} else {
		env = append(env, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1")
	}
	cmd := exec.CommandContext(ctx, "systemd-nspawn", append(args, "--boot")...)
	cmd.Env = env
	return cmd
}

// findLeader waits for nspawn's child that is the first process of a process
// namespace of its own: the machine's init. Earlier children only set it up.
func findLeader(ctx context.Context, nspawn int) (process.ID, error) {
	for {
		for _, child := range children(nspawn) {
			if isInit(child) {
				return process.Of(child)
			}
		}
		select {
		case <-ctx.Done():
			return process.ID{}, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func children(pid int) []int {
	list, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "task", strconv.Itoa(pid), "children"))
	if err != nil {
		return nil
	}
	var pids []int
	for field := range strings.FieldsSeq(string(list)) {
		if pid, err := strconv.Atoi(field); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func isInit(pid int) bool {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	return err == nil && innermostPID(string(status)) == "1"
}

// innermostPID reads from /proc/PID/status which id the process has in its own
// process namespace: the empty string when it is in the reader's.
func innermostPID(status string) string {
	for line := range strings.Lines(status) {
		if ids, found := strings.CutPrefix(line, "NSpid:"); found {
			if fields := strings.Fields(ids); len(fields) > 1 {
				return fields[len(fields)-1]
			}
		}
	}
	return ""
}

// rebooted tells from how nspawn ended whether it wants to be started again.
func rebooted(err error) (bool, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return false, nil
	case errors.As(err, &exit) && exit.ExitCode() == statusReboot:
		return true, nil
	}
	return false, fmt.Errorf("running systemd-nspawn: %w", err)
}
