package api_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/source"
)

// TestDefaults checks that strategies and orders get no defaults: defaults in a ClusterUpgrade
// would hide the policy's values, and the coordinator writes complete orders.
func TestDefaults(t *testing.T) {
	client := server(t)
	const from = "source: {url: '" + source.Default + "', intervalSeconds: "
	rows := []struct{ kind, given, stored string }{
		{"MaintenanceSchedule", "spec: {}", "{timeZone: UTC}"},
		{"UpgradePolicy", named("cluster", "{}"), "{mode: Observe, historyLimit: 20, " + from + "600}}"},
		{"UpgradePolicy", named("cluster", "spec: {source: {intervalSeconds: 5}, strategy: {drain: {}}}"),
			"{mode: Observe, historyLimit: 20, " + from + "5}, strategy: {drain: {}}}"},
		{"ClusterUpgrade", "spec: {version: v1.34.4}", "{version: v1.34.4}"},
		{"ClusterUpgrade", "spec: {version: v1.34.4, strategy: {groups: [{name: a, nodeSelector: {}}], drain: {rules: [{name: a, podSelector: {}, behavior: Skip}]}}}",
			"{version: v1.34.4, strategy: {groups: [{name: a, nodeSelector: {}}], drain: {rules: [{name: a, podSelector: {}, behavior: Skip}]}}}"},
		{"NodeUpgrade", "spec: {upgrade: {name: u, uid: '1'}, drain: {}}", "{upgrade: {name: u, uid: '1'}, drain: {}}"},
		{"NodeUpgrade", "{}", "null"},
	}
	for _, row := range rows {
		stored, err := dryRun(client, object(t, row.kind, row.given))
		if err != nil {
			t.Errorf("creating a %s: %v", row.kind, err)
			continue
		}
		var want any
		if err := yaml.Unmarshal([]byte(row.stored), &want); err != nil {
			t.Fatal(err)
		}
		got := throughYAML(t, stored.Object["spec"])
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s {%s}: the stored spec is not the one expected (-want +got):\n%s", row.kind, row.given, diff)
		}
	}
}

// throughYAML gives numbers the type that YAML's reader gives them.
func throughYAML(t *testing.T, value any) any {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := yaml.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	return plain
}

// fresh are objects that none of our programs has written to.
var fresh = map[string]string{
	"MaintenanceSchedule": named("fresh", "spec: {}"),
	"UpgradePolicy":       named("cluster", "{}"),
	"ClusterUpgrade":      named("fresh", "spec: {version: v1.34.4}"),
	"NodeUpgrade":         named("fresh", "{}"),
}

// TestNewObjectIsNotObserved checks that a new object has no observed generation, also if a
// client sends it with another object's status.
func TestNewObjectIsNotObserved(t *testing.T) {
	client := server(t)
	for kind, text := range fresh {
		for name, status := range map[string]map[string]any{"none": nil, "of another object": {"observedGeneration": int64(1)}} {
			u := object(t, kind, text)
			if status != nil {
				u.Object["status"] = status
			}
			created := create(t, client, u)
			read, err := client.Resource(resources[kind]).Get(context.Background(), u.GetName(), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]any{"observedGeneration": int64(-1)}
			if diff := cmp.Diff(want, created.Object["status"]); diff != "" {
				t.Errorf("%s, a status sent: %s; in the answer (-want +got):\n%s", kind, name, diff)
			}
			if diff := cmp.Diff(want, read.Object["status"]); diff != "" {
				t.Errorf("%s, a status sent: %s; as read (-want +got):\n%s", kind, name, diff)
			}
			remove(t, client, u)
		}
	}
}

func TestResolve(t *testing.T) {
	five, ten := ptr.To[int32](5), ptr.To[int32](10)
	u := v1alpha1.ClusterUpgrade{Spec: v1alpha1.ClusterUpgradeSpec{Strategy: v1alpha1.Strategy{
		MaxFailures: ptr.To[int32](0),
		Pace:        v1alpha1.Pace{SettleSeconds: five, Whole: v1alpha1.Whole{Drivers: v1alpha1.PartIgnore}, Drain: v1alpha1.Drain{EmptyDirPods: v1alpha1.PodsBlock}},
	}}}
	policy := v1alpha1.Strategy{
		Method: v1alpha1.MethodRestart, MaxUnavailable: ptr.To(intstr.FromString("10%")), MaxFailures: five,
		Groups: []v1alpha1.NodeGroup{{Name: "db", Pace: v1alpha1.Pace{SettleSeconds: ten}}},
		Pace:   v1alpha1.Pace{SettleSeconds: ten, MinReadySeconds: ten, Whole: v1alpha1.Whole{TimeoutSeconds: ten, Drivers: v1alpha1.PartWait}, Drain: v1alpha1.Drain{EmptyDirPods: v1alpha1.PodsEvict, TimeoutSeconds: ten}},
	}
	want := v1alpha1.Strategy{
		Method: v1alpha1.MethodRestart, MaxUnavailable: policy.MaxUnavailable, MaxFailures: ptr.To[int32](0),
		CordonedNodes: v1alpha1.CordonedIgnore, Approval: v1alpha1.ApprovalNotRequired, Groups: policy.Groups, EtcdSnapshotPolicy: v1alpha1.EtcdSnapshotRequired,
		Pace: v1alpha1.Pace{SettleSeconds: five, MinReadySeconds: ten, GuardSeconds: ptr.To[int32](180), Drain: v1alpha1.Drain{
			TimeoutSeconds: ten, OnTimeout: v1alpha1.OnTimeoutAbort, VolumesDetachedSeconds: ptr.To[int32](0), GracePeriodSeconds: ptr.To[int32](-1),
			UnmanagedPods: v1alpha1.PodsBlock, EmptyDirPods: v1alpha1.PodsBlock, DoNotDisruptSeconds: ptr.To[int32](300),
		}},
	}
	const wait = v1alpha1.PartWait
	want.Whole = v1alpha1.Whole{TimeoutSeconds: ten, Resources: wait, Drivers: v1alpha1.PartIgnore, DaemonSets: wait, Extensions: wait, Taints: wait, Network: wait}
	got := u.Resolve(policy)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the upgrade's own fields, then the policy's, then the defaults (-want +got):\n%s", diff)
	}
	if pace := got.Groups[0].Pace.Or(got.Pace); *pace.SettleSeconds != 10 || *pace.MinReadySeconds != 10 || pace.Drain.EmptyDirPods != v1alpha1.PodsBlock {
		t.Errorf("a group's own pace, then the strategy's: got %+v", pace)
	}
}

// TestApprovalsOfThePolicyStay checks that an upgrade cannot lower what the policy wants to be approved.
func TestApprovalsOfThePolicyStay(t *testing.T) {
	required, not := v1alpha1.ApprovalRequired, v1alpha1.ApprovalNotRequired
	groups := func(a v1alpha1.Approval) []v1alpha1.NodeGroup { return []v1alpha1.NodeGroup{{Name: "db", Approval: a}} }
	for name, row := range map[string]struct {
		policy, own v1alpha1.Strategy
		want        v1alpha1.Approval
	}{
		"neither":                              {want: not},
		"the policy":                           {policy: v1alpha1.Strategy{Approval: required}, want: required},
		"the upgrade":                          {own: v1alpha1.Strategy{Approval: required}, want: required},
		"the upgrade wants none":               {policy: v1alpha1.Strategy{Approval: required}, own: v1alpha1.Strategy{Approval: not}, want: required},
		"the policy's groups":                  {policy: v1alpha1.Strategy{Groups: groups(required)}, want: not},
		"its own groups, in place of such":     {policy: v1alpha1.Strategy{Groups: groups(required)}, own: v1alpha1.Strategy{Groups: groups(not)}, want: required},
		"no groups, in place of such":          {policy: v1alpha1.Strategy{Groups: groups(required)}, own: v1alpha1.Strategy{Groups: []v1alpha1.NodeGroup{}}, want: required},
		"its own groups, in place of harmless": {policy: v1alpha1.Strategy{Groups: groups(not)}, own: v1alpha1.Strategy{Groups: groups(not)}, want: not},
	} {
		u := v1alpha1.ClusterUpgrade{Spec: v1alpha1.ClusterUpgradeSpec{Strategy: row.own}}
		if got := u.Resolve(row.policy).Approval; got != row.want {
			t.Errorf("%s: got %s, want %s", name, got, row.want)
		}
	}
}
