package migrate

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestGatesAndNoticesOfOthersStay changes over a policy that has a gate and notices already, and back.
func TestGatesAndNoticesOfOthersStay(t *testing.T) {
	var spec v1alpha1.UpgradePolicySpec
	spec.Gates = []v1alpha1.Gate{{Name: "own"}}
	spec.Notices = []v1alpha1.Notice{{Name: "kured", URLSecretRef: v1alpha1.SecretKeyReference{Name: "old"}}, {Name: "own"}}
	names := func() (all []string) {
		for _, g := range spec.Gates {
			all = append(all, g.Name)
		}
		for _, n := range spec.Notices {
			all = append(all, n.Name+n.URLSecretRef.Name)
		}
		return all
	}
	before := names()
	var result Result
	result.Policy.Gates = []v1alpha1.Gate{{Name: "kured-alerts"}}
	result.Policy.Notices = []v1alpha1.Notice{{Name: "kured", URLSecretRef: v1alpha1.SecretKeyReference{Name: "new"}}}
	record, err := NewRecord(result, spec)
	if err != nil {
		t.Fatal(err)
	}
	if record, err = ParseRecord(record.String()); err != nil {
		t.Fatal(err)
	}
	record.Start(&spec)
	after := []string{"kured-alerts", "own", "kurednew", "own"}
	if diff := cmp.Diff(after, names()); diff != "" {
		t.Errorf("after the changeover (-want +got):\n%s", diff)
	}
	if changed := record.Restore(&spec); changed != nil || !slices.Equal(before, names()) {
		t.Errorf("undone: got %q, changed %q", names(), changed)
	}
	record.Start(&spec)
	spec.Gates = append(spec.Gates, v1alpha1.Gate{Name: "later"})
	if changed := record.Restore(&spec); !slices.Equal(changed, []string{"gates"}) || len(spec.Gates) != 3 {
		t.Errorf("undone after another change: got %q, changed %q", names(), changed)
	}
}

// TestRecordOfFormerVersion checks that undoing a changeover of the former version loses nothing.
func TestRecordOfFormerVersion(t *testing.T) {
	record, err := ParseRecord(`{"program":"kured","before":{"gates":[{"name":"a","cluster":{"kubeconfigSecret":"leader","soakSeconds":60}}]},"after":{}}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := record.Before.Gates[0].Cluster.KubeconfigSecretRef.Name; got != "leader" {
		t.Errorf("the kubeconfig of the gate is in Secret %q, want leader", got)
	}
}
