//go:build integration

package sysupdate_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// TestIndexAsSystemdReadsIt asks the real systemd-sysupdate about indexes as people write them: the coordinator, which reads
// them with image.ParseIndex, has to say the same of each before any node stages. Nodes have many versions of systemd, so what
// one refuses is refused: 262 takes a line with a folder, which 257 and 254 do not.
func TestIndexAsSystemdReadsIt(t *testing.T) {
	build, err := exec.CommandContext(t.Context(), host.Sysupdate, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	var version int
	if _, err := fmt.Sscanf(string(build), "systemd %d", &version); err != nil {
		t.Fatalf("reading the version of %q: %v", build, err)
	}
	sum := strings.Repeat("ab", 32)
	const file = "kubernetes-v1.34.4-x86-64.raw"
	good := sum + "  " + file + "\n"
	for name, text := range map[string]string{
		"as sha256sum writes it":      good,
		"binary mode":                 sum + " *" + file + "\n",
		"capitals":                    strings.ToUpper(sum) + "  " + file + "\n",
		"other files":                 good + sum + "  wasmtime.raw\n" + sum + "  read me.txt\n",
		"./names":                     sum + "  ./" + file + "\n",
		"a folder":                    good + sum + "  old/" + file + "\n",
		"a comment":                   "# images\n" + good,
		"an empty line":               good + "\n",
		"an empty line between":       good + "\n" + good,
		"Windows' line ends":          sum + "  " + file + "\r\n",
		"no end of the last line":     strings.TrimSuffix(good, "\n"),
		"cut off in a hash":           good + sum[:30],
		"one space":                   sum + " " + file + "\n",
		"a tab":                       sum + "\t" + file + "\n",
		"an escaped name":             `\` + sum + `  a\\b` + "\n" + good,
		"BSD's format":                "SHA256 (" + file + ") = " + sum + "\n",
		"sha512":                      sum + sum + "  " + file + "\n",
		"a name of 256 bytes":         good + sum + "  " + strings.Repeat("x", 256) + "\n",
		"a name of 255 bytes":         good + sum + "  " + strings.Repeat("x", 255) + "\n",
		"an HTML page":                "<!DOCTYPE html>\n<html></html>\n",
		"the name is a dot":           good + sum + "  .\n",
		"a control character":         good + sum + "  a\x01b\n",
		"a name that begins in space": good + sum + "   x\n",
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if filepath.Base(r.URL.Path) != image.IndexName {
					http.NotFound(w, r)
					return
				}
				_, _ = fmt.Fprint(w, text)
			}))
			defer server.Close()
			newNode(t, server.URL+"/")
			out, err := exec.CommandContext(t.Context(), host.Sysupdate, "--component=kubernetes", "list").CombinedOutput()
			_, ours := image.ParseIndex("SHA256SUMS", text)
			taken := err == nil && (name != "a folder" || version < 262)
			if taken != (ours == nil) {
				t.Errorf("systemd-sysupdate: %v, we: %v\n%s", err, ours, out)
			}
		})
	}
}
