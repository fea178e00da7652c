//go:build !integration

package host_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

func TestGather(t *testing.T) {
	l := newTree(t)
	done := verb.KubeadmDone{Version: "v1.34.3", Command: "Apply", FinishedAt: time.Unix(1, 0).UTC()}
	if err := l.SetKubeadmDone(done); err != nil {
		t.Fatal(err)
	}
	facts, err := host.Gather(l)
	if err != nil {
		t.Fatal(err)
	}
	if facts.FreeBytes <= 0 {
		t.Errorf("free bytes: %d", facts.FreeBytes)
	}
	facts.FreeBytes = 0
	want := verb.HostFacts{
		HasFiles:  true,
		BootID:    bootID,
		Installed: []string{"v1.34.3", "v1.34.10"}, Active: "v1.34.3", Merged: "v1.34.3",
		Kubeadm: done,
	}
	if diff := cmp.Diff(want, facts); diff != "" {
		t.Error(diff)
	}
	image, err := host.NewImage("v1.34.3", host.Architecture())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{image.Path(), image.PublishedPath()} {
		_ = os.Remove(l.At(path))
	}
	if facts, err = host.Gather(l); err != nil || facts.MissingImage != image.PublishedPath() {
		t.Errorf("the image that runs is gone: %q %v, want %s", facts.MissingImage, err, image.PublishedPath())
	}
}

// TestRecordBeforeJoinIsIgnored checks that the record of kubeadm does not count for a node
// that has joined again after kubeadm reset.
func TestRecordBeforeJoinIsIgnored(t *testing.T) {
	l := newTree(t)
	finished := time.Now().Add(-time.Hour)
	if err := l.SetKubeadmDone(verb.KubeadmDone{Version: "v1.34.3", FinishedAt: finished}); err != nil {
		t.Fatal(err)
	}
	conf := l.At("/etc/kubernetes/kubelet.conf")
	if err := os.WriteFile(conf, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for joined, want := range map[time.Time]string{finished.Add(-time.Minute): "v1.34.3", finished.Add(time.Minute): ""} {
		if err := os.Chtimes(conf, joined, joined); err != nil {
			t.Fatal(err)
		}
		facts, err := host.Gather(l)
		if err != nil || facts.Kubeadm.Version != want {
			t.Errorf("joined %s after the run: %q %v, want %q", joined.Sub(finished), facts.Kubeadm.Version, err, want)
		}
	}
}

// TestRecordAndClocks checks that the record of kubeadm counts whatever the clock was when
// kubelet.conf was written, and not once the node has joined again at a time before that.
func TestRecordAndClocks(t *testing.T) {
	l := newTree(t)
	conf, ahead := l.At("/etc/kubernetes/kubelet.conf"), time.Now().Add(24*time.Hour)
	if err := os.WriteFile(conf, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	written := func(at time.Time, want string) {
		t.Helper()
		if err := os.Chtimes(conf, at, at); err != nil {
			t.Fatal(err)
		}
		facts, err := host.Gather(l)
		if err != nil || facts.Kubeadm.Version != want {
			t.Errorf("kubelet.conf of %s: %q %v, want %q", at, facts.Kubeadm.Version, err, want)
		}
	}
	if err := os.Chtimes(conf, ahead, ahead); err != nil {
		t.Fatal(err)
	}
	if err := l.SetKubeadmDone(verb.KubeadmDone{Version: "v1.34.3", FinishedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	written(ahead, "v1.34.3")
	written(time.Now(), "")
}

// TestOldRecordAndClocks checks a record of an earlier version, which has no time of kubelet.conf.
func TestOldRecordAndClocks(t *testing.T) {
	l := newTree(t)
	if err := l.SetKubeadmDone(verb.KubeadmDone{Version: "v1.34.3", FinishedAt: time.Now().Add(-time.Hour)}); err != nil {
		t.Fatal(err)
	}
	conf, ahead := l.At("/etc/kubernetes/kubelet.conf"), time.Now().Add(24*time.Hour)
	if err := os.WriteFile(conf, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(conf, ahead, ahead); err != nil {
		t.Fatal(err)
	}
	if facts, err := host.Gather(l); err != nil || facts.Kubeadm.Version != "v1.34.3" {
		t.Errorf("%q %v, want v1.34.3", facts.Kubeadm.Version, err)
	}
}

func TestUnsupported(t *testing.T) {
	tests := map[string]struct {
		spoil func(host.Layout)
		want  string
	}{
		"no symlink":   {func(l host.Layout) { _ = os.Remove(l.At(host.Link)) }, "does not come as a sysext"},
		"elsewhere":    {func(l host.Layout) { point(t, l, "/opt/kubernetes.raw") }, "points to /opt/kubernetes.raw"},
		"other folder": {func(l host.Layout) { point(t, l, "/srv/kubernetes-v1.34.3-x86-64.raw") }, "points to /srv"},
		"no link":      {func(l host.Layout) { unlink(t, l); write(t, l, host.Link, "image") }, host.Link + " is no symlink"},
		"no sysupdate": {func(l host.Layout) { _ = os.Remove(l.At(host.Sysupdate)) }, "no " + host.Sysupdate},
		"an absolute link is fine": {func(l host.Layout) {
			point(t, l, host.ImagePath("v1.34.3", host.Architecture()))
		}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := newTree(t)
			test.spoil(l)
			facts, err := host.Gather(l)
			if err != nil {
				t.Fatal(err)
			}
			if (facts.Unsupported == nil) != (test.want == "") || !strings.Contains(facts.Unsupported.Text(), test.want) {
				t.Errorf("got %+v, want %q", facts.Unsupported, test.want)
			}
		})
	}
}

// TestNextBoot checks what the next boot brings to a node whose symlink does not lead to an
// image. A Kubernetes that runs from an image must not be missing after a Reboot.
func TestNextBoot(t *testing.T) {
	running := host.ImagePath("v1.34.3", host.Architecture())
	for name, test := range map[string]struct {
		change func(host.Layout)
		want   string
	}{
		"the symlink is gone":          {func(l host.Layout) { unlink(t, l) }, verb.NoKubernetes},
		"it points to nothing":         {func(l host.Layout) { point(t, l, "/srv/gone.raw") }, verb.NoKubernetes},
		"the image is gone":            {func(l host.Layout) { _ = os.Remove(l.At(running)) }, verb.NoKubernetes},
		"the image is empty":           {func(l host.Layout) { write(t, l, running, "") }, verb.NoKubernetes},
		"an image in its place":        {func(l host.Layout) { unlink(t, l); write(t, l, host.Link, "image") }, ""},
		"an image elsewhere":           {func(l host.Layout) { write(t, l, "/srv/k.raw", "image"); point(t, l, "/srv/k.raw") }, ""},
		"an image of another folder":   {func(l host.Layout) { unlink(t, l); write(t, l, "/var/lib/extensions/kubernetes.raw", "image") }, ""},
		"packages":                     {func(l host.Layout) { unlink(t, l); _ = os.Remove(l.At(host.MergedVersionFile)) }, ""},
		"the symlink is as it must be": {func(host.Layout) {}, "v1.34.3"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newTree(t)
			test.change(l)
			facts, err := host.Gather(l)
			if err != nil || facts.Active != test.want {
				t.Errorf("the next boot brings %q (%v), want %q", facts.Active, err, test.want)
			}
		})
	}
}

// TestRebootRequiredWithPackages checks that /run/reboot-required, as packages create it,
// counts on a node that has nothing of Kubernetes' sysext image.
func TestRebootRequiredWithPackages(t *testing.T) {
	l := host.Layout{Dir: t.TempDir()}
	write(t, l, "/proc/sys/kernel/random/boot_id", bootID+"\n")
	for _, want := range []bool{false, true} {
		facts, err := host.Gather(l)
		if err != nil || facts.RebootRequired != want || facts.Unsupported == nil || facts.Active != "" {
			t.Errorf("got %+v (%v), want a node without an image that requires a reboot: %t", facts, err, want)
		}
		write(t, l, "/run/reboot-required", "*** System restart required ***\n")
	}
}

func TestParseImageName(t *testing.T) {
	for name, want := range map[string]string{
		"kubernetes-v1.34.4-x86-64.raw":      "v1.34.4",
		"kubernetes-v1.34.4-arm64.raw":       "v1.34.4",
		"kubernetes-1.34.4-x86-64.raw":       "",
		"kubernetes-v1.34-x86-64.raw":        "",
		"kubernetes-v1.34.04-x86-64.raw":     "",
		"kubernetes-v1.34.4-rc.1-x86-64.raw": "v1.34.4-rc.1",
		"kubernetes-v1.34.4+k3s1-arm64.raw":  "v1.34.4+k3s1",
		"kubernetes-v1.34.4-riscv64.raw":     "",
		"kubernetes-v1.34.4-x86-64.raw.xz":   "",
		"kubernetes-v1.34.4/../-x86-64.raw":  "",
		".#kubernetes-v1.34.4-x86-64.raw":    "",
		"containerd-v1.34.4-x86-64.raw":      "",
		"kubernetes-v1.34.4\n-x86-64.raw":    "",
		"kubernetes-v01.34.4-x86-64.raw":     "",
		"kubernetes-v1.34.99999-x86-64.raw":  "",
	} {
		image, ok := host.ParseImageName(name)
		if ok != (want != "") || ok && (image.Version() != want || image.Name() != name) {
			t.Errorf("%q: %v %v", name, image, ok)
		}
	}
}

func TestActivationPending(t *testing.T) {
	l := newTree(t)
	arch := host.Architecture()
	pending := func(want bool) {
		t.Helper()
		if got, err := l.ActivationPending(); got != want || err != nil {
			t.Errorf("pending %v (%v), want %v", got, err, want)
		}
	}
	pending(false)
	write(t, l, host.Program(host.Root), "")
	if err := l.ArmGuard(host.Guard{From: "v1.34.3", To: "v1.34.10"}); err != nil {
		t.Fatal(err)
	}
	pending(false) // armed, not flipped
	point(t, l, host.ImagePath("v1.34.10", arch))
	pending(true)
	write(t, l, host.MergedVersionFile, "v1.34.10\n")
	pending(false)
	_ = os.Remove(l.At(host.MergedVersionFile))
	pending(true) // nothing was merged: the guard's to judge
	if err := l.DisarmGuard(); err != nil {
		t.Fatal(err)
	}
	pending(false) // it has ended: another program moved the symlink there
}

// TestRebootRequired checks the reasons for a reboot. /run/reboot-required has none of its own.
func TestRebootRequired(t *testing.T) {
	l := newTree(t)
	required := func(want bool, when string) {
		t.Helper()
		facts, err := host.Gather(l)
		if err != nil {
			t.Fatal(err)
		}
		if facts.RebootRequired != want || (facts.RebootReason != "") != want {
			t.Errorf("%s: %v %q, want %v", when, facts.RebootRequired, facts.RebootReason, want)
		}
	}
	touch := func(at time.Time) {
		t.Helper()
		write(t, l, "/run/reboot-required", "")
		if err := os.Chtimes(l.At("/run/reboot-required"), at, at); err != nil {
			t.Fatal(err)
		}
	}
	required(false, "no file")
	later := time.Now().Add(time.Hour).Truncate(time.Second) // than any symlink here
	touch(later)
	required(true, "Kubernetes is as it should be")

	point(t, l, host.ImagePath("v1.34.10", host.Architecture()))
	required(false, "the symlink is ahead: that is why")
	if err := l.IgnoreRebootFile(); err != nil {
		t.Fatal(err)
	}
	point(t, l, host.ImagePath("v1.34.3", host.Architecture()))
	required(false, "the symlink was moved back")
	touch(later.Add(time.Minute))
	required(true, "touched once more")
	touch(later)
	required(false, "as it was")
	touch(time.Unix(100, 5))
	if err := l.IgnoreRebootFile(); err != nil {
		t.Fatal(err)
	}
	required(true, "touched before the symlink moved")
	touch(later)
	write(t, l, "/proc/sys/kernel/random/boot_id", "another boot\n")
	required(true, "another boot")
	write(t, l, host.Root+"/state/reboot-file.json", "{")
	required(true, "the record is broken")
	_ = os.Remove(l.At(host.MergedVersionFile))
	required(true, "it is unknown what runs")
	_ = os.Remove(l.At("/run/reboot-required"))
	required(false, "gone")
	if err := l.IgnoreRebootFile(); err != nil {
		t.Errorf("without the file: %v", err)
	}
}
