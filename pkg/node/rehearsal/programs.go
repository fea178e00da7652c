package rehearsal

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/facts"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/kubeadm"
)

// programRefusals are what a program of a control plane says of a flag or a feature gate that it does not take (its flags
// are parsed by spf13/pflag; those of etcd by Go's package flag).
var programRefusals = regexp.MustCompile(`unknown (shorthand )?flag|flag provided but not defined|invalid argument ".*" for ".*" flag|invalid value ".*" for flag` +
	`|unrecognized feature gate|cannot set feature gate|bad flag syntax|flag needs an argument`)

// program lets the program of a pod read its arguments. With --version it prints its version and ends, once it has parsed
// all of them and before it opens a file (kube-apiserver 1.31 to 1.37, etcd 3.5 to 3.7).
func (c *controlPlane) program(ctx context.Context, component string, next *facts.StaticPod) {
	ask := func(pod *facts.StaticPod) (refusal string, err error) {
		container := pod.Container()
		line := slices.Concat(container.Command, container.Args)
		switch {
		case len(line) == 0 || filepath.Base(line[0]) != component:
			return "", errors.New("its pod starts another program")
		case strings.Contains(strings.Join(line, " "), "$("):
			return "", errors.New("its arguments have variables")
		}
		return c.ask(ctx, container.Image, host.Confined{Program: component, Args: append(line[1:], "--version")}, programRefusals)
	}
	if !slices.Contains(c.pulled.Images, next.Container().Image) {
		c.untried("%s of %s: its image %s is another one than those that were pulled", component, c.out.Version, next.Container().Image)
		return
	}
	refusal, err := ask(next)
	c.judge(component, refusal, err, func() (string, error) {
		if c.running[component] == nil {
			return "", nil
		}
		return ask(c.running[component])
	})
}

// judge adds what came of a program of the next version. today asks the one that runs: if it refuses how it runs, it is the
// trial that is wrong.
func (c *controlPlane) judge(program, refusal string, err error, today func() (string, error)) {
	switch {
	case err != nil:
		c.untried("%s of %s: %v", program, c.out.Version, err)
	case refusal != "":
		if same, err := today(); same != "" || err != nil {
			c.untried("%s of %s: %s", program, c.out.Version, refusal)
			return
		}
		c.problem(v1alpha1.ProgramRefuses, v1alpha1.CauseVersion, "%s of %s refuses how it would be started: %s", program, c.out.Version, refusal)
	}
}

// proxyRefusals is what kube-proxy says of a configuration that it does not take (cmd/kube-proxy/app, 1.34).
var proxyRefusals = regexp.MustCompile(`failed (complete|validate): |` + programRefusals.String())

// proxy lets kube-proxy read its configuration, which is one for all nodes. It ends once it has written it down again.
func (c *controlPlane) proxy(ctx context.Context) {
	i := slices.IndexFunc(c.pulled.Images, func(image string) bool { return strings.Contains(image, "/kube-proxy:") })
	if c.pulled.KubeProxyConfig == "" || i < 0 {
		return
	}
	const dir = "/proxy"
	ask := func(image string) (string, error) {
		return c.ask(ctx, image, host.Confined{
			Program: "kube-proxy", Args: []string{"--config=/config.conf", "--write-config-to=" + dir + "/written.conf"}, Work: dir,
			Files: []host.File{{Path: "/config.conf", Content: []byte(c.pulled.KubeProxyConfig)}},
		}, proxyRefusals)
	}
	image := c.pulled.Images[i]
	refusal, err := ask(image)
	c.judgeProxy(refusal, err, func() (string, error) {
		return ask(strings.ReplaceAll(image, ":"+c.out.Version, ":"+c.rehearsing.running))
	})
}

// invalidProxy begins what kube-proxy says of a value that it does not take.
const invalidProxy = "failed validate: "

// judgeProxy adds what came of kube-proxy of the next version. Its pods read the ConfigMap when they start, and those that run may
// be older than a value in it: that today's refuses the value, too, is no sign of a wrong trial.
func (c *controlPlane) judgeProxy(refusal string, err error, today func() (string, error)) {
	if err != nil || !strings.HasPrefix(refusal, invalidProxy) {
		c.judge("kube-proxy", refusal, err, today)
		return
	}
	cause := v1alpha1.CauseVersion
	if same, err := today(); err == nil && same != "" {
		cause = v1alpha1.CauseNode
	}
	c.problem(v1alpha1.ProgramRefuses, cause, "kube-proxy of %s refuses the ConfigMap kube-system/kube-proxy: %s", c.out.Version, refusal)
}

// ask returns why the program of a container image refuses how it is started, in a line that matches; empty: it does not.
func (c *controlPlane) ask(ctx context.Context, image string, run host.Confined, refusals *regexp.Regexp) (refusal string, err error) {
	socket, err := kubeadm.RuntimeSocket(c.layout)
	if err != nil {
		return "", err
	}
	run.Executable, err = host.ProgramOf(ctx, c.log, "host", CopyCommand, socket, image, run.Program)
	if err != nil {
		return "", fmt.Errorf("getting it from %s: %w", image, err)
	}
	defer func() { _ = run.Executable.Close() }()
	var said bytes.Buffer
	run.Stderr = &said
	_, err = host.RunConfined(ctx, run)
	var failed *host.ProgramFailure
	if errors.As(err, &failed) && failed.Exited {
		if refusal = refusalLine(said.String(), refusals); refusal != "" {
			return refusal, nil
		}
	}
	return "", err
}

// CopyCommand is the hidden command of this program that runs CopyProgram.
const CopyCommand = "copy-program"

// runtimeProgram is the client of containerd that comes with it.
const runtimeProgram = "ctr"

// CopyProgram writes a program of a container image to out. It has containerd, which listens at the socket, mount the image
// in this process's mount namespace.
//
// It runs in the unit of host.ProgramOf only: anywhere else the mount would stay if it were killed.
func CopyProgram(ctx context.Context, out io.Writer, socket, image, name string) error {
	mounts, err := mountinfo.GetMounts(mountinfo.SingleEntryFilter(host.TrialDir))
	if err != nil || len(mounts) == 0 {
		return fmt.Errorf("%s is the node's own: this runs only in the unit of a trial", host.TrialDir)
	}
	ctr := func(args ...string) error {
		args = append([]string{"--address", socket, "--namespace", "k8s.io"}, args...)
		said, err := exec.CommandContext(ctx, runtimeProgram, args...).CombinedOutput() //nolint:gosec // no shell
		if err != nil {
			return fmt.Errorf("%s %s: %w: %s", runtimeProgram, strings.Join(args, " "), err, host.LastLine(string(said)))
		}
		return nil
	}
	root := filepath.Join(host.TrialDir, "image")
	if err := os.Mkdir(root, 0o755); err != nil { //nolint:gosec // it is empty
		return err
	}
	// The runtime's snapshot has the path as its name. One that was left by a trial that was killed is in the way.
	_, _ = ctr("snapshots", "rm", root), ctr("leases", "rm", root)
	if err := ctr("images", "mount", "--platform", "linux/"+runtime.GOARCH, image, root); err != nil {
		return err
	}
	err = copyProgram(out, root, name)
	return cmp.Or(err, ctr("images", "unmount", "--rm", root))
}

// programsOfImages are the folders of programs in the images that kubeadm uses.
var programsOfImages = []string{"usr/local/bin", "usr/bin", "bin", "usr/local/sbin", "usr/sbin", "sbin", ""}

func copyProgram(out io.Writer, root, name string) error {
	for _, dir := range programsOfImages {
		file, err := os.OpenInRoot(root, filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		_, err = io.Copy(out, file)
		return err
	}
	return fmt.Errorf("it has no program %s", name)
}
