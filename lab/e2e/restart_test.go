//go:build e2e

package e2e

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// byRestart is the upgrade to the patch by method Restart.
const byRestart = `
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: ClusterUpgrade
metadata: {name: ` + to + `}
spec:
  version: ` + to + `
  strategy: {method: Restart, settleSeconds: 5, drain: {timeoutSeconds: 120}}
`

func (r *reboots) restart(t *testing.T) {
	r.must(t)(r.Exec(r.ctx, "w3", "mount", "-t", "tmpfs", "tmpfs", "/usr/share/doc"))
	r.must(t)(r.Lab.Lab(r.ctx, "update-engine", "w3", "need-reboot"))
	r.awaitRebootRequired(t, "w3", "update_engine", time.Minute)
	r.must(t)(r.Lab.Lab(r.ctx, "publish", to))
	r.before = r.containers(t)
	r.apply(t, byRestart)
	r.eventually(t, 12*time.Minute, "w3 has decided on its method", func() error { return r.decided("w3") })
	r.screen = r.must(t)(r.Upgrade(r.ctx, "status", "w3"))
	r.eventually(t, 12*time.Minute, "every node runs "+to, r.everyNodeDone)
	r.eventually(t, time.Minute, "the upgrade has succeeded", func() error { return r.upgradeSucceeded(to) })
	for _, name := range r.nodes {
		r.checkActive(t, name, to)
		merged := r.must(t)(r.Exec(r.ctx, name, "cat", "/usr/local/share/kubernetes-version"))
		if strings.TrimSpace(merged) != to {
			t.Errorf("%s has merged %s, want "+to, name, merged)
		}
		sysexts := r.must(t)(r.Exec(r.ctx, name, "systemd-sysext", "status", "--no-pager"))
		if !strings.Contains(sysexts, "containerd") {
			t.Errorf("%s: containerd has no sysext of its own:\n%s", name, sysexts)
		}
	}
	scenario.Timeline(os.Stdout, r.nodeRecords(t, to))
}

func (r *reboots) decided(name string) error {
	node, err := r.ours.NodeUpgrades.Get(r.ctx, name, metav1.GetOptions{})
	if err == nil && node.Status.Method == "" {
		err = errors.New(describe(*node))
	}
	return err
}

// method returns a node's method, and why it is not the requested one, from the recording:
// after the upgrade the node's status has neither.
func (c *testCluster) method(name string) (method v1alpha1.Method, why string) {
	for _, m := range c.recorder.Moments() {
		var node v1alpha1.NodeUpgrade
		if m.Resource != v1alpha1.NodeUpgrades.Resource || record.Convert(m, &node) != nil || node.Name != name {
			continue
		}
		if node.Status.Method != "" {
			method, why = node.Status.Method, node.Status.MethodMessage
		}
	}
	return method, why
}

// containers returns the ids of the containers on nodes that will restart, except those that
// kubeadm replaces: the control plane and kube-proxy.
func (r *reboots) containers(t *testing.T) map[string]string {
	t.Helper()
	pods, err := r.kube.CoreV1().Pods(corev1.NamespaceAll).List(r.ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ids, perNode := map[string]string{}, map[string]int{}
	for _, pod := range pods.Items {
		if pod.Namespace == metav1.NamespaceSystem || pod.Spec.NodeName == "w3" {
			continue
		}
		for _, c := range pod.Status.ContainerStatuses {
			ids[pod.Namespace+"/"+pod.Name+"/"+c.Name+" on "+pod.Spec.NodeName] = c.ContainerID
			perNode[pod.Spec.NodeName]++
		}
	}
	for _, name := range []string{"cp1", "w1", "w2"} {
		if perNode[name] == 0 {
			t.Errorf("no container runs on %s", name)
		}
	}
	return ids
}

func (r *reboots) checkSamePods(t *testing.T) {
	after := r.containers(t)
	for key := range after {
		// A pod that was evicted from w3 may run here now.
		if _, there := r.before[key]; !there {
			delete(after, key)
		}
	}
	if diff := cmp.Diff(r.before, after); diff != "" {
		t.Errorf("containers (-before +after):\n%s", diff)
	}
	r.checkReboots(t, map[string]int{"cp1": 1, "w1": 0, "w2": 1, "w3": 1})
	for _, name := range []string{"cp1", "w1", "w2"} {
		if method, why := r.method(name); method != v1alpha1.MethodRestart {
			t.Errorf("%s: got method %s (%s), want Restart", name, method, why)
		}
		for _, step := range r.nodeRecord(t, to, name).Steps {
			if step.Step == v1alpha1.StepCordoning || step.Step == v1alpha1.StepDraining || step.Step == v1alpha1.StepRebooting {
				t.Errorf("%s was in step %s, want neither drain nor reboot", name, step.Step)
			}
		}
	}
	t.Logf("%d containers are the same", len(r.before))
}

func (r *reboots) checkFallback(t *testing.T) {
	node, err := r.ours.NodeUpgrades.Get(r.ctx, "w3", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if method, why := r.method("w3"); method != v1alpha1.MethodReboot || !strings.Contains(why, "/usr/share/doc") {
		t.Errorf("w3: got method %s (%s), want Reboot", method, why)
	}
	if node.Status.Reboot.Required {
		t.Errorf("w3's operating system still requires a reboot: %s", node.Status.Reboot.Message)
	}
	t.Log("\n" + r.screen)
	if words := strings.Join(strings.Fields(r.screen), " "); !strings.Contains(words, "Reboot, because") || !strings.Contains(words, "/usr/share/doc") {
		t.Error("kubectl upgrade status w3 does not print why it rebooted")
	}
	describe := false
	for _, m := range r.recorder.Moments() {
		var event corev1.Event
		if m.Resource == "events" && record.Convert(m, &event) == nil && event.InvolvedObject.Name == "w3" {
			describe = describe || strings.Contains(event.Message, "reboots instead of restarting")
		}
	}
	if !describe {
		t.Error("w3 has no event that it reboots instead of restarting")
	}
}
