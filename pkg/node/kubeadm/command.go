package kubeadm

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

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
