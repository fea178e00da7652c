package plan_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// askForReboot sets whether the operating system requires a reboot.
func askForReboot(status *v1alpha1.NodeUpgradeStatus, asks bool) {
	status.Reboot.Required, status.Reboot.Message = asks, ""
	if asks {
		status.Reboot.Message = "update_engine has installed an update"
	}
}

// usePackages draws whether the node's Kubernetes comes from packages.
func usePackages(t *rapid.T, status *v1alpha1.NodeUpgradeStatus) {
	status.ImageProblem = usually(t, "unsupported", nil, rapid.Just(&v1alpha1.Problem{Reason: v1alpha1.NoSysextImage, Message: "Kubernetes comes from packages"}))
}

// boot boots the node, after which its operating system requires no reboot.
func (s *sim) boot(n *clusterstate.Node, status *v1alpha1.NodeUpgradeStatus) {
	s.boots++
	n.BootID = fmt.Sprintf("boot-%d", s.boots)
	askForReboot(status, false)
}

// afterLock begins an attempt, once the node holds its slot.
func afterLock(spec v1alpha1.NodeUpgradeSpec, status *v1alpha1.NodeUpgradeStatus) {
	status.Upgrade, status.Reboot.FromBootID, status.Method = spec.Upgrade, "", ""
	status.Step = v1alpha1.StepKubeadm
	if spec.Type == v1alpha1.TypeReboot || spec.Type == v1alpha1.TypeRollback {
		status.Step = v1alpha1.StepCordoning
	}
}

// afterKubeadm returns the step after kubeadm.
func (s *sim) afterKubeadm(n *clusterstate.Node, spec v1alpha1.NodeUpgradeSpec, status *v1alpha1.NodeUpgradeStatus) v1alpha1.Step {
	status.Method = v1alpha1.MethodReboot
	if spec.Method == v1alpha1.MethodRestart && spec.Type == v1alpha1.TypePatch && !s.mounted(n.Name) {
		status.Method = v1alpha1.MethodRestart
		return v1alpha1.StepLastCheck
	}
	if spec.Method == v1alpha1.MethodSoftReboot && spec.Type != v1alpha1.TypeReboot && !status.Reboot.Required && !s.mounted(n.Name) {
		status.Method = v1alpha1.MethodSoftReboot
	}
	return v1alpha1.StepCordoning
}

func lastCheck(n *clusterstate.Node, spec v1alpha1.NodeUpgradeSpec, status *v1alpha1.NodeUpgradeStatus) {
	status.Step = v1alpha1.StepActivating
	if spec.Type == v1alpha1.TypeReboot {
		status.Step = v1alpha1.StepRebooting
	}
	if status.Method != v1alpha1.MethodRestart {
		status.Reboot.FromBootID = n.BootID
	}
}

// TestRebootPromises is TestPromises for a Reboot: operating systems ask for one
// at the start and later, at any moment. Each node that asked is rebooted once,
// and none runs another Kubernetes than before. Some nodes have Kubernetes from packages.
// One with the rebootPolicy Always reboots each node that is there at its trigger, and ends no other boot.
func TestRebootPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newChaos(t)
		u := &c.Upgrades[0]
		u.Spec.Type, u.Spec.Version, u.Spec.Strategy.Method = v1alpha1.TypeReboot, "", v1alpha1.MethodReboot
		if oneIn4.Draw(t, "always") {
			u.Spec.RebootPolicy = v1alpha1.RebootAlways
		}
		for i := range c.Nodes {
			status := &c.nodeUpgrade(c.Nodes[i].Name, c.Nodes[i].UID).Status
			askForReboot(status, coin.Draw(t, "asks"))
			usePackages(t, status)
		}
		for range rapid.IntRange(5, 80).Draw(t, "steps") {
			if oneIn4.Draw(t, "a node asks") {
				n := rapid.SampledFrom(c.Nodes).Draw(t, "who")
				askForReboot(&c.nodeUpgrade(n.Name, n.UID).Status, true)
			}
			c.disturb(t)
			c.check(t, c.step())
		}
		c.repairAll()
		for range 40 + 16*len(c.Nodes) {
			c.check(t, c.step())
		}
		if len(c.Etcd) != 2 && c.Upgrades[0].Status.Outcome != v1alpha1.OutcomeSucceeded {
			t.Fatalf("the upgrade has not succeeded: %+v", c.Upgrades[0].Status)
		}
		for _, n := range c.Nodes {
			if u := c.Upgrades[0].Status; u.Outcome == v1alpha1.OutcomeSucceeded && n.BootID != "" && n.BootID == u.BootOf(n.Name) && c.nodeUpgrade(n.Name, n.UID).Abandoned == nil {
				t.Fatalf("node %s is still in the boot %s, which the upgrade was to end", n.Name, n.BootID)
			}
			if n.Kubelet != "v1.34.3" {
				t.Fatalf("node %s runs %s, want v1.34.3", n.Name, n.Kubelet)
			}
		}
	})
}

var rebootDay = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

// must executes one command.
func (s *script) must(t *testing.T, line string) {
	t.Helper()
	if err := s.run(&strings.Builder{}, strings.Fields(line)); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
}

// TestAutomaticRebootOnceADay checks that no second Reboot is created on the same day, and
// that the planner runs again on the next.
func TestAutomaticRebootOnceADay(t *testing.T) {
	s := &script{sim: newSim(rebootDay)}
	for _, line := range []string{
		"node cp1 v1.34.3 control-plane", "tick 2", "os cp1 asks",
		"schedule always 2026-01-01T00:00:00Z 2026-01-02T00:00:00Z rule=FREQ=DAILY", "automatic Reboot",
	} {
		s.must(t, line)
	}
	p := plan.Decide(s.Snapshot, s.now)
	if p.Create == nil || p.Create.Name != "reboot-2026-11-18" || p.Create.Spec.Type != v1alpha1.TypeReboot || !reflect.ValueOf(p.Create.Spec.Strategy).IsZero() {
		t.Fatalf("creates %+v, want reboot-2026-11-18 with the default strategy", p.Create)
	}
	s.must(t, "tick 20")
	s.must(t, "os cp1 asks")
	p = plan.Decide(s.Snapshot, s.now)
	if p.Create != nil || p.Next == nil || p.Next.After(rebootDay.AddDate(0, 0, 1)) {
		t.Errorf("creates %+v and decides again at %v, want nothing created and a decision tomorrow", p.Create, p.Next)
	}
}

// TestBootsFit checks that the boots that a Reboot ends fit into a ClusterUpgrade, whatever kubelets report and however
// many nodes there are: what the API server refuses holds every upgrade.
func TestBootsFit(t *testing.T) {
	s := &script{sim: newSim(rebootDay)}
	for _, line := range []string{
		"schedule always 2026-01-01T00:00:00Z 2026-01-02T00:00:00Z rule=FREQ=DAILY", "node cp1 v1.34.3 control-plane", "node w1 v1.34.3", "tick 2",
		"upgrade os type=Reboot reboots=Always",
	} {
		s.must(t, line)
	}
	s.node("w1").BootID = strings.Repeat("b", v1alpha1.MaxBootID+1)
	p := plan.Decide(s.Snapshot, s.now)
	if boots := p.Statuses[0].Status.Boots; len(boots) != 1 || boots[0] != (v1alpha1.NodeBoot{Name: "cp1", BootID: "boot"}) {
		t.Errorf("the boots are %v, want that of cp1 alone", boots)
	}
	for i := range v1alpha1.MaxBoots {
		n := *s.node("cp1")
		n.Name, n.UID, n.ControlPlane = fmt.Sprintf("n%d", i), fmt.Sprintf("u%d", i), false
		s.Nodes = append(s.Nodes, n)
	}
	reason, message := plan.Decide(s.Snapshot, s.now).Statuses[0].Status.Explain()
	if want := "rebootPolicy Always is for at most 5000 nodes, and this upgrade selects 5001: select fewer with nodeSelector"; reason != v1alpha1.ReasonUpgradeInvalid || message != want {
		t.Errorf("got %s: %s, want %s", reason, message, want)
	}
}
