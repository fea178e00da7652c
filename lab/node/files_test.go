package node

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/network"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image"
)

func spec(t *testing.T) Spec {
	t.Helper()
	images := t.TempDir()
	for _, name := range []string{"kubernetes.raw", "containerd.raw"} {
		if err := os.WriteFile(filepath.Join(images, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Spec{
		Endpoint:    network.Worker(1),
		Peers:       []network.Endpoint{network.ControlPlane(1), network.Worker(1), network.Worker(2)},
		Rootfs:      "/rootfs",
		Containerd:  filepath.Join(images, "containerd.raw"),
		Kubernetes:  filepath.Join(images, "kubernetes.raw"),
		Version:     "1.34.3",
		Pause:       "registry.k8s.io/pause:3.10.1",
		ImageServer: "http://10.88.0.1:8080",
		Registry:    "http://10.88.0.1:5000",
		Files:       map[string]string{"/etc/kubernetes/kubeadm-upgrade.yaml": "kind: UpgradeConfiguration\n"},
	}
}

func create(t *testing.T, spec Spec) *Machine {
	t.Helper()
	m, err := Create(filepath.Join(t.TempDir(), spec.Name), spec)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *Machine) read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(m.disk(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestKubernetesComesAsThePublisherHasIt(t *testing.T) {
	m := create(t, spec(t))
	want := `[Transfer]
Verify=false

[Source]
Type=url-file
Path=http://10.88.0.1:8080/
MatchPattern=kubernetes-v1.34.@v-%a.raw

[Target]
InstancesMax=3
Type=regular-file
Path=/opt/extensions/kubernetes
CurrentSymlink=/etc/extensions/kubernetes.raw
`
	if diff := cmp.Diff(want, m.read(t, "/etc/sysupdate.kubernetes.d/kubernetes-v1.34.conf")); diff != "" {
		t.Errorf("conf (-want +got):\n%s", diff)
	}
	link, err := os.Readlink(m.disk("/etc/extensions/kubernetes.raw"))
	if err != nil || link != "/opt/extensions/kubernetes/"+image.Name("v1.34.3", runtime.GOARCH) {
		t.Errorf("the symlink says %q, %v", link, err)
	}
	if got := m.read(t, link); got != "kubernetes.raw" {
		t.Errorf("the image holds %q", got)
	}
}

func TestAnImageOnANodeIsNotTheCaches(t *testing.T) {
	s := spec(t)
	m := create(t, s)
	image := m.disk("/opt/extensions/kubernetes/" + image.Name("v1.34.3", runtime.GOARCH))
	if err := os.WriteFile(image, []byte("spoilt"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(s.Kubernetes); string(got) != "kubernetes.raw" {
		t.Errorf("the cache's image holds %q", got)
	}
}

func TestTheTimerIsOnOnlyWhenAskedFor(t *testing.T) {
	const timer = "/etc/systemd/system/timers.target.wants/systemd-sysupdate.timer"
	for _, auto := range []bool{false, true} {
		s := spec(t)
		s.AutoUpdate = auto
		files, err := s.files()
		if err != nil {
			t.Fatal(err)
		}
		on := slices.ContainsFunc(files, func(f file) bool { return f.path == timer })
		if on != auto {
			t.Errorf("AutoUpdate %v: timer on is %v", auto, on)
		}
	}
}

// TestIgnitionBringsKubernetes checks that the lab leaves to Ignition what Ignition brings.
func TestIgnitionBringsKubernetes(t *testing.T) {
	s := spec(t)
	s.Ignition = "/node.ign"
	files, err := s.files()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.Contains(f.path, "sysupdate.kubernetes.d") || strings.Contains(f.path, "extensions/kubernetes") || f.link == "/dev/null" && strings.Contains(f.path, "locksmithd") {
			t.Errorf("the lab writes %s", f.path)
		}
	}
}

func TestEveryNodeReachesEveryOthersPods(t *testing.T) {
	s := spec(t)
	boot := s.boot()
	for _, peer := range s.Peers {
		route := "route replace " + peer.Pods.String() + " via " + peer.Address.String() + "\n"
		if own := peer.Name == s.Name; strings.Contains(boot, route) == own {
			t.Errorf("%s: a route to %s's pods: %v", s.Name, peer.Name, !own)
		}
	}
	if !strings.Contains(boot, "address replace 10.88.0.21/24 dev host0\n") {
		t.Errorf("no address of its own in\n%s", boot)
	}
}

func TestFilesAreWrittenOnce(t *testing.T) {
	s := spec(t)
	s.AutoUpdate = true
	files, err := s.files()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range files {
		if !filepath.IsAbs(f.path) || seen[f.path] {
			t.Errorf("%s is relative, or written twice", f.path)
		}
		seen[f.path] = true
	}
	if got := create(t, s).read(t, "/etc/kubernetes/kubeadm-upgrade.yaml"); got != "kind: UpgradeConfiguration\n" {
		t.Errorf("the caller's file holds %q", got)
	}
}

func TestABadVersionIsRefused(t *testing.T) {
	for _, version := range []string{"", "1.34", "v", "1.2.3.4"} {
		s := spec(t)
		s.Version = version
		if _, err := s.files(); err == nil {
			t.Errorf("version %q was taken", version)
		}
	}
}

func TestCreateBeginsWithEmptyDisksAndAnIdentityOfItsOwn(t *testing.T) {
	s := spec(t)
	m := create(t, s)
	left := m.disk("/var/lib/etcd/member")
	if err := os.MkdirAll(left, 0o755); err != nil {
		t.Fatal(err)
	}
	before := m.read(t, "/etc/machine-id")
	again, err := Create(m.Dir, s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Error("the old disk is there")
	}
	if after := again.read(t, "/etc/machine-id"); after == before || len(after) != 33 {
		t.Errorf("machine id %q, before %q", after, before)
	}
	opened, err := Open(m.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(again, opened, cmp.Comparer(func(a, b network.Endpoint) bool { return a == b })); diff != "" {
		t.Errorf("opened (-created +opened):\n%s", diff)
	}
}

func TestBootScriptIsAProgram(t *testing.T) {
	m := create(t, spec(t))
	info, err := os.Stat(m.disk(bootUp))
	if err != nil || info.Mode()&fs.ModePerm != 0o755 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
