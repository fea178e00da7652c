package cli_test

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// krewManifest is the part of a manifest of krew that has texts.
type krewManifest struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		ShortDescription string `json:"shortDescription"`
		Description      string `json:"description"`
		Caveats          string `json:"caveats"`
	} `json:"spec"`
}

// krewManifests returns krew.yaml for each name of the plugin, without archives. `make
// release` checks the manifests with them.
func krewManifests(t *testing.T) (all []krewManifest) {
	t.Helper()
	manifest, err := template.ParseFiles(filepath.Join(apitest.Root(t), "krew.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"upgrade", "flatcar-upgrade"} {
		var text bytes.Buffer
		var one krewManifest
		if err := manifest.Execute(&text, map[string]any{"Name": name, "Version": "v1.2.3", "Archives": nil}); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text.Bytes(), &one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

// ofPlugin matches a command of the plugin in a text.
var ofPlugin = regexp.MustCompile("kubectl upgrade ([a-z]+)")

// TestKrewPlugins checks the texts for krew against the rules of its index:
// https://krew.sigs.k8s.io/docs/developer-guide/develop/naming-guide/ and
// https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/.
func TestKrewPlugins(t *testing.T) {
	var commands []string
	for _, cmd := range cli.New(genericiooptions.NewTestIOStreamsDiscard(), "test").Commands() {
		commands = append(commands, cmd.Name())
	}
	for _, manifest := range krewManifests(t) {
		name, plugin := manifest.Metadata.Name, manifest.Spec
		if !regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(name) || strings.HasPrefix(name, "kube") {
			t.Errorf("the name %q is not allowed", name)
		}
		// It is a column of a table: 50 characters at most, and no full stop.
		if short := plugin.ShortDescription; short == "" || len(short) > 50 || strings.HasSuffix(short, ".") || strings.Contains(short, "\n") {
			t.Errorf("%s: the short description has %d characters: %q", name, len(short), short)
		}
		for _, line := range strings.Split(plugin.Description, "\n") {
			if len(line) > 80 {
				t.Errorf("%s: a line of the description has %d characters, at most 80 are allowed: %s", name, len(line), line)
			}
		}
		for _, m := range ofPlugin.FindAllStringSubmatch(plugin.Description+plugin.Caveats, -1) {
			if !slices.Contains(commands, m[1]) {
				t.Errorf("%s: there is no command `kubectl upgrade %s`", name, m[1])
			}
		}
		if !strings.Contains(plugin.Caveats, "/releases/download/v1.2.3/install.yaml\n") {
			t.Errorf("%s: the caveats do not name install.yaml of the same version:\n%s", name, plugin.Caveats)
		}
	}
}
