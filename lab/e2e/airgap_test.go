//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestAirGap follows docs/images.md: the images are on a server with a certificate of a private
// CA, which only a proxy reaches. What is missing is said as the page says, first of the
// coordinator and then of a node, and in the end a patch reaches every node: `make e2e-airgap`.
func TestAirGap(t *testing.T) {
	c := newCluster(t, 1, 2)
	c.startClient(t)
	c.apply(t, scenario.OpenSchedule)
	c.must(t)(c.Lab.Lab(c.ctx, "publish", to))
	inside := startInside(t)
	c.patchPolicy(t, `{"source":{"url":"https://`+inside.host+`/","transportPolicy":"RequireTLS"}}`)
	t.Run("a coordinator without the proxy", func(t *testing.T) { c.awaitSource(t, inside.host) })
	t.Run("a coordinator with another CA", func(t *testing.T) {
		c.configureCoordinator(t, newAuthority(t).pem)
		c.awaitSource(t, "x509: certificate signed by unknown authority")
	})
	t.Run("the coordinator of the page", func(t *testing.T) {
		c.configureCoordinator(t, inside.authority.pem)
		c.eventually(t, 3*time.Minute, "the source is ready", c.sourceReady)
	})
	c.apply(t, fmt.Sprintf(patchBy, to, v1alpha1.MethodReboot))
	t.Run("nodes without the proxy", func(t *testing.T) { c.awaitNodeSource(t, "w1", inside.host) })
	for _, node := range c.nodes {
		c.must(t)(c.Exec(c.ctx, node, "sh", "-euc", proxyOfPage(t)))
	}
	t.Run("nodes with the proxy, without the CA", func(t *testing.T) { c.awaitNodeSource(t, "w1", "certificate") })
	for _, node := range c.nodes {
		c.trust(t, node, inside.authority.pem)
	}
	c.eventually(t, 15*time.Minute, to+" has succeeded", func() error { return c.upgradeSucceeded(to) })
	c.checkUpgraded(t)
	c.report(t)(record.Promises(c.recorder.Moments(), 1))
	c.checkServed(t)
	c.checkAsked(t, inside)
}

// awaitSource waits until the policy says that the source is unavailable, with those words.
func (c *testCluster) awaitSource(t *testing.T, words string) {
	t.Helper()
	c.eventually(t, 3*time.Minute, "the policy says "+words, func() error {
		source, err := c.source()
		if err == nil && (source.Reason != string(v1alpha1.ReasonSourceUnavailable) || !strings.Contains(source.Message, words)) {
			err = fmt.Errorf("SourceReady has the reason %s: %s", source.Reason, source.Message)
		}
		return err
	})
}

// awaitNodeSource waits until a node says that the source is unavailable, with those words.
func (c *testCluster) awaitNodeSource(t *testing.T, node, words string) {
	t.Helper()
	c.eventually(t, 3*time.Minute, node+" says "+words, func() error {
		u, err := c.ours.NodeUpgrades.Get(c.ctx, node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if reason, message := u.Status.Cause(); reason != v1alpha1.ReasonSourceUnavailable || !strings.Contains(message, words) {
			return fmt.Errorf("%s: %s", reason, message)
		}
		return nil
	})
}

// airGapPage returns the first match in docs/images.md, with the lab's names.
func airGapPage(t *testing.T, pattern string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/images.md")
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(pattern).FindSubmatch(page)
	if match == nil {
		t.Fatalf("docs/images.md has no %s", pattern)
	}
	return strings.NewReplacer(
		"http://proxy.example.com:3128", "http://"+proxyAddress,
		"registry.example.com/node-agent", "ghcr.io/kubectl-upgrade/node-agent", "newTag: v0", "newTag: dev",
	).Replace(string(match[1]))
}

// proxyOfPage returns the page's commands that give a node's systemd the proxy.
func proxyOfPage(t *testing.T) string {
	t.Helper()
	return airGapPage(t, "(?s)```sh example\n(mkdir -p /etc/systemd/system.conf.d\n.*?)```")
}

// configureCoordinator applies the page's kustomization with a CA.
func (c *testCluster) configureCoordinator(t *testing.T, ca []byte) {
	t.Helper()
	dir := t.TempDir()
	kustomization := airGapPage(t, "(?s)```yaml\n(# kustomization.yaml\n.*?)```")
	if err := os.CopyFS(filepath.Join(dir, "kubectl-upgrade", "manifests"), os.DirFS(filepath.Join(c.root, "manifests"))); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"kustomization.yaml": []byte(kustomization), "ca.crt": ca} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.must(t)(c.Kube(c.ctx, "apply", "-k", dir))
	c.must(t)(c.Kube(c.ctx, "-n", v1alpha1.Namespace, "rollout", "status", "deployment/coordinator", "--timeout", "3m"))
}

// trust puts the CA into a node's store by Debian's program, with a folder that can be written
// below /etc; the page says how Flatcar does it.
func (c *testCluster) trust(t *testing.T, node string, ca []byte) {
	t.Helper()
	c.must(t)(c.Exec(c.ctx, node, "sh", "-euc", "mkdir -p /etc/ssl/mirror\ncat > /etc/ssl/mirror/ca.crt <<'END'\n"+string(ca)+"END\nupdate-ca-certificates --localcertsdir /etc/ssl/mirror"))
}

// checkAsked checks that the control plane and each worker asked the proxy for the source.
func (c *testCluster) checkAsked(t *testing.T, inside *inside) {
	t.Helper()
	asked := inside.asked()
	for _, name := range c.nodes {
		node, err := c.kube.CoreV1().Nodes().Get(c.ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, address := range node.Status.Addresses {
			if address.Type == corev1.NodeInternalIP && asked[address.Address] == 0 {
				t.Errorf("%s never asked the proxy for the source; these did: %v", name, asked)
			}
		}
	}
	t.Logf("tunnels to the source through the proxy, by client: %v", asked)
}
