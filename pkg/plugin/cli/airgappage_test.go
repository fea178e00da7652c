package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// TestAirgapPage builds the kustomization of docs/images.md, and has a real API server accept
// the coordinator.
func TestAirgapPage(t *testing.T) {
	root := apitest.Root(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "images.md"))
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile("(?s)```yaml\n(# kustomization.yaml\n.*?)```").FindSubmatch(page)
	if match == nil {
		t.Fatal("the page has no kustomization.yaml")
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "kubectl-upgrade"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"kustomization.yaml": match[1], "ca.crt": []byte("-----BEGIN CERTIFICATE-----\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(dir, "kubectl-upgrade", "manifests"), os.DirFS(filepath.Join(root, "manifests"))); err != nil {
		t.Fatal(err)
	}
	config := apitest.Start(t)
	built, err := apitest.Kubectl(t, config, "kustomize", dir).Output()
	if err != nil {
		t.Fatalf("kubectl kustomize: %v\n%s", err, built)
	}
	var coordinator string
	for _, object := range strings.Split(string(built), "\n---\n") {
		if strings.Contains(object, "\nkind: Deployment\n") {
			coordinator = strings.ReplaceAll(object, "namespace: kubectl-upgrade", "namespace: default")
		}
	}
	for _, want := range []string{"name: SSL_CERT_FILE", "value: 10.0.0.0/8", "image: registry.example.com/node-agent:v0", "--metrics-address=:8443"} {
		if !strings.Contains(coordinator, want) {
			t.Errorf("the coordinator has no %q:\n%s", want, coordinator)
		}
	}
	if !regexp.MustCompile(`name: mirror-ca-[0-9a-z]{10}\n`).MatchString(coordinator) {
		t.Errorf("the coordinator does not mount the generated ConfigMap:\n%s", coordinator)
	}
	cmd := apitest.Kubectl(t, config, "apply", "--dry-run=server", "--validate=strict", "-f", "-")
	cmd.Stdin = strings.NewReader(coordinator)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the API server does not accept the coordinator: %v\n%s", err, out)
	}
}
