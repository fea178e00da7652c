//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestIgnition boots nodes for the first time with the Butane snippet of docs/flatcar.md, as
// Butane renders it and Ignition writes it. Nothing on such a node activates an image by itself,
// and a patch reaches every node: `make e2e-flatcar`.
func TestIgnition(t *testing.T) {
	c := newLab(t, 1, 1, "--ignition", renderSnippet(t))
	for _, name := range c.nodes {
		c.checkFirstBoot(t, name)
	}
	c.must(t)(c.Lab.Lab(c.ctx, "publish", to))
	for _, name := range c.nodes {
		// What Flatcar's timer would do, if somebody enabled it again.
		c.must(t)(c.Exec(c.ctx, name, "/usr/lib/systemd/systemd-sysupdate", "-C", "kubernetes", "update"))
		c.checkLink(t, name, from)
	}
	c.install(t)
	c.connect(t)
	planned := c.must(t)(c.Upgrade(c.ctx, "plan", to))
	for _, finding := range []string{"sysupdate-timer", "locksmithd", "Unsupported"} {
		if strings.Contains(planned, finding) {
			t.Errorf("kubectl upgrade plan says %s:\n%s", finding, planned)
		}
	}
	c.apply(t, scenario.Automatic(v1alpha1.TypePatch))
	c.apply(t, scenario.OpenSchedule)
	c.eventually(t, 12*time.Minute, to+" has succeeded", func() error { return c.upgradeSucceeded(to) })
	c.checkUpgraded(t)
	c.report(t)(record.Promises(c.recorder.Moments(), 1))
}

// checkFirstBoot checks that the node has what the snippet says, and nothing that would
// activate an image.
func (c *testCluster) checkFirstBoot(t *testing.T, name string) {
	t.Helper()
	c.checkLink(t, name, from)
	definitions := c.must(t)(c.Exec(c.ctx, name, "sh", "-c", "grep -r CurrentSymlink /etc/sysupdate.* || ls /etc/sysupdate.kubernetes.d"))
	if strings.TrimSpace(definitions) != "kubernetes-v1.34.conf" {
		t.Errorf("%s has the definitions %q", name, definitions)
	}
	for _, unit := range []string{"systemd-sysupdate.timer", "locksmithd.service"} {
		state, _ := c.Exec(c.ctx, name, "systemctl", "show", "--property", "LoadState,ActiveState", unit)
		if !strings.Contains(state, "LoadState=masked") || !strings.Contains(state, "ActiveState=inactive") {
			t.Errorf("%s: %s is %q, want it masked", name, unit, state)
		}
	}
}

// checkLink checks which image the node activates at its next boot.
func (c *testCluster) checkLink(t *testing.T, node, version string) {
	t.Helper()
	link := strings.TrimSpace(c.must(t)(c.Exec(c.ctx, node, "readlink", "-f", "/etc/extensions/kubernetes.raw")))
	if want := "/opt/extensions/kubernetes/" + imageName(version); link != want {
		t.Errorf("%s: the symlink points to %q, want %q", node, link, want)
	}
}

// renderSnippet renders the snippet of docs/flatcar.md with Butane (the program of the variable
// BUTANE), for the version and the image server of the lab.
func renderSnippet(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/flatcar.md")
	if err != nil {
		t.Fatal(err)
	}
	snippet := regexp.MustCompile("(?s)```yaml\n(variant: flatcar\n.*?)```").FindStringSubmatch(string(page))
	if snippet == nil {
		t.Fatal("docs/flatcar.md has no snippet for Butane")
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
	).Replace(snippet[1])
	out := filepath.Join(t.TempDir(), "node.ign")
	butane := exec.CommandContext(t.Context(), os.Getenv("BUTANE"), "--strict", "--output", out)
	butane.Stdin = strings.NewReader(text)
	if said, err := butane.CombinedOutput(); err != nil {
		t.Fatalf("butane: %v\n%s", err, said)
	}
	return out
}
