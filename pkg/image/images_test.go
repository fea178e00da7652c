package image_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image"
)

func TestParseName(t *testing.T) {
	for file, want := range map[string]string{
		"kubernetes-v1.34.4-x86-64.raw":          "v1.34.4 amd64",
		"kubernetes-v1.34.4-arm64.raw":           "v1.34.4 arm64",
		"kubernetes-v1.35.0-rc.1-x86-64.raw":     "v1.35.0-rc.1 amd64",
		"kubernetes-v1.35.0-x86-64-arm64.raw":    "v1.35.0-x86-64 arm64",
		"kubernetes-v1.34.4+k3s1-arm64.raw":      "v1.34.4+k3s1 arm64",
		"kubernetes-v1.34.4-rc.1+a-b-x86-64.raw": "v1.34.4-rc.1+a-b amd64",
		"kubernetes-v1.34.4-x86-64.raw.xz":       `not kubernetes-VERSION-ARCHITECTURE.raw`,
		"kubernetes-v1.34.4-riscv64.raw":         `not kubernetes-VERSION-ARCHITECTURE.raw`,
		"kubernetes-v1.34-x86-64.raw":            `"v1.34" of kubernetes-v1.34-x86-64.raw is not a version`,
		"kubernetes-1.34.4-x86-64.raw":           `"1.34.4" of`,
		"kubernetes-v1.34.4/../x-x86-64.raw":     `is not a version`,
		"kubernetes-v1.34.4-a/b-x86-64.raw":      `is not a version`,
	} {
		v, architecture, err := image.ParseName(file)
		switch {
		case err != nil:
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", file, err, want)
			}
		case v.String()+" "+architecture != want || image.Name(v.String(), architecture) != file:
			t.Errorf("%s: %s %s, want %s", file, v, architecture, want)
		}
	}
}

func TestParseIndex(t *testing.T) {
	a, b := strings.Repeat("ab", 32), strings.Repeat("cd", 32)
	for name, row := range map[string]struct {
		text string
		want map[string]string
		err  string
	}{
		"both modes":              {a + "  kubernetes-1.raw\n" + b + " *kubernetes-2.raw\n", map[string]string{"kubernetes-1.raw": a, "kubernetes-2.raw": b}, ""},
		"capitals, twice":         {strings.ToUpper(a) + "  kubernetes-1.raw\n" + a + "  kubernetes-1.raw\n", map[string]string{"kubernetes-1.raw": a}, ""},
		"Windows' line ends":      {a + "  kubernetes-1.raw\r\n", nil, `line 1 of http://x/SHA256SUMS has a control character (such as that of Windows' line ends), and systemd-sysupdate refuses the whole index for that: "` + a + `  kubernetes-1.raw\r"`},
		"a folder":                {a + "  kubernetes-1.raw\n" + b + "  ./kubernetes-2.raw\n", nil, "without ./ and folders, writes it right), and systemd-sysupdate refuses the whole index for that: \"" + b + `  ./kubernetes-2.raw"`},
		"no last line's end":      {a + "  kubernetes-1.raw", nil, `has no end: the file may be cut off, and systemd-sysupdate refuses the whole index for that: "` + a + `  kubernetes-1.raw"`},
		"an empty line":           {a + "  kubernetes-1.raw\n\n", nil, `line 2 of http://x/SHA256SUMS is not a sha256 and a file's name, and systemd-sysupdate refuses the whole index for that: ""`},
		"a comment":               {"# images\n" + a + "  kubernetes-1.raw\n", nil, `systemd-sysupdate refuses the whole index for that: "# images"`},
		"a name with a space":     {a + "  read me.txt\n", map[string]string{}, ""},
		"others' files":           {a + "  wasmtime.raw\n" + b + "  wasmtime.raw\n" + b + "  kubernetes-v1.34.conf\n", map[string]string{}, ""},
		"empty":                   {"", map[string]string{}, ""},
		"cut off in a hash":       {a + "  kubernetes-1.raw\nabcd", nil, `systemd-sysupdate refuses the whole index for that: "abcd"`},
		"two hashes for one file": {a + "  kubernetes-1.raw\n" + b + "  kubernetes-1.raw\n", nil, "http://x/SHA256SUMS lists kubernetes-1.raw with two hashes"},
		"a long line":             {strings.Repeat("x", 1000), nil, `: "` + strings.Repeat("x", 120) + `"`},
	} {
		got, err := image.ParseIndex("http://x/SHA256SUMS", row.text)
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if (err != nil) != (row.err != "") || err != nil && !strings.HasSuffix(err.Error(), row.err) {
			t.Errorf("%s: %v, want %s", name, err, row.err)
		}
	}
}
