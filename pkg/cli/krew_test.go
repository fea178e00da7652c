package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/internal/apitest"
)

// krewPlugin is the part of krew's Plugin that its index checks:
// https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/.
type krewPlugin struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string         `json:"version"`
		Homepage         string         `json:"homepage"`
		ShortDescription string         `json:"shortDescription"`
		Description      string         `json:"description"`
		Caveats          string         `json:"caveats"`
		Platforms        []krewPlatform `json:"platforms"`
	} `json:"spec"`
}

type krewPlatform struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	URI    string `json:"uri"`
	SHA256 string `json:"sha256"`
	Bin    string `json:"bin"`
}

// fillKrew fills the template as krew-release-bot does for a release.
func fillKrew(t *testing.T, tag string) krewPlugin {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(apitest.Root(t), "krew.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	functions := template.FuncMap{"addURIAndSha": func(uri, tag string) string {
		uri = strings.ReplaceAll(uri, "{{ .TagName }}", tag)
		return fmt.Sprintf("uri: %s\n    sha256: %s", uri, strings.Repeat("a", 64))
	}}
	filled, err := template.New("krew.yaml").Funcs(functions).Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := filled.Execute(&b, struct{ TagName string }{tag}); err != nil {
		t.Fatal(err)
	}
	var plugin krewPlugin
	if err := yaml.UnmarshalStrict(b.Bytes(), &plugin); err != nil {
		t.Fatalf("krew cannot read the filled template: %v\n%s", err, b.String())
	}
	return plugin
}

// TestKrewManifest checks krew's manifest against the rules of its index.
func TestKrewManifest(t *testing.T) {
	plugin := fillKrew(t, "v1.2.3")
	if plugin.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || plugin.Kind != "Plugin" || plugin.Metadata.Name != "upgrade" {
		t.Errorf("got %s %s %q, want a Plugin named upgrade", plugin.APIVersion, plugin.Kind, plugin.Metadata.Name)
	}
	if plugin.Spec.Version != "v1.2.3" || !strings.HasPrefix(plugin.Spec.Homepage, "https://") || plugin.Spec.Description == "" {
		t.Errorf("version, homepage or description is wrong: %+v", plugin.Spec)
	}
	// krew's index allows 50 characters at most, and no full stop.
	if short := plugin.Spec.ShortDescription; len(short) == 0 || len(short) > 50 || strings.HasSuffix(short, ".") {
		t.Errorf("shortDescription has %d characters: %q", len(short), short)
	}
	var platforms []string
	for _, platform := range plugin.Spec.Platforms {
		system, arch := platform.Selector.MatchLabels["os"], platform.Selector.MatchLabels["arch"]
		platforms = append(platforms, system+"/"+arch)
		bin, ending := "kubectl-upgrade", ".tar.gz"
		if system == "windows" {
			bin, ending = "kubectl-upgrade.exe", ".zip"
		}
		uri := plugin.Spec.Homepage + "/releases/download/v1.2.3/kubectl-upgrade_" + system + "_" + arch + ending
		if platform.URI != uri || platform.Bin != bin || len(platform.SHA256) != 64 {
			t.Errorf("%s/%s: got %+v, want %s with %s", system, arch, platform, uri, bin)
		}
	}
	slices.Sort(platforms)
	if got := strings.Join(platforms, " "); got != "darwin/amd64 darwin/arm64 linux/amd64 linux/arm64 windows/amd64 windows/arm64" {
		t.Errorf("platforms: %s", got)
	}
}
