//go:build e2e

package e2e

import (
	"context"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// killed are the steps in the middle of which an agent dies. w1's last steps are
// left alone, and w2 altogether, so that a hand-off from w1 to w2 can be timed.
var killed = map[string][]v1alpha1.Step{
	"cp1": {
		v1alpha1.StepLocking, v1alpha1.StepKubeadm, v1alpha1.StepChecking, v1alpha1.StepCordoning, v1alpha1.StepDraining,
		v1alpha1.StepLastCheck, v1alpha1.StepActivating, v1alpha1.StepVerifying, v1alpha1.StepSettling,
		v1alpha1.StepUncordoning, v1alpha1.StepUnlocking,
	},
	"w1": {
		v1alpha1.StepLocking, v1alpha1.StepKubeadm, v1alpha1.StepCordoning, v1alpha1.StepDraining, v1alpha1.StepLastCheck,
		v1alpha1.StepActivating, v1alpha1.StepRebooting, v1alpha1.StepVerifying, v1alpha1.StepSettling,
	},
}

// kill is the end of one agent.
type kill struct {
	node string
	step v1alpha1.Step // that the node was seen at
	at   time.Time     // just after the process was gone
}

// killAgents kills the agent of a node as soon as it is seen at one of these
// steps, each once. The function it returns waits for the last kill, and fails
// the test when a step was never seen.
func (w *world) killAgents(ctx context.Context, t *testing.T) (wait func() []kill) {
	var all sync.WaitGroup
	var mu sync.Mutex
	var kills []kill
	for node, steps := range killed {
		all.Go(func() {
			left := map[v1alpha1.Step]bool{}
			for _, step := range steps {
				left[step] = true
			}
			done := w.killAtSteps(ctx, t, node, left)
			mu.Lock()
			defer mu.Unlock()
			kills = append(kills, done...)
			for step := range left {
				t.Errorf("%s was never seen at %s: its agent could not be killed there", node, step)
			}
		})
	}
	return func() []kill {
		all.Wait()
		return kills
	}
}

func (w *world) killAtSteps(ctx context.Context, t *testing.T, node string, left map[v1alpha1.Step]bool) (kills []kill) {
	seen := int64(0)
	for ctx.Err() == nil && len(left) > 0 {
		changed := w.recorder.Changed()
		// In their order, each once: a step that is over by now counts as well.
		if step, at := nextStep(w.recorder.Moments(), node, seen, left); step != "" {
			seen = at
			delete(left, step)
			at, err := w.killAgent(ctx, node)
			if err != nil {
				t.Logf("%s at %s: %v", node, step, err)
			}
			kills = append(kills, kill{node, step, at})
			continue
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
	return kills
}

// tell logs whether the kill came in the middle of its step. A short step is over
// before the kill arrives.
func (k kill) tell(t *testing.T, nodes []v1alpha1.NodeRecord) {
	for _, node := range nodes {
		for _, s := range node.Steps {
			if node.Name == k.node && s.Step == k.step && !s.StartTime.After(k.at) && (s.EndTime == nil || s.EndTime.After(k.at)) {
				t.Logf("%s: agent killed in the middle of %s, after %s", k.node, k.step, k.at.Sub(s.StartTime.Time).Round(time.Millisecond))
				return
			}
		}
	}
	t.Logf("%s: agent killed just after %s", k.node, k.step)
}

// nextStep is the first of the steps that the node's agent has told of after that
// revision, and when.
func nextStep(moments []record.Moment, node string, after int64, steps map[v1alpha1.Step]bool) (v1alpha1.Step, int64) {
	for _, m := range moments {
		if m.Revision <= after || m.Resource != v1alpha1.NodeUpgrades.Resource || m.Object.GetName() != node {
			continue
		}
		var upgrade v1alpha1.NodeUpgrade
		if record.Convert(m, &upgrade) == nil && steps[upgrade.Status.Step] {
			return upgrade.Status.Step, m.Revision
		}
	}
	return "", after
}

// killAgent ends the agent's process with SIGKILL, and deletes the pod as well:
// the kubelet would make a container that dies so often wait longer and longer.
// Where no process was found it is between two lives already.
func (w *world) killAgent(ctx context.Context, node string) (at time.Time, err error) {
	_, err = w.Exec(ctx, node, "pkill", "-KILL", "-f", "node-agent agent")
	at = time.Now()
	pods, listErr := w.kube.CoreV1().Pods(v1alpha1.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: "app.kubernetes.io/component=node-agent", FieldSelector: "spec.nodeName=" + node,
	})
	if listErr != nil {
		return at, listErr
	}
	now := int64(0)
	for _, pod := range pods.Items {
		if err := w.kube.CoreV1().Pods(v1alpha1.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
			return at, err
		}
	}
	return at, err
}
