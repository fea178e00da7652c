package fleet

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

var now = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// base returns a cluster with a policy, a window each night and a node, as a coordinator that runs sees it.
func base() clusterstate.Snapshot {
	s := clusterstate.Snapshot{Programs: clusterstate.Programs{At: now, CoordinatorRenewed: &now}}
	s.Policy = &v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	s.Policy.Spec.Mode = v1alpha1.ModeManage
	s.Nodes = []clusterstate.Node{{Name: "w1", Kubelet: "v1.34.3", Ready: true}}
	s.NodeUpgrades = []v1alpha1.NodeUpgrade{{ObjectMeta: metav1.ObjectMeta{Name: "w1"}, Status: v1alpha1.NodeUpgradeStatus{Step: v1alpha1.StepIdle, Versions: v1alpha1.NodeVersions{Kubelet: "v1.34.3"}}}}
	s.Schedules = []v1alpha1.MaintenanceSchedule{timetable("night", "maintenanceWindows: [{name: w, startTime: 2026-11-01T22:00:00Z, endTime: 2026-11-02T04:00:00Z, recurrence: FREQ=DAILY}]")}
	return s
}

func timetable(name, spec string) v1alpha1.MaintenanceSchedule {
	s := v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := yaml.Unmarshal([]byte(spec), &s.Spec); err != nil {
		panic(err)
	}
	s.Spec.TimeZone = "UTC"
	return s
}

// asked adds an upgrade to v1.34.4 that waits for the reason; kind is True where it is stalled.
func asked(s clusterstate.Snapshot, reason v1alpha1.Reason, stalled bool) clusterstate.Snapshot {
	u := v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "v1.34.4", UID: "1"}}
	u.Spec.Version, u.Status.Type, u.Status.Progress, u.Status.TriggerTime = "v1.34.4", v1alpha1.TypePatch, "1/3", &metav1.Time{Time: now.Add(-time.Hour)}
	u.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: string(reason), Message: "message of " + string(reason)}}
	if stalled {
		u.Status.Conditions = append(u.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: string(reason)})
	}
	s.Upgrades = append(s.Upgrades, u)
	return s
}

func over(s clusterstate.Snapshot, outcome v1alpha1.Outcome) clusterstate.Snapshot {
	s = asked(s, v1alpha1.ReasonNodeFailed, false)
	u := &s.Upgrades[len(s.Upgrades)-1]
	u.Name, u.Status.Outcome, u.Status.EndTime = "old", outcome, &metav1.Time{Time: now.Add(-time.Hour)}
	return s
}

// TestReasons checks which of several reasons is shown: first what needs a person, and of that what failed.
func TestReasons(t *testing.T) {
	with := func(s clusterstate.Snapshot, change func(*clusterstate.Snapshot)) clusterstate.Snapshot {
		change(&s)
		return s
	}
	noCoordinator := func(s *clusterstate.Snapshot) { s.Programs.CoordinatorRenewed = &time.Time{} }
	failedNode := func(s *clusterstate.Snapshot) { s.NodeUpgrades[0].Status.Step = v1alpha1.StepFailed }
	frozen := func(s *clusterstate.Snapshot) {
		s.Schedules = append(s.Schedules, timetable("audit", "maintenanceExclusions: [{name: x, startTime: 2026-11-26T00:00:00Z, endTime: 2026-11-30T00:00:00Z, comment: the audit}]"))
	}
	observe := func(s *clusterstate.Snapshot) { s.Policy.Spec.Mode = v1alpha1.ModeObserve }
	approval := func(s *clusterstate.Snapshot) { s.Upgrades[0].Spec.Strategy.Approval = v1alpha1.ApprovalRequired }
	for name, test := range map[string]struct {
		s    clusterstate.Snapshot
		want string // state, reason, and whether it needs a person
	}{
		"nothing":                              {base(), "Idle"},
		"a window that is closed":              {asked(base(), v1alpha1.ReasonWindowClosed, false), "Waiting WindowClosed"},
		"a node at work":                       {with(asked(base(), v1alpha1.ReasonReleased, false), func(s *clusterstate.Snapshot) { s.NodeUpgrades[0].Status.Step = v1alpha1.StepDraining }), "Active Released"},
		"no coordinator":                       {with(asked(base(), v1alpha1.ReasonWindowClosed, false), noCoordinator), "Waiting CoordinatorNotRunning person"},
		"a check that blocks":                  {asked(base(), v1alpha1.ReasonPreflight, true), "Waiting Preflight person"},
		"a node failed":                        {with(asked(base(), v1alpha1.ReasonNodeFailed, true), failedNode), "Failed NodeFailed person"},
		"a node failed, and no coordinator":    {with(asked(base(), v1alpha1.ReasonNodeFailed, true), noCoordinator), "Failed NodeFailed person"},
		"the last upgrade failed":              {over(base(), v1alpha1.OutcomeFailed), "Failed NodeFailed person"},
		"it was rolled back":                   {over(base(), v1alpha1.OutcomeRolledBack), "Failed NodeFailed person"},
		"it failed, and another one is active": {asked(over(base(), v1alpha1.OutcomeFailed), v1alpha1.ReasonWindowClosed, false), "Waiting WindowClosed"},
		"the last one succeeded":               {over(base(), v1alpha1.OutcomeSucceeded), "Idle"},
		"a freeze":                             {with(base(), frozen), "Idle Excluded"},
		"a freeze, and an upgrade that waits":  {with(asked(base(), v1alpha1.ReasonExcluded, false), frozen), "Waiting Excluded"},
		"a freeze, and a check that blocks":    {with(asked(base(), v1alpha1.ReasonPreflight, true), frozen), "Waiting Preflight person"},
		"suspended":                            {asked(base(), v1alpha1.ReasonSuspended, false), "Waiting Suspended person"},
		"mode Observe":                         {with(base(), observe), "Idle Observed person"},
		"mode Observe, and the last failed":    {with(over(base(), v1alpha1.OutcomeFailed), observe), "Failed NodeFailed person"},
		"an approval is missing":               {with(asked(base(), v1alpha1.ReasonApprovalRequired, false), approval), "Waiting ApprovalRequired person"},
		"an abandoned node is no failure": {with(base(), func(s *clusterstate.Snapshot) {
			s.NodeUpgrades[0].Abandoned = &v1alpha1.Abandoned{By: "a", Comment: "b"}
		}), "Idle"},
		"a version was taken back": {with(base(), func(s *clusterstate.Snapshot) {
			s.Policy.Status.TakenBack = []v1alpha1.TakenBackVersion{{Version: "v1.34.4", Comment: "slow"}}
		}), "Idle TakenBack"},
		"no agent": {with(base(), func(s *clusterstate.Snapshot) { s.Nodes, s.NodeUpgrades = nil, nil }), "Idle AgentNotRunning person"},
		"a schedule that is invalid": {with(base(), func(s *clusterstate.Snapshot) {
			s.Schedules[0].Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionValid, Status: metav1.ConditionFalse, Message: "no"}}
		}), "Idle ScheduleInvalid person"},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewRow(Answer{Cluster: Cluster{Context: "c"}, Snapshot: &test.s, At: now}, now)
			got := strings.TrimSpace(string(r.State) + " " + string(r.Reason))
			if r.NeedsPerson {
				got += " person"
			}
			if got != test.want {
				t.Errorf("got %s (%s), want %s", got, r.Message, test.want)
			}
		})
	}
}

// following returns a cluster that follows staging, which runs v1.34.4 as ran says, and whose automatic patch waits for that.
func following(ran v1alpha1.RanVersion) clusterstate.Snapshot {
	s := base()
	s.Policy.Spec.Gates = []v1alpha1.Gate{{Name: "staging", Cluster: &v1alpha1.ClusterGate{SoakSeconds: 7 * 24 * 3600}}}
	ran.Version = "v1.34.4"
	s.Policy.Status.Gates = []v1alpha1.GateStatus{{Name: "staging", State: v1alpha1.GateOpen, Message: "https://staging:6443 runs v1.34.4", Ran: []v1alpha1.RanVersion{ran}}}
	s.Policy.Status.Offered = []v1alpha1.OfferedVersion{{Version: "v1.34.4", FirstSeenTime: metav1.NewTime(now.Add(-48 * time.Hour))}}
	s.Policy.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAutomaticHeld, Status: metav1.ConditionTrue, Reason: string(v1alpha1.ReasonNotSoaked), Message: "gate staging follows a cluster"}}
	return s
}

// TestSoakNeedsNoPerson checks that a follower needs a person only where one can do something there: not while the
// version soaks by itself, and not for what a person has to solve in the cluster that it follows, which counts itself.
func TestSoakNeedsNoPerson(t *testing.T) {
	since := metav1.NewTime(now.Add(-24 * time.Hour))
	server := func(context, server string) Cluster {
		return Cluster{Context: context, Server: server, to: Context{Server: server}.normal()}
	}
	unreachable := following(v1alpha1.RanVersion{})
	unreachable.Policy.Status.Gates[0].State, unreachable.Policy.Status.Gates[0].SinceTime = v1alpha1.GateUnknown, since
	unreachable.Policy.Status.Conditions[0].Reason = string(v1alpha1.ReasonExternalGateUnknown)
	failed, well := over(base(), v1alpha1.OutcomeFailed), base()
	for name, test := range map[string]struct {
		leader, follower clusterstate.Snapshot
		want             string
		needPerson       int
	}{
		"it soaks":                            {well, following(v1alpha1.RanVersion{SinceTime: &since}), "NotSoaked", 0},
		"the leader failed":                   {failed, following(v1alpha1.RanVersion{Problem: "node w1 failed"}), "NotSoaked", 1},
		"the leader was mended":               {well, following(v1alpha1.RanVersion{Problem: "node w1 failed"}), "NotSoaked person", 1},
		"the leader cannot be asked for long": {well, unreachable, "ExternalGateUnknown person", 1},
	} {
		status := NewStatus([]Row{
			NewRow(Answer{Cluster: server("staging", "https://staging:6443"), Snapshot: &test.leader, At: now, UID: "1"}, now),
			NewRow(Answer{Cluster: server("prod", "https://prod:6443"), Snapshot: &test.follower, At: now, UID: "2"}, now),
		})
		r := status.Items[1]
		got := string(r.Reason)
		if r.NeedsPerson {
			got += " person"
		}
		if got != test.want || status.Summary.NeedPerson != test.needPerson {
			t.Errorf("%s: got %s (%s), and %d need a person; want %s, %d", name, got, r.Message, status.Summary.NeedPerson, test.want, test.needPerson)
		}
	}
}

// TestANoticeHoldsNothing checks that a notice which was not sent comes after what holds an upgrade, still needs a person,
// and is not why a cluster waits that follows this one.
func TestANoticeHoldsNothing(t *testing.T) {
	const notice = "SecretForbidden: notice chat: may not be read"
	notSent := func(s clusterstate.Snapshot) clusterstate.Snapshot {
		s.Policy.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionNoticesFailed, Status: metav1.ConditionTrue, Reason: "SecretForbidden", Message: "notice chat: may not be read"}}
		return s
	}
	for name, test := range map[string]struct {
		leader             clusterstate.Snapshot
		want, followerSays string
	}{
		"a drain is blocked": {asked(base(), v1alpha1.ReasonDrainBlocked, false), "DrainBlocked: message of DrainBlocked; also " + notice, "DrainBlocked: message of DrainBlocked"},
		"a check blocks":     {asked(base(), v1alpha1.ReasonPreflight, true), "Preflight: message of Preflight; also " + notice, "Preflight: message of Preflight"},
		"a node is at work":  {asked(base(), v1alpha1.ReasonReleased, false), notice, "Released: message of Released"},
		"nothing is wrong":   {base(), notice, ""},
	} {
		leader, follower := notSent(test.leader), following(v1alpha1.RanVersion{})
		status := NewStatus([]Row{
			NewRow(Answer{Cluster: Cluster{Context: "staging", to: Context{Server: "https://staging:6443"}.normal()}, Snapshot: &leader, At: now}, now),
			NewRow(Answer{Cluster: Cluster{Context: "prod"}, Snapshot: &follower, At: now}, now),
		})
		r, f := status.Items[0], status.Items[1].Follows[0]
		if got := string(r.Reason) + ": " + r.Message; got != test.want || !r.NeedsPerson {
			t.Errorf("%s: got %s, needs a person: %t; want %s", name, got, r.NeedsPerson, test.want)
		}
		if got := strings.TrimSuffix(string(f.Reason)+": "+f.Why, ": "); got != test.followerSays {
			t.Errorf("%s: the follower says %q, want %q", name, got, test.followerSays)
		}
	}
}

// TestRow checks the other columns.
func TestRow(t *testing.T) {
	s := asked(base(), v1alpha1.ReasonNotSoaked, false)
	s.Nodes = append(s.Nodes, clusterstate.Node{Name: "w2", Kubelet: "v1.34.4", Labels: map[string]string{"pool": "db"}}, clusterstate.Node{Name: "w3", Kubelet: "v1.34.4"})
	s.Schedules[0].Spec.NodeSelector = v1alpha1.NewLabelSelector(&metav1.LabelSelector{MatchLabels: map[string]string{"pool": "db"}})
	s.Policy.Spec.Gates = []v1alpha1.Gate{{Name: "alerts", Prometheus: &v1alpha1.PrometheusGate{}}, {Name: "staging", Cluster: &v1alpha1.ClusterGate{SoakSeconds: 7 * 24 * 3600}}}
	since := metav1.NewTime(now.Add(-24 * time.Hour))
	s.Policy.Status.Gates = []v1alpha1.GateStatus{{Name: "staging", State: v1alpha1.GateOpen, Message: "https://staging:6443 runs v1.34.4", Ran: []v1alpha1.RanVersion{{Version: "v1.34.4", SinceTime: &since}}}}
	s.Policy.Status.Offered = []v1alpha1.OfferedVersion{{Version: "v1.34.2", FirstSeenTime: metav1.NewTime(now.Add(-300 * time.Hour))}, {Version: "v1.34.5", FirstSeenTime: metav1.NewTime(now.Add(-time.Hour))}, {Version: "v1.34.4", FirstSeenTime: metav1.NewTime(now.Add(-48 * time.Hour))}, {Version: "v1.35.0", FirstSeenTime: metav1.NewTime(now.Add(-480 * time.Hour))}}
	staging := base()
	staging.Policy.Spec.Mode = v1alpha1.ModeObserve
	at := func(context, server string) Cluster {
		return Cluster{Context: context, Server: server, to: Context{Server: server}.normal()}
	}
	prod := at("prod", "https://prod")
	prod.Stage = "prod"
	third := at("third", "https://staging:6443/")
	third.SameAs, third.Repeated = "staging", true
	rows := []Row{
		NewRow(Answer{Cluster: prod, Snapshot: &s, At: now, UID: "1"}, now),
		NewRow(Answer{Cluster: at("staging", "https://staging:6443/"), Snapshot: &staging, At: now, UID: "2"}, now),
		NewRow(Answer{Cluster: at("second", "https://other"), Snapshot: &staging, At: now, UID: "2"}, now),
		NewRow(Answer{Cluster: third}, now),
		NewRow(Answer{Cluster: at("away", "https://away"), Trouble: &view.Problem{Reason: ReasonSilent, Message: "no answer within 4s"}}, now),
		NewRow(Answer{Cluster: at("lost", "https://lost"), Snapshot: &s, At: now.Add(-time.Minute), Trouble: &view.Problem{Reason: ReasonSilent, Message: "no answer within 4s"}}, now),
	}
	status := NewStatus(rows)
	text, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"apiVersion":"output.kubectl-upgrade.dev/v1alpha1","kind":"FleetStatus","summary":{"clusters":5,"answered":3,"failed":0,"needPerson":2,"active":0,"waiting":1,"idle":2,"behind":1,"sameCluster":2},"items":[`,
		`{"context":"prod","stage":"prod","server":"https://prod","state":"Waiting","asOf":"2026-11-26T12:00:00Z","version":"v1.34.3","versions":[{"version":"v1.34.3","nodes":1},{"version":"v1.34.4","nodes":2}],"behind":{"version":"v1.34.5","since":"2026-11-24T12:00:00Z"},"upgrade":{"name":"v1.34.4","type":"Patch","to":"v1.34.4","progress":"1/3","since":"2026-11-26T11:00:00Z"},"window":{"start":"2026-11-26T22:00:00Z","end":"2026-11-27T04:00:00Z"},"follows":[{"gate":"staging","context":"staging","version":"v1.34.4","state":"Open","message":"gate staging follows a cluster that has run v1.34.4 since 2026-11-25 12:00 UTC, and has to do so until 2026-12-02 12:00 UTC","until":"2026-12-02T12:00:00Z","reason":"Observed","why":"mode Observe: nothing on any node is changed"}],"reason":"NotSoaked"`,
		`{"context":"second","server":"https://other","sameAs":"staging","state":"Idle"`,
		`{"context":"third","server":"https://staging:6443/","sameAs":"staging","state":"Idle","reason":"SameCluster"`,
		`{"context":"away","server":"https://away","state":"Silent","needsPerson":true,"reason":"Silent","message":"no answer within 4s"}`,
		`{"context":"lost","server":"https://lost","state":"Silent","asOf":"2026-11-26T11:59:00Z","version":"v1.34.3"`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s\nhas no\n%s", text, want)
		}
	}
	if got, want := status.Summary.Words(), "3 of 5 clusters answered: 1 waiting, 2 idle; 1 lack a patch"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := Same(rows), "second, third are the same cluster as staging"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestTheContextThatAnswersCounts checks that of two contexts of one server the one that answered counts.
func TestTheContextThatAnswersCounts(t *testing.T) {
	s := base()
	to := Context{Server: "https://a:443"}
	rows := NewStatus([]Row{
		NewRow(Answer{Cluster: Cluster{Context: "bad", to: to}, Trouble: &view.Problem{Reason: ReasonNoAccess}}, now),
		NewRow(Answer{Cluster: Cluster{Context: "good", to: to}, Snapshot: &s, At: now}, now),
	})
	if rows.Summary.Clusters != 1 || rows.Summary.Answered != 1 || rows.Items[0].SameAs != "good" || rows.Items[1].SameAs != "" {
		t.Errorf("got %+v", rows)
	}
}

// TestUnmanagedNodesDoNotCount checks that nodes which the policy does not select have no part in a row.
func TestUnmanagedNodesDoNotCount(t *testing.T) {
	s := base()
	s.Nodes = append(s.Nodes, clusterstate.Node{Name: "old", Kubelet: "v1.20.1"})
	s.Policy.Spec.NodeSelector = v1alpha1.NewLabelSelector(&metav1.LabelSelector{MatchLabels: map[string]string{"pool": "a"}})
	s.Nodes[0].Labels = map[string]string{"pool": "a"}
	r := NewRow(Answer{Snapshot: &s, At: now}, now)
	if r.Version != "v1.34.3" || len(r.Versions) != 1 {
		t.Errorf("got %s, %v", r.Version, r.Versions)
	}
	if want := len(s.Nodes) - 1; r.Unmanaged != want {
		t.Errorf("%d nodes are left out, want %d", r.Unmanaged, want)
	}
}

// TestAPIServersAfterRollback checks that a row has the version of the control plane once kubelets were taken back.
func TestAPIServersAfterRollback(t *testing.T) {
	s := base()
	for version, want := range map[string][]string{"v1.34.4": {"v1.34.4"}, "v1.34.3": nil, "": nil} {
		s.APIServers = []clusterstate.StaticPod{{Node: "cp-1", Version: version}, {Node: "cp-2", Version: version}}
		if r := NewRow(Answer{Snapshot: &s, At: now}, now); !slices.Equal(r.APIServers, want) {
			t.Errorf("apiservers at %q: got %v, want %v", version, r.APIServers, want)
		}
	}
}
