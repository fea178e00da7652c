//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestIgnition boots nodes for the first time with each snippet of docs/images.md, as Butane or
// Cluster API renders it and Ignition writes it. Nothing on such a node activates an image by
// itself, and a patch reaches every node: `make e2e-flatcar`.
func TestIgnition(t *testing.T) {
	for _, s := range snippets {
		t.Run(s.name, func(t *testing.T) { testFirstBoot(t, s) })
	}
}

func testFirstBoot(t *testing.T, s snippet) {
	c := newLab(t, 1, 1, append([]string{"--ignition", s.render(t)}, s.flags...)...)
	for _, name := range c.nodes {
		c.checkFirstBoot(t, name, s)
	}
	c.must(t)(c.Lab.Lab(c.ctx, "publish", to))
	for _, name := range c.nodes {
		// What Flatcar's timer would do, if a person enabled it again.
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
func (c *testCluster) checkFirstBoot(t *testing.T, name string, s snippet) {
	t.Helper()
	c.checkLink(t, name, from)
	definitions := c.must(t)(c.Exec(c.ctx, name, "sh", "-c", "grep -r CurrentSymlink /etc/sysupdate.* || ls /etc/sysupdate.kubernetes.d"))
	if strings.TrimSpace(definitions) != "kubernetes-v1.34.conf" {
		t.Errorf("%s has the definitions %q", name, definitions)
	}
	for _, unit := range s.masked {
		state, _ := c.Exec(c.ctx, name, "systemctl", "show", "--property", "LoadState,ActiveState", unit)
		if !strings.Contains(state, "LoadState=masked") || !strings.Contains(state, "ActiveState=inactive") {
			t.Errorf("%s: %s is %q, want it masked", name, unit, state)
		}
	}
	if s.dropIn == "" {
		return
	}
	state, _ := c.Exec(c.ctx, name, "systemctl", "show", "--property", "LoadState,DropInPaths,After", "kubeadm.service")
	if !strings.Contains(state, "LoadState=loaded") || !strings.Contains(state, s.dropIn) || !strings.Contains(state, "containerd.service") {
		t.Errorf("%s: kubeadm.service is %q, want it after containerd.service by %s", name, state, s.dropIn)
	}
}

// checkLink checks which image the node activates at its next boot.
func (c *testCluster) checkLink(t *testing.T, node, version string) {
	t.Helper()
	link := strings.TrimSpace(c.must(t)(c.Exec(c.ctx, node, "readlink", "-f", "/etc/extensions/kubernetes.raw")))
	if published := "/opt/extensions/kubernetes/" + imageName(version); link != published && link != kept+imageName(version) {
		t.Errorf("%s: the symlink points to %q, want %q, or the same in %s", node, link, published, kept)
	}
}
