package plan_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// largeCluster is a cluster of that many nodes in three zones and ten groups, three of
// them control planes, with five schedules, in the middle of an upgrade: every
// node is staged, and pass 1 is over.
func largeCluster(size int, maxUnavailable string) *sim {
	s := newSim(time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC)) // a Sunday, as the window opens
	u := v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "u", UID: "uid-u"}}
	u.Spec.Version = "v1.34.4"
	limit := intstr.Parse(maxUnavailable)
	u.Spec.Strategy.MaxUnavailable = &limit
	for i := range 10 {
		u.Spec.Strategy.Groups = append(u.Spec.Strategy.Groups, v1alpha1.NodeGroup{
			Name: fmt.Sprintf("g%d", i), NodeSelector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"pool": v1alpha1.LabelValue(fmt.Sprint(i))}},
		})
	}
	s.Upgrades = append(s.Upgrades, u)
	image := v1alpha1.Image{Architecture: "amd64", URL: "http://images/", Digest: v1alpha1.DigestOf(fmt.Sprintf("%064d", 1))}
	s.Source.Offers = []clusterstate.Offer{{Version: "v1.34.4", Image: image}}
	for i := range size {
		s.addFleetNode(i)
	}
	s.addFleetHistory()
	s.addFleetSchedules()
	s.addFleetChecks()
	return s
}

// addFleetHistory adds a year of upgrades, each with a record of every node.
func (s *sim) addFleetHistory() {
	for month := range 12 {
		at := metav1.NewTime(s.now.AddDate(0, -1-month, 0))
		past := v1alpha1.UpgradeReference{Name: fmt.Sprint("past", month), UID: fmt.Sprint("uid-past", month)}
		for nodes := range slices.Chunk(s.Nodes, 500) {
			r := v1alpha1.UpgradeRecord{Spec: v1alpha1.UpgradeRecordSpec{UpgradeSummary: v1alpha1.UpgradeSummary{Upgrade: past, Version: "v1.34.3", Outcome: v1alpha1.OutcomeSucceeded, EndTime: at}}}
			for _, n := range nodes {
				r.Spec.Nodes = append(r.Spec.Nodes, v1alpha1.NodeRecord{Name: n.Name, StartTime: &at, EndTime: &at, RebootSeconds: 300})
			}
			s.Records = append(s.Records, r)
		}
	}
}

func (s *sim) addFleetNode(i int) {
	n := clusterstate.Node{Name: fmt.Sprintf("n%05d", i), UID: fmt.Sprintf("u%d", i), Kubelet: "v1.34.3", Ready: true, OS: "linux", Architecture: "amd64"}
	n.Labels = map[string]string{
		"kubernetes.io/hostname": n.Name, "kubernetes.io/os": "linux", "topology.kubernetes.io/region": "r",
		"topology.kubernetes.io/zone": fmt.Sprint("z", i%3), "pool": fmt.Sprint(i / 3 % 10),
	}
	nodeUpgrade := v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}
	nodeUpgrade.Status.Step, nodeUpgrade.Status.Versions.Staged = v1alpha1.StepWaiting, "v1.34.4"
	nodeUpgrade.Status.Steps = servedSteps(s.now.AddDate(0, 0, -7))
	if i < 3 {
		n.ControlPlane = true
		nodeUpgrade.Status.Versions.Kubeadm, nodeUpgrade.Status.Versions.ControlPlane = "v1.34.4", "v1.34.4"
		s.APIServers = append(s.APIServers, clusterstate.StaticPod{Node: n.Name, Version: "v1.34.4", Ready: true})
		s.Etcd = append(s.Etcd, clusterstate.StaticPod{Node: n.Name, Ready: true})
	}
	s.Nodes = append(s.Nodes, n)
	s.NodeUpgrades = append(s.NodeUpgrades, nodeUpgrade)
}

// servedSteps returns the steps of a node that was out of service for five minutes.
func servedSteps(at time.Time) []v1alpha1.StepTime {
	var steps []v1alpha1.StepTime
	for _, step := range []v1alpha1.Step{
		v1alpha1.StepLocking, v1alpha1.StepKubeadm, v1alpha1.StepCordoning, v1alpha1.StepDraining, v1alpha1.StepLastCheck,
		v1alpha1.StepActivating, v1alpha1.StepRebooting, v1alpha1.StepVerifying, v1alpha1.StepUncordoning, v1alpha1.StepUnlocking,
	} {
		end := metav1.NewMicroTime(at.Add(30 * time.Second))
		steps = append(steps, v1alpha1.StepTime{Step: step, StartTime: metav1.NewMicroTime(at), EndTime: &end})
		at = end.Time
	}
	return steps
}

// addFleetSchedules adds weekend nights for all, working days for some, and
// freezes.
func (s *sim) addFleetSchedules() {
	period := func(start string, lasts time.Duration, rule string) v1alpha1.Period {
		at, _ := time.Parse(time.RFC3339, start)
		return v1alpha1.Period{Name: "p", StartTime: metav1.NewTime(at), EndTime: metav1.NewTime(at.Add(lasts)), Recurrence: rule}
	}
	window := func(name string, p v1alpha1.Period, pool string) {
		m := v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: name}}
		m.Spec.TimeZone = "Europe/Berlin"
		m.Spec.MaintenanceWindows = []v1alpha1.MaintenanceWindow{{Period: p}}
		if pool != "" {
			m.Spec.NodeSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"pool": v1alpha1.LabelValue(pool)}}
		}
		s.Schedules = append(s.Schedules, m)
	}
	window("nights", period("2026-01-03T01:00:00+01:00", 4*time.Hour, "FREQ=WEEKLY;BYDAY=SA,SU"), "")
	window("pool-3", period("2026-01-05T09:00:00+01:00", 8*time.Hour, "FREQ=WEEKLY;BYDAY=TU,WE,TH"), "3")
	window("pool-5", period("2026-01-05T22:00:00+01:00", 6*time.Hour, "FREQ=DAILY"), "5")
	for _, freeze := range []v1alpha1.Period{
		period("2026-12-20T00:00:00+01:00", 17*24*time.Hour, "FREQ=YEARLY"), period("2026-01-01T00:00:00+01:00", 24*time.Hour, "FREQ=MONTHLY"),
	} {
		m := v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: "freeze-" + freeze.Recurrence}}
		m.Spec.TimeZone = "Europe/Berlin"
		m.Spec.MaintenanceExclusions = []v1alpha1.MaintenanceExclusion{{Period: freeze}}
		s.Schedules = append(s.Schedules, m)
	}
}

// addFleetChecks adds many warnings, a node that is blocked, and webhooks with
// two backends each.
func (s *sim) addFleetChecks() {
	for i := range 100 {
		s.findings = append(s.findings, v1alpha1.Finding{ID: "replicas", Level: v1alpha1.LevelWarn, Object: v1alpha1.ObjectReference{Kind: "Deployment", Namespace: "n", Name: fmt.Sprint("d", i)}, Message: "it has one replica"})
		nodes := []string{fmt.Sprintf("n%05d", 10+i), fmt.Sprintf("n%05d", 200+i)}
		s.Webhooks = append(s.Webhooks, clusterstate.Webhook{Name: "w", Configuration: "c", Namespace: "n", Service: fmt.Sprint("s", i), Nodes: nodes})
	}
	s.decide()
}

// BenchmarkDecide measures one decision. Its time is proportional to the number of nodes:
// some 14 ms for 5,000.
func BenchmarkDecide(b *testing.B) {
	for _, size := range []int{500, 5000, 50000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := largeCluster(size, "1%")
			for b.Loop() {
				plan.Decide(s.Snapshot, s.now)
			}
		})
	}
}

// BenchmarkPredict measures the prediction of a whole rollout, which decides again whenever
// a node comes back or a window opens or closes: at most 5 s for 5,000 nodes.
func BenchmarkPredict(b *testing.B) {
	for _, limit := range []string{"1", "1%", "10%"} {
		b.Run("5000/"+limit, func(b *testing.B) {
			s := largeCluster(5000, limit)
			var p plan.Plan
			for b.Loop() {
				p = plan.Predict(s.Snapshot, s.now)
			}
			if p.PredictedEnd == nil {
				b.Fatal("the predicted rollout has no end")
			}
			b.ReportMetric(p.PredictedEnd.Sub(s.now).Hours()/24, "days")
		})
	}
}
