package main

import (
	"regexp"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/strvals"
	"sigs.k8s.io/yaml"
)

var yamlBlock = regexp.MustCompile("(?ms)^ *```yaml\n(.*?)^ *```$")

// TestPagesValues checks that docs/install.md lists each value, and none that does not exist.
func TestPagesValues(t *testing.T) {
	page := string(read(t, root+"/docs/install.md"))
	existing := map[string]bool{}
	leaves(load(t).Values, "", existing)
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-zA-Z]+[a-zA-Z.]*)` \\|.*\\|.*\\|$").FindAllStringSubmatch(page, -1) {
		listed[row[1]] = true
		if !existing[row[1]] {
			t.Errorf("the page lists %s, which values.yaml does not have", row[1])
		}
	}
	for value := range existing {
		if !listed[value] {
			t.Errorf("the page does not list %s", value)
		}
	}
}

// leaves adds the values that a person sets: a map of any keys is one value.
func leaves(values map[string]any, prefix string, all map[string]bool) {
	for name, value := range values {
		nested, isMap := value.(map[string]any)
		whole := name == "resources" || name == "nodeSelector" || name == "spec"
		if isMap && !whole {
			leaves(nested, prefix+name+".", all)
		} else {
			all[prefix+name] = true
		}
	}
}

// TestPagesHelm renders the chart with the values of each example of docs/install.md, and of
// each helm command of that page, whose release has the name and the namespace that the CRDs have.
func TestPagesHelm(t *testing.T) {
	page := string(read(t, root+"/docs/install.md"))
	c := load(t)
	examples := 0
	for _, block := range yamlBlock.FindAllStringSubmatch(page, -1) {
		for document := range strings.SplitSeq(block[1], "---\n") {
			values, ok := valuesIn(t, document)
			if !ok {
				continue
			}
			examples++
			if _, err := render(t, c, releaseNamespace, values); err != nil {
				t.Errorf("%v\n%s", err, document)
			}
		}
	}
	if examples != 3 {
		t.Errorf("found %d examples of values, want values.yaml, Flux and Argo CD", examples)
	}
	commands := regexp.MustCompile(`(?m)^ *\$ helm (install|upgrade) .*$`).FindAllString(page, -1)
	if len(commands) < 3 {
		t.Errorf("found only %d commands of helm", len(commands))
	}
	for _, command := range commands {
		ours := strings.Contains(command, " "+releaseName+" dist/charts/") || strings.Contains(command, " "+releaseName+" oci://ghcr.io/kubectl-upgrade/charts/"+releaseName+" ")
		if !ours || !strings.Contains(command, " --namespace "+releaseNamespace) {
			t.Errorf("another release: %s", command)
		}
		given := common.Values{}
		for _, set := range regexp.MustCompile(`--set (\S+)`).FindAllStringSubmatch(command, -1) {
			if err := strvals.ParseInto(set[1], given); err != nil {
				t.Fatal(err)
			}
		}
		text, err := given.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := render(t, c, releaseNamespace, text); err != nil {
			t.Errorf("%s: %v", command, err)
		}
	}
}

// valuesIn returns the chart's values that an example contains.
func valuesIn(t *testing.T, document string) (string, bool) {
	t.Helper()
	if strings.HasPrefix(document, "# values.yaml\n") {
		return document, true
	}
	var example struct {
		Kind string `json:"kind"`
		Spec struct {
			Values map[string]any `json:"values"` // of a HelmRelease
			Source struct {
				Helm struct {
					ValuesObject map[string]any `json:"valuesObject"` // of an Application
				} `json:"helm"`
			} `json:"source"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(document), &example); err != nil {
		t.Fatalf("%v\n%s", err, document)
	}
	values := example.Spec.Values
	if values == nil {
		values = example.Spec.Source.Helm.ValuesObject
	}
	text, err := common.Values(values).YAML()
	if err != nil {
		t.Fatal(err)
	}
	return text, values != nil
}

// TestPagesObjects asks a real API server to accept each object of kubectl-upgrade that the
// README and docs/install.md show.
func TestPagesObjects(t *testing.T) {
	config := freshServer(t)
	kubectl(t, config, "apply", "--server-side", "-k", root+"/manifests/crd")
	kubectl(t, config, "wait", "--for=condition=Established", "crd", "--all")
	objects := 0
	for _, page := range []string{"README.md", "docs/install.md"} {
		for _, block := range yamlBlock.FindAllStringSubmatch(string(read(t, root+"/"+page)), -1) {
			if !strings.Contains(block[1], "apiVersion: kubectl-upgrade.dev/") {
				continue
			}
			objects++
			kubectl(t, config, "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", file(t, block[1]))
		}
	}
	if objects == 0 {
		t.Error("found no example: the pattern may no longer match")
	}
}
