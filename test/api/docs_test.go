package api_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestExamplesOfPagesAreAccepted checks that the API server accepts the examples in docs.
func TestExamplesOfPagesAreAccepted(t *testing.T) {
	client := server(t)
	pages, err := filepath.Glob(filepath.Join(apitest.Root(t), "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, page := range append(pages, filepath.Join(apitest.Root(t), "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range documents(text) {
			u := &unstructured.Unstructured{}
			if err := yaml.UnmarshalStrict([]byte(document), &u.Object); err != nil {
				t.Errorf("%s: %v\n%s", filepath.Base(page), err, document)
				continue
			}
			if u.GetAPIVersion() != v1alpha1.GroupVersion.String() || u.GetKind() == "Fleet" { // a file of the plugin, which tests it
				continue
			}
			kinds[u.GetKind()] = true
			if _, err := dryRun(client, u); err != nil {
				t.Errorf("%s: %v\n%s", filepath.Base(page), err, document)
			}
		}
	}
	for _, kind := range []string{"MaintenanceSchedule", "UpgradePolicy", "ClusterUpgrade"} { // which people write
		if !kinds[kind] {
			t.Errorf("no page has an example of a %s", kind)
		}
	}
}

// documents returns each document of a page's YAML.
func documents(page []byte) (list []string) {
	for _, block := range yamlBlock.FindAllSubmatch(page, -1) {
		list = append(list, strings.Split(string(block[1]), "\n---\n")...)
	}
	return list
}
