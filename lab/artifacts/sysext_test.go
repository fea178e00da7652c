package artifacts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fakeNode has the files that a Kubernetes sysext copies.
func fakeNode(t *testing.T) (binDir, rootfs string) {
	t.Helper()
	binDir, rootfs = t.TempDir(), t.TempDir()
	for _, name := range []string{"kubeadm", "kubelet", "kubectl", "kube-apiserver"} {
		write(t, binDir, name, name)
		if err := os.Chmod(filepath.Join(binDir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, rootfs, "usr/lib/cni/bridge", "bridge")
	return binDir, rootfs
}

func TestKubernetesTreeIsTheBakerys(t *testing.T) {
	binDir, rootfs := fakeNode(t)
	tree, err := kubernetesTree("1.34.4", binDir, rootfs)
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if err := tree.write("/", out); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"usr/bin/kubeadm", "usr/bin/kubectl", "usr/bin/kubelet",
		"usr/lib/extension-release.d/extension-release.kubernetes",
		"usr/lib/systemd/system/kubelet.service",
		"usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf",
		"usr/lib/systemd/system/multi-user.target.d/10-kubelet-service.conf",
		"usr/local/bin/cni/bridge",
		"usr/local/share/kubernetes-version",
	}
	if diff := cmp.Diff(want, files(t, out)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{
		"usr/local/share/kubernetes-version":                                 "v1.34.4\n",
		"usr/lib/systemd/system/multi-user.target.d/10-kubelet-service.conf": "[Unit]\nUpholds=kubelet.service\n",
	} {
		if got, err := os.ReadFile(filepath.Join(out, name)); err != nil || string(got) != want {
			t.Errorf("%s is %q (%v), want %q", name, got, err, want)
		}
	}
	if info, err := os.Stat(filepath.Join(out, "usr/bin/kubelet")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("kubelet is %v (%v), want it to be executable", info, err)
	}
}

func TestKubernetesTreeNeedsPlugins(t *testing.T) {
	if _, err := kubernetesTree("1.34.4", t.TempDir(), t.TempDir()); err == nil {
		t.Error("no error where the root file system has no CNI plugins")
	}
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			found = append(found, strings.TrimPrefix(name, dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
