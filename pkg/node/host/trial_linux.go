package host

import (
	"context"
	"fmt"
	"io"
	"os"

	systemdbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"
)

const (
	// TrialDir is a file system of the trial's own. systemd works there, before 255 also in another one at /tmp.
	TrialDir    = "/run/systemd"
	trialMemory = 512 << 20
	trialTasks  = 64
)

// RunTrial runs this program with arguments in a unit in which it can mount what it wants, and cannot change the node: the
// unit has a mount namespace of its own, all of the node's file systems are read-only there, the sockets of systemd,
// D-Bus and udev are hidden, and there is no network. It returns the standard output. An error of the program is a
// ProgramFailure.
func RunTrial(ctx context.Context, stderr io.Writer, args ...string) (string, error) {
	outputs, err := confinedFiles(nil)
	if err != nil {
		return "", fmt.Errorf("making room for the output of a trial: %w", err)
	}
	defer outputs.close()
	return runTrial(ctx, "the trial of a merge", outputs, stderr, hiddenFromTrial, args)
}

// ProgramOf returns a program of a container image as a file in memory, for Confined.Executable. args are of this program,
// and write it to the standard output: it runs as a trial does, and also reaches the container runtime.
func ProgramOf(ctx context.Context, stderr io.Writer, args ...string) (*os.File, error) {
	outputs, err := confinedFiles(nil)
	if err != nil {
		return nil, fmt.Errorf("making room for a program: %w", err)
	}
	outputs.kept = true
	if _, err = runTrial(ctx, "the copying of a program", outputs, stderr, nil, args); err != nil {
		outputs.close()
		return nil, err
	}
	program := outputs.out
	outputs.out = nil
	outputs.close()
	return program, nil
}

// hiddenFromTrial are the sockets of the container runtime.
var hiddenFromTrial = []string{"-/run/containerd"}

func runTrial(ctx context.Context, name string, outputs *confinedOutputs, stderr io.Writer, hidden, args []string) (string, error) {
	c := NewClient(Root, "", nil)
	defer func() { _ = c.Close() }()
	program, err := os.Open("/proc/self/exe")
	if err != nil {
		return "", fmt.Errorf("opening this program for %s: %w", name, err)
	}
	defer func() { _ = program.Close() }()
	return c.runTransient(ctx, "trial", name, trialProperties(program, outputs, hidden, args), outputs, stderr)
}

// trialProperties returns the properties of a trial's unit. Its mounts, and with them its loop devices, end with its last
// process.
func trialProperties(program *os.File, outputs *confinedOutputs, hidden, args []string) []systemdbus.Property {
	const capabilities = 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH |
		1<<unix.CAP_CHOWN | 1<<unix.CAP_FOWNER | 1<<unix.CAP_MKNOD
	return []systemdbus.Property{
		systemdbus.PropDescription("kubectl-upgrade: trial of the next boot"),
		systemdbus.PropType("exec"),
		property("AddRef", true),
		property("CollectMode", "inactive-or-failed"),
		property("StandardInputFileDescriptor", dbus.UnixFD(program.Fd())),      //nolint:gosec // a descriptor is small
		property("StandardOutputFileDescriptor", dbus.UnixFD(outputs.out.Fd())), //nolint:gosec // a descriptor is small
		property("StandardErrorFileDescriptor", dbus.UnixFD(outputs.err.Fd())),  //nolint:gosec // a descriptor is small
		property("ExecStart", []command{{Path: executable, Argv: append([]string{"node-agent"}, args...)}}),
		property("Environment", []string{"PATH=/usr/bin:/usr/sbin:/bin:/sbin", "LC_ALL=C", "SYSTEMD_COLORS=0", "SYSTEMD_URLIFY=0", "SYSTEMD_LOG_TARGET=console"}),
		property("WorkingDirectory", "/"),

		// What it is.
		property("CapabilityBoundingSet", uint64(capabilities)),
		property("NoNewPrivileges", true),
		property("RestrictSUIDSGID", true),
		property("KeyringMode", "private"),

		// What it sees.
		property("PrivateMounts", true),
		property("PrivateNetwork", true),
		property("PrivateIPC", true),
		property("ProtectSystem", "strict"),
		property("ProtectHome", "yes"),
		property("TemporaryFileSystem", []temporary{{TrialDir, "mode=0755,size=64M"}, {"/tmp", "mode=1777,size=1M"}}),
		property("InaccessiblePaths", append([]string{"-/run/dbus", "-/run/udev", "-/dev/shm", "-/dev/mqueue"}, hidden...)),
		property("ProtectControlGroups", true),
		property("ProtectHostname", true),
		property("ProtectKernelLogs", true),
		property("ProtectKernelTunables", true),
		property("RestrictRealtime", true),
		property("LockPersonality", true),

		// How much of it.
		property("RuntimeMaxUSec", uint64(confinedTime.Microseconds())), //nolint:gosec // it is positive
		property("KillSignal", int32(unix.SIGKILL)),
		property("MemoryMax", uint64(trialMemory)),
		property("MemorySwapMax", uint64(0)),
		property("TasksMax", uint64(trialTasks)),
		property("LimitCORE", uint64(0)),
		property("CPUWeight", uint64(10)),
		property("OOMScoreAdjust", int32(1000)),
	}
}
