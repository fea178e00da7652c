//go:build !integration

package sysupdate

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFlatcarPage reads the definitions of docs/images.md as an agent does.
func TestFlatcarPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/images.md")
	if err != nil {
		t.Fatal(err)
	}
	definitions := regexp.MustCompile(`(?m)^ +\[Transfer\]\n(?:(?: {10}.*)?\n)+`).FindAllString(string(page), -1)
	if len(definitions) != 2 {
		t.Fatalf("found %d definitions, want that for Butane and that for CAPZ", len(definitions))
	}
	for _, definition := range definitions {
		text := strings.ReplaceAll(regexp.MustCompile(`(?m)^ {10}`).ReplaceAllString(definition, ""), "${KUBERNETES_VERSION%.*}", "v1.34")
		conf, err := ParseConf(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		want := Conf{Line: "v1.34", Source: "https://extensions.flatcar.org/extensions/kubernetes/", InstancesMax: 3}
		if diff := cmp.Diff(want, conf); diff != "" {
			t.Errorf("(-want +got):\n%s\n%s", diff, text)
		}
		if strings.Contains(text, "CurrentSymlink") {
			t.Errorf("it activates images:\n%s", text)
		}
	}
}
