//go:build fleet

package fleetbench

import (
	"os/exec"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// awaitQuiet waits until every agent has reported, and nothing of ours writes for 20 seconds.
func (c *cluster) awaitQuiet() {
	c.await(2*time.Hour, "each agent has reported its node", func() bool {
		if c.stats().Agents < c.nodes {
			return false
		}
		list, err := c.ours.NodeInventories.List(c.Context(), metav1.ListOptions{ResourceVersion: "0"})
		return err == nil && len(list.Items) == c.nodes
	})
	quiet := 0
	c.await(2*time.Hour, "nothing is written any more", func() bool {
		n := c.audit.count(c.T).sum(func(_, what string) bool { return writes(what) && !leads(what) })
		if quiet++; n > 0 {
			quiet = 0
		}
		return quiet >= 40
	})
}

// leads reports whether a request is the leader's for its Lease.
func leads(what string) bool { return strings.HasSuffix(what, " (of the leader)") }

// measureIdle measures the fleet while nothing is asked of it.
func (c *cluster) measureIdle(r *result) {
	c.audit.count(c.T)
	used := c.usage()
	time.Sleep(r.Idle)
	r.IdleRequests = c.audit.count(c.T)
	r.IdleCPU, _ = used()
	for name := range r.IdleCPU {
		r.IdleCPU[name] /= r.Idle.Seconds()
	}
}

// measureUpgrade measures a patch of every node.
func (c *cluster) measureUpgrade(r *result) {
	c.audit.count(c.T)
	before, sent, used, began := c.stats(), c.watchBytes(), c.usage(), time.Now()
	_, err := c.ours.ClusterUpgrades.Create(c.Context(), &v1alpha1.ClusterUpgrade{
		ObjectMeta: metav1.ObjectMeta{Name: "patch"}, Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.34.4"},
	}, metav1.CreateOptions{})
	c.must(err)
	var u *v1alpha1.ClusterUpgrade
	asked, logged := false, time.Now()
	c.await(6*time.Hour, "the upgrade has ended", func() bool {
		u, err = c.ours.ClusterUpgrades.Get(c.Context(), "patch", metav1.GetOptions{})
		c.must(err)
		done := c.stats()
		if !asked && done.Reboots > c.nodes/2 {
			asked = true
			c.commands(r, "during", "status", "plan")
		}
		if time.Since(logged) > 30*time.Second {
			logged = time.Now()
			c.Logf("%s  %d of %d nodes have rebooted: %+v", logged.UTC().Format(time.TimeOnly), done.Reboots, c.nodes, u.Status.Conditions)
		}
		return u.Status.Outcome != ""
	})
	r.Wall = u.Status.EndTime.Sub(u.CreationTimestamp.Time)
	if u.Status.Outcome != v1alpha1.OutcomeSucceeded {
		c.Errorf("the upgrade ended: %+v", u.Status)
	}
	r.CPU, r.Memory = used()
	c.Logf("the upgrade took %s, the processor %v in %s", r.Wall, r.CPU, time.Since(began))
	r.Requests = c.audit.count(c.T)
	after := c.stats()
	r.In, r.Out = after.In-before.In, after.Out-before.Out
	r.WatchBytes = c.watchBytes()
	for kind := range r.WatchBytes {
		r.WatchBytes[kind] -= sent[kind]
	}
	// A control plane goes through pass 1, and then alone through pass 2. The others follow
	// in as many rounds as the budget requires.
	r.Budget = max(1, c.nodes/10)
	rounds := (c.nodes - 1 + r.Budget - 1) / r.Budget
	r.Best = after.Kubeadm + time.Duration(1+rounds)*(after.Node+settle)
}

// commands measures the plugin's commands: the medians of three runs.
func (c *cluster) commands(r *result, when string, commands ...string) {
	config := c.kubeconfig(c.server.Config.BearerToken)
	if r.Commands == nil {
		r.Commands, r.CommandCPU = map[string]time.Duration{}, map[string]time.Duration{}
	}
	for _, command := range commands {
		var took, used []time.Duration
		for range 3 {
			cmd := exec.Command(c.env("PLUGIN"), append(strings.Fields(command), "--kubeconfig", config)...)
			began := time.Now()
			out, err := cmd.CombinedOutput()
			took = append(took, time.Since(began))
			used = append(used, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
			if err != nil {
				c.Errorf("kubectl upgrade %s: %v\n%.2000s", command, err, out)
			}
		}
		r.Commands[command+", "+when], r.CommandCPU[command+", "+when] = median(took), median(used)
		c.Logf("kubectl upgrade %s, %s: %s", command, when, median(took))
	}
}
