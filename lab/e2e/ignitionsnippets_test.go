//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
)

// snippet is one of docs/images.md for new nodes.
type snippet struct {
	name    string
	first   string   // line of its block on the page
	program []string // that renders it, in bin
	flags   []string // of `lab up`
	masked  []string // the units that it masks
	dropIn  string   // of kubeadm.service; empty: the snippet does not have that unit
}

var snippets = []snippet{
	{
		name:    "Butane",
		first:   "variant: flatcar\n",
		program: []string{"butane", "--strict"},
		masked:  []string{"systemd-sysupdate.timer", "systemd-sysupdate-update.timer", "locksmithd.service"},
	},
	// Nodes of the lab do not start kubeadm.service, as the lab runs kubeadm: they have a machine
	// id from the beginning, so that systemd enables no units at the first boot. They have no
	// disk for etcd. And Cluster API writes version 2 of Ignition's configuration, which Flatcar's
	// Ignition converts; for Debian's, capi-ignition does.
	{
		name:    "CAPZ",
		first:   "# additionalConfig\n",
		program: []string{"capi-ignition"},
		flags:   []string{"--update-engine"},
		masked:  []string{"systemd-sysupdate.timer", "systemd-sysupdate-update.timer", "locksmithd.service", "update-engine.service"},
		dropIn:  "/etc/systemd/system/kubeadm.service.d/10-flatcar.conf",
	},
}

// render renders the snippet for the version and the image server of the lab, and returns the
// path of the Ignition configuration.
func (s snippet) render(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/images.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(" + regexp.QuoteMeta(s.first) + ".*?)```").FindStringSubmatch(string(page))
	if block == nil {
		t.Fatalf("docs/images.md has no block that begins with %q", s.first)
	}
	cache, err := artifacts.Open(env("LAB_CACHE", "/var/cache/kubectl-upgrade-lab"), nil)
	if err != nil {
		t.Fatal(err)
	}
	kubernetes, err := cache.Kubernetes(t.Context(), strings.TrimPrefix(from, "v"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(
		"v1.34.4", from,
		"https://extensions.flatcar.org/extensions/kubernetes/", "http://10.88.0.1:8080/",
		"sha256-"+strings.Repeat("0", 64), "sha256-"+sumOf(t, kubernetes.Sysext),
	).Replace(block[1])
	program, err := filepath.Abs(filepath.Join("../../bin", s.program[0]))
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, s.program[1:]...)
	cmd.Env = append(os.Environ(), "KUBERNETES_VERSION="+from)
	cmd.Stdin, cmd.Stderr = strings.NewReader(text), &said
	rendered, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v (`make e2e-flatcar` builds it)\n%s", s.program[0], err, said.String())
	}
	out := filepath.Join(t.TempDir(), "node.ign")
	if err := os.WriteFile(out, rendered, 0o644); err != nil {
		t.Fatal(err)
	}
	return out
}
