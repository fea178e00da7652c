//go:build e2e

package e2e

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// killed are the steps in which an agent is killed. w1's last steps and all of w2's are left
// out, so that a hand-off from w1 to w2 can be timed.
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

// kill is the kill of one agent.
type kill struct {
	node string
	step v1alpha1.Step // of the node
	at   time.Time     // just after the process ended; zero if the step was never observed
}

// shortStep is how long a step lasts at most that an agent may pass without a write of its
// own: such a step need not be observed.
const shortStep = 6 * time.Second

// killAgents kills the agent of a node once at each of these steps. The function that it
// returns waits for the last kill.
func (c *testCluster) killAgents(ctx context.Context, t *testing.T) (wait func() []kill) {
	var all sync.WaitGroup
	var mu sync.Mutex
	var kills []kill
	for node, steps := range killed {
		all.Go(func() {
			left := map[v1alpha1.Step]bool{}
			for _, step := range steps {
				left[step] = true
			}
			done := c.killAtSteps(ctx, t, node, left)
			mu.Lock()
			defer mu.Unlock()
			kills = append(kills, done...)
			for step := range left {
				kills = append(kills, kill{node: node, step: step})
			}
		})
	}
	return func() []kill {
		all.Wait()
		return kills
	}
}

func (c *testCluster) killAtSteps(ctx context.Context, t *testing.T, node string, left map[v1alpha1.Step]bool) (kills []kill) {
	seen := int64(0)
	for ctx.Err() == nil && len(left) > 0 {
		changed := c.recorder.Changed()
		// In their order, each once: a step that has ended meanwhile counts too.
		if step, at := nextStep(c.recorder.Moments(), node, seen, left); step != "" {
			seen = at
			delete(left, step)
			at, err := c.killAgent(ctx, node)
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

// check logs whether the kill was in the middle of its step. A short step ends before it. It
// fails the test if a longer step was never observed.
func (k kill) check(t *testing.T, nodes []v1alpha1.NodeRecord) {
	for _, node := range nodes {
		for _, s := range node.Steps {
			if k.at.IsZero() && node.Name == k.node && s.Step == k.step && (s.EndTime == nil || s.EndTime.Sub(s.StartTime.Time) > shortStep) {
				t.Errorf("%s was never observed at %s: its agent was not killed there", k.node, k.step)
				return
			}
			if node.Name == k.node && s.Step == k.step && !s.StartTime.After(k.at) && (s.EndTime == nil || s.EndTime.After(k.at)) {
				t.Logf("%s: agent killed in the middle of %s, after %s", k.node, k.step, k.at.Sub(s.StartTime.Time).Round(time.Millisecond))
				return
			}
		}
	}
	if k.at.IsZero() {
		t.Logf("%s: the agent passed %s within %s, without a write", k.node, k.step, shortStep)
		return
	}
	t.Logf("%s: agent killed just after %s", k.node, k.step)
}

// nextStep returns the first of the steps that the node's agent entered after that revision,
// and the revision with which it reported it. A step that only passes is reported with the
// one after it; one that ended the turn may have been reported with that revision, and never again.
func nextStep(moments []record.Moment, node string, after int64, steps map[v1alpha1.Step]bool) (v1alpha1.Step, int64) {
	for _, m := range moments {
		if m.Revision < after || m.Resource != v1alpha1.NodeUpgrades.Resource || m.Object.GetName() != node {
			continue
		}
		var upgrade v1alpha1.NodeUpgrade
		if record.Convert(m, &upgrade) != nil || m.Revision == after && upgrade.Status.Step != v1alpha1.StepIdle {
			continue
		}
		if i := slices.IndexFunc(upgrade.Status.Steps, func(s v1alpha1.StepTime) bool {
			return steps[s.Step] && !s.StartTime.Time.Before(moments[0].Seen.Truncate(time.Second))
		}); i >= 0 {
			return upgrade.Status.Steps[i].Step, m.Revision
		}
		if steps[upgrade.Status.Step] {
			return upgrade.Status.Step, m.Revision
		}
	}
	return "", after
}

// killAgent kills the agent's process, and deletes the pod too: otherwise the kubelet would
// delay each restart of the container longer. If there is no process, the agent is being
// restarted already.
func (c *testCluster) killAgent(ctx context.Context, node string) (at time.Time, err error) {
	_, err = c.Exec(ctx, node, "pkill", "-KILL", "-f", "^/agent$")
	at = time.Now()
	pods, listErr := c.kube.CoreV1().Pods(v1alpha1.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: "app.kubernetes.io/component=node-agent", FieldSelector: "spec.nodeName=" + node,
	})
	if listErr != nil {
		return at, listErr
	}
	now := int64(0)
	for _, pod := range pods.Items {
		if err := c.kube.CoreV1().Pods(v1alpha1.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
			return at, err
		}
	}
	return at, err
}
