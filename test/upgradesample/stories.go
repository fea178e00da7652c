package upgradesample

import (
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// berlin returns a time of November 2026 in Berlin.
func berlin(day, hour, minute int) time.Time {
	zone := time.FixedZone("CET", 3600)
	return time.Date(2026, 11, day, hour, minute, 0, 0, zone).UTC()
}

// Example returns a cluster of 3 control planes and 8 workers after a minor upgrade in two
// nights: with an exclusion, an ignored finding, and a drain that was aborted. The second
// result is when it was read.
func Example() (clusterstate.Snapshot, time.Time) {
	w := example()
	return w.at(w.ends), w.ends.Add(6 * time.Hour)
}

// Running returns the same cluster in the first night, and when it was read.
func Running() (clusterstate.Snapshot, time.Time) {
	now := berlin(14, 2, 46)
	w := example()
	w.upgrade.Status.EtcdSnapshot = nil
	return w.at(now), now
}

func example() *world {
	requested := berlin(12, 14, 5)
	w := &world{upgrade: newUpgrade(requested), schedules: schedules()}
	w.addNodes(3, plan.ControlPlaneGroup, "cp-%d")
	w.addNodes(1, "canary", "canary-%d")
	w.addNodes(5, "web", "web-%d")
	w.addNodes(2, "db", "db-%d")
	w.upgrade.Spec.Strategy = v1alpha1.Strategy{MaxUnavailable: ptr.To(intstr.FromInt32(2)), Groups: []v1alpha1.NodeGroup{
		group("canary"), group("web"), group("db"),
	}}
	w.upgrade.Spec.IgnoreChecks = []v1alpha1.IgnoredCheck{{ID: "pdb-blocks", Comment: "one replica; agreed with the web team in CHG-2041", By: "ben@example.com"}}
	w.upgrade.Status.Findings = []v1alpha1.Finding{
		{ID: "pdb-blocks", Level: v1alpha1.LevelBlock, Ignored: true, Object: v1alpha1.ObjectReference{Kind: "PodDisruptionBudget", Namespace: "shop", Name: "cart"},
			Message: "PodDisruptionBudget shop/cart allows no eviction now: 1 of 1 pods must stay.", Advice: "Add a replica, or allow one pod to be unavailable."},
		{ID: "certificate-ending", Level: v1alpha1.LevelWarn, Object: v1alpha1.ObjectReference{Kind: "Node", Name: "cp-2"},
			Message: "On node cp-2, 2 certificates expire within 30 days: apiserver.crt, front-proxy-client.crt.", Advice: "Nothing: kubeadm upgrade renews them."},
		{ID: "empty-dir", Level: v1alpha1.LevelWarn, Message: "14 pods have emptyDir volumes, whose data is deleted by the drain."},
	}
	w.records = []v1alpha1.UpgradeRecord{earlier(requested.AddDate(0, -1, 0), w.nodes)}
	w.stage(requested.Add(6*time.Second), 70)

	at := berlin(14, 2, 0).Add(3 * time.Second) // the exclusion ends
	for i, n := range w.nodes[:3] {
		at = n.components(at, i == 0).Add(2 * time.Second)
	}
	w.upgrade.Status.EtcdSnapshot = &v1alpha1.EtcdSnapshot{
		Node: "cp-1", Path: "/opt/kubectl-upgrade/snapshots/v1.35.4-6f1c2f0e.db",
		Digest: "sha256:4e07408562bedb8b60ce05c1decfe3ad16b72230967de01f640b7e4729b49fce", CreationTime: metav1.Time{Time: berlin(14, 2, 0).Add(14 * time.Second)},
	}
	for _, n := range w.nodes[:3] {
		at = n.reboot(at, 38).Add(2 * time.Second)
	}
	at = w.nodes[3].reboot(at, 52).Add(2 * time.Second)
	web := w.nodes[4:9]
	first := web[0].reboot(at, 64)
	aborted := web[1].abort(at)
	second := web[2].reboot(first.Add(3*time.Second), 58)
	third := web[3].reboot(second.Add(2*time.Second), 75)
	web[4].reboot(aborted.Add(20*time.Second), 60)
	web[1].reboot(third.Add(4*time.Second), 210)

	at = berlin(15, 2, 0).Add(2 * time.Second) // the databases' window
	for _, n := range w.nodes[9:] {
		at = n.reboot(at, 190).Add(2 * time.Second)
	}
	w.ends = at.Truncate(time.Second)
	return w
}

func group(pool string) v1alpha1.NodeGroup {
	return v1alpha1.NodeGroup{Name: pool, NodeSelector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"pool": v1alpha1.LabelValue(pool)}}}
}

func schedules() []v1alpha1.MaintenanceSchedule {
	period := func(name string, start, end time.Time, rule string) v1alpha1.Period {
		return v1alpha1.Period{Name: name, StartTime: metav1.Time{Time: start}, EndTime: metav1.Time{Time: end}, Recurrence: rule}
	}
	schedule := func(name string, operator v1alpha1.LabelOperator, windows ...v1alpha1.Period) v1alpha1.MaintenanceSchedule {
		s := v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: name}}
		s.Spec.TimeZone = "Europe/Berlin"
		if operator != "" {
			s.Spec.NodeSelector = &v1alpha1.LabelSelector{MatchExpressions: []v1alpha1.LabelRequirement{{Key: "pool", Operator: operator, Values: []v1alpha1.LabelValue{"db"}}}}
		}
		for _, w := range windows {
			s.Spec.MaintenanceWindows = append(s.Spec.MaintenanceWindows, v1alpha1.MaintenanceWindow{Period: w})
		}
		return s
	}
	freeze := schedule("payroll", "")
	freeze.Spec.MaintenanceExclusions = []v1alpha1.MaintenanceExclusion{{
		Period: period("november", berlin(13, 22, 0), berlin(14, 2, 0), ""), Comment: "payroll run, OPS-4711",
	}}
	return []v1alpha1.MaintenanceSchedule{
		schedule("weekend", "NotIn", period("saturday", berlin(7, 1, 0), berlin(7, 5, 0), "FREQ=WEEKLY;BYDAY=SA")),
		schedule("databases", "In", period("sunday", berlin(8, 2, 0), berlin(8, 4, 0), "FREQ=WEEKLY;BYDAY=SU")),
		freeze,
	}
}

// addNodes adds so many nodes of a pool.
func (w *world) addNodes(count int, pool, format string) {
	for i := range count {
		w.nodes = append(w.nodes, &node{name: fmt.Sprintf(format, i+1), pool: pool, rand: rand.New(rand.NewPCG(7, uint64(len(w.nodes))))}) //nolint:gosec // not secret
	}
}

// stage has every node stage the image.
func (w *world) stage(at time.Time, seconds float64) {
	for _, n := range w.nodes {
		n.step(at, v1alpha1.StepStaging, seconds)
	}
}

// Fleet returns a cluster of so many nodes after a minor upgrade in as many nights as it
// needed, with 2 % of the nodes out of service at once, and when it was read.
func Fleet(nodes int) (clusterstate.Snapshot, time.Time) {
	requested, all := berlin(12, 14, 5), schedules()
	all[0].Spec.NodeSelector = nil // the window of every node
	w := &world{upgrade: newUpgrade(requested), schedules: all}
	w.addNodes(3, plan.ControlPlaneGroup, "control-plane-%d")
	w.addNodes(max(nodes/100, 1), "canary", "canary-%03d")
	w.addNodes(max(nodes/10, 1), "db", "database-%04d")
	w.addNodes(max(nodes-len(w.nodes), 1), "web", "worker-eu-central-1a-%05d")
	w.upgrade.Spec.Strategy = v1alpha1.Strategy{MaxUnavailable: ptr.To(intstr.FromString("2%")), Groups: []v1alpha1.NodeGroup{
		group("canary"), group("db"), group("web"),
	}}
	w.records = []v1alpha1.UpgradeRecord{earlier(requested.AddDate(0, -1, 0), w.nodes)}
	w.stage(requested.Add(6*time.Second), 200)
	at := berlin(14, 2, 0).Add(3 * time.Second)
	for i, n := range w.nodes[:3] {
		at = n.components(at, i == 0).Add(2 * time.Second)
	}
	for _, n := range w.nodes[:3] {
		at = n.reboot(at, 38).Add(2 * time.Second)
	}
	w.ends = w.rollOut(w.nodes[3:], at, max(nodes/50, 1)).Truncate(time.Second)
	return w.at(w.ends), w.ends.Add(time.Hour)
}

// rollOut reboots the nodes, so many at once, in the windows.
func (w *world) rollOut(nodes []*node, at time.Time, slots int) (end time.Time) {
	free := make([]time.Time, slots)
	for i := range free {
		free[i] = at.Add(time.Duration(i) * time.Second)
	}
	for i, n := range nodes {
		slot := 0
		for j := range free {
			if free[j].Before(free[slot]) {
				slot = j
			}
		}
		start := inWindow(free[slot])
		if i%97 == 13 {
			start = inWindow(n.abort(start).Add(5 * time.Minute))
		}
		free[slot] = n.reboot(start, 40+float64(i%7)*12).Add(2 * time.Second)
		if free[slot].After(end) {
			end = free[slot]
		}
	}
	return end
}

// inWindow returns t, or where too little of its window is left the start of the next.
func inWindow(t time.Time) time.Time {
	closes := berlin(14, 4, 50)
	for t.After(closes) {
		closes = closes.AddDate(0, 0, 7)
	}
	if opens := closes.Add(-(3*time.Hour + 50*time.Minute)); t.Before(opens) {
		return opens.Add(time.Duration(t.Second()) * time.Second)
	}
	return t
}
