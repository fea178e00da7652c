package preflight_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
)

// mess returns a cluster with several scenes, one after the other. The same choices give the
// same cluster.
func mess(choices []int) preflight.Facts {
	f := cluster(3, 2)
	all := scenes()
	for _, i := range choices {
		if alter := all[i].alter; alter != nil {
			alterWhatIsLeft(f, alter)
		}
	}
	return *f
}

// alterWhatIsLeft applies a scene as far as possible: an earlier one may have removed the
// objects that it changes.
func alterWhatIsLeft(f *preflight.Facts, alter func(*preflight.Facts)) {
	defer func() { _ = recover() }()
	alter(f)
}

func draw(t *rapid.T) []int {
	return rapid.SliceOfN(rapid.IntRange(0, len(scenes())-1), 0, 12).Draw(t, "scenes")
}

// TestCheckIsPure checks that findings do not depend on the order of the facts, and that Check
// does not change the facts.
func TestCheckIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		choices := draw(t)
		f, untouched := mess(choices), mess(choices)
		got := preflight.Check(f)
		if diff := cmp.Diff(untouched, f); diff != "" {
			t.Fatalf("the facts were changed (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(got, preflight.Check(shuffled(t, f))); diff != "" {
			t.Fatalf("another order of the facts gave other findings:\n%s", diff)
		}
	})
}

func shuffled(t *rapid.T, f preflight.Facts) preflight.Facts {
	f.Nodes = shuffle(t, f.Nodes)
	f.NodeUpgrades = shuffle(t, f.NodeUpgrades)
	f.SystemPods = shuffle(t, f.SystemPods)
	f.RequestedAPIs = shuffle(t, f.RequestedAPIs)
	f.RebootManagers = shuffle(t, f.RebootManagers)
	f.Unread = shuffle(t, f.Unread)
	w := &f.Workloads
	w.Pods = shuffle(t, w.Pods)
	w.Budgets = shuffle(t, w.Budgets)
	w.Deployments = shuffle(t, w.Deployments)
	w.EndpointSlices = shuffle(t, w.EndpointSlices)
	w.Validating = shuffle(t, w.Validating)
	w.Mutating = shuffle(t, w.Mutating)
	return f
}

func shuffle[T any](t *rapid.T, list []T) []T {
	if len(list) < 2 {
		return list
	}
	return rapid.Permutation(list).Draw(t, "order")
}

// TestFindingsAreWellFormed checks that findings are sorted, of known checks, at the levels of
// the catalog, and in whole sentences.
func TestFindingsAreWellFormed(t *testing.T) {
	entries := map[string]preflight.Entry{}
	for _, family := range preflight.Catalog() {
		for _, e := range family.Checks {
			entries[e.ID] = e
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		f := mess(draw(t))
		findings := preflight.Check(f)
		for i, found := range findings {
			e, known := entries[found.ID]
			switch {
			case !known || !slices.Contains(e.Levels, found.Level):
				t.Errorf("%+v is not in the catalog", found)
			case !strings.HasSuffix(found.Message, ".") || found.Advice == "" || strings.Contains(found.Message+found.Advice, "%!"):
				t.Errorf("%+v is not in sentences", found)
			case found.Node != "" && found.Level != v1alpha1.LevelBlock:
				t.Errorf("%+v warns and holds a node", found)
			}
			if i > 0 && before(found, findings[i-1]) {
				t.Errorf("%+v comes after %+v", found, findings[i-1])
			}
		}
	})
}

func before(a, b v1alpha1.Finding) bool {
	if a.Level != b.Level {
		return a.Level == v1alpha1.LevelBlock
	}
	return a.ID < b.ID || a.ID == b.ID && a.Object.String() < b.Object.String()
}

// TestIgnoringMarksOnlyThatCheck checks that ignoring a check marks its findings, and changes
// nothing else.
func TestIgnoringMarksOnlyThatCheck(t *testing.T) {
	var ids []string
	for _, family := range preflight.Catalog() {
		for _, e := range family.Checks {
			ids = append(ids, e.ID)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		f := mess(draw(t))
		id := rapid.SampledFrom(ids).Draw(t, "ignored")
		f.Upgrade.Spec.IgnoreChecks = nil
		want := preflight.Check(f)
		for i := range want {
			want[i].Ignored = want[i].ID == id
		}
		f.Upgrade.Spec.IgnoreChecks = []v1alpha1.IgnoredCheck{{ID: id}}
		if diff := cmp.Diff(want, preflight.Check(f)); diff != "" {
			t.Fatalf("ignoring %s (-want +got):\n%s", id, diff)
		}
	})
}

// TestBoundKeepsEveryCheck checks that the bounded findings still have one of each check.
func TestBoundKeepsEveryCheck(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := mess(draw(t))
		big := cluster(3, rapid.IntRange(0, 300).Draw(t, "workers"))
		for i := range big.Inventories {
			big.Inventories[i].CgroupVersion = 1
		}
		all := append(preflight.Check(f), preflight.Check(*big)...)
		got := preflight.Bound(all, 128)
		if len(got) > 128 || len(all) <= 128 && len(got) != len(all) {
			t.Fatalf("%d findings of %d", len(got), len(all))
		}
		seen := map[string]bool{}
		for _, found := range got {
			seen[string(found.Level)+found.ID] = true
		}
		for _, found := range all {
			if !seen[string(found.Level)+found.ID] {
				t.Errorf("%s %s is missing from the bounded findings", found.Level, found.ID)
			}
		}
	})
}

func TestBoundCountsTheRest(t *testing.T) {
	f := cluster(3, 200)
	for i := range f.Inventories {
		f.Inventories[i].CgroupVersion = 1
	}
	got := preflight.Bound(preflight.Check(*f), 128)
	last := got[len(got)-1]
	if len(got) != 128 || last.ID != "cgroup-v1" || last.Message != "More findings of this check, which are not listed: 76." || last.Advice == "" {
		t.Errorf("%d findings, the last one %+v", len(got), last)
	}
}
