package kubeadm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

const done = host.Root + "/state/kubeadm-done.json"

func TestUpgrade(t *testing.T) {
	tests := map[string]struct {
		command v1alpha1.KubeadmCommand
		config  bool
		want    string
	}{
		"apply":             {v1alpha1.KubeadmApply, false, "kubeadm upgrade apply v1.34.4 --yes; kubelet is "},
		"apply with config": {v1alpha1.KubeadmApply, true, "kubeadm upgrade apply v1.34.4 --config /etc/kubernetes/kubeadm-upgrade.yaml; kubelet is "},
		"node":              {v1alpha1.KubeadmNode, false, "kubeadm upgrade node; kubelet is "},
		"node with config":  {v1alpha1.KubeadmNode, true, "kubeadm upgrade node --config /etc/kubernetes/kubeadm-upgrade.yaml; kubelet is "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := newTree(t, `[ "$2" = apply ] && [ "$4" = --config ] && { read answer; echo "answer: $answer"; }; echo after >"$0/../../../../../../var/lib/kubelet/config.yaml" 2>/dev/null; exit 0`)
			if test.config {
				write(t, l, UserConfig, "kind: UpgradeConfiguration\n")
			}
			log, err := upgrade(t, l, upgradeArgs(test.command))
			if err != nil {
				t.Fatalf("%v\n%s", err, log)
			}
			printed := strings.ReplaceAll(log, l.Dir, "")
			if !strings.Contains(printed, test.want+host.ImageMount+"/usr/bin/kubelet") {
				t.Errorf("printed %q, want %q", printed, test.want)
			}
			if asked := test.config && test.command == v1alpha1.KubeadmApply; asked != strings.Contains(log, "answer: y") {
				t.Errorf("kubeadm got a wrong answer: %q", log)
			}
			record, err := l.KubeadmDone()
			if err != nil || record == nil || record.Version != "v1.34.4" || record.Command != string(test.command) {
				t.Errorf("%+v %v", record, err)
			}
			if got := read(t, l, host.Root+"/state/kubeadm.log"); got != log {
				t.Errorf("the file has %q, not %q", got, log)
			}
		})
	}
}

func TestUpgradeFails(t *testing.T) {
	l := newTree(t, "echo '[ERROR CoreDNS]: not today' >&2; echo 'To see the stack trace use --v=5' >&2; exit 1")
	_, err := upgrade(t, l, upgradeArgs(v1alpha1.KubeadmNode))
	if host.ReasonOf(err, "") != v1alpha1.ReasonKubeadmFailed || !strings.Contains(err.Error(), "not today") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(l.At(done)); err == nil {
		t.Error("the failed run is recorded as done")
	}
	if got := read(t, l, host.Root+"/state/saved/config.yaml"); got != "before" {
		t.Errorf("saved %q", got)
	}
}

// guardUnit is the unit that restores manifests at boot.
const guardUnit = "/etc/systemd/system/multi-user.target.wants/" + host.GuardUnit

// While kubeadm runs the guard's unit is enabled, in case of a power cut.
func TestGuardIsEnabledWhileKubeadmRuns(t *testing.T) {
	dir := t.TempDir()
	seen := filepath.Join(dir, "seen")
	l := newTree(t, "")
	write(t, l, host.ImageMount+"/usr/bin/kubeadm", "#!/bin/sh\n[ \"$1\" = version ] && echo v1.34.4 && exit\ncp -P "+l.At(guardUnit)+" "+seen+"\n")
	if _, err := upgrade(t, l, upgradeArgs(v1alpha1.KubeadmNode)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(seen); err != nil {
		t.Errorf("the unit was not enabled while kubeadm ran: %v", err)
	}
	if _, err := os.Lstat(l.At(guardUnit)); err == nil {
		t.Error("the unit is still enabled after kubeadm")
	}
}

func TestUpgradeStopped(t *testing.T) {
	l := newTree(t, "exec sleep 60")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := Upgrade(ctx, l, upgradeArgs(v1alpha1.KubeadmNode), host.NewLog(&strings.Builder{}))
	if _, err := os.Stat(startedFile(l)); err != nil {
		t.Errorf("an interrupted run is not recorded: %v", err)
	}
	if _, err := os.Lstat(l.At(guardUnit)); err != nil {
		t.Errorf("nothing restores the manifests at boot: %v", err)
	}
	if host.ReasonOf(err, "") != v1alpha1.ReasonKubeadmFailed || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("%v", err)
	}
}

func TestUpgradeRefuses(t *testing.T) {
	tests := map[string]struct {
		spoil func(host.Layout, *verb.KubeadmArgs)
		want  v1alpha1.Reason
	}{
		"other bytes": {func(_ host.Layout, a *verb.KubeadmArgs) { a.SHA256 = strings.Repeat("0", 64) }, v1alpha1.ReasonHashMismatch},
		"other content": {func(l host.Layout, _ *verb.KubeadmArgs) {
			write(t, l, host.ImageMount+"/usr/bin/kubelet", "#!/bin/sh\necho Kubernetes v1.34.3\n")
		}, v1alpha1.ReasonContentMismatch},
		"nothing inside": {func(l host.Layout, _ *verb.KubeadmArgs) { _ = os.Remove(l.At(host.ImageMount, "usr/bin/kubeadm")) }, v1alpha1.ReasonContentMismatch},
		"what command":   {func(_ host.Layout, a *verb.KubeadmArgs) { a.Command = "Plan" }, "none"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := newTree(t, "")
			args := upgradeArgs(v1alpha1.KubeadmNode)
			test.spoil(l, &args)
			log, err := upgrade(t, l, args)
			if err == nil || host.ReasonOf(err, "none") != test.want || strings.Contains(log, "kubeadm upgrade") {
				t.Errorf("%v; %q", err, log)
			}
		})
	}
}

// TestRestoreManifests checks that a manifest is restored which a killed kubeadm had moved
// away between two renames.
func TestRestoreManifests(t *testing.T) {
	l := newTree(t, "")
	backup := func(stamp, component, text string, age time.Duration) {
		t.Helper()
		dir := host.KubernetesTmpDir + "/kubeadm-backup-manifests-" + stamp
		write(t, l, dir+"/"+component+".yaml", text)
		at := time.Now().Add(-age)
		if err := os.Chtimes(l.At(dir), at, at); err != nil {
			t.Fatal(err)
		}
	}
	backup("2026-01-01-00-00-00", "etcd", "very old", 2*time.Hour)
	backup("2026-02-01-00-00-00", "etcd", "old", time.Hour)
	backup("2026-02-01-00-00-00", "kube-apiserver", "not needed", time.Hour)
	backup("2026-02-01-00-00-00", "kube-scheduler", "removed by somebody", time.Hour)
	if log, err := upgrade(t, l, upgradeArgs(v1alpha1.KubeadmNode)); err != nil || strings.Contains(log, "put back") {
		t.Errorf("restored what no interrupted run had moved: %v %q", err, log)
	}
	if err := os.RemoveAll(l.At(host.KubernetesTmpDir, "kubeadm-backup-manifests-2026-02-01-00-00-00")); err != nil {
		t.Fatal(err)
	}
	write(t, l, host.Root+"/state/kubeadm-started", "")
	at := time.Now().Add(-90 * time.Minute)
	if err := os.Chtimes(startedFile(l), at, at); err != nil {
		t.Fatal(err)
	}
	backup("2026-02-02-00-00-00", "etcd", "old", time.Hour)
	backup("2026-02-02-00-00-00", "kube-apiserver", "not needed", time.Hour)
	log, err := upgrade(t, l, upgradeArgs(v1alpha1.KubeadmNode))
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, l, host.ManifestsDir+"/etcd.yaml"); got != "old" || !strings.Contains(log, "no manifest of etcd") {
		t.Errorf("etcd's manifest is %q; %q", got, log)
	}
	if got := read(t, l, host.ManifestsDir+"/kube-apiserver.yaml"); got != "old" {
		t.Errorf("the apiserver's manifest is %q", got)
	}
	if _, err := os.Stat(l.At(host.ManifestsDir, "kube-scheduler.yaml")); err == nil {
		t.Error("a manifest that no backup has appeared")
	}
	if _, err := os.Stat(startedFile(l)); err == nil {
		t.Error("a run that ended is still recorded as running")
	}
}

// TestEnded checks that the end of the unit restores the manifests that a killed kubeadm had
// moved away.
func TestEnded(t *testing.T) {
	l := newTree(t, "")
	write(t, l, host.Root+"/state/kubeadm-started", "")
	write(t, l, host.KubernetesTmpDir+"/kubeadm-backup-manifests-2026-02-02-00-00-00/etcd.yaml", "old")
	later := time.Now().Add(time.Second)
	if err := os.Chtimes(l.At(host.KubernetesTmpDir, "kubeadm-backup-manifests-2026-02-02-00-00-00"), later, later); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := CleanUp(l, host.NewLog(&strings.Builder{})); err != nil {
			t.Fatal(err)
		}
		if got := read(t, l, host.ManifestsDir+"/etcd.yaml"); got != "old" {
			t.Errorf("etcd's manifest is %q", got)
		}
	}
}

func TestBackupsAndLogsAreKept(t *testing.T) {
	l := newTree(t, "")
	for i := range 9 {
		dir := l.At(host.KubernetesTmpDir, fmt.Sprintf("kubeadm-backup-etcd-2026-01-0%d-00-00-00", i))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(time.Duration(i-9) * time.Hour)
		if err := os.Chtimes(dir, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write(t, l, host.KubernetesTmpDir+"/mine/file", "stays")
	for range 6 {
		if _, err := upgrade(t, l, upgradeArgs(v1alpha1.KubeadmNode)); err != nil {
			t.Fatal(err)
		}
	}
	left, _ := filepath.Glob(l.At(host.KubernetesTmpDir, "*"))
	if len(left) != backupsKept+1 || !strings.HasSuffix(left[0], "-04-00-00-00") {
		t.Errorf("left: %q", left)
	}
	if logs, _ := filepath.Glob(l.At(host.Root, "state/kubeadm.log*")); len(logs) != logsKept {
		t.Errorf("logs: %q", logs)
	}
}

// TestUpgradeWithMaskedGuard checks that kubeadm does not run without the unit that would
// restore its manifests.
func TestUpgradeWithMaskedGuard(t *testing.T) {
	l := newTree(t, "")
	mask := l.At("/etc/systemd/system", host.GuardUnit)
	if err := os.MkdirAll(filepath.Dir(mask), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/null", mask); err != nil {
		t.Fatal(err)
	}
	_, err := upgrade(t, l, upgradeArgs(v1alpha1.KubeadmNode))
	if err == nil || !strings.Contains(err.Error(), "systemctl unmask "+host.GuardUnit) {
		t.Errorf("got %v, want an error with the command that unmasks the unit", err)
	}
	if _, err := os.Stat(startedFile(l)); err == nil {
		t.Error("kubeadm counts as started")
	}
}
