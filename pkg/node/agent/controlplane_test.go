package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// newControlPlane returns a cluster whose node is a control plane with one of three members
// of etcd.
func newControlPlane(t *testing.T, name string) *cluster {
	c := newCluster(t, name)
	c.host.Facts.ControlPlane = true
	c.host.Facts.StaticPods = map[string]string{"kube-apiserver": "v1.34.3", "kube-controller-manager": "v1.34.3", "kube-scheduler": "v1.34.3"}
	c.host.SetEtcd(members(name, ""))
	return c
}

// members returns the facts about the node's own member and two others, one of which may be
// broken.
func members(own, broken string) *v1alpha1.EtcdFacts {
	facts := &v1alpha1.EtcdFacts{}
	for _, name := range []string{own, "other-1", "other-2"} {
		m := v1alpha1.EtcdMember{Name: name, Healthy: name != broken, Version: "3.6.5"}
		if !m.Healthy {
			m.Problem = "does not answer"
		}
		facts.Members = append(facts.Members, m)
	}
	return facts
}

// staticPods creates the control plane's pods at a version, and sets their Ready condition.
func (c *cluster) staticPods(version, ready string) {
	c.t.Helper()
	for _, component := range host.ControlPlaneComponents {
		c.staticPod(component, version)
		c.setPodReady(component, ready)
	}
	c.t.Cleanup(func() {
		for _, component := range host.ControlPlaneComponents {
			_ = c.admin.CoreV1().Pods("kube-system").Delete(context.Background(), component+"-"+c.node, metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))})
		}
	})
}

// staticPod creates the pod of a component.
func (c *cluster) staticPod(component, version string) {
	c.t.Helper()
	c.pod("kube-system", component+"-"+c.node, func(p *corev1.Pod) {
		p.Labels = map[string]string{"component": component, "tier": "control-plane"}
		p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
		p.Spec.Containers[0].Image = "registry.k8s.io/" + component + ":" + version
	})
}

func (c *cluster) setPodReady(component, ready string) {
	c.t.Helper()
	status := []byte(`{"status":{"conditions":[{"type":"Ready","status":"` + ready + `"}]}}`)
	_, err := c.admin.CoreV1().Pods("kube-system").Patch(c.t.Context(), component+"-"+c.node, types.StrategicMergePatchType, status, metav1.PatchOptions{}, "status")
	c.must(err)
}

// TestPass1 runs pass 1 on a control plane: the slot is free only when the static pods and
// etcd are healthy.
func TestPass1(t *testing.T) {
	c := newControlPlane(t, "agent-control-plane")
	c.order(v1alpha1.ReleaseNone)
	c.run()
	c.await("images are pulled", func(s agentStatus) bool {
		return s.Versions.Pulled == "v1.34.4" && s.Step == v1alpha1.StepWaiting
	})
	c.host.SetEtcd(members(c.node, c.node))
	c.awaitInventory("preflight can read how etcd is", func(i v1alpha1.NodeInventory) bool {
		return i.Etcd != nil && len(i.Etcd.Members) == 3
	})
	c.order(v1alpha1.ReleaseControlPlane, func(s *v1alpha1.NodeUpgradeSpec) {
		s.Kubeadm, s.EtcdSnapshotPolicy = v1alpha1.KubeadmApply, v1alpha1.EtcdSnapshotRequired
	})
	status := c.await("it checks the control plane", func(s agentStatus) bool { return s.Reason == v1alpha1.ReasonUnhealthy })
	if !strings.Contains(status.Message, "found no kube-apiserver pod") {
		t.Errorf("message %q", status.Message)
	}
	// The pods are healthy, and the member of etcd is not: the node keeps its slot.
	c.staticPods("v1.34.4", "True")
	c.await("etcd is unhealthy", func(s agentStatus) bool {
		return s.Step == v1alpha1.StepChecking && s.Message == "this node's member of etcd does not answer"
	})
	c.host.SetEtcd(members(c.node, ""))
	status = c.await("pass 1 is done", func(s agentStatus) bool {
		return s.Step == v1alpha1.StepWaiting && s.Versions.Kubeadm == "v1.34.4"
	})
	if status.Versions.ControlPlane != "v1.34.4" || slices.Contains(stepsOf(status), v1alpha1.StepCordoning) {
		t.Errorf("status %+v", status)
	}
	want := &v1alpha1.EtcdSnapshot{Node: c.node, Path: "/snapshots/1", Digest: v1alpha1.DigestOf(strings.Repeat("a", 64))}
	if status.EtcdSnapshot != nil {
		want.CreationTime = status.EtcdSnapshot.CreationTime
	}
	if diff := cmp.Diff(want, status.EtcdSnapshot); diff != "" || time.Since(want.CreationTime.Time) > time.Minute {
		t.Errorf("snapshot (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"stage", "pull", "snapshot", "kubeadm"}, c.host.Verbs()); diff != "" {
		t.Errorf("work on the host (-want +got):\n%s", diff)
	}
	c.checkFree()
}

// TestStaticPodVersionOverridesKubeadmRecord checks that kubeadm runs again on a control
// plane that runs the previous version, as after a restore of etcd, although the record on
// its disk says that kubeadm is done.
func TestStaticPodVersionOverridesKubeadmRecord(t *testing.T) {
	c := newControlPlane(t, "agent-restored")
	c.host.Facts.Kubeadm.Version = "v1.34.4"
	c.order(v1alpha1.ReleaseNone)
	c.run()
	status := c.await("images are pulled", func(s agentStatus) bool { return s.Versions.Pulled == "v1.34.4" && s.Step == v1alpha1.StepWaiting })
	if status.Versions.Kubeadm != "v1.34.3" || status.Versions.ControlPlane != "v1.34.3" {
		t.Errorf("versions %+v", status.Versions)
	}
	c.order(v1alpha1.ReleaseControlPlane)
	c.await("kubeadm runs", func(agentStatus) bool { return slices.Contains(c.host.Verbs(), "kubeadm") })
}

// TestPass2WaitsForEtcd checks that in pass 2 the slot is kept until etcd is healthy after
// the boot.
func TestPass2WaitsForEtcd(t *testing.T) {
	c := newControlPlane(t, "agent-pass-two")
	c.staticPods("v1.34.4", "True")
	c.host.Facts.Kubeadm.Version = "v1.34.4"
	for component := range c.host.Facts.StaticPods {
		c.host.Facts.StaticPods[component] = "v1.34.4"
	}
	reboot := c.host.OnReboot
	c.host.OnReboot = func(boot string) {
		c.host.SetEtcd(&v1alpha1.EtcdFacts{Problem: "asking etcd: connection refused"})
		reboot(boot)
	}
	c.order(v1alpha1.ReleaseNode)
	c.run()
	status := c.await("etcd is unhealthy", func(s agentStatus) bool {
		return s.Step == v1alpha1.StepSettling && s.Reason == v1alpha1.ReasonUnhealthy
	})
	if status.Slot == "" || status.Message != "etcd: asking etcd: connection refused" {
		t.Errorf("status %+v", status)
	}
	c.staticPod("etcd", "3.6.5-0")
	c.t.Cleanup(func() {
		_ = c.admin.CoreV1().Pods("kube-system").Delete(context.Background(), "etcd-"+c.node, metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))})
	})
	c.host.SetEtcd(members(c.node, "other-1")) // another node's member does not count
	c.await("its pod is not Ready yet", func(s agentStatus) bool {
		return s.Step == v1alpha1.StepSettling && s.Message == "etcd is not Ready"
	})
	c.setPodReady("etcd", "True")
	c.awaitStep(v1alpha1.StepIdle)
	if slices.Contains(c.host.Verbs(), "pull") {
		t.Error("images were pulled for a kubeadm that is done")
	}
	c.checkFree()
}

// TestEtcdIsReadLive checks that a control plane begins only while etcd keeps its majority
// without it.
func TestEtcdIsReadLive(t *testing.T) {
	c := newControlPlane(t, "agent-etcd")
	c.host.SetEtcd(members(c.node, "other-2"))
	c.order(v1alpha1.ReleaseNode)
	c.run()
	status := c.await("a member is down", func(s agentStatus) bool {
		return s.Step == v1alpha1.StepLocking && s.Reason == v1alpha1.ReasonEtcdQuorum
	})
	if !strings.Contains(status.Message, "would have 1 of the 2 it needs") || !strings.Contains(status.Message, "member other-2 does not answer") {
		t.Errorf("message %q", status.Message)
	}
	c.host.SetEtcd(&v1alpha1.EtcdFacts{Problem: "no certificates"})
	c.await("etcd cannot be asked", func(s agentStatus) bool {
		return s.Step == v1alpha1.StepLocking && strings.Contains(s.Message, "could not determine whether etcd keeps its majority without this node: no certificates")
	})
	if slices.Contains(c.host.Verbs(), "kubeadm") {
		t.Error("kubeadm ran")
	}
	c.host.SetEtcd(members(c.node, ""))
	c.await("it begins", func(s agentStatus) bool { return slices.Contains(stepsOf(s), v1alpha1.StepKubeadm) })
}

// TestKubeadmConfigOfAnotherVersion checks that kubeadm does not run where it would bring the node to another version than
// its order, that the node says who wrote that, and that it goes on once the ConfigMap is right.
func TestKubeadmConfigOfAnotherVersion(t *testing.T) {
	c := newControlPlane(t, "agent-old-config")
	c.host.SetEtcd(members(c.node, ""))
	write := func(ctx context.Context, manager, version string) {
		patch := fmt.Appendf(nil, `{"data":{"ClusterConfiguration":"kind: ClusterConfiguration\nkubernetesVersion: %s\n"}}`, version)
		_, err := c.admin.CoreV1().ConfigMaps("kube-system").Patch(ctx, "kubeadm-config", types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager})
		c.must(err)
	}
	write(t.Context(), "kustomize-controller", "v1.34.3")
	t.Cleanup(func() { write(context.Background(), "test", "v1.34.4") })
	c.order(v1alpha1.ReleaseNode)
	c.run()
	status := c.await("kubeadm would bring another version", func(s agentStatus) bool { return s.Reason == v1alpha1.ReasonKubeadmConfigDiffers })
	for _, want := range []string{"kubernetesVersion: v1.34.3", "written by kustomize-controller", "let it say v1.34.4"} {
		if !strings.Contains(status.Message, want) {
			t.Errorf("%q does not say %q", status.Message, want)
		}
	}
	if status.Step != v1alpha1.StepKubeadm || slices.Contains(c.host.Verbs(), "kubeadm") {
		t.Errorf("it is in step %s, and ran %v", status.Step, c.host.Verbs())
	}
	write(t.Context(), "kubeadm", "v1.34.4")
	c.await("it goes on", func(agentStatus) bool { return slices.Contains(c.host.Verbs(), "kubeadm") })
}

// TestKubeadmConfigCannotBeRead checks that the status reports why the images cannot be
// pulled.
func TestKubeadmConfigCannotBeRead(t *testing.T) {
	c := newControlPlane(t, "agent-no-config")
	c.must(c.admin.CoreV1().ConfigMaps("kube-system").Delete(t.Context(), "kubeadm-config", metav1.DeleteOptions{}))
	c.order(v1alpha1.ReleaseNone)
	c.run()
	status := c.await("the reason is PullFailed", func(s agentStatus) bool { return s.Reason == v1alpha1.ReasonPullFailed })
	if status.Step != v1alpha1.StepStaging || status.Versions.Staged != "v1.34.4" || status.Versions.Pulled != "" || !strings.Contains(status.Message, "kube-system/kubeadm-config") {
		t.Errorf("status %+v", status)
	}
	c.createKubeadmConfig()
	c.await("it goes on", func(s agentStatus) bool { return s.Versions.Pulled == "v1.34.4" })
}

// TestPullOfFormerConfiguration checks that the images are listed and pulled again for another ClusterConfiguration than
// that of the last pull, and no more once it is the same.
func TestPullOfFormerConfiguration(t *testing.T) {
	c := newControlPlane(t, "agent-former-config")
	config, err := c.admin.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "kubeadm-config", metav1.GetOptions{})
	c.must(err)
	pulledFor := func(text string) {
		c.host.Lock()
		defer c.host.Unlock()
		c.host.Facts.PulledFor = clusterstate.ConfigurationHash(text)
	}
	pulls := func() int {
		return len(slices.DeleteFunc(slices.Clone(c.host.Verbs()), func(v string) bool { return v != "pull" }))
	}
	pulledFor("kind: ClusterConfiguration\nimageRepository: former.example\n")
	c.order(v1alpha1.ReleaseNone)
	c.run()
	c.await("they are pulled again", func(agentStatus) bool { return pulls() > 1 })
	pulledFor(config.Data["ClusterConfiguration"])
	c.await("they are pulled", func(s agentStatus) bool { return s.Step == v1alpha1.StepWaiting && s.Versions.Pulled == "v1.34.4" })
}

// TestKubeadmOutputIsLogged checks that kubeadm's output is in the agent's output, and its
// end in the status until it succeeds.
func TestKubeadmOutputIsLogged(t *testing.T) {
	c := newCluster(t, "agent-speaks")
	c.kubelet()
	c.host.Hang(verb.Kubeadm)
	c.host.Fail[verb.Kubeadm] = &verb.Result{Reason: v1alpha1.ReasonKubeadmFailed, Message: "exit status 1", LogTail: "[ERROR] no\n"}
	c.order(v1alpha1.ReleaseNone)
	c.run()
	c.awaitStep(v1alpha1.StepWaiting)
	c.order(v1alpha1.ReleaseNode)
	var request *verb.Request
	c.await("kubeadm is started", func(agentStatus) bool {
		request, _ = c.host.LastRequest(verb.Kubeadm)
		return request != nil
	})
	path := filepath.Join(c.host.Dir, host.KubeadmLog)
	c.must(os.WriteFile(path, []byte("[upgrade] begins\n\n\x1b[31m[ERROR] no\n[half"), 0o600))
	tick := request.RequestedAt.Add(-10 * time.Millisecond) // the kernel's last one
	c.must(os.Chtimes(path, tick, tick))
	c.host.Finish(verb.Kubeadm)
	status := c.await("it failed", func(s agentStatus) bool { return s.Retry.Time != nil })
	if status.KubeadmLog != "[ERROR] no\n" || status.Reason != v1alpha1.ReasonKubeadmFailed {
		t.Errorf("status %+v", status)
	}
	key := "v1.34.4/patch/" + c.upgrade("patch").UID + "/attempt-1"
	lines := []string{"kubeadm-log begin " + key, "kubeadm-log | [upgrade] begins", "kubeadm-log | ",
		"kubeadm-log | [31m[ERROR] no", "kubeadm-log | [half", "kubeadm-log end " + key + " FAILED"}
	c.awaitLog(lines...)
	// The next agent writes it again from the first line.
	c.kill()
	c.mu.Lock()
	c.log.Reset()
	c.mu.Unlock()
	c.run()
	c.awaitLog(lines...)
}

// awaitLog waits until kubeadm's lines in the agent's output are those.
func (c *cluster) awaitLog(want ...string) {
	c.t.Helper()
	var got []string
	for range 600 {
		c.mu.Lock()
		got = nil
		for line := range strings.Lines(c.log.String()) {
			if strings.HasPrefix(line, "kubeadm-log ") {
				got = append(got, strings.TrimSuffix(line, "\n"))
			}
		}
		c.mu.Unlock()
		if slices.Equal(want, got) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Errorf("kubeadm's output (-want +got):\n%s", cmp.Diff(want, got))
}

// TestInventoryHasEtcd checks that the inventory has etcd's members without an order, as
// preflight reads them.
func TestInventoryHasEtcd(t *testing.T) {
	c := newControlPlane(t, "agent-etcd-facts")
	c.host.SetEtcd(members(c.node, "other-2"))
	c.order(v1alpha1.ReleaseNone)
	c.run()
	inventory := c.awaitInventory("it names etcd's members", func(i v1alpha1.NodeInventory) bool { return i.Etcd != nil })
	if diff := cmp.Diff(members(c.node, "other-2"), inventory.Etcd); diff != "" {
		t.Error(diff)
	}
}
