package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	systemdbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"
)

// Confined is one run of a program of an image that is not trusted yet, see RunConfined.
type Confined struct {
	// Image is the open file of the image. The unit mounts this file, also if another one
	// has its name by now. Nil: Executable is run.
	Image *os.File
	// Program is the program's path in the image, such as usr/bin/kubelet; for an Executable only its name, for messages.
	Program string
	// Executable is a program in memory, as ProgramOf returns it. It is the standard input, too.
	Executable *os.File
	Args       []string
	// Env are more variables, such as NAME=value.
	Env []string
	// Work is a folder in which the program may write; empty: there is none. What it writes is gone afterwards.
	Work string
	// Files are shown to the program, read-only. None may have a secret.
	Files []File
	// Folders of the node are shown to it where they are there.
	Folders []string
	// Stdin is the program's standard input; nil means /dev/null.
	Stdin []byte
	// Stderr gets its standard error when it has ended; nil means that nothing does.
	Stderr io.Writer
}

// File is a copy of a file that a confined program reads.
type File struct {
	// Path where the program finds it.
	Path    string
	Content []byte
}

// ProgramFailure is an error of a program that ran in the confined unit, and not of the unit.
type ProgramFailure struct {
	text string
	// Exited reports whether the program ended by itself with an exit status. Otherwise it exceeded a limit, which may be
	// because the node is busy.
	Exited bool
}

func (f *ProgramFailure) Error() string { return f.text }

// NewProgramFailure returns the error of a program that ended by itself, and did not print what it should.
func NewProgramFailure(text string) *ProgramFailure { return &ProgramFailure{text, true} }

func failure(format string, args ...any) error {
	return &ProgramFailure{text: fmt.Sprintf(format, args...)}
}

// RunConfined runs a program of an image in a unit that can neither write, connect, nor read
// anything but the image, the node's /usr, the given files and its own standard input (see confinement), and
// returns its standard output. An error of the program is a ProgramFailure; what it printed before is returned as well.
func RunConfined(ctx context.Context, r Confined) (string, error) {
	c := NewClient(Root, "", nil)
	defer func() { _ = c.Close() }()
	return c.runConfined(ctx, r)
}

// confinedRuns makes the names of units unique: systemd may not have unloaded the unit of the
// former run yet.
var confinedRuns atomic.Int64

func (c *Client) runConfined(ctx context.Context, r Confined) (string, error) {
	outputs, err := confinedFiles(r.Stdin)
	if err != nil {
		return "", fmt.Errorf("making room for the output of %s: %w", r.Program, err)
	}
	defer outputs.close()
	removeFormer(time.Now())
	folder, err := confinedFolder(r.Files)
	if err != nil {
		return "", fmt.Errorf("making the folder that confines %s: %w", r.Program, err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	return c.runTransient(ctx, "confined", r.Program, confinement(r, folder, outputs), outputs, r.Stderr)
}

// runTransient runs a unit of that kind until it ends, and returns its standard output. program is what messages call it.
func (c *Client) runTransient(ctx context.Context, kind, program string, properties []systemdbus.Property, outputs *confinedOutputs, stderr io.Writer) (string, error) {
	unit := fmt.Sprintf("kubectl-upgrade-%s-%d-%d.service", kind, os.Getpid(), confinedRuns.Add(1))
	if err := c.startTransient(ctx, unit, properties); err != nil {
		return "", fmt.Errorf("starting the unit that confines %s: %w", program, err)
	}
	end, err := c.awaitConfined(ctx, unit)
	if err != nil {
		return "", fmt.Errorf("waiting for the unit that confines %s: %w", program, err)
	}
	if end.result != "success" {
		c.unload(ctx, unit)
	}
	return outputs.result(end, stderr)
}

// unload waits, for at most two seconds, until systemd has unloaded a unit that has failed. It does so only once the unit's
// control group is empty; with version 1 control groups it may not be told of that, and looks again when a reference ends.
func (c *Client) unload(ctx context.Context, unit string) {
	for range 20 {
		_ = c.call(ctx, systemd, managerInterface+".UnrefUnit", nil, unit)
		time.Sleep(100 * time.Millisecond)
		if err := c.call(ctx, systemd, managerInterface+".RefUnit", nil, unit); err != nil {
			return // it is not loaded any more
		}
	}
}

// confinedFolders begins the names of folders that confinedFolder makes.
const confinedFolders = runDir + "/confined-"

// confinedFolder makes a new folder that every user can read: with files, by their number, and with an empty folder that
// the unit has as its root. That is one for each run, because systemd makes the places there at which it mounts, and an
// empty file would be found by the next run.
func confinedFolder(files []File) (folder string, err error) {
	if err := os.MkdirAll(runDir, 0o755); err != nil { //nolint:gosec // what is secret there has a folder of its own
		return "", err
	}
	if folder, err = os.MkdirTemp(runDir, filepath.Base(confinedFolders)); err != nil {
		return "", err
	}
	err = errors.Join(os.Chmod(folder, 0o755), os.Mkdir(filepath.Join(folder, confinedRoot), 0o755)) //nolint:gosec // its own user reads it
	for i, file := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(folder, strconv.Itoa(i)), file.Content, 0o444)) //nolint:gosec // the same
	}
	if err != nil {
		_ = os.RemoveAll(folder)
	}
	return folder, err
}

// removeFormer removes the folders of runs that were killed.
func removeFormer(now time.Time) {
	folders, _ := filepath.Glob(confinedFolders + "*")
	for _, folder := range folders {
		if info, err := os.Stat(folder); err == nil && now.Sub(info.ModTime()) > 2*confinedTime {
			_ = os.RemoveAll(folder)
		}
	}
}

// awaitConfined waits until a unit has ended, and returns how. The caller started it with
// AddRef, so that it stays loaded until the connection is closed.
func (c *Client) awaitConfined(ctx context.Context, unit string) (end confinedEnd, err error) {
	const pause = 50 * time.Millisecond
	for {
		running, err := c.unitRuns(ctx, unit)
		if err != nil {
			return end, err
		}
		if !running {
			break
		}
		select {
		case <-ctx.Done():
			killed := c.call(context.WithoutCancel(ctx), systemd, managerInterface+".KillUnit", nil, unit, string(systemdbus.All), int32(unix.SIGKILL))
			return end, errors.Join(ctx.Err(), killed)
		case <-time.After(pause):
		}
	}
	var service map[string]dbus.Variant
	if err := c.call(ctx, peer{systemd.name, unitPath(unit)}, propertiesInterface+".GetAll", &service, "org.freedesktop.systemd1.Service"); err != nil {
		return end, err
	}
	end.result, _ = service["Result"].Value().(string)
	end.code, _ = service["ExecMainCode"].Value().(int32)
	end.status, _ = service["ExecMainStatus"].Value().(int32)
	if peak, known := service["MemoryPeak"].Value().(uint64); known && peak != math.MaxUint64 {
		end.peak = peak
	}
	return end, nil
}

// Limits of the confined unit. The kubelet of 1.34 takes a tenth of a second and 56 MiB to
// print its version, and a node may be slow. The limit of a process's memory holds also where
// the kernel has no control group for memory.
const (
	confinedMemory = 512 << 20
	confinedTasks  = 64
	confinedOutput = 64 << 10
)

// confinedTime is shorter in tests.
var confinedTime = time.Minute

const (
	// confinedRoot is the folder in the run's own that the unit has as its root.
	confinedRoot = "root"
	// confinedImage is where the unit mounts the image.
	confinedImage = "/image"
)

// bind is one of the a(ssbt) of BindReadOnlyPaths=.
type bind struct {
	Source, Destination string
	IgnoreMissing       bool
	Flags               uint64
}

// temporary is one of the a(ss) of TemporaryFileSystem=.
type temporary struct{ Path, Options string }

// executable is the program that a unit has as its standard input.
const executable = "/proc/self/fd/0"

// recursive is MS_REC.
const recursive = uint64(1 << 14)

// confinement returns the properties of the confined unit. In its root there are the image, the files of a folder,
// and the node's /usr with the libraries for a program that is not static.
func confinement(r Confined, folder string, f *confinedOutputs) []systemdbus.Property {
	type filter struct {
		Allow bool
		Names []string
	}
	program, input := executable, r.Executable
	if r.Image != nil {
		program, input = filepath.Join(confinedImage, r.Program), f.in
	}
	binds := []bind{
		{"/usr", "/usr", false, recursive}, {"/bin", "/bin", true, recursive},
		{"/lib", "/lib", true, recursive}, {"/lib64", "/lib64", true, recursive},
		{"/etc/ld.so.cache", "/etc/ld.so.cache", true, recursive},
	}
	for _, dir := range r.Folders {
		binds = append(binds, bind{dir, dir, true, recursive})
	}
	for i, file := range r.Files {
		binds = append(binds, bind{filepath.Join(folder, strconv.Itoa(i)), file.Path, false, recursive})
	}
	properties := []systemdbus.Property{
		systemdbus.PropDescription("kubectl-upgrade: " + r.Program + " of an image, confined"),
		systemdbus.PropType("exec"),
		property("AddRef", true),
		property("CollectMode", "inactive-or-failed"),
		property("ExecStart", []command{{Path: program, Argv: append([]string{filepath.Base(r.Program)}, r.Args...)}}),
		property("Environment", append([]string{"PATH=/usr/bin:/bin", "HOME=/nonexistent", "GOMAXPROCS=2"}, r.Env...)),
		property("WorkingDirectory", "/"),
		property("IgnoreSIGPIPE", false),
		property("StandardOutputFileDescriptor", dbus.UnixFD(f.out.Fd())), //nolint:gosec // a descriptor is small
		property("StandardErrorFileDescriptor", dbus.UnixFD(f.err.Fd())),  //nolint:gosec // a descriptor is small

		// What it is.
		property("DynamicUser", true),
		property("CapabilityBoundingSet", uint64(0)),
		property("AmbientCapabilities", uint64(0)),
		property("NoNewPrivileges", true),
		property("RestrictSUIDSGID", true),
		property("UMask", uint32(0o077)),
		property("KeyringMode", "private"),

		// What it sees. systemd adds /proc, /dev, /sys, /run and /tmp; it could write to the
		// inaccessible places.
		property("RootDirectory", filepath.Join(folder, confinedRoot)),
		property("BindReadOnlyPaths", binds),
		property("InaccessiblePaths", []string{"-+/tmp", "-+/var/tmp", "-+/dev/shm", "-+/dev/mqueue", "-+/dev/hugepages", "-+/run/lock", "-+/run/systemd/journal"}),
		property("ProtectSystem", "strict"),
		property("ProtectHome", "yes"),
		property("ProtectProc", "invisible"),
		property("ProcSubset", "pid"),
		property("PrivateDevices", true),
		property("PrivateNetwork", true),
		property("PrivateIPC", true),

		// What it may ask of the kernel.
		property("RestrictAddressFamilies", filter{true, []string{}}),
		property("RestrictNamespaces", uint64(0)),
		property("RestrictRealtime", true),
		property("LockPersonality", true),
		property("MemoryDenyWriteExecute", true),
		property("ProtectClock", true),
		property("ProtectControlGroups", true),
		property("ProtectHostname", true),
		property("ProtectKernelLogs", true),
		property("ProtectKernelModules", true),
		property("ProtectKernelTunables", true),
		property("SystemCallArchitectures", []string{"native"}),
		property("SystemCallFilter", filter{true, []string{"@system-service"}}),
		property("SystemCallFilter", filter{false, []string{"@privileged", "@resources", "@keyring"}}),
		property("SystemCallErrorNumber", int32(unix.EPERM)),

		// How much of it.
		property("RuntimeMaxUSec", uint64(confinedTime.Microseconds())), //nolint:gosec // it is positive
		property("KillSignal", int32(unix.SIGKILL)),
		property("MemoryMax", uint64(confinedMemory)),
		property("MemorySwapMax", uint64(0)),
		property("TasksMax", uint64(confinedTasks)),
		property("LimitDATA", uint64(confinedMemory)),
		property("LimitNPROC", uint64(confinedTasks)),
		property("LimitNOFILE", uint64(1024)),
		property("LimitFSIZE", uint64(confinedOutput)),
		property("LimitCORE", uint64(0)),
		property("LimitMEMLOCK", uint64(0)),
		property("CPUWeight", uint64(10)),
		property("OOMScoreAdjust", int32(1000)),
	}
	if r.Image != nil {
		source := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), r.Image.Fd())
		properties = append(properties, property("MountImages", []mountImage{{Source: source, Destination: confinedImage, Options: []imageOption{}}}))
	}
	if r.Work != "" {
		properties = append(properties, property("TemporaryFileSystem", []temporary{{r.Work, "mode=1777,size=1M"}}))
	}
	if input != nil {
		properties = append(properties, property("StandardInputFileDescriptor", dbus.UnixFD(input.Fd()))) //nolint:gosec // a descriptor is small
	}
	return properties
}
