package request

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

var now = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

// cluster returns a control plane and a worker at v1.34.4 with a window that is always open, and
// these upgrades, created a minute apart.
func cluster(upgrades ...v1alpha1.ClusterUpgrade) clusterstate.Snapshot {
	s := clusterstate.Snapshot{APIServers: []clusterstate.StaticPod{{Node: "cp-1", Version: "v1.34.4", Ready: true}}}
	s.Policy = &v1alpha1.UpgradePolicy{Spec: v1alpha1.UpgradePolicySpec{Mode: v1alpha1.ModeManage}}
	for _, name := range []string{"cp-1", "w-1"} {
		s.Nodes = append(s.Nodes, clusterstate.Node{Name: name, UID: name, ControlPlane: name == "cp-1", OS: "linux", Architecture: "amd64", Ready: true, Kubelet: "v1.34.4"})
		u := v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name}}
		u.Status.Step, u.Status.Versions.Kubelet, u.Status.Versions.Kubeadm = v1alpha1.StepIdle, "v1.34.4", "v1.34.4"
		s.NodeUpgrades = append(s.NodeUpgrades, u)
	}
	s.NodeUpgrades[0].Status.Versions.ControlPlane = "v1.34.4"
	for _, version := range []string{"v1.34.5", "v1.34.10", "v1.35.0", "v1.35.4", "v1.36.2", "v1.37.0-rc.0"} {
		s.Source.Offers = append(s.Source.Offers, clusterstate.Offer{Version: version, Image: v1alpha1.Image{Architecture: "amd64"}})
	}
	s.Source.Offers = append(s.Source.Offers, clusterstate.Offer{Version: "v1.35.9", Image: v1alpha1.Image{Architecture: "arm64"}})
	window := v1alpha1.MaintenanceWindow{Period: v1alpha1.Period{Name: "always", StartTime: metav1.NewTime(now.AddDate(-1, 0, 0)), EndTime: metav1.NewTime(now.AddDate(1, 0, 0))}}
	s.Schedules = []v1alpha1.MaintenanceSchedule{{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: v1alpha1.MaintenanceScheduleSpec{MaintenanceWindows: []v1alpha1.MaintenanceWindow{window}}}}
	for i, u := range upgrades {
		u.UID = types.UID(u.Name)
		if u.CreationTimestamp.IsZero() {
			u.CreationTimestamp = metav1.NewTime(now.Add(time.Duration(i-len(upgrades)) * time.Minute))
		}
		s.Upgrades = append(s.Upgrades, u)
	}
	return s
}

// upgrade returns an upgrade to the version of its name, or a Reboot.
func upgrade(name string, change ...func(*v1alpha1.ClusterUpgrade)) v1alpha1.ClusterUpgrade {
	u := v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ClusterUpgradeSpec{Version: strings.TrimSuffix(name, "-old")}}
	if name == "reboot" {
		u.Spec = v1alpha1.ClusterUpgradeSpec{Type: v1alpha1.TypeReboot}
	}
	for _, f := range change {
		f(&u)
	}
	return u
}

func triggered(u *v1alpha1.ClusterUpgrade) {
	u.Status.TriggerTime = &metav1.Time{Time: now.Add(-time.Hour)}
}

func suspended(u *v1alpha1.ClusterUpgrade) { u.Spec.Suspend = true }

func created(at time.Time) func(*v1alpha1.ClusterUpgrade) {
	return func(u *v1alpha1.ClusterUpgrade) { u.CreationTimestamp = metav1.NewTime(at) }
}

func deleted(u *v1alpha1.ClusterUpgrade) { u.DeletionTimestamp = &metav1.Time{Time: now} }

func failed(u *v1alpha1.ClusterUpgrade) {
	triggered(u)
	u.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: string(v1alpha1.ReasonNodeFailed)},
		{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: string(v1alpha1.ReasonNodeFailed), Message: "node w-1 failed"},
	}
}

func hookHasFailed(u *v1alpha1.ClusterUpgrade) {
	failed(u)
	for i := range u.Status.Conditions {
		u.Status.Conditions[i].Reason = string(v1alpha1.ReasonHookFailed)
	}
}

func with(s clusterstate.Snapshot, upgrades ...v1alpha1.ClusterUpgrade) clusterstate.Snapshot {
	s.Upgrades = append(s.Upgrades, upgrades...)
	return s
}

// withFailedHook adds a failed hook of the first upgrade.
func withFailedHook(s clusterstate.Snapshot) clusterstate.Snapshot {
	turn := v1alpha1.HookTurn{Upgrade: s.Upgrades[0].Reference(), Node: "w-9", Hooks: []v1alpha1.HookRun{{Name: "leave", State: v1alpha1.HookFailed}}}
	s.Policy.Status.HookTurns = append(s.Policy.Status.HookTurns, turn)
	return s
}

func ended(outcome v1alpha1.Outcome) func(*v1alpha1.ClusterUpgrade) {
	return func(u *v1alpha1.ClusterUpgrade) {
		triggered(u)
		u.Status.Outcome, u.Status.EndTime = outcome, &metav1.Time{Time: now.Add(-time.Minute)}
	}
}

func retryOf(name string) func(*v1alpha1.ClusterUpgrade) {
	return func(u *v1alpha1.ClusterUpgrade) { u.Spec.RetryOf = &v1alpha1.RetriedUpgrade{Name: name} }
}

// work makes a node work for the first upgrade.
func work(s clusterstate.Snapshot) clusterstate.Snapshot {
	reference := s.Upgrades[0].Reference()
	u := &s.NodeUpgrades[1]
	u.Spec.Upgrade, u.Spec.Release, u.Status.Upgrade, u.Status.Step = &reference, v1alpha1.ReleaseNode, &reference, v1alpha1.StepDraining
	return s
}

func unread(s clusterstate.Snapshot) clusterstate.Snapshot {
	s.Source = clusterstate.Source{Problem: clusterstate.Hold{Reason: v1alpha1.ReasonSourceUnavailable, Message: "no route to host"}}
	return s
}

// TestRequest is the table of what a request means: the upgrade that exists already,
// the object that is created with notes about those before it, or the refusal.
func TestRequest(t *testing.T) {
	for name, test := range map[string]struct {
		s    clusterstate.Snapshot
		r    Upgrade
		want string
	}{
		"a release":                                      {cluster(), Upgrade{Version: "1.34.5"}, "creates v1.34.5"},
		"a minor is its newest patch":                    {cluster(), Upgrade{Version: "v1.34"}, "v1.34 is v1.34.10, its newest patch. | creates v1.34.10"},
		"for every architecture":                         {cluster(), Upgrade{Version: "v1.35"}, "v1.35 is v1.35.4, its newest patch. | creates v1.35.4"},
		"a minor without a patch":                        {cluster(), Upgrade{Version: "v1.37"}, "error: the source offers no patch of v1.37; `kubectl upgrade releases` lists what is available"},
		"a minor, and no index":                          {unread(cluster()), Upgrade{Version: "v1.35"}, "error: looking for the newest patch of v1.35: SourceUnavailable: no route to host; give the full version"},
		"a release, and no index":                        {unread(cluster()), Upgrade{Version: "v1.35.1"}, "creates v1.35.1"},
		"no version":                                     {cluster(), Upgrade{Version: "latest"}, `error: VERSION "latest": expected a version such as v1.34.4, or a minor such as v1.34`},
		"not on offer":                                   {cluster(), Upgrade{Version: "v1.34.6"}, "error: the source offers no image of v1.34.6 for amd64; `kubectl upgrade releases` lists what is available"},
		"a skipped minor that the source does not offer": {altered(cluster(), func(s *clusterstate.Snapshot) { s.Source.Offers = s.Source.Offers[:2] }), Upgrade{Version: "v1.36.2"}, "error: from v1.34.4 to v1.36.2 skips a minor, and kubeadm upgrades one minor at a time, but the source offers no patch of v1.35; `kubectl upgrade releases` lists what is available"},
		"a skipped minor, and the source is not read": {altered(cluster(), func(s *clusterstate.Snapshot) {
			s.Source.Offers, s.Source.Problem.Reason = nil, v1alpha1.ReasonSourceUnavailable
		}), Upgrade{Version: "v1.36.2"}, "error: from v1.34.4 to v1.36.2 skips a minor, and kubeadm upgrades one minor at a time: `kubectl upgrade apply v1.35` first"},
		"a skipped minor":       {cluster(), Upgrade{Version: "v1.36.2"}, "error: from v1.34.4 to v1.36.2 skips a minor, and kubeadm upgrades one minor at a time: `kubectl upgrade apply v1.35` first"},
		"a downgrade":           {cluster(), Upgrade{Version: "v1.34.3"}, "error: the cluster runs v1.34.4, and Kubernetes cannot be downgraded to v1.34.3; `kubectl upgrade rollback --all --to v1.34.3 --reason TEXT` takes only kubelets back"},
		"a minor that restarts": {cluster(), Upgrade{Version: "v1.35.4", Method: "Restart"}, "error: from v1.34.4 to v1.35.4 is a Minor, and --method Restart is for patches: leave it out, or say --method Reboot or SoftReboot"},
		"nothing to do":         {reachedAll(), Upgrade{Version: "v1.34.5"}, "nothing to do: every node is at v1.34.5"},
		"nothing to do but for one that is left out":      {altered(reachedAll(), left("v1.34.4")), Upgrade{Version: "v1.34.5"}, "nothing to do: every node that is not left out is at v1.34.5; left out: w-1 (v1.34.4, Abandoned)"},
		"nothing to do, as one is newer":                  {altered(reachedAll(), running("v1.34.6")), Upgrade{Version: "v1.34.5"}, "nothing to do: every node is at v1.34.5 or newer"},
		"a clock is ahead":                                {with(cluster(), upgrade("v1.34.10", ended(v1alpha1.OutcomeSucceeded), completed(now.Add(time.Minute)))), Upgrade{Version: "v1.34.5"}, "creates v1.34.5"},
		"the same again":                                  {cluster(upgrade("v1.34.5", triggered)), Upgrade{Version: "v1.34.5"}, "is v1.34.5"},
		"its minor again":                                 {cluster(upgrade("v1.34.5", triggered)), Upgrade{Version: "1.34"}, "1.34 is v1.34.5, the patch of ClusterUpgrade v1.34.5; v1.34.10 is available too: `kubectl upgrade apply v1.34.10` requests it. | is v1.34.5"},
		"a pre-release is no patch":                       {cluster(upgrade("v1.35.9-rc.0", triggered)), Upgrade{Version: "v1.35"}, "v1.35 is v1.35.4, its newest patch. | ClusterUpgrade v1.35.9-rc.0 has not ended and comes before it; this plan leaves that out. | error: ClusterUpgrade v1.35.9-rc.0 has not ended and comes first, and Kubernetes cannot be downgraded from its v1.35.9-rc.0 to v1.35.4: request a newer version"},
		"the same, suspended":                             {work(cluster(upgrade("v1.34.5", triggered, suspended))), Upgrade{Version: "v1.34.5"}, "is v1.34.5 It is suspended: `kubectl upgrade resume v1.34.5` resumes it."},
		"the same, which waits":                           {work(cluster(upgrade("v1.34.5", triggered), upgrade("v1.34.10"))), Upgrade{Version: "v1.34.10"}, "is v1.34.10 It waits until ClusterUpgrade v1.34.5 has ended."},
		"the same, otherwise":                             {cluster(upgrade("v1.34.5", triggered)), Upgrade{Version: "v1.34.5", Method: "Restart", Flags: []string{"--method"}}, "error: ClusterUpgrade v1.34.5 asks for v1.34.5 already, and --method would change it: leave that out to follow it, or `kubectl edit clusterupgrade v1.34.5`"},
		"the same is being deleted":                       {cluster(upgrade("v1.34.5", triggered, deleted)), Upgrade{Version: "v1.34.5"}, "creates v1.34.5-2"},
		"another is active":                               {work(cluster(upgrade("v1.34.5", triggered))), Upgrade{Version: "v1.34.10"}, "ClusterUpgrade v1.34.5 has not ended and comes before it; this plan leaves that out. | creates v1.34.10"},
		"another is active, suspended":                    {work(cluster(upgrade("v1.34.5", triggered, suspended))), Upgrade{Version: "v1.34.10"}, "ClusterUpgrade v1.34.5 is suspended (`kubectl upgrade resume v1.34.5` resumes it) and comes before it; this plan leaves that out. | creates v1.34.10"},
		"another is suspended before it":                  {cluster(upgrade("v1.34.5", suspended)), Upgrade{Version: "v1.34.10"}, "creates v1.34.10"},
		"older than the active one":                       {work(cluster(upgrade("v1.34.10", triggered))), Upgrade{Version: "v1.34.5"}, "ClusterUpgrade v1.34.10 has not ended and comes before it; this plan leaves that out. | error: ClusterUpgrade v1.34.10 has not ended and comes first, and Kubernetes cannot be downgraded from its v1.34.10 to v1.34.5: request a newer version"},
		"the minor after the active one":                  {work(cluster(upgrade("v1.35.4", triggered))), Upgrade{Version: "v1.36.2"}, "ClusterUpgrade v1.35.4 has not ended and comes before it; this plan begins where that ends. | creates v1.36.2"},
		"older than one that is queued":                   {work(cluster(upgrade("v1.34.5", triggered), upgrade("v1.35.4"), upgrade("v1.36.2"))), Upgrade{Version: "v1.35.0"}, "ClusterUpgrade v1.34.5 has not ended and comes before it; this plan leaves that out. | ClusterUpgrade v1.35.4 has not ended and comes before it; this plan leaves that out. | ClusterUpgrade v1.36.2 has not ended and comes before it; this plan leaves that out. | error: ClusterUpgrade v1.36.2 has not ended and comes first, and Kubernetes cannot be downgraded from its v1.36.2 to v1.35.0: request a newer version, or delete that one: `kubectl delete clusterupgrade v1.36.2`"},
		"older than one of this second":                   {cluster(upgrade("v1.35.4", created(now))), Upgrade{Version: "v1.35.0"}, "ClusterUpgrade v1.35.4 has not ended and comes before it; this plan leaves that out. | error: ClusterUpgrade v1.35.4 has not ended and comes first, and Kubernetes cannot be downgraded from its v1.35.4 to v1.35.0: request a newer version, or delete that one: `kubectl delete clusterupgrade v1.35.4`"},
		"older than one of a server whose clock is ahead": {cluster(upgrade("v1.35.4", created(now.Add(time.Minute)))), Upgrade{Version: "v1.35.0"}, "ClusterUpgrade v1.35.4 has not ended and comes before it; this plan leaves that out. | error: ClusterUpgrade v1.35.4 has not ended and comes first, and Kubernetes cannot be downgraded from its v1.35.4 to v1.35.0: request a newer version, or delete that one: `kubectl delete clusterupgrade v1.35.4`"},
		"a Reboot lets a version go first":                {cluster(upgrade("reboot", triggered)), Upgrade{Version: "v1.34.5"}, "creates v1.34.5"},
		"and does so without the index":                   {unread(cluster(upgrade("reboot", triggered), upgrade("v1.34.5"))), Upgrade{Version: "v1.34.5"}, "is v1.34.5"},
		"a Reboot that a node works for":                  {work(cluster(upgrade("reboot", triggered))), Upgrade{Version: "v1.34.5"}, "ClusterUpgrade reboot has not ended and comes before it; this plan leaves that out. | creates v1.34.5"},
		"another has failed":                              {work(cluster(upgrade("v1.34.5", failed))), Upgrade{Version: "v1.34.10"}, "error: ClusterUpgrade v1.34.5 has failed (node w-1 failed) and is still active, so this one would wait behind it: fix that, or add --retry to replace it"},
		"another has failed, retry":                       {work(cluster(upgrade("v1.34.5", failed), upgrade("v1.35.4"))), Upgrade{Version: "v1.34.10", Retry: true}, "creates v1.34.10 retryOf v1.34.5"},
		"the same has failed":                             {work(cluster(upgrade("v1.34.5", failed))), Upgrade{Version: "v1.34.5"}, "is v1.34.5"},
		"the same has failed, retry":                      {work(cluster(upgrade("v1.34.5", failed))), Upgrade{Version: "v1.34.5", Retry: true}, "creates v1.34.5-2 retryOf v1.34.5"},
		"the retry again":                                 {work(cluster(upgrade("v1.34.5-old", failed), upgrade("v1.34.5", retryOf("v1.34.5-old")))), Upgrade{Version: "v1.34.5", Retry: true}, "is v1.34.5 It waits until ClusterUpgrade v1.34.5-old has ended."},
		"the retry again, without the flag":               {work(cluster(upgrade("v1.34.5-old", failed), upgrade("v1.34.5", retryOf("v1.34.5-old")))), Upgrade{Version: "v1.34.5"}, "is v1.34.5 It waits until ClusterUpgrade v1.34.5-old has ended."},
		"retry of one that has not failed":                {cluster(upgrade("v1.34.5", triggered)), Upgrade{Version: "v1.34.5", Retry: true}, "error: --retry: ClusterUpgrade v1.34.5 asks for v1.34.5 already, and has not failed; leave out --retry to follow it"},
		"a hook has failed, retry":                        {cluster(upgrade("v1.34.5", hookHasFailed)), Upgrade{Version: "v1.34.5", Retry: true}, "creates v1.34.5-2 retryOf v1.34.5"},
		"a hook of a late node has failed, retry":         {withFailedHook(cluster(upgrade("v1.34.5", ended(v1alpha1.OutcomeSucceeded)))), Upgrade{Version: "v1.34.5", Retry: true}, "creates v1.34.5-2 retryOf v1.34.5"},
		"a hook after the upgrade has failed, retry":      {withFailedHook(with(reachedAll(), upgrade("v1.34.5", ended(v1alpha1.OutcomeSucceeded)))), Upgrade{Version: "v1.34.5", Retry: true}, "creates v1.34.5-2 retryOf v1.34.5"},
		"retry of nothing":                                {cluster(), Upgrade{Version: "v1.34.5", Retry: true}, "error: --retry: no upgrade to v1.34.5 has failed"},
		"the last one was rolled back":                    {cluster(upgrade("v1.34.5", ended(v1alpha1.OutcomeRolledBack))), Upgrade{Version: "v1.34.5"}, "error: the last upgrade to v1.34.5, v1.34.5, ended: RolledBack: see `kubectl upgrade history v1.34.5`, and add --retry to start again"},
		"the last one, retry":                             {cluster(upgrade("v1.34.5", ended(v1alpha1.OutcomeFailed))), Upgrade{Version: "v1.34.5", Retry: true}, "creates v1.34.5-2 retryOf v1.34.5"},
		"a freeze":                                        {frozen(now.AddDate(0, 0, 1)), Upgrade{Version: "v1.34.5"}, "error: exclusion f/freeze holds until 2026-11-19 12:00 UTC: audit; wait until it ends, give a --start-time after it, or end it: `kubectl upgrade unfreeze f`"},
		"a freeze, windows ignored":                       {frozen(now.AddDate(0, 0, 1)), Upgrade{Version: "v1.34.5", IgnoreWindows: true}, "error: exclusion f/freeze holds until 2026-11-19 12:00 UTC: audit; --ignore-windows does not ignore exclusions: wait until it ends, give a --start-time after it, or end it: `kubectl upgrade unfreeze f`"},
		"two freezes, and an exclusion beside windows":    {frozenTwice(), Upgrade{Version: "v1.34.5"}, "error: exclusion f/freeze holds until 2026-11-20 12:00 UTC: audit; wait until it ends, give a --start-time after it, or end it: `kubectl upgrade unfreeze f` and `kubectl upgrade unfreeze g` and `kubectl edit maintenanceschedule nights`"},
		"after a freeze":                                  {frozen(now.AddDate(0, 0, 1)), Upgrade{Version: "v1.34.5", StartTime: in(48 * time.Hour)}, "creates v1.34.5"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := answer(test.s, test.r); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// answer returns what `kubectl upgrade apply` does for a request.
func answer(s clusterstate.Snapshot, r Upgrade) string {
	var parts []string
	end := func(text string) string { return strings.Join(append(parts, text), " | ") }
	to, note, err := r.Target(s, now)
	if err != nil {
		return end("error: " + err.Error())
	}
	if note != "" {
		parts = append(parts, note)
	}
	existing, err := r.Existing(s, to, now)
	if err != nil {
		return end("error: " + err.Error())
	}
	if existing != nil {
		return end("is " + existing.Name + Waits(s, existing, now))
	}
	u, err := r.Object(s, to, now)
	if err != nil {
		return end("error: " + err.Error())
	}
	parts = append(parts, Queue(s, u, now)...)
	if err := RefuseDowngrade(s, u, now); err != nil {
		return end("error: " + err.Error())
	}
	supposed := Suppose(s, u, now)
	decided := plan.Predict(supposed, now)
	if !HasWork(decided) && !RetriesHook(s, u) {
		why, err := Idle(decided, u)
		if err != nil {
			return end("error: " + err.Error())
		}
		return end("nothing to do: " + why)
	}
	if err := Refuse(supposed, decided, u); err != nil {
		return end("error: " + err.Error())
	}
	created := "creates " + u.Name
	if u.Spec.RetryOf != nil {
		created += " retryOf " + u.Spec.RetryOf.Name
	}
	for _, one := range TakesBack(s, u) {
		created += ", ends " + one.Name
	}
	return end(created)
}

func in(d time.Duration) *time.Time {
	at := now.Add(d)
	return &at
}

// reachedAll is a cluster whose nodes run v1.34.5.
func reachedAll() clusterstate.Snapshot {
	to, _, _ := resolve(clusterstate.Snapshot{}, "v1.34.5")
	return reached(cluster(), to)
}

// frozenTwice returns a cluster in which two freezes hold, and an exclusion of a schedule that has windows.
func frozenTwice() clusterstate.Snapshot {
	s := frozen(now.AddDate(0, 0, 2))
	for _, name := range []string{"g", "nights"} {
		f, _ := Freeze{Name: name, Start: now, End: now.AddDate(0, 0, 1), Reason: "audit"}.Object()
		s.Schedules = append(s.Schedules, *f)
	}
	last := &s.Schedules[len(s.Schedules)-1].Spec
	last.MaintenanceWindows = []v1alpha1.MaintenanceWindow{{Period: last.MaintenanceExclusions[0].Period}}
	return s
}

func frozen(until time.Time) clusterstate.Snapshot {
	s := cluster()
	f, _ := Freeze{Name: "f", Start: now, End: until, Reason: " audit "}.Object()
	s.Schedules = append(s.Schedules, *f)
	return s
}
