package workload

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

var target = version.Version{Major: 1, Minor: 34, Patch: 4}

// upgrade returns an upgrade of this program to v1.34.4, made at a minute.
func upgrade(name string, minute int, change ...func(*v1alpha1.ClusterUpgrade)) v1alpha1.ClusterUpgrade {
	u := v1alpha1.ClusterUpgrade{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{Label: LabelValue}, CreationTimestamp: metav1.Unix(int64(60*minute), 0)},
		Spec:       v1alpha1.ClusterUpgradeSpec{Version: "v1.34.4"},
	}
	for _, c := range change {
		c(&u)
	}
	return u
}

func ended(u *v1alpha1.ClusterUpgrade)    { u.Status.Outcome = v1alpha1.OutcomeSucceeded }
func persons(u *v1alpha1.ClusterUpgrade)  { u.Labels = nil }
func rollback(u *v1alpha1.ClusterUpgrade) { u.Spec.Type = v1alpha1.TypeRollback }
func toOther(u *v1alpha1.ClusterUpgrade)  { u.Spec.Version = "v1.34.5" }
func retries(name string) func(*v1alpha1.ClusterUpgrade) {
	return func(u *v1alpha1.ClusterUpgrade) { u.Spec.RetryOf = &v1alpha1.RetriedUpgrade{Name: name} }
}

func TestFind(t *testing.T) {
	for _, test := range []struct {
		name     string
		upgrades []v1alpha1.ClusterUpgrade
		want     string
	}{
		{"none", nil, ""},
		{"ours", []v1alpha1.ClusterUpgrade{upgrade("a", 1)}, "a"},
		{"others", []v1alpha1.ClusterUpgrade{upgrade("a", 1, ended), upgrade("b", 1, persons), upgrade("c", 1, rollback), upgrade("d", 1, toOther)}, ""},
		{"the newest", []v1alpha1.ClusterUpgrade{upgrade("a", 1), upgrade("c", 3), upgrade("b", 2)}, "c"},
		{"a person's retry", []v1alpha1.ClusterUpgrade{upgrade("a", 1), upgrade("b", 2, persons, retries("a"))}, "b"},
		{"a retry of a retry", []v1alpha1.ClusterUpgrade{upgrade("a", 1, ended), upgrade("b", 2, ended, persons, retries("a")), upgrade("c", 3, persons, retries("b"))}, "c"},
		{"a retry of something else", []v1alpha1.ClusterUpgrade{upgrade("a", 1, persons, ended), upgrade("b", 2, persons, retries("a"))}, ""},
		{"retries in a circle", []v1alpha1.ClusterUpgrade{upgrade("a", 1, persons, retries("b")), upgrade("b", 2, persons, retries("a"))}, ""},
	} {
		got := ""
		if found := Find(test.upgrades, target); found != nil {
			got = found.Name
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func cluster(upgrades ...v1alpha1.ClusterUpgrade) Cluster {
	builder := fake.NewClientBuilder().WithScheme(Scheme())
	for i := range upgrades {
		builder.WithObjects(&upgrades[i])
	}
	return Cluster{prod, builder.Build()}
}

func names(t *testing.T, c Cluster) []string {
	t.Helper()
	upgrades, err := c.Upgrades(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, u := range upgrades {
		all = append(all, u.Name)
	}
	slices.Sort(all)
	return all
}

func TestEnsure(t *testing.T) {
	c := cluster()
	for range 2 {
		u, err := c.Ensure(t.Context(), target)
		if err != nil || u.Name != "capi-v1.34.4" || u.Labels[Label] != LabelValue || u.Spec.Version != "v1.34.4" {
			t.Fatalf("got %+v, %v", u, err)
		}
	}
	// A machine that joined with an old version, after the upgrade has ended.
	c = cluster(upgrade("capi-v1.34.4", 1, ended), upgrade("capi-v1.34.4-2", 2, ended))
	if u, err := c.Ensure(t.Context(), target); err != nil || u.Name != "capi-v1.34.4-3" {
		t.Errorf("got %v, %v, want capi-v1.34.4-3", u, err)
	}
	if got, want := names(t, c), []string{"capi-v1.34.4", "capi-v1.34.4-2", "capi-v1.34.4-3"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestEnsureAfterAFailure makes no upgrade again and again that ends at once.
func TestEnsureAfterAFailure(t *testing.T) {
	end := func(outcome v1alpha1.Outcome, minute int64) func(*v1alpha1.ClusterUpgrade) {
		return func(u *v1alpha1.ClusterUpgrade) {
			at := metav1.Unix(60*minute, 0)
			u.Status.Outcome, u.Status.EndTime = outcome, &at
			u.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionFalse, Reason: "Skew", Message: "Kubernetes cannot be downgraded"}}
		}
	}
	c := cluster(upgrade("capi-v1.34.4", 1, end(v1alpha1.OutcomeSucceeded, 1)), upgrade("capi-v1.34.4-2", 2, end(v1alpha1.OutcomeFailed, 2)))
	want := "ClusterUpgrade capi-v1.34.4-2 of cluster machines/prod ended as Failed: Kubernetes cannot be downgraded. Delete it to have another one made"
	for range 2 {
		if u, err := c.Ensure(t.Context(), target); err == nil || err.Error() != want {
			t.Errorf("got %v, %v, want %q", u, err, want)
		}
	}
	c = cluster(upgrade("capi-v1.34.4", 1, end(v1alpha1.OutcomeFailed, 1)), upgrade("retry", 2, persons, retries("capi-v1.34.4"), end(v1alpha1.OutcomeSucceeded, 2)))
	if u, err := c.Ensure(t.Context(), target); err != nil || u.Name != "capi-v1.34.4-2" {
		t.Errorf("after a retry that succeeded: got %v, %v", u, err)
	}
}

// requested lists the nodes that are asked for in an upgrade.
func requested(t *testing.T, c Cluster, upgrade string) (names []string) {
	t.Helper()
	all, err := c.NodeUpgrades(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range all {
		if n.RequestedFor(types.UID(upgrade)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestRequestAndWithdraw(t *testing.T) {
	c := cluster()
	for _, name := range []string{"w1", "w2"} {
		owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: name, UID: types.UID("node " + name)}
		if err := c.Client.Create(t.Context(), &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{owner}}}); err != nil {
			t.Fatal(err)
		}
	}
	request := func(upgrade, name, uid string) error {
		return c.Request(t.Context(), &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{UID: types.UID(upgrade)}}, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}})
	}
	for _, node := range []string{"w1", "w2", "w1"} {
		if err := request("a", node, "node "+node); err != nil {
			t.Fatal(err)
		}
	}
	if got := requested(t, c, "a"); !slices.Equal(got, []string{"w1", "w2"}) {
		t.Errorf("requested: got %v, want w1 and w2", got)
	}
	if err := request("b", "w2", "node w2"); err != nil || len(requested(t, c, "a")) != 1 || len(requested(t, c, "b")) != 1 {
		t.Errorf("w2 in another upgrade: got %v, a has %v, b has %v", err, requested(t, c, "a"), requested(t, c, "b"))
	}
	for _, node := range []string{"w1", "w9"} { // made again under its name, and one of which the coordinator knows nothing
		want := "node " + node + " of cluster machines/prod has no NodeUpgrade yet: its coordinator creates one"
		if err := request("a", node, "another"); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %q", node, err, want)
		}
	}
	for _, want := range []bool{true, false} {
		if was, err := c.Withdraw(t.Context(), "w1"); err != nil || was != want || len(requested(t, c, "a")) > 0 {
			t.Errorf("withdrawn: got %t, %v, want %t; a has %v", was, err, want, requested(t, c, "a"))
		}
	}
	if was, err := c.Withdraw(t.Context(), "w9"); err != nil || was {
		t.Errorf("without a NodeUpgrade: got %t, %v", was, err)
	}
}

func TestDelete(t *testing.T) {
	c := cluster(upgrade("a", 1))
	upgrades, err := c.Upgrades(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), &upgrades[0]); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), &upgrades[0]); err != nil || len(names(t, c)) != 0 {
		t.Errorf("deleted twice: got %v, %v", names(t, c), err)
	}
}
