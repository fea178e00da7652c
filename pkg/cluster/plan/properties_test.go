package plan_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// TestPromises upgrades a random small cluster while windows open and close, nodes break
// and come back, agents fail, and a second coordinator writes an old plan. The promises
// hold at every moment; once all faults are over, every node is upgraded, except those with
// Kubernetes from packages.
func TestPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newChaos(t)
		c.letClusterAPIDecide(t)
		for _, n := range c.Nodes {
			if !n.ControlPlane {
				usePackages(t, &c.nodeUpgrade(n.Name, n.UID).Status)
			}
		}
		for range rapid.IntRange(5, 80).Draw(t, "steps") {
			c.disturb(t)
			c.check(t, c.step())
		}
		c.repairAll()
		for range 40 + 16*len(c.Nodes) {
			c.ask()
			c.check(t, c.step())
		}
		for _, n := range c.Nodes {
			want := c.to
			if c.nodeUpgrade(n.Name, n.UID).Status.LacksImage() {
				want = "v1.34.3"
			}
			if n.Kubelet != want && len(c.Etcd) != 2 {
				t.Fatalf("node %s runs %s, want %s: %s", n.Name, n.Kubelet, want, c.why(n.Name))
			}
		}
		// A snapshot that an abandoned node takes after the end is not recorded.
		unrecorded := c.snapshots > 0 && c.abandonments == 0
		if taken := c.Upgrades[0].Status.EtcdSnapshot; len(c.Etcd) != 2 && (taken != nil && c.snapshots == 0 || taken == nil && unrecorded) {
			t.Fatalf("the upgrade records the snapshot %+v, but %d were taken", taken, c.snapshots)
		}
	})
}

// chaos is a sim with random faults.
type chaos struct {
	*sim
	to                string
	budget            int
	stale             *plan.Plan
	staleTurns        v1alpha1.RememberedState // the turns that it was made from
	abandoned         map[string]bool          // by a person, and not back in service yet
	abandonments      int                      // of control planes
	clusterAPIDecides bool                     // Cluster API decides which nodes begin
}

func newChaos(t *rapid.T) *chaos {
	c := &chaos{sim: newSim(time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)), to: "v1.34.4", abandoned: map[string]bool{}}
	c.slow = true
	if rapid.Bool().Draw(t, "minor") {
		c.to = "v1.35.4"
	}
	method := v1alpha1.MethodReboot
	if c.to == "v1.34.4" && rapid.Bool().Draw(t, "restarts") {
		method = v1alpha1.MethodRestart
	} else if rapid.Bool().Draw(t, "soft-reboots") {
		method = v1alpha1.MethodSoftReboot
	}
	controlPlanes := rapid.IntRange(1, 5).Draw(t, "control planes")
	for i := range controlPlanes + rapid.IntRange(0, 6).Draw(t, "workers") {
		n := clusterstate.Node{Name: fmt.Sprintf("n%d", i), UID: fmt.Sprintf("u%d", i), Kubelet: "v1.34.3", Ready: true, OS: "linux", Architecture: "amd64"}
		n.Labels = map[string]string{"pool": rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "pool")}
		if i < controlPlanes {
			n.ControlPlane = true
			c.APIServers = append(c.APIServers, clusterstate.StaticPod{Node: n.Name, Version: n.Kubelet, Ready: true})
			c.Etcd = append(c.Etcd, clusterstate.StaticPod{Node: n.Name, Ready: true})
		}
		c.Nodes = append(c.Nodes, n)
	}
	c.budget = rapid.IntRange(1, 4).Draw(t, "budget")
	u := v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "u", UID: c.uid("u"), CreationTimestamp: metav1.NewTime(c.now)}}
	u.Spec.Version, u.Spec.Strategy.Method = c.to, method
	if rapid.Bool().Draw(t, "without snapshot") {
		u.Spec.Strategy.EtcdSnapshotPolicy = "Skip"
	}
	u.Spec.Strategy.MaxUnavailable = &intstr.IntOrString{IntVal: int32(c.budget)}
	one := intstr.FromInt32(1)
	u.Spec.Strategy.Groups = []v1alpha1.NodeGroup{
		{Name: "b", NodeSelector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"pool": "b"}}},
		{Name: "a", NodeSelector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"pool": "a"}}, MaxUnavailable: &one},
	}
	c.Upgrades = append(c.Upgrades, u)
	image := v1alpha1.Image{Architecture: "amd64", URL: "http://images", Digest: v1alpha1.DigestOf(fmt.Sprintf("%064d", 1))}
	c.Source.Offers = []clusterstate.Offer{{Version: c.to, Image: image}}
	c.setWindow(true)
	return c
}

// letClusterAPIDecide lets Cluster API decide on versions, in half of the clusters.
func (c *chaos) letClusterAPIDecide(t *rapid.T) {
	if c.clusterAPIDecides = rapid.Bool().Draw(t, "by request"); !c.clusterAPIDecides {
		return
	}
	c.policy().Spec.VersionsFrom = v1alpha1.VersionsFromClusterAPI
	for i := range c.Nodes {
		if c.Nodes[i].ControlPlane {
			c.report(&c.Nodes[i], []string{"kube-apiserver", "etcd", "local"})
		}
	}
}

// ask has Cluster API ask for the nodes that it would ask for: one control plane after another, then up
// to two workers.
func (c *chaos) ask() {
	if !c.clusterAPIDecides {
		return
	}
	var names []string
	controlPlanes := false
	for i := range c.Nodes {
		n := &c.Nodes[i]
		status := &c.nodeUpgrade(n.Name, n.UID).Status
		behind := n.Kubelet != c.to || n.ControlPlane && status.Versions.Kubeadm != c.to
		if !behind || status.LacksImage() || len(names) > 0 && (controlPlanes || len(names) == 2) {
			continue
		}
		controlPlanes = controlPlanes || n.ControlPlane
		names = append(names, n.Name)
	}
	c.request(&c.Upgrades[0], names)
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

// disturb makes one random event happen, or none.
func (c *chaos) disturb(t *rapid.T) {
	n := &c.Nodes[rapid.IntRange(0, len(c.Nodes)-1).Draw(t, "node")]
	switch rapid.SampledFrom([]string{"", "", "", "", "open", "close", "suspend", "resume", "break", "repair", "keep plan", "stale", "fail", "lose lease", "hang", "wake", "abandon", "find", "find on it", "clear", "webhook", "ask", "ask", "ask nobody"}).Draw(t, "event") {
	case "ask":
		c.ask()
	case "ask nobody":
		c.request(&c.Upgrades[0], nil)
	case "open":
		c.setWindow(true)
	case "close":
		c.setWindow(false)
	case "suspend", "resume":
		c.Upgrades[0].Spec.Suspend = !c.Upgrades[0].Spec.Suspend
	case "break":
		n.Ready = false
	case "repair":
		n.Ready = true
	case "keep plan":
		p := plan.Decide(c.Snapshot, c.now)
		c.stale, c.staleTurns = &p, c.turns()
	case "stale":
		// Where turns of hooks have changed since, its first write is refused.
		if c.stale != nil && cmp.Equal(c.staleTurns, c.turns()) {
			c.stale.Statuses = nil // a status is applied as a whole, and the next write corrects it
			c.write(*c.stale)
		}
	case "find":
		c.findings = append(c.findings, v1alpha1.Finding{ID: "any", Level: v1alpha1.LevelBlock, Message: "something is wrong"})
	case "find on it":
		c.findings = append(c.findings, v1alpha1.Finding{ID: "any", Level: v1alpha1.LevelBlock, Node: n.Name, Message: "something is wrong there"})
	case "clear":
		c.findings = nil
	case "webhook":
		other := c.Nodes[rapid.IntRange(0, len(c.Nodes)-1).Draw(t, "other")]
		c.Webhooks = []clusterstate.Webhook{{Name: "w", Namespace: "n", Service: "s", Nodes: slices.Compact([]string{n.Name, other.Name})}}
	case "fail":
		if status := &c.nodeUpgrade(n.Name, n.UID).Status; status.Step == v1alpha1.StepVerifying {
			status.Step = v1alpha1.StepFailed
			setCause(status, v1alpha1.ReasonWrongVersion, "")
		}
	case "hang", "wake":
		c.hung[n.Name] = !c.hung[n.Name]
	case "abandon":
		c.abandon(n, "it is on fire")
		c.abandoned[n.Name] = true
		if n.ControlPlane {
			c.abandonments++
		}
	case "lose lease":
		for i, slot := range c.Slots {
			if n.SlotAnnotation != "" && n.SlotAnnotation == slot.Name {
				c.Slots = append(c.Slots[:i:i], c.Slots[i+1:]...)
				break
			}
		}
	}
}

// turns returns the turns that are stored.
func (c *chaos) turns() v1alpha1.RememberedState {
	if c.Policy == nil {
		return v1alpha1.RememberedState{}
	}
	return v1alpha1.RememberedState{HookTurns: c.Policy.Status.HookTurns, LastHookTurn: c.Policy.Status.LastHookTurn}
}

// repairAll ends all faults, so that the upgrade can end.
func (c *chaos) repairAll() {
	c.setWindow(true)
	c.Upgrades[0].Spec.Suspend = false
	c.findings = nil
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

// check checks the promises that hold at every moment.
func (c *chaos) check(t *rapid.T, p plan.Plan) {
	c.checkNodes(t)
	c.checkOrder(t)
	if len(c.wrongBoots) > 0 {
		t.Fatalf("rebooted in another boot than the order ends: %v", c.wrongBoots)
	}
	for _, n := range p.Nodes {
		if n.Slot != "" && slices.ContainsFunc(c.Preflight.Findings, blocks(n.Name)) {
			t.Fatalf("%s is released in spite of %v", n.Name, c.Preflight.Findings)
		}
	}
	c.checkPlan(t, p)
}

// checkNodes checks the promises about the nodes.
func (c *chaos) checkNodes(t *rapid.T) {
	down, controlPlanes := 0, 0
	for _, n := range c.Nodes {
		switch c.nodeUpgrade(n.Name, n.UID).Status.Step {
		case "", v1alpha1.StepIdle, v1alpha1.StepUnsupported, v1alpha1.StepStaging, v1alpha1.StepWaiting, v1alpha1.StepLocking:
			c.abandoned[n.Name] = c.abandoned[n.Name] && c.nodeUpgrade(n.Name, n.UID).Abandoned != nil
			continue
		}
		if c.abandoned[n.Name] {
			continue // a person vouched for it
		}
		down++
		if n.ControlPlane {
			controlPlanes++
		}
	}
	if down > c.budget || controlPlanes > 1 {
		t.Fatalf("promise 1: %d nodes are out of service (%d control planes), the budget is %d", down, controlPlanes, c.budget)
	}
	if len(c.Etcd) == 2 && controlPlanes > 0 {
		t.Fatal("promise 1: one of two etcd members is out of service")
	}
	c.checkVersions(t)
}

// checkPlan checks the promises about a plan.
func (c *chaos) checkPlan(t *rapid.T, p plan.Plan) {
	for _, n := range p.Nodes {
		if n.Slot != "" && c.gateReason(p) != "" {
			t.Fatalf("promise 2: %s is released while the gate is closed: %s", n.Name, c.gateReason(p))
		}
		u := c.Upgrades[0]
		if asked := c.nodeUpgrade(n.Name, n.Owner.UID).RequestedFor(u.UID); c.clusterAPIDecides && n.Slot != "" && p.Upgrade == u.Name && !asked {
			t.Fatalf("%s begins, and Cluster API has not asked for it", n.Name)
		}
		if n.Reason == "" || n.Message == "" {
			t.Fatalf("promise 8: %s is %s with no reason (%q, %q)", n.Name, n.Decision, n.Reason, n.Message)
		}
	}
}

// checkOrder checks that before any kubeadm a required snapshot of etcd is taken, once per
// control plane that is abandoned afterwards, and that before its kubeadm each control
// plane has its container images.
func (c *chaos) checkOrder(t *rapid.T) {
	skip := !slices.ContainsFunc(c.Upgrades, func(u v1alpha1.ClusterUpgrade) bool { // late control planes get one of their own
		return u.Spec.Strategy.EtcdSnapshotPolicy != "Skip"
	})
	if c.snapshots > 1+c.abandonments || skip && c.snapshots > 0 {
		t.Fatalf("%d snapshots of etcd were taken, required %t", c.snapshots, !skip)
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

// blocks returns a function that reports whether a finding holds that node.
func blocks(node string) func(v1alpha1.Finding) bool {
	return func(f v1alpha1.Finding) bool {
		return f.Level == v1alpha1.LevelBlock && !f.Ignored && (f.Node == "" || f.Node == node)
	}
}

// gateReason returns why the gate was closed when p was decided.
func (c *chaos) gateReason(p plan.Plan) v1alpha1.Reason {
	if p.Upgrade == "" {
		return ""
	}
	u := c.upgrade(p.Upgrade)
	return rules.Window(u, rules.TypeOf(u), c.Schedules, nil, c.now.Add(-c.tick), 0).Reason
}

func (c *chaos) checkVersions(t *rapid.T) {
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
			oneTurn := c.clusterAPIDecides && n.ControlPlane && pod.Node != n.Name
			if err := version.CheckKubelet(kubelet, server); err != nil && !oneTurn {
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

// TestDecideIsPure checks that the same snapshot and instant give the same plan, and that Decide changes
// neither the snapshot nor a part of the plan that it has built before.
func TestDecideIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newHooked(t)
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			c.disturbJobs(t)
			c.disturb(t)
			checkParts(t, c.Snapshot, c.now)
			c.step()
		}
		before := encode(t, c.Snapshot)
		first := encode(t, plan.Decide(c.Snapshot, c.now))
		if second := encode(t, plan.Decide(c.Snapshot, c.now)); first != second {
			t.Fatalf("the same snapshot gave two plans:\n%s\n%s", first, second)
		}
		if after := encode(t, c.Snapshot); before != after {
			t.Fatalf("Decide changed the snapshot from\n%s\nto\n%s", before, after)
		}
	})
}

// checkParts checks that each part of a plan stays as it was built.
func checkParts(t interface{ Fatalf(string, ...any) }, s clusterstate.Snapshot, now time.Time) {
	changed, err := plan.ChangedPart(s, now)
	if err != nil || changed != "" {
		t.Fatalf("a part of the plan was changed after it was built (%v): %s", err, changed)
	}
}

func encode(t *rapid.T, v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
