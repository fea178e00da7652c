package workload

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
			u.Status.Outcome, u.Status.CompletionTime = outcome, &at
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

// TestRequestsHaveALimit checks what is said when the API's limit is reached.
func TestRequestsHaveALimit(t *testing.T) {
	full := upgrade("a", 1)
	for i := range mostRequested {
		full.Spec.RequestedNodes = append(full.Spec.RequestedNodes, v1alpha1.RequestedNode{Name: fmt.Sprint("n", i), UID: "1"})
	}
	c := cluster(full)
	if err := c.Request(t.Context(), "a", v1alpha1.RequestedNode{Name: "n1", UID: "1"}); err != nil {
		t.Errorf("one that is asked for already: got %v", err)
	}
	want := "128 nodes of cluster machines/prod are asked for already"
	if err := c.Request(t.Context(), "a", v1alpha1.RequestedNode{Name: "w", UID: "1"}); err == nil || err.Error() != want {
		t.Errorf("one more: got %v, want %q", err, want)
	}
	if got := len(nodes(t, c, "a")); got != mostRequested {
		t.Errorf("got %d nodes", got)
	}
}

func nodes(t *testing.T, c Cluster, upgrade string) []v1alpha1.RequestedNode {
	t.Helper()
	var u v1alpha1.ClusterUpgrade
	if err := c.Client.Get(t.Context(), client.ObjectKey{Name: upgrade}, &u); err != nil {
		t.Fatal(err)
	}
	return u.Spec.RequestedNodes
}

func TestRequestAndWithdraw(t *testing.T) {
	c := cluster(upgrade("a", 1), upgrade("over", 1, ended, func(u *v1alpha1.ClusterUpgrade) {
		u.Spec.RequestedNodes = []v1alpha1.RequestedNode{{Name: "w1", UID: "1"}}
	}))
	for _, node := range []v1alpha1.RequestedNode{{Name: "w1", UID: "1"}, {Name: "w2", UID: "2"}, {Name: "w1", UID: "1"}, {Name: "w1", UID: "3"}} {
		if err := c.Request(t.Context(), "a", node); err != nil {
			t.Fatal(err)
		}
	}
	want := []v1alpha1.RequestedNode{{Name: "w2", UID: "2"}, {Name: "w1", UID: "3"}}
	if difference := cmp.Diff(want, nodes(t, c, "a")); difference != "" {
		t.Errorf("requested; a node made again under its name is another one (-want +got):\n%s", difference)
	}
	changed, err := c.Withdraw(t.Context(), func(n v1alpha1.RequestedNode) bool { return n.Name == "w1" })
	if err != nil || !slices.Equal(changed, []string{"a"}) {
		t.Errorf("withdrawn: got %v, %v, want a", changed, err)
	}
	if difference := cmp.Diff([]v1alpha1.RequestedNode{{Name: "w2", UID: "2"}}, nodes(t, c, "a")); difference != "" {
		t.Errorf("withdrawn (-want +got):\n%s", difference)
	}
	if changed, err := c.Withdraw(t.Context(), func(n v1alpha1.RequestedNode) bool { return n.Name == "w1" }); err != nil || changed != nil {
		t.Errorf("withdrawn again: got %v, %v", changed, err)
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
