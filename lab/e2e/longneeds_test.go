//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// preparations say what has to be done before a minor, by its patch. Each checks first that
// the plan finds it, and afterwards that it does not any more.
func (l *longRun) preparations() map[string]func(*testing.T) {
	return map[string]func(*testing.T){
		"v1.34.4": l.newerEtcd,
		"v1.35.4": l.flagAndGroups,
		"v1.36.1": l.containerd2,
	}
}

// removedFlag is a flag of the kubelet that 1.35 does not know. Where a person has set it,
// kubeadm does not remove it.
const removedFlag = "--pod-infra-container-image=registry.k8s.io/pause:3.10"

const kubeletDefaults = "/etc/sysconfig/kubelet"

// addFlag gives w1's kubelet the flag, as from the next time it starts.
func (l *longRun) addFlag(t *testing.T) {
	t.Helper()
	l.must(t)(l.Exec(l.ctx, "w1", "sh", "-c", "mkdir -p /etc/sysconfig; echo 'KUBELET_EXTRA_ARGS="+removedFlag+"' >"+kubeletDefaults))
}

// goodEtcd is a patch of etcd 3.5 from which 3.6 may be upgraded to. The newest patch of
// kubeadm 1.33 brings 3.5.24, which may not.
const goodEtcd = "3.5.35"

// newerEtcd does what the check etcd-version advises: a patch of the same minor brings a
// newer etcd, and the tag is removed again.
func (l *longRun) newerEtcd(t *testing.T) {
	l.awaitFinding(t, "v1.34.4", "etcd-version", v1alpha1.LevelBlock)
	l.must(t)(l.Lab.Lab(l.ctx, "load-etcd", goodEtcd))
	const before, patch = "    dataDir: /var/lib/etcd\n", "v1.33.14"
	tag := "    imageTag: " + goodEtcd + "-0\n"
	l.editConfig(t, "kubeadm-config", "ClusterConfiguration", before, before+tag)
	l.must(t)(l.Lab.Lab(l.ctx, "publish", patch, "--programs-of", "v1.33.13"))
	t.Log(l.must(t)(l.Upgrade(l.ctx, "apply", patch, "--yes", "--timeout", "40m")))
	l.reboots++
	l.editConfig(t, "kubeadm-config", "ClusterConfiguration", tag, "")
	l.awaitFinding(t, "v1.34.4", "etcd-version", "")
}

// flagAndGroups removes the kubelet's flag, and puts back the setting with which kubelets
// start on version 1 control groups.
func (l *longRun) flagAndGroups(t *testing.T) {
	l.awaitFinding(t, "v1.35.4", "kubelet-flag", v1alpha1.LevelBlock)
	l.must(t)(l.Exec(l.ctx, "w1", "rm", kubeletDefaults))
	l.must(t)(l.Exec(l.ctx, "w1", "systemctl", "restart", "kubelet"))
	l.awaitFinding(t, "v1.35.4", "kubelet-flag", "")
	if strings.TrimSpace(l.must(t)(l.Exec(l.ctx, "w1", "stat", "-fc", "%T", "/sys/fs/cgroup"))) == "cgroup2fs" {
		return
	}
	const setting = "failCgroupV1: false\n"
	l.editConfig(t, "kubelet-config", "kubelet", setting, "")
	l.awaitFinding(t, "v1.35.4", "cgroup-v1", v1alpha1.LevelBlock)
	l.editConfig(t, "kubelet-config", "kubelet", "kind: KubeletConfiguration\n", setting+"kind: KubeletConfiguration\n")
	l.awaitFinding(t, "v1.35.4", "cgroup-v1", "")
}

// rebootAll is an upgrade that reboots the nodes whose operating system asks for it.
const rebootAll = `
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: ClusterUpgrade
metadata: {name: containerd-2}
spec: {type: Reboot}
`

// containerd2 gives every node a sysext image of containerd 2, which is active after a
// reboot, and lets an upgrade reboot the nodes.
func (l *longRun) containerd2(t *testing.T) {
	l.awaitFinding(t, "v1.36.1", "containerd-1", v1alpha1.LevelWarn)
	for _, node := range l.nodes {
		l.must(t)(l.Lab.Lab(l.ctx, "containerd", node, "2"))
	}
	for _, node := range l.nodes {
		l.awaitRebootRequired(t, node, "reboot-required", 7*time.Minute)
	}
	l.apply(t, rebootAll)
	l.eventually(t, 20*time.Minute, "every node was rebooted", func() error { return l.upgradeSucceeded("containerd-2") })
	l.reboots++
	l.awaitFinding(t, "v1.36.1", "containerd-1", "")
}

// awaitFinding waits until the plan for a version has the finding at that level, or does not
// have it: facts of nodes are read again every few minutes.
func (l *longRun) awaitFinding(t *testing.T, version, id string, level v1alpha1.FindingLevel) {
	t.Helper()
	l.must(t)(l.Lab.Lab(l.ctx, "publish", version))
	l.eachSecond(t, 7*time.Minute, "the plan for "+version+" has "+id+" at level "+string(level), func() error {
		found, err := l.findings(version)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(found, func(f v1alpha1.Finding) bool { return f.ID == id })
		switch {
		case i < 0 && level == "":
			return nil
		case i < 0:
			return errors.New("it has none")
		case found[i].Level != level:
			return fmt.Errorf("it has it at level %s: %s", found[i].Level, found[i].Message)
		}
		t.Logf("%s: %s", id, found[i].Message)
		return nil
	})
}

// findings returns what `kubectl upgrade plan` finds for a version.
func (l *longRun) findings(version string) ([]v1alpha1.Finding, error) {
	text, err := l.Upgrade(l.ctx, "plan", version, "-o", "json")
	if err != nil {
		return nil, err
	}
	var plan struct{ Findings []v1alpha1.Finding }
	return plan.Findings, json.Unmarshal([]byte(text), &plan)
}

// editConfig replaces a text in a ConfigMap of kubeadm, as a person does with kubectl edit.
func (l *longRun) editConfig(t *testing.T, name, key, old, text string) {
	t.Helper()
	maps := l.kube.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	config, err := maps.Get(l.ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(config.Data[key], old) {
		t.Fatalf("ConfigMap %s has no %q in %s:\n%s", name, old, key, config.Data[key])
	}
	config.Data[key] = strings.Replace(config.Data[key], old, text, 1)
	if _, err := maps.Update(l.ctx, config, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
