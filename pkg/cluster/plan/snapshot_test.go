package plan_test

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

var (
	anyVersion = rapid.SampledFrom([]string{"v1.33.9", "v1.34.3", "v1.34.3", "v1.34.4", "v1.34.4", "v1.35.0", "v1.36.1", "", "latest"})
	anyStep    = rapid.SampledFrom([]v1alpha1.Step{
		"", v1alpha1.StepIdle, v1alpha1.StepWaiting, v1alpha1.StepWaiting, v1alpha1.StepWaiting, v1alpha1.StepWaiting, v1alpha1.StepStaging,
		v1alpha1.StepLocking, v1alpha1.StepKubeadm, v1alpha1.StepChecking, v1alpha1.StepCordoning, v1alpha1.StepDraining, v1alpha1.StepLastCheck,
		v1alpha1.StepActivating, v1alpha1.StepRebooting, v1alpha1.StepVerifying, v1alpha1.StepSettling, v1alpha1.StepUncordoning,
		v1alpha1.StepUnlocking, v1alpha1.StepAborting, v1alpha1.StepFailed, v1alpha1.StepRolledBack, v1alpha1.StepUnsupported,
	})
	oneIn4 = rapid.Map(rapid.IntRange(0, 3), func(n int) bool { return n == 0 })
	rarely = rapid.Map(rapid.IntRange(0, 9), func(n int) bool { return n == 9 })
	mostly = rapid.Map(rarely, func(b bool) bool { return !b })
	coin   = rapid.Bool()
)

// usually returns the usual value nine times of ten, and otherwise draws another.
func usually[T any](t *rapid.T, label string, usual T, other *rapid.Generator[T]) T {
	if mostly.Draw(t, "usual "+label) {
		return usual
	}
	return other.Draw(t, label)
}

// anySnapshot draws a random snapshot, also one that no real cluster has.
func anySnapshot(t *rapid.T, now time.Time) clusterstate.Snapshot {
	var s clusterstate.Snapshot
	for i := range rapid.IntRange(0, 8).Draw(t, "nodes") {
		addAnyNode(t, &s, i, now)
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "slots") {
		slot := clusterstate.Slot{Name: fmt.Sprintf("slot-%d", i), Unreadable: rarely.Draw(t, "unreadable")}
		if len(s.Nodes) > 0 && oneIn4.Draw(t, "reserved") {
			slot.ReservedFor = rapid.SampledFrom(s.Nodes).Draw(t, "for").Owner()
			if coin.Draw(t, "held") {
				slot.Holder = slot.ReservedFor
			}
		}
		s.Slots = append(s.Slots, slot)
	}
	for i := range usually(t, "upgrades", 1, rapid.IntRange(0, 3)) {
		s.Upgrades = append(s.Upgrades, anyUpgrade(t, i, now))
		addAnyRecord(t, &s, s.Upgrades[i])
	}
	if s.Policy == nil {
		s.Policy = managing()
	}
	if rarely.Draw(t, "observes") {
		s.Policy.Spec.Mode = v1alpha1.ModeObserve
	}
	if rarely.Draw(t, "manages some") {
		s.Policy.Spec.NodeSelector = selector("pool=a")
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "schedules") {
		s.Schedules = append(s.Schedules, anySchedule(t, i, now))
	}
	if rarely.Draw(t, "another manager") {
		s.RebootManagers = []clusterstate.RebootManager{{Name: "kured", Message: "kured holds its lock", Passes: coin.Draw(t, "passes")}}
	}
	for _, v := range []string{"v1.34.3", "v1.34.4", "v1.35.0"} {
		s.Source.Offers = append(s.Source.Offers, clusterstate.Offer{Version: v, Image: v1alpha1.Image{Architecture: "amd64", URL: "http://images/" + v}})
	}
	addAnyChecks(t, &s, now)
	return s
}

// addAnyChecks adds a report of preflight, mostly a current one, and webhooks.
func addAnyChecks(t *rapid.T, s *clusterstate.Snapshot, now time.Time) {
	if len(s.Nodes) == 0 || rarely.Draw(t, "unchecked") {
		return
	}
	name := rapid.Custom(func(t *rapid.T) string { return rapid.SampledFrom(s.Nodes).Draw(t, "node").Name })
	for range rapid.IntRange(0, 2).Draw(t, "webhooks") {
		nodes := rapid.SliceOfNDistinct(name, 1, min(3, len(s.Nodes)), rapid.ID[string]).Draw(t, "backends")
		s.Webhooks = append(s.Webhooks, clusterstate.Webhook{Name: "w", Namespace: "n", Service: "s", Nodes: nodes})
	}
	p := plan.Decide(*s, now)
	s.Preflight = &clusterstate.Preflight{
		Upgrade: *reference(usually(t, "checked upgrade", p.Upgrade, rapid.Just("other"))), Key: usually(t, "key", p.PreflightKey, rapid.Just("other")),
		At: now.Add(-time.Duration(rapid.IntRange(0, 12).Draw(t, "age")) * time.Minute),
	}
	for range rapid.IntRange(0, 2).Draw(t, "findings") {
		f := v1alpha1.Finding{ID: "any", Level: usually(t, "level", v1alpha1.LevelWarn, rapid.Just(v1alpha1.LevelBlock)), Message: "something is wrong", Ignored: rarely.Draw(t, "ignored")}
		if coin.Draw(t, "of one node") {
			f.Node = name.Draw(t, "node")
		}
		s.Preflight.Findings = append(s.Preflight.Findings, f)
	}
}

func addAnyNode(t *rapid.T, s *clusterstate.Snapshot, i int, now time.Time) {
	n := clusterstate.Node{
		Name: fmt.Sprintf("n%d", i), UID: fmt.Sprintf("u%d", i), BootID: "boot-1", OS: "linux", Architecture: "amd64",
		Kubelet: usually(t, "kubelet", "v1.34.3", anyVersion), Ready: mostly.Draw(t, "ready"), Cordoned: rarely.Draw(t, "cordoned"),
		ControlPlane: i < 3 && coin.Draw(t, "control plane"),
		Labels:       map[string]string{"pool": rapid.SampledFrom([]string{"a", "b"}).Draw(t, "pool"), "topology.kubernetes.io/zone": rapid.SampledFrom([]string{"x", "y"}).Draw(t, "zone")},
	}
	if rarely.Draw(t, "on hold") {
		n.Labels[v1alpha1.HoldLabel] = ""
	}
	if rarely.Draw(t, "marked") {
		n.SlotAnnotation = rapid.SampledFrom([]string{"slot-0", "slot-1", "slot-7", "nonsense"}).Draw(t, "mark")
	}
	if n.ControlPlane && mostly.Draw(t, "has static pods") {
		s.APIServers = append(s.APIServers, clusterstate.StaticPod{Node: n.Name, Version: usually(t, "apiserver", "v1.34.4", anyVersion), Ready: true})
		s.Etcd = append(s.Etcd, clusterstate.StaticPod{Node: n.Name, Ready: mostly.Draw(t, "etcd")})
	}
	s.Nodes = append(s.Nodes, n)
	if rarely.Draw(t, "no agent") {
		return
	}
	if rarely.Draw(t, "something is mounted") {
		inventory := v1alpha1.NodeInventory{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}
		inventory.RefreshBlockers = []string{"/opt/cni"}
		s.Inventories = append(s.Inventories, inventory)
	}
	nodeUpgrade := v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: n.Name, OwnerReferences: []metav1.OwnerReference{{Kind: "Node", Name: n.Name, UID: types.UID(n.UID)}}}}
	if rarely.Draw(t, "abandoned") {
		nodeUpgrade.Abandoned = &v1alpha1.Abandoned{Comment: "gone"}
	}
	nodeUpgrade.Spec.Upgrade = usually(t, "for upgrade", reference("u0"), rapid.SampledFrom([]*v1alpha1.UpgradeReference{nil, reference("u1")}))
	nodeUpgrade.Spec.Release = rapid.SampledFrom([]v1alpha1.Release{v1alpha1.ReleaseNone, "", v1alpha1.ReleaseControlPlane, v1alpha1.ReleaseNode}).Draw(t, "release")
	nodeUpgrade.Status.Step = usually(t, "step", v1alpha1.StepWaiting, anyStep)
	usePackages(t, &nodeUpgrade.Status)
	nodeUpgrade.Status.Versions.Staged = usually(t, "staged", "v1.34.4", anyVersion)
	nodeUpgrade.Status.Versions.Kubeadm = usually(t, "kubeadm", "v1.34.4", anyVersion)
	nodeUpgrade.Status.Versions.ControlPlane = usually(t, "static pods", "v1.34.4", anyVersion)
	nodeUpgrade.Status.Reboot.Required = coin.Draw(t, "asks for a reboot")
	nodeUpgrade.Status.Versions.NextBoot = usually(t, "active", n.Kubelet, anyVersion)
	if n.SlotAnnotation != "" && coin.Draw(t, "its own mark") {
		nodeUpgrade.Spec.Slot = n.SlotAnnotation
	}
	nodeUpgrade.Status.Upgrade = nodeUpgrade.Spec.Upgrade
	nodeUpgrade.Status.Reboot.FromBootID = rapid.SampledFrom([]string{"", "", "boot-0", "boot-1"}).Draw(t, "rebooted from")
	if rarely.Draw(t, "retries") {
		nodeUpgrade.Status.Retry.Time = &metav1.Time{Time: now.Add(time.Duration(rapid.IntRange(-60, 60).Draw(t, "retry")) * time.Minute)}
		setCause(&nodeUpgrade.Status, v1alpha1.ReasonDrainTimeout, "a pod did not leave")
	}
	if nodeUpgrade.Status.Step == v1alpha1.StepFailed || nodeUpgrade.Status.Step == v1alpha1.StepRolledBack {
		setCause(&nodeUpgrade.Status, v1alpha1.ReasonWrongVersion, "")
	}
	if coin.Draw(t, "went through it before") {
		nodeUpgrade.Status.Steps = servedSteps(now.AddDate(0, 0, -7))
	}
	s.NodeUpgrades = append(s.NodeUpgrades, nodeUpgrade)
}

func anyUpgrade(t *rapid.T, i int, now time.Time) v1alpha1.ClusterUpgrade {
	u := v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("u%d", i), UID: types.UID(fmt.Sprintf("uid-u%d", i)), CreationTimestamp: metav1.NewTime(now)}}
	u.Spec.Version = usually(t, "version", "v1.34.4", rapid.SampledFrom([]string{"v1.35.0", "v1.34.3", "nonsense"}))
	if rarely.Draw(t, "a reboot") {
		u.Spec.Type, u.Spec.Version = v1alpha1.TypeReboot, ""
		u.Spec.RebootPolicy = usually(t, "reboots", "", rapid.Just(v1alpha1.RebootAlways))
	} else if rarely.Draw(t, "not a reboot") {
		u.Spec.Strategy.Method = rapid.SampledFrom(v1alpha1.Methods[1:]).Draw(t, "method")
	}
	u.Spec.Suspend = rarely.Draw(t, "suspend")
	if rarely.Draw(t, "of some nodes") {
		u.Spec.NodeSelector = selector("pool=b")
	}
	if rarely.Draw(t, "to be approved") {
		u.Spec.Strategy.Approval, u.Spec.Approved.Upgrade = v1alpha1.ApprovalRequired, coin.Draw(t, "approved")
	}
	u.Spec.Strategy.MaxFailures = ptr.To(rapid.Int32Range(0, 2).Draw(t, "failures"))
	if rarely.Draw(t, "ignore") {
		u.Spec.WindowPolicy = v1alpha1.WindowPolicyIgnore
	}
	limit := rapid.SampledFrom([]intstr.IntOrString{intstr.FromInt32(2), intstr.FromInt32(1), intstr.FromInt32(3), intstr.FromString("20%"), intstr.FromString("nonsense")}).Draw(t, "limit")
	u.Spec.Strategy.MaxUnavailable = &limit
	if coin.Draw(t, "groups") {
		u.Spec.Strategy.Groups = []v1alpha1.NodeGroup{{Name: "b", NodeSelector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"pool": "b"}}, MaxUnavailable: &limit}}
		if rarely.Draw(t, "group to be approved") {
			u.Spec.Strategy.Groups[0].Approval = v1alpha1.ApprovalRequired
		}
	}
	switch rapid.IntRange(0, 3).Draw(t, "state") {
	case 0:
		at := metav1.NewTime(now.Add(-time.Hour))
		u.Status.Outcome, u.Status.EndTime, u.Status.TriggerTime = v1alpha1.OutcomeSucceeded, &at, &at
	case 1:
		at := metav1.NewTime(now.Add(-time.Hour))
		u.Status.TriggerTime, u.Status.Type = &at, v1alpha1.TypePatch
		if u.Spec.Type != "" {
			u.Status.Type = u.Spec.Type
		}
		u.Status.Images = []v1alpha1.Image{{Architecture: "amd64", URL: "http://images/"}}
	}
	return u
}

// addAnyRecord adds the record of an upgrade that has ended.
func addAnyRecord(t *rapid.T, s *clusterstate.Snapshot, u v1alpha1.ClusterUpgrade) {
	if u.Status.Outcome == "" {
		return
	}
	at := *u.Status.EndTime
	r := v1alpha1.UpgradeRecord{Spec: v1alpha1.UpgradeRecordSpec{UpgradeSummary: v1alpha1.UpgradeSummary{Upgrade: u.Reference(), Outcome: u.Status.Outcome, EndTime: at}}}
	for i := range rapid.IntRange(0, 4).Draw(t, "recorded") {
		took := rapid.SampledFrom([]int32{0, 0, 60, 600, 86400})
		r.Spec.Nodes = append(r.Spec.Nodes, v1alpha1.NodeRecord{
			Name: fmt.Sprintf("n%d", i), StartTime: &at, ComponentsSeconds: took.Draw(t, "components"),
			RebootSeconds: took.Draw(t, "reboot"), RestartSeconds: took.Draw(t, "restart"), SoftRebootSeconds: took.Draw(t, "soft reboot"),
		})
	}
	s.Records = append(s.Records, r)
	if u.Spec.Version != "" && coin.Draw(t, "followed") {
		reference := u.Reference()
		s.Policy = &v1alpha1.UpgradePolicy{Spec: v1alpha1.UpgradePolicySpec{Mode: v1alpha1.ModeManage}, Status: v1alpha1.UpgradePolicyStatus{RememberedState: v1alpha1.RememberedState{Version: u.Spec.Version, Upgrade: &reference, Images: []v1alpha1.Image{{Architecture: "amd64", URL: "http://images/"}}}}}
	}
}

// anySchedule draws a window or an exclusion around now, for all nodes or for one pool.
func anySchedule(t *rapid.T, i int, now time.Time) v1alpha1.MaintenanceSchedule {
	m := v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s%d", i)}}
	begin := now.Add(time.Duration(rapid.IntRange(-90, 10).Draw(t, "begin")) * time.Minute)
	end := begin.Add(time.Duration(rapid.IntRange(60, 240).Draw(t, "length")) * time.Minute)
	p := v1alpha1.Period{Name: "p", StartTime: metav1.NewTime(begin), EndTime: metav1.NewTime(end)}
	p.Recurrence = rapid.SampledFrom([]string{"", "FREQ=DAILY", "FREQ=WEEKLY"}).Draw(t, "rule")
	if coin.Draw(t, "of one pool") {
		m.Spec.NodeSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"pool": "a"}}
	}
	if rarely.Draw(t, "exclusion") {
		m.Spec.MaintenanceExclusions = []v1alpha1.MaintenanceExclusion{{Period: p}}
	} else {
		m.Spec.MaintenanceWindows = []v1alpha1.MaintenanceWindow{{Period: p}}
	}
	return m
}

// copied returns a deep copy of s.
func copied(s clusterstate.Snapshot) clusterstate.Snapshot {
	s.Nodes = append([]clusterstate.Node(nil), s.Nodes...)
	for i := range s.Nodes {
		labels := map[string]string{}
		for key, value := range s.Nodes[i].Labels {
			labels[key] = value
		}
		s.Nodes[i].Labels = labels
	}
	s.NodeUpgrades = append([]v1alpha1.NodeUpgrade(nil), s.NodeUpgrades...)
	for i := range s.NodeUpgrades {
		s.NodeUpgrades[i] = *s.NodeUpgrades[i].DeepCopy()
	}
	s.Upgrades = append([]v1alpha1.ClusterUpgrade(nil), s.Upgrades...)
	for i := range s.Upgrades {
		s.Upgrades[i] = *s.Upgrades[i].DeepCopy()
	}
	s.Schedules = append([]v1alpha1.MaintenanceSchedule(nil), s.Schedules...)
	for i := range s.Schedules {
		s.Schedules[i] = *s.Schedules[i].DeepCopy()
	}
	s.Records = append([]v1alpha1.UpgradeRecord(nil), s.Records...)
	for i := range s.Records {
		s.Records[i] = *s.Records[i].DeepCopy()
	}
	s.Policy = s.Policy.DeepCopy()
	s.Inventories = append([]v1alpha1.NodeInventory(nil), s.Inventories...)
	for i := range s.Inventories {
		s.Inventories[i] = *s.Inventories[i].DeepCopy()
	}
	s.Slots = append([]clusterstate.Slot(nil), s.Slots...)
	s.APIServers = append([]clusterstate.StaticPod(nil), s.APIServers...)
	s.Etcd = append([]clusterstate.StaticPod(nil), s.Etcd...)
	s.Source.Offers = append([]clusterstate.Offer(nil), s.Source.Offers...)
	s.RebootManagers = append([]clusterstate.RebootManager(nil), s.RebootManagers...)
	s.Webhooks = append([]clusterstate.Webhook(nil), s.Webhooks...)
	if s.Preflight != nil {
		report := *s.Preflight
		report.Findings = append([]v1alpha1.Finding(nil), report.Findings...)
		s.Preflight = &report
	}
	return s
}
