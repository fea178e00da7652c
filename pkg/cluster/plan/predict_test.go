package plan_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// TestPredictionMatchesRollout upgrades a cluster twice. The first upgrade measures how long
// each node takes, so the second goes as predicted, but for the minute that passes at
// each hand-off.
func TestPredictionMatchesRollout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newChaos(t)
		c.Etcd = nil // two members would block
		c.Upgrades[0].Spec.Strategy.SettleSeconds, c.Upgrades[0].Spec.Strategy.MinReadySeconds = ptr.To[int32](0), ptr.To[int32](0)
		c.finishUpgrade(t, "u")
		// A duration needs three samples, and each node's own report counts once.
		c.dropSteps = rapid.Bool().Draw(t, "agents forget")
		record := &c.Records[0].Spec.Nodes
		*record = slices.Repeat(*record, 3)

		next := v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "next", UID: c.uid("next"), CreationTimestamp: metav1.NewTime(c.now)}}
		to := "v1.35.9"
		if c.Upgrades[0].Spec.Strategy.Method == v1alpha1.MethodRestart {
			to = "v1.34.9"
		}
		next.Spec.Version, next.Spec.Strategy = to, c.Upgrades[0].Spec.Strategy
		limit := intstr.FromInt32(int32(c.budget))
		next.Spec.Strategy.MaxUnavailable = &limit
		c.Upgrades = append(c.Upgrades, next)
		c.Source.Offers = append(c.Source.Offers, clusterstate.Offer{Version: to, Image: c.Source.Offers[0].Image})
		for range 4 {
			c.step() // until every image is staged
		}
		c.setWindow(true)
		p := plan.Predict(c.Snapshot, c.now)
		if servers := len(c.APIServers); servers > 0 && to == "v1.35.9" && (p.Pass1 == nil || len(p.Pass1.Nodes) != servers || !p.Pass1.Start.Equal(*p.PredictedStart)) {
			t.Fatalf("%d control planes, and the first pass is %+v", servers, p.Pass1)
		}
		spans := c.finishUpgrade(t, "next")
		slack := time.Duration(3+len(c.Nodes)+len(c.APIServers)) * c.tick
		for _, n := range p.Nodes {
			if n.PredictedStart == nil {
				t.Fatalf("node %s has no prediction", n.Name)
			}
			if p.Pass1 != nil && n.PredictedStart.Before(p.Pass1.End) {
				t.Fatalf("%s is predicted to begin at %s, before the first pass ends: %v", n.Name, n.PredictedStart, p.Pass1)
			}
			got := spans[n.Name]
			if off := got[0].Sub(*n.PredictedStart).Abs(); off > slack {
				t.Fatalf("%s began at %s, predicted was %s", n.Name, got[0], n.PredictedStart)
			}
			if off := got[1].Sub(*n.PredictedEnd).Abs(); off > slack {
				t.Fatalf("%s was done at %s, predicted was %s", n.Name, got[1], n.PredictedEnd)
			}
		}
		if p.PredictedEnd == nil || c.now.Sub(*p.PredictedEnd).Abs() > slack+2*c.tick {
			t.Fatalf("the upgrade ended at %s, predicted was %v", c.now, p.PredictedEnd)
		}
	})
}

// finishUpgrade runs the cluster until the upgrade has ended, and returns when each node
// was last out of service.
func (c *chaos) finishUpgrade(t *rapid.T, name string) map[string][2]time.Time {
	for range 200 + 60*len(c.Nodes) {
		if c.upgrade(name).Status.Outcome != "" {
			break
		}
		c.step()
	}
	if c.upgrade(name).Status.Outcome != v1alpha1.OutcomeSucceeded {
		t.Fatalf("upgrade %s has not ended: %s", name, fmt.Sprint(c.upgrade(name).Status.Conditions))
	}
	spans := map[string][2]time.Time{}
	for _, nodeUpgrade := range c.NodeUpgrades {
		var begin time.Time
		for _, step := range nodeUpgrade.Status.Steps {
			switch step.Step {
			case v1alpha1.StepLocking:
				begin = step.StartTime.Time
			case v1alpha1.StepUnlocking:
				spans[nodeUpgrade.Name] = [2]time.Time{begin, step.EndTime.Time}
			}
		}
	}
	return spans
}

// TestPredictedEndIncludesAllWork checks that the predicted end is that of the last work,
// also of work that takes no node out of service.
func TestPredictedEndIncludesAllWork(t *testing.T) {
	now := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	const old, aim = "v1.34.3", "v1.34.4"
	nodeUpgrade := func(name, version string, change func(*v1alpha1.NodeUpgrade)) v1alpha1.NodeUpgrade {
		u := v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name}}
		u.Status = v1alpha1.NodeUpgradeStatus{Step: v1alpha1.StepIdle, Versions: v1alpha1.NodeVersions{Kubelet: aim, Kubeadm: version, ControlPlane: version, Staged: aim, Pulled: aim}}
		change(&u)
		return u
	}
	nothing := func(*v1alpha1.NodeUpgrade) {}
	image := v1alpha1.Image{Architecture: "amd64", URL: "http://images.example/k.raw", Digest: v1alpha1.DigestOf("ab")}
	for name, row := range map[string]struct {
		server       string // the version of both control planes
		nodeUpgrades []v1alpha1.NodeUpgrade
		want         time.Duration
	}{
		"kubeadm on two control planes whose kubelets are done": {
			old, []v1alpha1.NodeUpgrade{nodeUpgrade("cp-1", old, nothing), nodeUpgrade("cp-2", old, nothing), nodeUpgrade("w-1", aim, nothing)}, 6 * time.Minute,
		},
		"kubeadm runs on the last": {
			old, []v1alpha1.NodeUpgrade{nodeUpgrade("cp-1", aim, nothing), nodeUpgrade("cp-2", old, func(u *v1alpha1.NodeUpgrade) {
				u.Spec.Upgrade, u.Spec.Release = reference("u"), v1alpha1.ReleaseControlPlane
				u.Status.Step, u.Status.Upgrade, u.Status.StepStartTime = v1alpha1.StepKubeadm, reference("u"), &metav1.Time{Time: now.Add(-time.Minute)}
			}), nodeUpgrade("w-1", aim, nothing)}, 2 * time.Minute,
		},
		"a node aborts an attempt for another upgrade": {
			aim, []v1alpha1.NodeUpgrade{nodeUpgrade("cp-1", aim, nothing), nodeUpgrade("cp-2", aim, nothing), nodeUpgrade("w-1", aim, func(u *v1alpha1.NodeUpgrade) {
				u.Spec.Upgrade, u.Spec.Release = reference("other"), v1alpha1.ReleaseNode
				u.Status.Step, u.Status.Upgrade = v1alpha1.StepDraining, reference("other")
			})}, time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := clusterstate.Snapshot{Policy: managing(), NodeUpgrades: row.nodeUpgrades, Preflight: &clusterstate.Preflight{Upgrade: *reference("u"), At: now}}
			s.Source.Offers = []clusterstate.Offer{{Version: aim, Image: image}}
			for _, one := range row.nodeUpgrades {
				n := clusterstate.Node{Name: one.Name, UID: "u-" + one.Name, OS: "linux", Architecture: "amd64", Ready: true, Kubelet: aim, ControlPlane: one.Name != "w-1"}
				s.Nodes = append(s.Nodes, n)
				if n.ControlPlane {
					s.APIServers = append(s.APIServers, clusterstate.StaticPod{Node: n.Name, Version: row.server, Ready: true})
				}
			}
			u := v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "u", UID: "uid-u"}}
			u.Spec.Version, u.Spec.WindowPolicy, u.Spec.Strategy.EtcdSnapshotPolicy = aim, v1alpha1.WindowPolicyIgnore, v1alpha1.EtcdSnapshotSkip
			s.Upgrades = []v1alpha1.ClusterUpgrade{u}
			s.Preflight.Key = plan.Decide(s, now).PreflightKey
			p := plan.Predict(s, now)
			if p.PredictedEnd == nil || !p.PredictedEnd.Equal(now.Add(row.want)) {
				t.Errorf("predicted end is %v, want %s", p.PredictedEnd, now.Add(row.want))
			}
		})
	}
}

// TestPassAndZones checks that a plan says in which pass control planes begin before any node goes out of service, and
// in which zone each node is.
func TestPassAndZones(t *testing.T) {
	s := &script{sim: newSim(rebootDay)}
	for _, line := range []string{
		"schedule always 2026-01-01T00:00:00Z 2026-01-02T00:00:00Z rule=FREQ=DAILY", "source v1.35.0",
		"node cp1 v1.34.3 control-plane topology.kubernetes.io/zone=eu-a", "node cp2 v1.34.3 control-plane topology.kubernetes.io/zone=eu-b", "node cp3 v1.34.3 control-plane topology.kubernetes.io/zone=eu-c", "node w1 v1.34.3",
		"upgrade v1.35.0 v1.35.0", "tick 1",
	} {
		s.must(t, line)
	}
	p := plan.Predict(s.Snapshot, s.now)
	var zones []string
	for _, n := range p.Nodes {
		zones = append(zones, n.Name+" "+n.Zone)
	}
	if want := []string{"cp1 eu-a", "cp2 eu-b", "cp3 eu-c", "w1 "}; !slices.Equal(zones, want) {
		t.Errorf("the zones are %q, want %q", zones, want)
	}
	if pass := p.Pass1; pass == nil || !slices.Equal(pass.Nodes, []string{"cp1", "cp2", "cp3"}) || !pass.Start.Before(pass.End) || p.Nodes[0].PredictedStart.Before(pass.End) {
		t.Errorf("the first pass is %+v, want one of all control planes before %+v", pass, p.Nodes[0])
	}
}
