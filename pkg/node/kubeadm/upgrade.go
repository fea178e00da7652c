package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/sysupdate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// Upgrade runs kubeadm from the image that its unit has mounted, and records that it
// succeeded.
//
// Pull has already pulled a control plane's container images. If one is missing,
// kubeadm's own preflight pulls it.
//
// Reasons: HashMismatch, ContentMismatch, DiskFull, KubeadmFailed.
func Upgrade(ctx context.Context, l host.Layout, args verb.KubeadmArgs, log *host.Log) (*UpgradeOutput, error) {
	if err := verifyMounted(ctx, l, args.Version, args.SHA256); err != nil {
		return nil, err
	}
	if err := restoreManifests(l, log); err != nil {
		return nil, err
	}
	if err := checkRoom(l); err != nil {
		return nil, err
	}
	if err := saveKubeletFiles(l); err != nil {
		return nil, err
	}
	out, err := run(ctx, l, args, log)
	if err = errors.Join(err, l.NoteKubeadm(true)); err != nil {
		return out, err
	}
	done := verb.KubeadmDone{Version: args.Version, Command: string(args.Command), FinishedAt: time.Now().UTC()}
	if err := l.SetKubeadmDone(done); err != nil {
		return out, err
	}
	return out, pruneBackups(l)
}

// saveKubeletFiles saves the files with which the merged kubelet runs.
func saveKubeletFiles(l host.Layout) error {
	merged, err := l.Merged()
	if err != nil {
		return err
	}
	if _, err := l.SaveKubeletFiles(merged.Version()); err != nil {
		return err
	}
	return l.NoteKubeadm(false)
}

// mounted is replaced in tests, which have no mount.
var mounted = sysupdate.VerifyMounted

// verifyMounted verifies the bytes and the content of the image that the unit has
// mounted.
func verifyMounted(ctx context.Context, l host.Layout, version, sha256 string) error {
	image, err := host.NewImage(version, host.Architecture())
	if err != nil {
		return err
	}
	return mounted(ctx, l.At(image.Path()), l.At(host.ImageMount), image, sha256)
}

func run(ctx context.Context, l host.Layout, args verb.KubeadmArgs, log *host.Log) (*UpgradeOutput, error) {
	line, err := commandLine(l, args)
	if err != nil {
		return nil, err
	}
	logFile, err := openLog(host.StateDir(l.Root()))
	if err != nil {
		return nil, err
	}
	defer func() { _ = logFile.Close() }()
	cmd := exec.CommandContext(ctx, l.At(host.ImageMount, "usr/bin/kubeadm"), line.args...) //nolint:gosec // a version that was parsed, and no shell
	cmd.Env = environment(l, os.Environ())
	cmd.Stdin = line.stdin()
	cmd.Stdout = &both{logFile, log}
	cmd.Stderr = cmd.Stdout
	started := time.Now()
	err = execute(ctx, l, cmd)
	out := &UpgradeOutput{Args: line.args, LogFile: logFile.Name(), Duration: time.Since(started)}
	if err != nil {
		return out, host.Fail(v1alpha1.ReasonKubeadmFailed, "kubeadm %s: %w: %s (the complete output is in %s on the node)",
			line, err, lastError(log.Tail()), filepath.Join(host.StateDir(host.Root), host.KubeadmLog))
	}
	return out, nil
}

var errStopped = errors.New("kubeadm was stopped by its time limit, or because the node shuts down")

// execute runs kubeadm. If kubeadm was killed, it has not restored the manifests that
// it moved away, and startedFile stays. After a power cut the guard restores them at boot:
// a single control plane without one of its components would have no API server that the
// agent could ask.
func execute(ctx context.Context, l host.Layout, cmd *exec.Cmd) error {
	if err := l.EnableGuard(); err != nil {
		return err
	}
	if err := host.WriteFile(startedFile(l), nil, 0o600); err != nil {
		return fmt.Errorf("writing the file that marks a running kubeadm: %w", err)
	}
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return err // it was not started
	}
	if cmd.ProcessState.Exited() {
		return errors.Join(err, os.Remove(startedFile(l)), l.DisableUnarmedGuard())
	}
	if ctx.Err() != nil || terminated(cmd.ProcessState) {
		return errStopped
	}
	return err
}

// terminated reports whether SIGTERM ended the process: systemd sends it to all processes of
// a unit that it stops.
func terminated(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGTERM
}

// UpgradeOutput is the result of Upgrade.
type UpgradeOutput struct {
	// Args are the arguments of kubeadm.
	Args []string `json:"args"`
	// Duration of the run.
	Duration time.Duration `json:"duration"`
	// LogFile is the path of its complete output.
	LogFile string `json:"logFile"`
}

// UserConfig is the path of an UpgradeConfiguration that administrators may put on each
// node, for example with preflight errors to ignore or patches. kubeadm gets it unchanged.
const UserConfig = "/etc/kubernetes/kubeadm-upgrade.yaml"

// line is a command line of kubeadm.
type line struct {
	args []string
	// confirm reports whether kubeadm asks for a confirmation on its standard input.
	confirm bool
}

func (c line) String() string { return strings.Join(c.args, " ") }

func (c line) stdin() io.Reader {
	if c.confirm {
		return strings.NewReader("y\n")
	}
	return nil
}

// commandLine returns the command line of kubeadm. The version is always an argument,
// because it prevails over the one in a configuration file (kubeadm 1.34,
// cmd/upgrade/apply.go). Older versions of kubeadm refuse --yes together with --config
// (ValidateMixedArguments), so the confirmation goes to standard input then.
func commandLine(l host.Layout, args verb.KubeadmArgs) (line, error) {
	config, err := userConfig(l)
	if err != nil {
		return line{}, err
	}
	switch args.Command {
	case v1alpha1.KubeadmApply:
		if config == nil {
			return line{args: []string{"upgrade", "apply", args.Version, "--yes"}}, nil
		}
		return line{args: append([]string{"upgrade", "apply", args.Version}, config...), confirm: true}, nil
	case v1alpha1.KubeadmNode:
		return line{args: append([]string{"upgrade", "node"}, config...)}, nil
	default:
		return line{}, fmt.Errorf("there is no kubeadm upgrade %q: want Apply or Node", args.Command)
	}
}

func userConfig(l host.Layout) ([]string, error) {
	_, err := os.Stat(l.At(UserConfig))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", UserConfig, err)
	}
	return []string{"--config", l.At(UserConfig)}, nil
}

// environment returns the inherited environment with the image's programs first in PATH:
// kubeadm's preflight runs the kubelet from PATH, which has to be the new one.
func environment(l host.Layout, inherited []string) []string {
	path := "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	env := make([]string, 0, len(inherited)+1)
	for _, e := range inherited {
		if p, ok := strings.CutPrefix(e, "PATH="); ok {
			path = p
			continue
		}
		env = append(env, e)
	}
	return append(env, "PATH="+filepath.Join(l.At(host.ImageMount), "usr/bin")+":"+path)
}

// lastError returns what kubeadm's own checks found fatal, "[ERROR CreateJob]: …", because
// the line after it says only that checks failed; else the last line with an error, because
// kubeadm prints advice after it; else the last line.
func lastError(tail string) string {
	lines := strings.Split(strings.TrimSpace(tail), "\n")
	var fatal []string
	last := lines[len(lines)-1]
	for _, line := range lines {
		switch {
		case strings.Contains(line, "[ERROR "):
			fatal = append(fatal, strings.TrimSpace(line))
		case strings.HasPrefix(line, "error:"), strings.Contains(line, "FATAL"):
			last = line
		}
	}
	if len(fatal) > 0 {
		return strings.Join(fatal, "; ")
	}
	return strings.TrimSpace(last)
}

const logsKept = 4

// openLog creates a new kubeadm.log, and renames the former ones to kubeadm.log.1 and so
// on.
func openLog(dir string) (*os.File, error) {
	path := filepath.Join(dir, host.KubeadmLog)
	for i := logsKept - 1; i > 0; i-- {
		from := path
		if i > 1 {
			from += "." + strconv.Itoa(i-1)
		}
		if err := os.Rename(from, path+"."+strconv.Itoa(i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("keeping kubeadm's former log: %w", err)
		}
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening kubeadm's log: %w", err)
	}
	return file, nil
}

// both writes to the file and to the verb's log. If the file cannot be written, it goes on
// with the log alone, so that a full disk does not stop kubeadm.
type both struct {
	file io.Writer
	log  *host.Log
}

func (b *both) Write(p []byte) (int, error) {
	if b.file != nil {
		if _, err := b.file.Write(p); err != nil {
			b.file = nil
			b.log.Printf("%v: the rest is not in the file", err)
		}
	}
	return b.log.Write(p)
}
