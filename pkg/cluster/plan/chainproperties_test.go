package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// clocksApart is by how much clocks of clusters differ: more, and a gate is not open.
const clocksApart = 30 * time.Second

// chainVersions appear at random, and chainEnd everywhere in the end.
var (
	chainVersions = []string{"v1.34.4", "v1.34.5", "v1.34.6"}
	chainEnd      = "v1.34.7"
)

// TestChainPromises runs a chain of three clusters, each of which follows the one before it, while
// versions appear at each at another time, images are replaced, nodes fail, upgrades are retried,
// versions are blocked and clusters do not reach each other. No node begins with a version before it
// has soaked in the cluster that its own follows, with the same image and without a failure there, as
// that is in truth and not by what it publishes. In the end all run the newest version.
func TestChainPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chain := newChain(t)
		for range rapid.IntRange(20, 200).Draw(t, "steps") {
			chain[rapid.IntRange(0, 2).Draw(t, "cluster")].disturb(t)
			for _, c := range chain {
				c.step(t)
			}
		}
		for _, c := range chain {
			c.apart, c.failing = false, false
			c.Policy.Spec.BlockedVersions = nil
			c.offer(chainEnd, chainEnd)
		}
		for range 400 {
			for _, c := range chain {
				c.retry()
				c.step(t)
			}
		}
		for _, c := range chain {
			for _, n := range c.Nodes {
				if n.Kubelet != chainEnd {
					t.Fatalf("%s: node %s runs %s in the end: %s", c.name, n.Name, n.Kubelet, c.why(n.Name))
				}
			}
		}
	})
}

// follower is a cluster of a chain.
type follower struct {
	*sim
	name    string
	leader  *follower // nil: the first
	soak    time.Duration
	apart   bool // it does not reach its leader
	failing bool // the next node that can fails
	out     map[string]bool

	// What is true of it, by version.
	since   map[string]time.Time       // every node runs it
	longest map[string]time.Duration   // they did so
	failed  map[string]bool            // a node failed with it, and no other upgrade has succeeded since
	digests map[string]v1alpha1.Digest // of its last upgrade
	seen    truth                      // of its leader, when it asked last
}

// truth is what is true of a cluster at a moment.
type truth struct {
	longest map[string]time.Duration
	failed  map[string]bool
	digests map[string]v1alpha1.Digest
	blocked map[string]bool
}

func newChain(t *rapid.T) (chain []*follower) {
	start := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	for i, name := range []string{"dev", "staging", "prod"} {
		c := &follower{name: name, out: map[string]bool{}, since: map[string]time.Time{}, longest: map[string]time.Duration{}, failed: map[string]bool{}, digests: map[string]v1alpha1.Digest{}}
		c.sim = newSim(start.Add(time.Duration(rapid.IntRange(0, int(clocksApart/time.Second)).Draw(t, "clock")) * time.Second))
		window := v1alpha1.Period{Name: "always", StartTime: metav1.NewTime(start.Add(-time.Hour)), EndTime: metav1.NewTime(start.Add(100 * time.Hour))}
		c.Schedules = []v1alpha1.MaintenanceSchedule{{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: v1alpha1.MaintenanceScheduleSpec{MaintenanceWindows: []v1alpha1.MaintenanceWindow{{Period: window}}}}}
		c.Policy.Spec.Automatic = []v1alpha1.AutomaticUpgrade{{Type: v1alpha1.TypePatch}}
		for j := range 3 {
			n := clusterstate.Node{Name: fmt.Sprintf("n%d", j), UID: fmt.Sprintf("%s-%d", name, j), Kubelet: "v1.34.3", Ready: true, OS: "linux", Architecture: "amd64", Labels: map[string]string{}}
			if n.ControlPlane = j == 0; n.ControlPlane {
				c.APIServers = []clusterstate.StaticPod{{Node: n.Name, Version: n.Kubelet, Ready: true}}
				c.Etcd = []clusterstate.StaticPod{{Node: n.Name, Ready: true}}
			}
			c.Nodes = append(c.Nodes, n)
		}
		if i > 0 {
			c.leader, c.soak = chain[i-1], time.Duration(rapid.IntRange(0, 40).Draw(t, "soak"))*time.Minute
			c.Policy.Spec.Gates = []v1alpha1.Gate{{Name: "leader", Cluster: &v1alpha1.ClusterGate{KubeconfigSecretRef: v1alpha1.SecretKeyReference{Name: "leader"}, SoakSeconds: int32(c.soak.Seconds())}}}
		}
		chain = append(chain, c)
	}
	return chain
}

// disturb makes one random event happen in the cluster, or none.
func (c *follower) disturb(t *rapid.T) {
	v := rapid.SampledFrom(chainVersions).Draw(t, "version")
	switch rapid.SampledFrom([]string{"", "", "offer", "offer", "offer", "replace", "fail", "retry", "retry", "apart", "together", "block", "allow"}).Draw(t, "event") {
	case "offer":
		c.offer(v, v)
	case "replace":
		c.offer(v, v+" replaced")
	case "fail":
		c.failing = true
	case "retry":
		c.retry()
	case "apart", "together":
		c.apart = !c.apart
	case "block":
		c.Policy.Spec.BlockedVersions = []v1alpha1.BlockedVersion{{Version: v, Comment: "broken"}}
	case "allow":
		c.Policy.Spec.BlockedVersions = nil
	}
}

// offer has the cluster's source offer an image with that content.
func (c *follower) offer(v, content string) {
	c.Source.Offers = slices.DeleteFunc(c.Source.Offers, func(o clusterstate.Offer) bool { return o.Version == v })
	digest := v1alpha1.DigestOf(fmt.Sprintf("%064x", content)[:64])
	c.Source.Offers = append(c.Source.Offers, clusterstate.Offer{Version: v, Image: v1alpha1.Image{Architecture: "amd64", URL: "http://images/" + v, Digest: digest}})
}

// retry is a person who solves the problem of a node that failed, and applies the version again.
func (c *follower) retry() {
	for j := range c.Nodes {
		n := &c.Nodes[j]
		status := c.nodeUpgrade(n.Name, n.UID).Status
		if status.Step != v1alpha1.StepFailed || status.Upgrade == nil {
			continue
		}
		n.Ready = true
		i := slices.IndexFunc(c.Upgrades, func(u v1alpha1.ClusterUpgrade) bool { return string(u.UID) == status.Upgrade.UID })
		retried := slices.ContainsFunc(c.Upgrades, func(u v1alpha1.ClusterUpgrade) bool { return i >= 0 && u.Spec.Retries(&c.Upgrades[i]) })
		if i < 0 || retried {
			continue
		}
		u := v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: c.Upgrades[i].Name + "-again", CreationTimestamp: metav1.NewTime(c.now)}}
		u.UID = c.uid(u.Name)
		u.Spec.Version, u.Spec.RetryOf = c.Upgrades[i].Spec.Version, c.Upgrades[i].Retry()
		c.Upgrades = append(c.Upgrades, u)
	}
}

// step asks the leader, runs the cluster for a step, and checks what has begun.
func (c *follower) step(t *rapid.T) {
	c.ask()
	c.sim.step()
	for i := range c.Nodes {
		n := &c.Nodes[i]
		status := &c.nodeUpgrade(n.Name, n.UID).Status
		if c.failing && status.Step == v1alpha1.StepVerifying {
			status.Step, c.failing = v1alpha1.StepFailed, false
			setCause(status, v1alpha1.ReasonWrongVersion, "")
			c.failed[c.versionOf(status.Upgrade)] = true
		}
		holds := c.held(n) != ""
		if holds && !c.out[n.Name] {
			c.checkBegin(t, n)
		}
		c.out[n.Name] = holds
	}
	c.note()
}

func (c *follower) versionOf(ref *v1alpha1.UpgradeReference) string {
	for i := range c.Upgrades {
		if ref != nil && string(c.Upgrades[i].UID) == ref.UID {
			return c.Upgrades[i].Spec.Version
		}
	}
	return ""
}

// ask stores the answer of the leader, as the coordinator does.
func (c *follower) ask() {
	if c.leader == nil {
		return
	}
	answer := v1alpha1.GateStatus{Name: "leader", State: v1alpha1.GateUnknown, Message: "it does not answer", SinceTime: metav1.NewTime(c.now), AskedTime: metav1.NewTime(c.now)}
	c.seen = truth{}
	if !c.apart {
		answer.State, answer.Ran = v1alpha1.GateOpen, c.leader.Policy.DeepCopy().Status.Ran
		c.seen = c.leader.truth()
	}
	c.Policy.Status.Gates = []v1alpha1.GateStatus{answer}
}

// truth returns a copy of what is true now.
func (c *follower) truth() truth {
	now := truth{longest: map[string]time.Duration{}, failed: map[string]bool{}, digests: map[string]v1alpha1.Digest{}, blocked: map[string]bool{}}
	for _, v := range append(chainVersions, chainEnd) {
		now.longest[v], now.failed[v], now.digests[v] = c.longest[v], c.failed[v], c.digests[v]
		now.blocked[v] = c.Policy.Blocked(v) != nil
	}
	return now
}

// note notes what is true after a step.
func (c *follower) note() {
	for _, v := range append(chainVersions, chainEnd) {
		if slices.ContainsFunc(c.Nodes, func(n clusterstate.Node) bool { return n.Kubelet != v }) {
			delete(c.since, v)
			continue
		}
		if c.since[v].IsZero() {
			c.since[v] = c.now
		}
		c.longest[v] = max(c.longest[v], c.now.Sub(c.since[v]))
	}
	for i := range c.Upgrades {
		u := &c.Upgrades[i]
		if len(u.Status.Images) > 0 {
			c.digests[u.Spec.Version] = u.Status.Images[0].Digest
		}
		if u.Status.Outcome == v1alpha1.OutcomeSucceeded && strings.HasSuffix(u.Name, "-again") {
			c.failed[u.Spec.Version] = false
		}
	}
}

// checkBegin checks that a node which takes a slot may do so, by what is true of the leader.
func (c *follower) checkBegin(t *rapid.T, n *clusterstate.Node) {
	if c.leader == nil {
		return
	}
	nu := c.nodeUpgrade(n.Name, n.UID)
	v := c.versionOf(nu.Spec.Upgrade)
	switch one := nu.Spec.Image; {
	case c.seen.longest == nil:
		t.Fatalf("%s: %s begins with %s and does not reach its leader", c.name, n.Name, v)
	case c.seen.longest[v]+c.tick+clocksApart < c.soak:
		t.Fatalf("%s: %s begins with %s, which has soaked for %s in %s, not %s", c.name, n.Name, v, c.seen.longest[v], c.leader.name, c.soak)
	case c.seen.failed[v]:
		t.Fatalf("%s: %s begins with %s, which failed in %s", c.name, n.Name, v, c.leader.name)
	case c.seen.blocked[v]:
		t.Fatalf("%s: %s begins with %s, which %s blocks", c.name, n.Name, v, c.leader.name)
	case one == nil || one.Digest != c.seen.digests[v]:
		t.Fatalf("%s: %s begins with the image %+v of %s, and %s ran %s", c.name, n.Name, one, v, c.leader.name, c.seen.digests[v])
	}
}

// why says why a node waits.
func (c *follower) why(name string) string {
	p := c.decide()
	text := fmt.Sprintf("automatic: %s %s", p.AutomaticHold.Reason, p.AutomaticHold.Message)
	for _, u := range c.Upgrades {
		reason, message := u.Status.Explain()
		text += fmt.Sprintf("\nupgrade %s %s %s: %s", u.Name, u.Status.Outcome, reason, message)
	}
	for _, n := range p.Nodes {
		if n.Name == name {
			text += fmt.Sprintf("\nnode %s: %s %s", n.Decision, n.Reason, n.Message)
		}
	}
	return text
}
