//go:build e2e

package e2e

import (
	"fmt"
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

// TestRebootAndRestart is one story: operating systems get the reboots that they
// ask for, each in its own way, then a patch comes without any, but for the one
// node that cannot do without, and whose operating system wants one too.
func TestRebootAndRestart(t *testing.T) {
	w := newWorld(t, 1, 3, "--update-engine")
	w.startClient(t)
	r := &reboots{world: w}
	steps := []struct {
		name string
		run  func(*testing.T)
	}{
		{"nodes whose operating systems ask for a reboot wait for their window", r.asks},
		{"in the window these nodes reboot, one after the other, and no other", r.reboots},
		{"a patch comes without drain and reboot", r.restart},
		{"the pods of nodes that restarted are the same", r.samePods},
		{"a node with a mount below /usr rebooted instead, and says so", r.fellBack},
		{"the promises held at every moment", r.promises},
		{"the web service answered every request", w.served},
	}
	for _, step := range steps {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
}

// reboots is the story so far.
type reboots struct {
	*world
	opens  time.Time         // when the window does
	before map[string]string // the containers of nodes that are to restart
}

// wait is how long the window stays closed.
const wait = 45 * time.Second

// window lets Reboots come by themselves in a window of an hour.
func window(start time.Time) string {
	start = start.UTC().Truncate(time.Second)
	return fmt.Sprintf(`
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: MaintenanceSchedule
metadata: {name: lab}
spec:
  automatic: [Reboot]
  maintenanceWindows:
    - {name: soon, startTime: %q, endTime: %q}
`, start.Format(time.RFC3339), start.Add(time.Hour).Format(time.RFC3339))
}

func (r *reboots) asks(t *testing.T) {
	r.opens = time.Now().Add(wait).Truncate(time.Second) // as the schedule has it
	r.apply(t, window(r.opens))
	r.must(t)(r.Lab.Lab(r.ctx, "update-engine", "w2", "need-reboot"))
	r.must(t)(r.Exec(r.ctx, "cp1", "touch", "/run/reboot-required"))
	r.due(t, "w2", "update_engine")
	r.due(t, "cp1", "/run/reboot-required")
	r.quiet(t, time.Until(r.opens)-10*time.Second)
	list, err := r.ours.ClusterUpgrades.List(r.ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) > 0 {
		t.Fatalf("upgrades before the window: %v, %v", list, err)
	}
}

// due waits until the node says that it needs a reboot, and who wants it.
func (r *reboots) due(t *testing.T, name, by string) {
	t.Helper()
	r.eventually(t, time.Minute, name+" says that a reboot is due", func() error {
		node, err := r.ours.NodeUpgrades.Get(r.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !node.Status.RebootRequired || !strings.Contains(node.Status.RebootReason, by) {
			return fmt.Errorf("reboot required %t: %s", node.Status.RebootRequired, node.Status.RebootReason)
		}
		return nil
	})
}

func (r *reboots) reboots(t *testing.T) {
	r.eventually(t, 5*time.Minute, "the Reboot has succeeded", func() error {
		list, err := r.ours.ClusterUpgrades.List(r.ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, u := range list.Items {
			if u.Spec.Type == v1alpha1.TypeReboot && strings.HasPrefix(u.Name, "reboot-") && u.Status.Outcome == v1alpha1.OutcomeSucceeded {
				return nil
			}
		}
		return fmt.Errorf("%d upgrades, and no Reboot among them that has succeeded", len(list.Items))
	})
	earliest := r.opens
	for _, name := range []string{"cp1", "w2"} { // the control plane first
		node, err := r.ours.NodeUpgrades.Get(r.ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if node.Status.RebootRequired || node.Status.KubeletVersion != from {
			t.Errorf("%s: reboot required %t, kubelet %s", name, node.Status.RebootRequired, node.Status.KubeletVersion)
		}
		for _, step := range node.Status.Steps {
			if step.Step == v1alpha1.StepLocking && step.StartedAt.Time.Before(earliest) {
				t.Errorf("%s began %s, before %s", name, step.StartedAt, earliest)
			}
			if step.Step == v1alpha1.StepUnlocking && step.FinishedAt != nil {
				earliest = step.FinishedAt.Time
			}
		}
	}
	for _, name := range r.nodes {
		r.active(t, name, from)
	}
	r.rebooted(t, map[string]int{"cp1": 1, "w1": 0, "w2": 1, "w3": 0})
	t.Log("\n" + r.must(t)(r.Upgrade(r.ctx, "status")))
}

// byRestart is the patch, without drain and reboot.
const byRestart = `
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: ClusterUpgrade
metadata: {name: ` + to + `}
spec:
  version: ` + to + `
  strategy: {method: Restart, settle: 5s, drain: {timeout: 2m}}
`

func (r *reboots) restart(t *testing.T) {
	r.must(t)(r.Exec(r.ctx, "w3", "mount", "-t", "tmpfs", "tmpfs", "/usr/share/doc"))
	r.must(t)(r.Lab.Lab(r.ctx, "update-engine", "w3", "need-reboot"))
	r.due(t, "w3", "update_engine")
	r.must(t)(r.Lab.Lab(r.ctx, "publish", to))
	r.before = r.containers(t)
	r.apply(t, byRestart)
	r.eventually(t, 12*time.Minute, "every node runs "+to, r.everyNodeDone)
	r.eventually(t, time.Minute, "the upgrade has succeeded", func() error {
		u, err := r.ours.ClusterUpgrades.Get(r.ctx, to, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if u.Status.Outcome != v1alpha1.OutcomeSucceeded {
			return fmt.Errorf("outcome %q, %s done", u.Status.Outcome, u.Status.Progress)
		}
		return nil
	})
	for _, name := range r.nodes {
		r.active(t, name, to)
		merged := r.must(t)(r.Exec(r.ctx, name, "cat", "/usr/local/share/kubernetes-version"))
		if strings.TrimSpace(merged) != to {
			t.Errorf("%s has merged %s", name, merged)
		}
		sysexts := r.must(t)(r.Exec(r.ctx, name, "systemd-sysext", "status", "--no-pager"))
		if !strings.Contains(sysexts, "containerd") {
			t.Errorf("%s: containerd is not in a sysext of its own:\n%s", name, sysexts)
		}
	}
	nodes, err := r.nodeUpgrades()
	if err != nil {
		t.Fatal(err)
	}
	scenario.Timeline(os.Stdout, nodes)
}

// containers are the ids of those that run on nodes that are to restart, but for
// kubeadm's own: that has the control plane and kube-proxy replaced.
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
			t.Errorf("no container on %s to look at", name)
		}
	}
	return ids
}

func (r *reboots) samePods(t *testing.T) {
	after := r.containers(t)
	for key := range after {
		// One that had to leave w3 may have come here.
		if _, there := r.before[key]; !there {
			delete(after, key)
		}
	}
	if diff := cmp.Diff(r.before, after); diff != "" {
		t.Errorf("containers (-before +after):\n%s", diff)
	}
	r.rebooted(t, map[string]int{"cp1": 1, "w1": 0, "w2": 1, "w3": 1})
	for _, name := range []string{"cp1", "w1", "w2"} {
		node, err := r.ours.NodeUpgrades.Get(r.ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if node.Status.Method != v1alpha1.MethodRestart {
			t.Errorf("%s went by method %s: %s", name, node.Status.Method, node.Status.MethodMessage)
		}
		for _, step := range node.Status.Steps {
			if step.Step == v1alpha1.StepCordoning || step.Step == v1alpha1.StepDraining || step.Step == v1alpha1.StepRebooting {
				t.Errorf("%s went through %s", name, step.Step)
			}
		}
	}
	t.Logf("%d containers are the same", len(r.before))
}

func (r *reboots) fellBack(t *testing.T) {
	node, err := r.ours.NodeUpgrades.Get(r.ctx, "w3", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if node.Status.Method != v1alpha1.MethodReboot || !strings.Contains(node.Status.MethodMessage, "/usr/share/doc") {
		t.Errorf("w3 went by method %s: %s", node.Status.Method, node.Status.MethodMessage)
	}
	if node.Status.RebootRequired {
		t.Errorf("the patch's reboot was not the one that w3's operating system wants: %s", node.Status.RebootReason)
	}
	screen := r.must(t)(r.Upgrade(r.ctx, "status", "w3"))
	t.Log("\n" + screen)
	if words := strings.Join(strings.Fields(screen), " "); !strings.Contains(words, "Reboot, as") || !strings.Contains(words, "/usr/share/doc") {
		t.Error("kubectl upgrade status w3 does not say why it rebooted")
	}
	told := false
	for _, m := range r.recorder.Moments() {
		var event corev1.Event
		if m.Resource == "events" && record.Convert(m, &event) == nil && event.InvolvedObject.Name == "w3" {
			told = told || strings.Contains(event.Message, "reboots instead of restarting")
		}
	}
	if !told {
		t.Error("no event on w3 says that it reboots instead of restarting")
	}
}

func (r *reboots) promises(t *testing.T) {
	broken, err := record.Promises(r.recorder.Moments(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range broken {
		t.Error(line)
	}
}
