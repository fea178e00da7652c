package cover

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

func step(t testing.TB, from, to string) Step {
	t.Helper()
	var s Step
	var err error
	if s.From, err = version.Parse(from); err != nil {
		t.Fatal(err)
	}
	if s.To, err = version.Parse(to); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCovers(t *testing.T) {
	for _, test := range []struct {
		name, from, to   string
		current, desired string
		want             bool
	}{
		{"nothing", "v1.34.3", "v1.34.4", "x", "x", true},
		{"a patch", "v1.34.3", "v1.34.4", "kubernetes-v1.34.3-x86-64.raw", "kubernetes-v1.34.4-x86-64.raw", true},
		{"without the v", "v1.34.3", "v1.34.4", "VERSION=1.34.3", "VERSION=1.34.4", true},
		{"a minor's file", "v1.34.3", "v1.35.0", "/etc/sysupdate.kubernetes.d/kubernetes-v1.34.conf", "/etc/sysupdate.kubernetes.d/kubernetes-v1.35.conf", true},
		{"a pattern of sysupdate", "v1.34.3", "v1.35.0", "kubernetes-v1.34.@v-%a.raw", "kubernetes-v1.35.@v-%a.raw", true},
		{"minor and version", "v1.34.3", "v1.35.0", "v1.34 v1.34.3", "v1.35 v1.35.0", true},
		{"a mention that stays", "v1.34.3", "v1.35.0", "# since v1.34\nv1.34.3", "# since v1.34\nv1.35.0", true},
		{"the new one begins like the old one", "v1.34.1", "v1.34.10", "a v1.34.1 b v1.34.1", "a v1.34.10 b v1.34.1", true},
		{"and the other way round", "v1.34.9", "v1.35.0", "v1.34 v1.34.9!", "v1.34 v1.35.0!", true},
		{"at the end of a sentence", "v1.34.3", "v1.34.4", "It is v1.34.3.", "It is v1.34.4.", true},
		{"a text that lagged behind", "v1.34.4", "v1.34.5", "v1.34.3", "v1.34.5", true},
		{"a text after the version", "v1.34.4", "v1.34.4", "v1.34.3", "v1.34.4", true},
		{"a pre-release", "v1.35.0-rc.1", "v1.35.0", "v1.35.0-rc.1 1.35.0-rc.1", "v1.35.0 1.35.0", true},
		{"a build", "v1.34.3+fips", "v1.34.4+fips", "v1.34.3+fips", "v1.34.4+fips", true},

		{"another version", "v1.34.3", "v1.34.4", "v1.34.3", "v1.34.5", false},
		{"a newer text", "v1.34.3", "v1.34.4", "v1.34.5", "v1.34.4", false},
		{"something else, too", "v1.34.3", "v1.34.4", "v1.34.3 a", "v1.34.4 b", false},
		{"something more", "v1.34.3", "v1.34.4", "v1.34.3", "v1.34.4 ", false},
		{"something less", "v1.34.3", "v1.34.4", "v1.34.3 ", "v1.34.4", false},
		{"an address", "v1.34.3", "v1.34.4", "10.1.34.3", "10.1.34.4", false},
		{"a longer address", "v1.34.3", "v1.34.4", "1.34.3.7", "1.34.4.7", false},
		{"a longer number", "v1.34.3", "v1.34.4", "v1.34.30", "v1.34.40", false},
		{"a part of a word", "v1.34.3", "v1.34.4", "rev1.34.3", "rev1.34.4", false},
		{"the minor of a patch", "v1.34.3", "v1.34.4", "v1.34", "v1.35", false},
		{"another major", "v1.34.3", "v1.34.4", "v0.34.3", "v1.34.4", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := step(t, test.from, test.to).Covers(test.current, test.desired); got != test.want {
				t.Errorf("%s to %s, %q to %q: got %t, want %t", test.from, test.to, test.current, test.desired, got, test.want)
			}
		})
	}
}

// TestCoversReplacements makes texts with mentions of the old version, some of which are replaced.
func TestCoversReplacements(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		from, to := versions(r)
		s := Step{from, to}
		forms := [][2]string{{from.String(), to.String()}, {from.String()[1:], to.String()[1:]}, {from.Line(), to.Line()}, {from.Line()[1:], to.Line()[1:]}}
		var current, desired strings.Builder
		both := func(text string) { current.WriteString(text); desired.WriteString(text) }
		for range rapid.IntRange(0, 6).Draw(r, "pieces") {
			both(rapid.StringMatching(`[a-z /=:"\n-]{0,8}`).Draw(r, "text"))
			both(rapid.SampledFrom([]string{" ", "-", "/", "=", "\"", "\n"}).Draw(r, "before"))
			form := rapid.SampledFrom(forms).Draw(r, "form")
			current.WriteString(form[0])
			desired.WriteString(form[rapid.IntRange(0, 1).Draw(r, "replaced")])
			both(rapid.SampledFrom([]string{" ", "-x86-64.raw", ".conf", ".@v", "\"", "\n", ", "}).Draw(r, "after"))
		}
		if !s.Covers(current.String(), desired.String()) {
			t.Fatalf("%s to %s: %q to %q is not covered", from, to, current.String(), desired.String())
		}
		if s.Covers(current.String(), desired.String()+"x") || s.Covers(current.String()+"x", desired.String()) {
			t.Fatalf("%s to %s: an x more in one of %q and %q is covered", from, to, current.String(), desired.String())
		}
	})
}

// versions draws a version, and a later patch of its minor or the next minor.
func versions(r *rapid.T) (from, to version.Version) {
	from = version.Version{Major: 1, Minor: rapid.IntRange(8, 40).Draw(r, "minor"), Patch: rapid.IntRange(0, 12).Draw(r, "patch")}
	to = from
	if rapid.Bool().Draw(r, "next minor") {
		to.Minor, to.Patch = from.Minor+1, rapid.IntRange(0, 12).Draw(r, "new patch")
	} else {
		to.Patch += rapid.IntRange(1, 12).Draw(r, "later")
	}
	return from, to
}

// FuzzCovers checks that what is covered differs in nothing but the new version: with every mention of
// the new version and of older ones taken out, both texts are the same.
func FuzzCovers(f *testing.F) {
	f.Add("kubernetes-v1.34.3.raw", "kubernetes-v1.35.0.raw")
	f.Add("v1.34 1.34.1 v1.34.1", "v1.35 1.34.1 v1.35.0")
	f.Add("10.1.34.3", "10.1.35.0")
	f.Fuzz(func(t *testing.T, current, desired string) {
		s := step(t, "v1.34.1", "v1.35.0")
		if !s.Covers(current, current) {
			t.Errorf("%q is not covered by itself", current)
		}
		if !s.Covers(current, desired) {
			return
		}
		if got, want := withoutNumbers(desired), withoutNumbers(current); got != want {
			t.Errorf("%q to %q is covered, and differs in more than versions: %q, %q", current, desired, want, got)
		}
	})
}

func withoutNumbers(text string) string {
	return strings.Map(func(c rune) rune {
		if '0' <= c && c <= '9' || c == '.' || c == 'v' {
			return -1
		}
		return c
	}, text)
}
