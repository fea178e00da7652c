package plan_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// TestQueuedUpgrades runs several upgrades in a random small cluster while people create,
// suspend and approve upgrades and hold nodes at random. The promises hold at every moment;
// once people hold nothing any more, each upgrade ends, and every node runs the newest
// version.
func TestQueuedUpgrades(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newChaos(t)
		c.Etcd = nil // two members would block
		newest := c.addUpgrades(t)
		for range rapid.IntRange(5, 80).Draw(t, "steps") {
			c.changeByPerson(t)
			p := c.step()
			c.checkNodes(t)
			c.checkPlan(t, p)
		}
		c.setWindow(true)
		for i := range c.Upgrades {
			spec := &c.Upgrades[i].Spec
			spec.Suspend, spec.StartTime, spec.Approved.Upgrade = false, nil, true
		}
		for i := range c.Nodes {
			delete(c.Nodes[i].Labels, v1alpha1.HoldLabel)
		}
		for range len(c.Upgrades) * (60 + 20*len(c.Nodes)) {
			p := c.step()
			c.checkNodes(t)
			c.checkPlan(t, p)
		}
		for _, u := range c.Upgrades {
			if u.Status.Outcome != v1alpha1.OutcomeSucceeded && u.Status.Outcome != v1alpha1.OutcomeSuperseded {
				t.Fatalf("upgrade %s to %s ended %q: %+v", u.Name, u.Spec.Version, u.Status.Outcome, u.Status.Conditions)
			}
		}
		for _, n := range c.Nodes {
			if n.Kubelet != newest {
				t.Fatalf("node %s runs %s, want %s: %s", n.Name, n.Kubelet, newest, c.why(n.Name))
			}
		}
	})
}

// addUpgrades adds one to three upgrades, and returns the newest version of all.
func (c *chaos) addUpgrades(t *rapid.T) (newest string) {
	image := c.Source.Offers[0].Image
	c.Source.Offers = nil
	for _, v := range []string{"v1.34.4", "v1.34.5", "v1.35.4"} {
		c.Source.Offers = append(c.Source.Offers, clusterstate.Offer{Version: v, Image: image})
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "more upgrades") {
		u := *c.Upgrades[0].DeepCopy()
		u.Name = fmt.Sprintf("u%d", i)
		u.UID, u.CreationTimestamp = c.uid(u.Name), metav1.NewTime(c.now.Add(time.Duration(i+1)*time.Second))
		u.Spec.Strategy.Method = v1alpha1.MethodReboot
		u.Spec.Version = rapid.SampledFrom([]string{"v1.34.4", "v1.34.5", "v1.35.4", ""}).Draw(t, "version")
		if u.Spec.Version == "" {
			u.Spec.Type = v1alpha1.TypeReboot
		}
		if coin.Draw(t, "to be approved") {
			u.Spec.Strategy.Approval = v1alpha1.ApprovalRequired
		}
		c.Upgrades = append(c.Upgrades, u)
	}
	best := version.Version{}
	for _, u := range c.Upgrades {
		if v, err := version.Parse(u.Spec.Version); err == nil && best.Less(v) {
			best = v
		}
	}
	return best.String()
}

// changeByPerson makes one random change that people make, or none.
func (c *chaos) changeByPerson(t *rapid.T) {
	u := &c.Upgrades[rapid.IntRange(0, len(c.Upgrades)-1).Draw(t, "upgrade")]
	n := &c.Nodes[rapid.IntRange(0, len(c.Nodes)-1).Draw(t, "node")]
	switch rapid.SampledFrom([]string{"", "", "", "suspend", "resume", "plan", "approve", "hold", "let go", "open", "close", "ask"}).Draw(t, "people") {
	case "suspend", "resume":
		u.Spec.Suspend = !u.Spec.Suspend
	case "plan":
		u.Spec.StartTime = &metav1.Time{Time: c.now.Add(time.Duration(rapid.IntRange(-5, 30).Draw(t, "in minutes")) * time.Minute)}
	case "approve":
		u.Spec.Approved.Upgrade = true
	case "hold":
		n.Labels[v1alpha1.HoldLabel] = ""
	case "let go":
		delete(n.Labels, v1alpha1.HoldLabel)
	case "open", "close":
		c.setWindow(len(c.Schedules) == 0)
	case "ask":
		askForReboot(&c.nodeUpgrade(n.Name, n.UID).Status, true)
	}
}

// TestEndIsStoredAfterAConflict loses the write of an upgrade's end after the policy's status
// names it. It ends by the next plan, and does not wait for its own node as for a late one.
func TestEndIsStoredAfterAConflict(t *testing.T) {
	s := &script{sim: newSim(time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC))}
	for _, line := range []string{
		"node cp1 v1.34.3 control-plane pool=a",
		"node w1 v1.34.3 pool=b",
		"source v1.34.4",
		"schedule always 2026-01-01T00:00:00Z 2026-01-02T00:00:00Z rule=FREQ=DAILY",
		"upgrade u v1.34.4",
	} {
		s.must(t, line)
	}
	for range 40 {
		if s.step(); s.nodeUpgrade("w1", "u-w1").Status.Step == v1alpha1.StepRebooting {
			break
		}
	}
	s.hung["w1"] = true
	s.Policy.Spec.NodeSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"pool": "a"}}
	p := s.decide()
	if p.Policy == nil {
		t.Fatalf("the upgrade does not end without w1: %+v", p.Statuses)
	}
	p.Statuses = nil // the conflict
	s.write(p)
	s.step()
	if u := s.upgrade("u"); u.Status.Outcome != v1alpha1.OutcomeSucceeded {
		t.Errorf("the upgrade has not ended: %+v", u.Status.Conditions)
	}
}
