package facts

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

func TestOrdinaryNode(t *testing.T) {
	l := ordinary().on(t)
	facts := newGatherer(l, services{"kubelet.service": kubelet()}.ask).forChecks(now)
	device := facts.Disks[0].Device
	for i := range facts.Disks {
		if d := facts.Disks[i]; d.FreeBytes <= 0 || d.Device == "" || d.Device != device {
			t.Errorf("%+v", d)
		}
		facts.Disks[i].FreeBytes, facts.Disks[i].Device = 0, ""
	}
	begin := metav1.NewTime(now.AddDate(-1, 0, 0).Truncate(time.Second))
	if facts.Certificates[0].WrittenTime == nil {
		t.Errorf("%+v", facts.Certificates[0])
	}
	facts.Certificates[0].WrittenTime = nil
	want := v1alpha1.NodeFacts{
		GatheredTime:          metav1.NewTime(now.Truncate(time.Second)),
		CgroupVersion:         1,
		KubeletFlags:          []string{"bootstrap-kubeconfig", "config", "container-runtime-endpoint", "kubeconfig", "pod-infra-container-image"},
		KubeletFlagsElsewhere: base,
		KubeletConfigFields:   []string{"cgroupDriver", "staticPodPath"},
		Disks:                 []v1alpha1.DiskFacts{{Path: "/etc/kubernetes"}, {Path: host.SnapshotsDir}},
		Certificates: []v1alpha1.CertificateFacts{{
			Path: "/etc/kubernetes/pki/ca.crt", NotAfter: metav1.NewTime(now.AddDate(10, 0, 0).Truncate(time.Second)), NotBefore: &begin,
			CA: true, HasKey: true, Issuer: "kubernetes", RenewedBy: v1alpha1.RenewedByNone,
		}},
	}
	if diff := cmp.Diff(want, facts); diff != "" {
		t.Error(diff)
	}
}

func TestNothingThere(t *testing.T) {
	facts := newGatherer(host.Layout{Dir: t.TempDir()}, services{}.ask).forChecks(now)
	if facts.CgroupVersion != 0 || len(facts.KubeletFlags) > 0 || len(facts.Disks) > 1 { // the disk that a snapshot would go to is always there
		t.Errorf("%+v", facts)
	}
	if len(facts.Problems) != 2 { // control groups and mounts: every Linux has them
		t.Errorf("problems: %q", facts.Problems)
	}
}

// Files of every unusual kind, where each fact is read from: the gathering ends,
// at once, and says what it missed.
func TestUnusualFiles(t *testing.T) {
	places := []string{
		host.KubeletFlags, "/etc/sysconfig/kubelet", host.KubeletConfig, "/etc/containerd/config.toml",
		"/etc/kubernetes/pki/ca.crt", "/etc/kubernetes/admin.conf", "/etc/kubernetes/patches/etcd.yaml",
		"/etc/systemd/system/systemd-sysupdate.timer.d/x.conf", "/etc/systemd/system/locksmithd.service", "/etc/kubernetes/kubeadm-upgrade.yaml",
	}
	kinds := map[string]func(path string) error{
		"named pipe": func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"folder":     func(path string) error { return os.Mkdir(path, 0o755) },
		"loop":       func(path string) error { return os.Symlink(filepath.Base(path), path) },
		"huge":       func(path string) error { return os.WriteFile(path, make([]byte, largest+1), 0o644) },
		"zeros":      func(path string) error { return os.WriteFile(path, make([]byte, 100), 0o644) },
		"quotes":     func(path string) error { return os.WriteFile(path, []byte(`[Service]`+"\n"+`ExecStart=/a "b`), 0o644) },
	}
	for kind, make := range kinds {
		for _, place := range places {
			t.Run(kind+" "+filepath.Base(place), func(t *testing.T) {
				l := with(tree{place: ""}).on(t)
				_ = os.MkdirAll(filepath.Dir(l.At(place)), 0o755)
				if err := make(l.At(place)); err != nil {
					t.Fatal(err)
				}
				facts := newGatherer(l, services{"kubelet.service": kubelet()}.ask).forChecks(now)
				if facts.CgroupVersion != 1 || len(facts.Disks) == 0 {
					t.Errorf("other facts are gone: %+v", facts)
				}
			})
		}
	}
}

func TestBugKeepsOtherFacts(t *testing.T) {
	g := &gatherer{problems: map[string]bool{}}
	g.protect(func() { panic("oops") })
	if !g.problems["a bug in this program: oops"] {
		t.Errorf("%v", g.problems)
	}
}
