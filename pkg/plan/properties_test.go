package plan_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// TestPromises lets any small cluster live through an upgrade while windows
// open and close, nodes break and come back, agents fail, and a second
// coordinator acts on what it saw a while ago. At every moment the promises
// hold; and once the world is left in peace, every node gets there.
func TestPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newChaos(t)
		for range rapid.IntRange(5, 80).Draw(t, "steps") {
			c.disturb(t)
			c.watch(t, c.step())
		}
		c.peace()
		for range 40 + 16*len(c.Nodes) {
			c.watch(t, c.step())
		}
		for _, n := range c.Nodes {
			if n.Kubelet != c.to && len(c.Etcd) != 2 {
				t.Fatalf("node %s is at %s, want %s: %s", n.Name, n.Kubelet, c.to, c.why(n.Name))
			}
		}
		// One that is taken after the end, by a node that had been abandoned, is not recorded.
		unrecorded := c.snapshots > 0 && c.given == 0
		if taken := c.Upgrades[0].Status.EtcdSnapshot; len(c.Etcd) != 2 && (taken != nil && c.snapshots == 0 || taken == nil && unrecorded) {
			t.Fatalf("the upgrade records %+v, and %d were taken", taken, c.snapshots)
		}
	})
}

// chaos is a sim with what may go wrong.
type chaos struct {
	*sim
	to     string
	budget int
	stale  *plan.Plan
	astray map[string]bool // abandoned by a person, and not back in service yet
	given  int             // control planes that a person abandoned, each time
}

func newChaos(t *rapid.T) *chaos {
	c := &chaos{sim: newSim(time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)), to: "v1.34.4", astray: map[string]bool{}}
	c.slow = true
	if rapid.Bool().Draw(t, "minor") {
		c.to = "v1.35.4"
	}
	method := v1alpha1.MethodReboot
	if c.to == "v1.34.4" && rapid.Bool().Draw(t, "restarts") {
		method = v1alpha1.MethodRestart
	}
	controlPlanes := rapid.IntRange(1, 5).Draw(t, "control planes")
	for i := range controlPlanes + rapid.IntRange(0, 6).Draw(t, "workers") {
		n := fleet.Node{Name: fmt.Sprintf("n%d", i), UID: fmt.Sprintf("u%d", i), Kubelet: "v1.34.3", Ready: true, OS: "linux", Architecture: "amd64"}
		n.Labels = map[string]string{"pool": rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "pool")}
		if i < controlPlanes {
			n.ControlPlane = true
			c.APIServers = append(c.APIServers, fleet.StaticPod{Node: n.Name, Version: n.Kubelet, Ready: true})
			c.Etcd = append(c.Etcd, fleet.StaticPod{Node: n.Name, Ready: true})
		}
		c.Nodes = append(c.Nodes, n)
	}
	c.budget = rapid.IntRange(1, 4).Draw(t, "budget")
	u := v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "u", UID: c.uid("u"), CreationTimestamp: metav1.NewTime(c.now)}}
	u.Spec.Version, u.Spec.Strategy.Method = c.to, method
	if rapid.Bool().Draw(t, "without snapshot") {
		u.Spec.Strategy.EtcdSnapshot = "Skip"
	}
	u.Spec.Strategy.MaxUnavailable = &intstr.IntOrString{IntVal: int32(c.budget)}
	one := intstr.FromInt32(1)
	u.Spec.Strategy.Groups = []v1alpha1.NodeGroup{
		{Name: "b", NodeSelector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"pool": "b"}}},
		{Name: "a", NodeSelector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"pool": "a"}}, MaxUnavailable: &one},
	}
	c.Upgrades = append(c.Upgrades, u)
	image := v1alpha1.Image{Architecture: "amd64", URL: "http://images", Digest: v1alpha1.DigestOf(fmt.Sprintf("%064d", 1))}
	c.Source.Offers = []fleet.Offer{{Version: c.to, Image: image}}
	c.setWindow(true)
	return c
}

// setWindow opens a window for the next two days, or closes it.
func (c *chaos) setWindow(open bool) {
	c.Schedules = nil
	if !open {
		return
	}
	m := v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: "s"}}
	p := v1alpha1.Period{Name: "w", StartTime: metav1.NewTime(c.now.Add(-time.Hour)), EndTime: metav1.NewTime(c.now.Add(48 * time.Hour))}
	m.Spec.MaintenanceWindows = []v1alpha1.MaintenanceWindow{{Period: p}}
	c.Schedules = append(c.Schedules, m)
}

// disturb does something that happens in the life of a cluster, or nothing.
func (c *chaos) disturb(t *rapid.T) {
	n := &c.Nodes[rapid.IntRange(0, len(c.Nodes)-1).Draw(t, "node")]
	switch rapid.SampledFrom([]string{"", "", "", "", "open", "close", "suspend", "resume", "break", "mend", "remember", "stale", "fail", "lose lease", "hang", "wake", "abandon", "find", "find on it", "clear", "webhook"}).Draw(t, "event") {
	case "open":
		c.setWindow(true)
	case "close":
		c.setWindow(false)
	case "suspend", "resume":
		c.Upgrades[0].Spec.Suspend = !c.Upgrades[0].Spec.Suspend
	case "break":
		n.Ready = false
	case "mend":
		n.Ready = true
	case "remember":
		p := plan.Decide(c.Snapshot, c.now)
		c.stale = &p
	case "stale":
		if c.stale != nil {
			c.stale.Statuses = nil // a status is applied as a whole, and comes right by itself
			c.write(*c.stale)
		}
	case "find":
		c.finds = append(c.finds, v1alpha1.Finding{ID: "any", Level: v1alpha1.LevelBlock, Message: "something is wrong"})
	case "find on it":
		c.finds = append(c.finds, v1alpha1.Finding{ID: "any", Level: v1alpha1.LevelBlock, Node: n.Name, Message: "something is wrong there"})
	case "clear":
		c.finds = nil
	case "webhook":
		other := c.Nodes[rapid.IntRange(0, len(c.Nodes)-1).Draw(t, "other")]
		c.Webhooks = []preflight.Webhook{{Name: "w", Namespace: "n", Service: "s", Nodes: slices.Compact([]string{n.Name, other.Name})}}
	case "fail":
		if status := &c.nodeUpgrade(n.Name, n.UID).Status; status.Step == v1alpha1.StepVerifying {
			status.Step = v1alpha1.StepFailed
			setCause(status, v1alpha1.ReasonWrongVersion, "")
		}
	case "hang", "wake":
		c.hung[n.Name] = !c.hung[n.Name]
	case "abandon":
		c.abandon(n, "it is on fire")
		c.astray[n.Name] = true
		if n.ControlPlane {
			c.given++
		}
	case "lose lease":
		for i, slot := range c.Slots {
			if n.Slot != "" && n.Slot == slot.Name {
				c.Slots = append(c.Slots[:i:i], c.Slots[i+1:]...)
				break
			}
		}
	}
}

// peace mends everything, so that the upgrade can end.
func (c *chaos) peace() {
	c.setWindow(true)
	c.Upgrades[0].Spec.Suspend = false
	c.finds = nil
	if len(c.Webhooks) > 0 && len(c.Webhooks[0].Nodes) == 1 {
		c.Webhooks = nil
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		n.Ready, c.hung[n.Name] = true, false
		if status := &c.nodeUpgrade(n.Name, n.UID).Status; status.Step == v1alpha1.StepFailed {
			status.Step = v1alpha1.StepVerifying
		}
	}
}

// watch checks what must hold at any moment.
func (c *chaos) watch(t *rapid.T, p plan.Plan) {
	c.watchNodes(t)
	c.watchOrder(t)
	over := len(p.Statuses) == 0 // who comes late goes as the others did
	for _, n := range p.Nodes {
		if n.Slot != "" && !over && slices.ContainsFunc(c.Preflight.Findings, blocks(n.Name)) {
			t.Fatalf("%s is let go in spite of %v", n.Name, c.Preflight.Findings)
		}
	}
	c.watchPlan(t, p)
}

// watchNodes checks what must hold of the nodes.
func (c *chaos) watchNodes(t *rapid.T) {
	down, controlPlanes := 0, 0
	for _, n := range c.Nodes {
		switch c.nodeUpgrade(n.Name, n.UID).Status.Step {
		case "", v1alpha1.StepIdle, v1alpha1.StepStaging, v1alpha1.StepWaiting, v1alpha1.StepLocking:
			c.astray[n.Name] = c.astray[n.Name] && c.nodeUpgrade(n.Name, n.UID).Abandoned != nil
			continue
		}
		if c.astray[n.Name] {
			continue // a person took it upon themselves
		}
		down++
		if n.ControlPlane {
			controlPlanes++
		}
	}
	if down > c.budget || controlPlanes > 1 {
		t.Fatalf("promise 1: %d nodes down (%d control planes), budget %d", down, controlPlanes, c.budget)
	}
	if len(c.Etcd) == 2 && controlPlanes > 0 {
		t.Fatal("promise 1: one of two etcd members is away")
	}
	c.watchVersions(t)
}

// watchPlan checks what must hold of every plan.
func (c *chaos) watchPlan(t *rapid.T, p plan.Plan) {
	for _, n := range p.Nodes {
		if n.Slot != "" && c.was(p) != "" {
			t.Fatalf("promise 2: %s is let go while %s", n.Name, c.was(p))
		}
		if n.Reason == "" || n.Message == "" {
			t.Fatalf("promise 8: %s is %s with no reason (%q, %q)", n.Name, n.Decision, n.Reason, n.Message)
		}
	}
}

// watchOrder: the snapshot of etcd goes before any kubeadm, where it is wanted, and
// once, but for one that lies on an abandoned control plane; and so do the
// container images of each control plane.
func (c *chaos) watchOrder(t *rapid.T) {
	skip := c.Upgrades[0].Spec.Strategy.EtcdSnapshot == "Skip"
	if c.snapshots > 1+c.given || skip && c.snapshots > 0 {
		t.Fatalf("%d snapshots of etcd were taken", c.snapshots)
	}
	for _, n := range c.Nodes {
		status := c.nodeUpgrade(n.Name, n.UID).Status
		if !n.ControlPlane || status.Step != v1alpha1.StepKubeadm && status.Versions.Kubeadm == "" {
			continue
		}
		if !skip && c.snapshots == 0 {
			t.Fatalf("kubeadm on %s begins before there is a snapshot", n.Name)
		}
		if status.Versions.Pulled != c.to {
			t.Fatalf("kubeadm on %s begins before its images are pulled", n.Name)
		}
	}
}

// blocks reports whether a finding holds that node.
func blocks(node string) func(v1alpha1.Finding) bool {
	return func(f v1alpha1.Finding) bool {
		return f.Level == v1alpha1.LevelBlock && !f.Ignored && (f.Node == "" || f.Node == node)
	}
}

// was is why the gate was closed when p was decided.
func (c *chaos) was(p plan.Plan) v1alpha1.Reason {
	if p.Upgrade == "" {
		return ""
	}
	u := c.upgrade(p.Upgrade)
	return plan.Gate(u, plan.TypeOf(u), c.Schedules, nil, c.now.Add(-c.tick), 0).Reason
}

func (c *chaos) watchVersions(t *rapid.T) {
	for _, n := range c.Nodes {
		kubelet, err := version.Parse(n.Kubelet)
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range c.APIServers {
			server, err := version.Parse(pod.Version)
			if err != nil {
				t.Fatal(err)
			}
			if err := version.CheckKubelet(kubelet, server); err != nil {
				t.Fatalf("promise 3: %s beside %s: %v", n.Name, pod.Node, err)
			}
		}
	}
}

func (c *chaos) why(name string) string {
	for _, n := range plan.Decide(c.Snapshot, c.now).Nodes {
		if n.Name == name {
			return fmt.Sprintf("%s %s: %s (step %s)", n.Decision, n.Reason, n.Message, c.nodeUpgrade(n.Name, n.Owner.UID).Status.Step)
		}
	}
	return "not planned"
}

// The same snapshot and instant give the same plan, and stay as they were.
func TestDecideIsAFunction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newChaos(t)
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			c.disturb(t)
			c.step()
		}
		before := encode(t, c.Snapshot)
		first := encode(t, plan.Decide(c.Snapshot, c.now))
		if second := encode(t, plan.Decide(c.Snapshot, c.now)); first != second {
			t.Fatalf("two plans:\n%s\n%s", first, second)
		}
		if after := encode(t, c.Snapshot); before != after {
			t.Fatalf("the snapshot was changed:\n%s\n%s", before, after)
		}
	})
}

func encode(t *rapid.T, v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
