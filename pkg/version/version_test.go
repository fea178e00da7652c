package version_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

func parse(t *testing.T, s string) version.Version {
	t.Helper()
	v, err := version.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestParse(t *testing.T) {
	for in, want := range map[string]string{
		"v1.34.4": "v1.34.4", "1.34.4": "v1.34.4", "v1.0.0": "v1.0.0",
		"v1.35.0-rc.1": "v1.35.0-rc.1", "1.34.4+k3s1": "v1.34.4+k3s1", "v1.35.0-alpha.2+a-b.01": "v1.35.0-alpha.2+a-b.01",
		"v1.34": "", "v1.34-rc.1": "", "v1.34.4-": "", "v1.34.4+": "", "v1.34.4-rc..1": "", "v1.34.4-rc_1": "", "v1.34.4-rc.01": "", "v1.34.4+a+b": "",
		"v1.034.4": "", "latest": "", "": "", "v1.34.4+" + strings.Repeat("a", 57): "",
		"v1.34.4\n": "", "v1.99999.1": "", "v-1.2.3": "", "v01.34.4": "", "vv1.34.4": "", "v1.34.4.1": "",
		"v1.34.": "", "v1..4": "", ".1.34": "", " v1.34.4": "", "v1.3４.4": "", "v0.0.0": "v0.0.0",
	} {
		got, err := version.Parse(in)
		if want == "" {
			var refusal *version.Refusal
			if !errors.As(err, &refusal) || refusal.Rule != version.RuleNotVersion || got != (version.Version{}) {
				t.Errorf("Parse(%q) = %s, %v; want a refusal by %s", in, got, err, version.RuleNotVersion)
			}
			continue
		}
		if err != nil || got.String() != want {
			t.Errorf("Parse(%q) = %s, %v; want %s", in, got, err, want)
		}
	}
}

func TestOrder(t *testing.T) {
	ascending := []string{
		"v1.9.10", "v1.34.3", "v1.34.4", "v1.34.4+k3s1", "v1.34.4+k3s2", "v1.34.10",
		"v1.35.0-alpha.3", "v1.35.0-beta.0", "v1.35.0-rc.0", "v1.35.0-rc.2", "v1.35.0-rc.10", "v1.35.0", "v2.0.0",
	}
	for i := range ascending {
		for j := range ascending {
			a, b := parse(t, ascending[i]), parse(t, ascending[j])
			if got := a.Compare(b); sign(got) != sign(i-j) {
				t.Errorf("Compare(%s, %s) = %d", a, b, got)
			}
		}
	}
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

func TestRefusals(t *testing.T) {
	v := func(s string) version.Version { return parse(t, s) }
	for _, test := range []struct {
		name string
		err  error
		want version.Rule
	}{
		{"a patch", version.CheckStep(v("v1.34.3"), v("v1.34.4")), ""},
		{"the same again", version.CheckStep(v("v1.34.4"), v("v1.34.4")), ""},
		{"the next minor", version.CheckStep(v("v1.34.3"), v("v1.35.0")), ""},
		{"two minors at once", version.CheckStep(v("v1.34.3"), v("v1.36.0")), version.RuleSkippedMinor},
		{"a pre-release of the next minor", version.CheckStep(v("v1.34.3"), v("v1.35.0-rc.1")), ""},
		{"a pre-release's release", version.CheckStep(v("v1.35.0-rc.1"), v("v1.35.0")), ""},
		{"back to a pre-release", version.CheckStep(v("v1.35.0"), v("v1.35.0-rc.1")), version.RuleDowngrade},
		{"a major", version.CheckStep(v("v1.34.3"), v("v2.34.3")), version.RuleOtherMajor},
		{"back a major", version.CheckStep(v("v2.0.0"), v("v1.34.3")), version.RuleDowngrade},
		{"kubelet of another major", version.CheckKubelet(v("v2.34.3"), v("v1.34.3")), version.RuleOtherMajor},
		{"apiservers of two majors", version.CheckAPIServers(v("v2.34.3"), v("v1.34.3")), version.RuleOtherMajor},
		{"back a patch", version.CheckStep(v("v1.34.4"), v("v1.34.3")), version.RuleDowngrade},
		{"back a minor", version.CheckStep(v("v1.35.0"), v("v1.34.9")), version.RuleDowngrade},
		{"kubelet as old as allowed", version.CheckKubelet(v("v1.31.0"), v("v1.34.3")), ""},
		{"kubelet too old", version.CheckKubelet(v("v1.30.9"), v("v1.34.3")), version.RuleKubeletTooOld},
		{"kubelet a patch ahead", version.CheckKubelet(v("v1.34.4"), v("v1.34.3")), ""},
		{"kubelet a minor ahead", version.CheckKubelet(v("v1.35.0"), v("v1.34.3")), version.RuleKubeletNewer},
		{"apiservers within one minor", version.CheckAPIServers(v("v1.34.3"), v("v1.35.4"), v("v1.34.4")), ""},
		{"apiservers two minors apart", version.CheckAPIServers(v("v1.36.0"), v("v1.35.4"), v("v1.34.4")), version.RuleAPIServerApart},
		{"no apiserver", version.CheckAPIServers(), ""},
	} {
		var refusal *version.Refusal
		if errors.As(test.err, &refusal); refusal == nil {
			if test.want != "" || test.err != nil {
				t.Errorf("%s: got %v, want a refusal by %q", test.name, test.err, test.want)
			}
			continue
		}
		if refusal.Rule != test.want || refusal.Error() == "" {
			t.Errorf("%s: refused by %s (%s), want %q", test.name, refusal.Rule, refusal, test.want)
		}
	}
}

// TestAllowedStepKeepsKubelets checks that after an allowed step a kubelet of the old version is
// allowed with an apiserver of the new one: pass 2 may follow pass 1.
func TestAllowedStepKeepsKubelets(t *testing.T) {
	pre := rapid.SampledFrom([]string{"", "alpha.1", "rc.0"})
	small := rapid.Custom(func(t *rapid.T) version.Version {
		return version.Version{Major: 1, Minor: rapid.IntRange(28, 36).Draw(t, "minor"), Patch: rapid.IntRange(0, 12).Draw(t, "patch"), Pre: pre.Draw(t, "pre")}
	})
	rapid.Check(t, func(t *rapid.T) {
		from, to := small.Draw(t, "from"), small.Draw(t, "to")
		if version.CheckStep(from, to) != nil {
			return
		}
		if err := version.CheckKubelet(from, to); err != nil {
			t.Fatalf("step %s to %s is allowed, but: %v", from, to, err)
		}
		if err := version.CheckAPIServers(from, to); err != nil {
			t.Fatalf("step %s to %s is allowed, but: %v", from, to, err)
		}
	})
}

// TestParseReadsString checks that Parse reads what String prints.
func TestParseReadsString(t *testing.T) {
	number := rapid.IntRange(0, 9999)
	part := rapid.StringMatching(`|[a-z]{1,5}(\.(0|[1-9][0-9]?|[a-zA-Z-]{1,4})){0,2}`)
	rapid.Check(t, func(t *rapid.T) {
		want := version.Version{
			Major: number.Draw(t, "major"), Minor: number.Draw(t, "minor"), Patch: number.Draw(t, "patch"),
			Pre: part.Draw(t, "pre"), Build: part.Draw(t, "build"),
		}
		if got, err := version.Parse(want.String()); err != nil || got != want {
			t.Fatalf("Parse(%s) = %s, %v", want, got, err)
		}
	})
}

// TestNoAllocations checks that Parse and Less do not allocate: a plan calls them several times
// for every node.
func TestNoAllocations(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { _, _ = version.Parse("v1.34.4") }); n > 2 {
		t.Errorf("Parse allocates %v times", n)
	}
	a, b := parse(t, "v1.34.4"), parse(t, "v1.34.5")
	if n := testing.AllocsPerRun(100, func() { a.Less(b) }); n != 0 {
		t.Errorf("Less allocates %v times", n)
	}
}

func TestName(t *testing.T) {
	for of, want := range map[string]string{"v1.34.4": "v1.34.4", "v1.35.0-RC.1": "v1.35.0-rc.1", "v1.34.4+k3s1": "v1.34.4-k3s1"} {
		if got := parse(t, of).Name(); got != want {
			t.Errorf("%s: %s, want %s", of, got, want)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		_, _ = version.Parse("v1.34.4")
	}
}

func TestReached(t *testing.T) {
	want := version.Version{Major: 1, Minor: 35, Patch: 4}
	for got, reached := range map[string]bool{
		"v1.35.4": true, "v1.35.5": true, "v1.36.0": true, "1.35.4": true,
		"v1.35.3": false, "v1.34.9": false, "": false, "v1.35.4-rc.1": false, "v1.35.5-rc.1": true, "latest": false,
	} {
		if version.Reached(got, want) != reached {
			t.Errorf("%q: got %v", got, !reached)
		}
	}
}
