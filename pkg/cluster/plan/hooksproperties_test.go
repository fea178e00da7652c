package plan_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestHookPromises upgrades a random small cluster with hooks before and after nodes, while Jobs fail,
// hang and are lost, and everything happens that happens in TestPromises. No hook runs twice for a
// turn, a node has its slot only between the hooks around it, and in the end each node at which a hook
// before it has begun has had the hooks after it.
func TestHookPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newHooked(t)
		for range rapid.IntRange(5, 80).Draw(t, "steps") {
			c.disturbJobs(t)
			c.disturb(t)
			c.check(t, c.step())
			c.checkHooks(t)
		}
		c.repairAll()
		c.jobEnds = map[string]string{}
		for i := range c.Policy.Spec.Hooks {
			c.Policy.Spec.Hooks[i].FailurePolicy = v1alpha1.HookContinue
		}
		for range 80 + 40*len(c.Nodes) {
			c.check(t, c.step())
			c.checkHooks(t)
		}
		for _, n := range c.Nodes {
			if n.Kubelet != c.to && len(c.Etcd) != 2 {
				t.Fatalf("node %s runs %s, want %s: %s", n.Name, n.Kubelet, c.to, c.why(n.Name))
			}
			if c.set[n.Name] {
				t.Fatalf("what the hook before node %s set was not taken away: %v", n.Name, c.started)
			}
		}
		if turns := c.Policy.Status.HookTurns; len(turns) > 0 {
			t.Fatalf("turns are left: %+v", turns)
		}
	})
}

// hooked is a chaos with hooks.
type hooked struct {
	*chaos
	seen int
	set  map[string]bool // nodes at which set has begun, and clear has not begun since
}

func newHooked(t *rapid.T) *hooked {
	c := &hooked{chaos: newChaos(t), set: map[string]bool{}}
	for _, hook := range []struct {
		name string
		when v1alpha1.HookPoint
	}{{"set", v1alpha1.BeforeNode}, {"collect", v1alpha1.NodeFailed}, {"clear", v1alpha1.AfterNode}} {
		args := []string{hook.name, string(hook.when)}
		if rapid.Bool().Draw(t, hook.name+" may fail") {
			args = append(args, "continue")
		}
		if err := c.addHook(args, nil); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// disturbJobs changes how the Jobs of one hook end, or nothing.
func (c *hooked) disturbJobs(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "Jobs change") == 0 {
		name := rapid.SampledFrom([]string{"set", "clear", "collect"}).Draw(t, "hook")
		c.jobEnds[name] = rapid.SampledFrom([]string{"ok", "ok", "fails", "hangs", "gone", "refused"}).Draw(t, "Jobs end")
	}
}

func (c *hooked) checkHooks(t *rapid.T) {
	for _, id := range c.started[c.seen:] {
		if slices.Contains(c.started[:c.seen], id) {
			t.Fatalf("hook %s was started twice", id)
		}
		node, rest, _ := strings.Cut(id, "/")
		if name, _, _ := strings.Cut(rest, "/"); name != "collect" {
			c.set[node] = name == "set"
		}
	}
	c.seen = len(c.started)
	for _, n := range c.Nodes {
		switch c.nodeUpgrade(n.Name, n.UID).Status.Step {
		case v1alpha1.StepSnapshotting, v1alpha1.StepCordoning, v1alpha1.StepDraining, v1alpha1.StepLastCheck, v1alpha1.StepActivating, v1alpha1.StepRebooting, v1alpha1.StepVerifying:
			if c.abandoned[n.Name] || c.nodeUpgrade(n.Name, n.UID).Abandoned != nil {
				continue
			}
			if !c.setOrFailed(n.Name) {
				t.Fatalf("node %s is in the step %s, and the hook before it has not run: %v, turns %+v", n.Name, c.nodeUpgrade(n.Name, n.UID).Status.Step, c.started, c.turns())
			}
		}
	}
}

// setOrFailed reports whether the hook before the node has begun, or could not be started and need not.
func (c *hooked) setOrFailed(node string) bool {
	for _, turn := range c.Policy.Status.HookTurns {
		if turn.Node == node && turn.Hooks[0].State == v1alpha1.HookFailed && turn.Hooks[0].JobUID == "" {
			return true
		}
	}
	return c.set[node]
}
