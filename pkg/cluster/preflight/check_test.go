package preflight_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
)

var update = flag.Bool("update", false, "write docs/checks.md and testdata/findings.txt")

func quantity(s string) resource.Quantity { return resource.MustParse(s) }

// scene is a change to a cluster without findings, and the findings afterwards, as
// "Level id object node".
type scene struct {
	check string // the check that it is about
	name  string
	facts *preflight.Facts // nil: three control planes and two workers
	alter func(*preflight.Facts)
	want  []string
}

// scenes are all scenes, by family.
func scenes() []scene {
	var all []scene
	for _, family := range [][]scene{
		versionScenes(), controlPlaneScenes(), unsupportedScenes(), leftOutScenes(), kubeadmScenes(), corefileScenes(),
		healthJobScenes(), etcdScenes(), certificateScenes(), diskScenes(),
		trapScenes(), workloadScenes(), webhookScenes(), otherScenes(), factsScenes(),
	} {
		all = append(all, family...)
	}
	return all
}

func (s scene) build() preflight.Facts {
	f := s.facts
	if f == nil {
		f = cluster(3, 2)
	}
	if s.alter != nil {
		s.alter(f)
	}
	return *f
}

func short(findings []v1alpha1.Finding) []string {
	var lines []string
	for _, f := range findings {
		line := fmt.Sprintf("%s %s", f.Level, f.ID)
		if f.Object != (v1alpha1.ObjectReference{}) {
			line += " " + f.Object.String()
		}
		if f.Node != "" {
			line += " @" + f.Node
		}
		lines = append(lines, line)
	}
	return lines
}

func TestCheck(t *testing.T) {
	for _, s := range scenes() {
		t.Run(s.check+"/"+s.name, func(t *testing.T) {
			if diff := cmp.Diff(s.want, short(preflight.Check(s.build()))); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEveryCheckIsTested checks that every check has a scene with a finding, and one without.
func TestEveryCheckIsTested(t *testing.T) {
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, s := range scenes() {
		if !preflight.Known(s.check) {
			t.Errorf("scene %q is about check %q, which does not exist", s.name, s.check)
		}
		found := strings.Contains(strings.Join(s.want, "\n")+" ", " "+s.check+" ") || strings.Contains(strings.Join(s.want, "\n")+"\n", " "+s.check+"\n")
		fires[s.check] = fires[s.check] || found
		silent[s.check] = silent[s.check] || !found
	}
	for _, family := range preflight.Catalog() {
		for _, entry := range family.Checks {
			if !fires[entry.ID] || !silent[entry.ID] {
				t.Errorf("check %s: has a scene with a finding: %t, and one without: %t", entry.ID, fires[entry.ID], silent[entry.ID])
			}
		}
	}
}

// TestFindingsMatchGoldenFile compares the texts of all findings with testdata/findings.txt.
func TestFindingsMatchGoldenFile(t *testing.T) {
	var text strings.Builder
	for _, s := range scenes() {
		findings := preflight.Check(s.build())
		if len(findings) == 0 {
			continue
		}
		fmt.Fprintf(&text, "# %s: %s\n", s.check, s.name)
		for i, f := range findings {
			fmt.Fprintf(&text, "%s: %s\n    %s\n", short(findings)[i], f.Message, f.Advice)
		}
		text.WriteString("\n")
	}
	golden(t, filepath.Join("testdata", "findings.txt"), text.String())
}

func golden(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), want); diff != "" {
		t.Errorf("%s differs (-file +code); go test ./pkg/cluster/preflight -update writes it:\n%s", path, diff)
	}
}
