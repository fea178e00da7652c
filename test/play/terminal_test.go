package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// TestTerminal checks that a terminal which reads the file has the plugin on its PATH, and that kubectl completes its verbs
// there: also from a folder whose name a shell would take apart.
func TestTerminal(t *testing.T) {
	kubectl := apitest.Path(t, "kubectl")
	if err := bin(); err != nil {
		t.Fatal(err)
	}
	w := &world{folder: filepath.Join(t.TempDir(), "it's a folder"), bin: folder, servers: programs{filepath.Dir(kubectl)}, images: &source{address: "http://127.0.0.1:1"}}
	if err := os.Mkdir(w.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := w.writeTerminal(t.Context()); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"kubectl __complete upgrade rebo":  "reboot\tReboot the nodes",
		"kubectl upgrade version --client": "plugin  ",
		`echo "$PLAY $KUBECONFIG"`:         "http://127.0.0.1:1 " + w.kubeconfig(),
	} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", `. "$0" && `+command, w.terminal()).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%s\nwant %q", command, err, out, want)
		}
	}
}
