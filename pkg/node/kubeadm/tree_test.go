package kubeadm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/sysupdate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// If nothing is mounted the folder counts as the image.
func init() {
	mounted = func(ctx context.Context, path, dir string, image host.Image, sha256 string) error {
		if err := sysupdate.VerifyHash(ctx, path, sha256); err != nil {
			return err
		}
		return sysupdate.VerifyTree(ctx, dir, image, func(ctx context.Context, program string, args ...string) (string, error) {
			printed, err := exec.CommandContext(ctx, filepath.Join(dir, program), args...).Output()
			return strings.TrimSpace(string(printed)), err
		})
	}
	runConfined = func(ctx context.Context, r host.Confined) (string, error) {
		root := strings.TrimSuffix(r.Image.Name(), host.ImagePath("v1.34.4", host.Architecture()))
		cmd := exec.CommandContext(ctx, filepath.Join(root, host.ImageMount, r.Program), r.Args...)
		cmd.Stdin, cmd.Stderr = bytes.NewReader(r.Stdin), r.Stderr
		printed, err := cmd.Output()
		return string(printed), err
	}
}

// newTree returns a node with v1.34.4 staged and mounted. Its kubeadm is a script that prints
// its arguments and then runs behave.
func newTree(t *testing.T, behave string) host.Layout {
	t.Helper()
	l := host.Layout{Dir: t.TempDir()}
	for path, text := range map[string]string{
		host.ImagePath("v1.34.4", host.Architecture()):                                "image",
		host.ImageMount + "/usr/local/share/kubernetes-version":                       "v1.34.4\n",
		host.ImageMount + "/usr/lib/extension-release.d/extension-release.kubernetes": "ID=_any\n",
		host.ImageMount + "/usr/bin/kubelet":                                          "#!/bin/sh\necho Kubernetes v1.34.4\n",
		host.ImageMount + "/usr/bin/kubeadm":                                          "#!/bin/sh\n[ \"$1\" = version ] && echo v1.34.4 && exit\necho \"kubeadm $*; kubelet is $(command -v kubelet)\"\n" + behave,
		host.KubeletConfig:                                                            "before",
		host.Program(host.Root):                                                       "program",
		host.MergedVersionFile:                                                        "v1.34.3\n",
		host.ManifestsDir + "/kube-apiserver.yaml":                                    "old",
	} {
		write(t, l, path, text)
	}
	return l
}

func write(t *testing.T, l host.Layout, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(l.At(path)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.At(path), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, l host.Layout, path string) string {
	t.Helper()
	data, err := os.ReadFile(l.At(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func upgradeArgs(command v1alpha1.KubeadmCommand) verb.KubeadmArgs {
	sum := sha256.Sum256([]byte("image"))
	return verb.KubeadmArgs{Version: "v1.34.4", Command: command, SHA256: hex.EncodeToString(sum[:])}
}

func upgrade(t *testing.T, l host.Layout, args verb.KubeadmArgs) (string, error) {
	t.Helper()
	log := host.NewLog(&bytes.Buffer{})
	_, err := Upgrade(t.Context(), l, args, log)
	return log.Tail(), err
}
