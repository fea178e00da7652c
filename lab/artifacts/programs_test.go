package artifacts

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

func TestVersionFlags(t *testing.T) {
	got := versionFlags("1.35.4")
	for _, want := range []string{
		"k8s.io/component-base/version.gitVersion=v1.35.4", "k8s.io/component-base/version.gitMinor=35",
		"k8s.io/client-go/pkg/version.gitVersion=v1.35.4", "k8s.io/client-go/pkg/version.gitMajor=1",
	} {
		if !strings.Contains(got, "-X "+want) {
			t.Errorf("%q lacks %s", got, want)
		}
	}
}

func TestKubernetesRefusesWhatIsNoVersion(t *testing.T) {
	c := openCache(t, func(step string) Step { t.Errorf("step %q began", step); return Silent(step) })
	for _, version := range []string{"", "v1.34.4", "1.34", "1.34.4-rc.0", "../1.34.4"} {
		if _, err := c.Kubernetes(t.Context(), version); err == nil {
			t.Errorf("%q was taken for a version", version)
		}
	}
}

func TestWrittenSourcesAreGo(t *testing.T) {
	for name, text := range map[string]string{
		"coredns": corednsMain(),
		"pause":   pauseMain,
		"tools":   imports([]string{"example.com/a", "example.com/b/v3"})["tools.go"],
	} {
		if _, err := parser.ParseFile(token.NewFileSet(), name, text, parser.AllErrors); err != nil {
			t.Error(err)
		}
	}
}
