package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cli"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/internal/apitest"
)

// krewPlugin is what GoReleaser fills krew's manifest in from. `make release` checks
// the manifest itself.
type krewPlugin struct {
	Name             string `json:"name"`
	ShortDescription string `json:"short_description"`
	Description      string `json:"description"`
	Caveats          string `json:"caveats"`
	URLTemplate      string `json:"url_template"`
}

func krewPlugins(t *testing.T) []krewPlugin {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(apitest.Root(t), ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Krews []krewPlugin `json:"krews"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	return config.Krews
}

// ofPlugin matches a command of the plugin in a text.
var ofPlugin = regexp.MustCompile("kubectl upgrade ([a-z]+)")

// TestKrewPlugins checks the texts for krew against the rules of its index:
// https://krew.sigs.k8s.io/docs/developer-guide/develop/naming-guide/ and
// https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/.
func TestKrewPlugins(t *testing.T) {
	var commands, names []string
	for _, cmd := range cli.New(genericiooptions.NewTestIOStreamsDiscard(), "test").Commands() {
		commands = append(commands, cmd.Name())
	}
	for _, plugin := range krewPlugins(t) {
		names = append(names, plugin.Name)
		if !regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(plugin.Name) || strings.HasPrefix(plugin.Name, "kube") {
			t.Errorf("the name %q is not allowed", plugin.Name)
		}
		// It is a column of a table: 50 characters at most, and no full stop.
		if short := plugin.ShortDescription; short == "" || len(short) > 50 || strings.HasSuffix(short, ".") || strings.Contains(short, "\n") {
			t.Errorf("%s: the short description has %d characters: %q", plugin.Name, len(short), short)
		}
		for _, line := range strings.Split(plugin.Description, "\n") {
			if len(line) > 80 {
				t.Errorf("%s: a line of the description has %d characters, at most 80 are allowed: %s", plugin.Name, len(line), line)
			}
		}
		for _, m := range ofPlugin.FindAllStringSubmatch(plugin.Description+plugin.Caveats, -1) {
			if !slices.Contains(commands, m[1]) {
				t.Errorf("%s: there is no command `kubectl upgrade %s`", plugin.Name, m[1])
			}
		}
		if !strings.Contains(plugin.Caveats, strings.TrimSuffix(plugin.URLTemplate, "{{ .ArtifactName }}")+"install.yaml") {
			t.Errorf("%s: the caveats do not name install.yaml of the same version:\n%s", plugin.Name, plugin.Caveats)
		}
	}
	if got := strings.Join(names, " "); got != "upgrade flatcar-upgrade" {
		t.Errorf("plugins: %s", got)
	}
}
