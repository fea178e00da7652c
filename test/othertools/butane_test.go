package othertools

import (
	"encoding/json"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/coreos/butane/config/common"
	butane "github.com/coreos/butane/config/flatcar/v1_0"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/othertools/capi"
)

// ignition is the part of an Ignition configuration that the snippets make.
type ignition struct {
	Storage struct {
		Links []struct {
			Path   string `json:"path"`
			Target string `json:"target"`
		} `json:"links"`
		Files []struct {
			Path     string `json:"path"`
			Contents struct {
				Source string `json:"source"`
			} `json:"contents"`
		} `json:"files"`
	} `json:"storage"`
	Systemd struct {
		Units []struct {
			Name    string `json:"name"`
			Enabled *bool  `json:"enabled"`
			Mask    bool   `json:"mask"`
			Dropins []any  `json:"dropins"`
		} `json:"units"`
	} `json:"systemd"`
}

// TestFlatcarPageButane renders the snippet of docs/images.md with Butane, as --strict does.
func TestFlatcarPageButane(t *testing.T) {
	options := common.TranslateBytesOptions{TranslateOptions: common.TranslateOptions{NoResourceAutoCompression: true}}
	rendered, report, err := butane.ToIgn3_3Bytes([]byte(snippet(t, "variant: flatcar\n")), options)
	if err != nil || len(report.Entries) > 0 {
		t.Fatalf("butane: %v\n%s", err, report.String())
	}
	check(t, rendered)
}

// TestFlatcarPageCAPZ renders the snippet of docs/images.md as Cluster API does.
func TestFlatcarPageCAPZ(t *testing.T) {
	rendered, err := capi.Render(snippet(t, "# additionalConfig\n"), "v1.34.4")
	if err != nil {
		t.Fatal(err)
	}
	check(t, rendered, "/etc/kubeadm.sh", "/etc/kubeadm.yml")
	var node ignition
	if err := json.Unmarshal(rendered, &node); err != nil {
		t.Fatal(err)
	}
	for _, unit := range node.Systemd.Units {
		if unit.Name == "kubeadm.service" && len(unit.Dropins) != 1 || unit.Name == "update-engine.service" && !unit.Mask {
			t.Errorf("got the unit %+v", unit)
		}
	}
}

// snippet returns the block of docs/images.md that begins with a line.
func snippet(t *testing.T, first string) string {
	t.Helper()
	page, err := os.ReadFile(root + "/docs/images.md")
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile("(?s)```yaml\n(" + regexp.QuoteMeta(first) + ".*?)```").FindSubmatch(page)
	if match == nil {
		t.Fatalf("the page has no block that begins with %q", first)
	}
	return string(match[1])
}

// check fails the test unless the node has one image of v1.34.4 with its symlink, one
// definition that activates nothing, no file but these and others, and no unit that would.
func check(t *testing.T, rendered []byte, others ...string) {
	t.Helper()
	var node ignition
	if err := json.Unmarshal(rendered, &node); err != nil {
		t.Fatal(err)
	}
	const image = "/opt/extensions/kubernetes/kubernetes-v1.34.4-x86-64.raw"
	if links := node.Storage.Links; len(links) != 1 || links[0].Path != "/etc/extensions/kubernetes.raw" || links[0].Target != image {
		t.Errorf("got the links %v", links)
	}
	files := map[string]string{}
	for _, file := range node.Storage.Files {
		files[file.Path] = file.Contents.Source
	}
	for _, other := range others {
		if _, found := files[other]; !found {
			t.Errorf("got no file %s", other)
		}
		delete(files, other)
	}
	if len(files) != 2 || !strings.HasSuffix(files[image], "/extensions/kubernetes/kubernetes-v1.34.4-x86-64.raw") {
		t.Errorf("got the files %v", files)
	}
	inline, found := strings.CutPrefix(files["/etc/sysupdate.kubernetes.d/kubernetes-v1.34.conf"], "data:,")
	definition, err := url.PathUnescape(inline)
	if !found || err != nil {
		t.Fatalf("the definition is not inline: %v, %v", files, err)
	}
	if strings.Contains(definition, "CurrentSymlink") || strings.Count(definition, "MatchPattern=kubernetes-v1.34.@v-%a.raw\n") != 2 {
		t.Errorf("got the definition\n%s", definition)
	}
	masked := map[string]bool{}
	for _, unit := range node.Systemd.Units {
		masked[unit.Name] = unit.Mask
		if unit.Enabled != nil && *unit.Enabled && unit.Name != "kubeadm.service" || strings.HasPrefix(unit.Name, "systemd-sysupdate") && len(unit.Dropins) > 0 {
			t.Errorf("got the unit %+v", unit)
		}
	}
	if !masked["locksmithd.service"] || !masked["systemd-sysupdate.timer"] || !masked["systemd-sysupdate-update.timer"] {
		t.Errorf("got masked units %v", masked)
	}
}
