//go:build !integration

package sysupdate

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files anew")

// bakery is the conf of Flatcar's sysext-bakery, with the lines that must be removed.
const bakery = `[Transfer]
Verify=false

[Source]
Type=url-file
Path=https://extensions.flatcar.org/extensions/kubernetes/
MatchPattern=kubernetes-v1.34.@v-%a.raw

[Target]
InstancesMax=3
Type=regular-file
Path=/opt/extensions/kubernetes
CurrentSymlink=/etc/extensions/kubernetes.raw
`

func TestRender(t *testing.T) {
	publishers, err := ParseConf(bakery)
	if err != nil {
		t.Fatal(err)
	}
	minor := publishers
	minor.Line = "v1.35"
	for file, conf := range map[string]Conf{
		"testdata/node.conf":   publishers,
		"testdata/minor.conf":  minor,
		"testdata/signed.conf": {Line: "v1.34", Source: "https://mirror.example/k8s%%20images/", Verify: true, InstancesMax: 7},
	} {
		got := conf.Render()
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// TestRenderRoundTrip checks that a rendered conf can be parsed again, and never activates an
// image.
func TestRenderRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		conf := Conf{
			Line:         "v1." + rapid.StringMatching(`0|[1-9][0-9]{0,2}`).Draw(t, "minor"),
			Source:       "https://" + rapid.StringMatching(`[a-z.]{1,20}(/[a-zA-Z0-9_%~-]{0,8}){0,3}/`).Draw(t, "source"),
			Verify:       rapid.Bool().Draw(t, "verify"),
			InstancesMax: rapid.IntRange(0, 9).Draw(t, "max"),
		}
		text := conf.Render()
		if strings.Contains(text, "\nCurrentSymlink") {
			t.Fatalf("the conf would activate an image:\n%s", text)
		}
		got, err := ParseConf(text)
		if diff := cmp.Diff(conf, got); diff != "" || err != nil {
			t.Fatalf("%v\n%s\n%s", err, diff, text)
		}
	})
}

func TestParseConf(t *testing.T) {
	replaced := func(old, by string) string { return strings.Replace(bakery, old, by, 1) }
	tests := map[string]struct {
		text string
		want string // part of the error; empty: none
	}{
		"bakery":           {bakery, ""},
		"several patterns": {replaced("-%a.raw", "-%a.raw \\\n  kubernetes-v1.34.@v-%a.raw.xz"), ""},
		"spaces, comments": {replaced("Path=", "# Path=x\n ; no\n Path = "), ""},
		"comment goes on":  {replaced("Path=", "# a comment \\\nPath="), ""},
		"comment within":   {replaced("-%a.raw", "-%a.raw \\\n# kubernetes-v1.35.@v-%a.raw\n  kubernetes-v1.34.@v-%a.raw.xz"), ""},
		"taken back":       {replaced("Path=", "Path=https://x/\nPath=\nPath="), ""},
		"windows":          {strings.ReplaceAll(bakery, "\n", "\r\n"), ""},
		"not a setting":    {replaced("Path=", "Path\nPath="), "newline"},
		"two minors":       {replaced("-%a.raw", "-%a.raw kubernetes-v1.35.@v-%a.raw"), "one minor"},
		"every minor":      {replaced("v1.34.@v", "@v"), "one minor"},
		"another sysext":   {replaced("kubernetes-v1.34", "containerd-v1.34"), "one minor"},
		"no path":          {replaced("Path=https", "Paht=https"), "no Path="},
		"a local source":   {replaced("Type=url-file", "Type=regular-file"), "regular-file"},
		"empty":            {"", "one minor"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			conf, err := ParseConf(test.text)
			if test.want == "" && (err != nil || conf.Line != "v1.34" || conf.Source != "https://extensions.flatcar.org/extensions/kubernetes/" || conf.Verify || conf.InstancesMax != 3) {
				t.Errorf("%+v %v", conf, err)
			}
			if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
