package source_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/source"
)

// TestMirrorPage runs the commands of docs/images.md, whose mirror must be accepted.
func TestMirrorPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/images.md")
	if err != nil {
		t.Fatal(err)
	}
	dir, home := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kubernetes-v1.34.4-x86-64.raw"), []byte("image"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exec.CommandContext(context.Background(), "gpgconf", "--homedir", home, "--kill", "all").Run()
	})
	for _, name := range []string{"key", "sign"} {
		block := regexp.MustCompile("(?s)```sh\n# " + name + "\n(.*?)```").FindSubmatch(page)
		if block == nil {
			t.Fatalf("the page has no commands %q", name)
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", string(block[1]))
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GNUPGHOME="+home, "PASSPHRASE=secret")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	keyring, err := os.ReadFile(filepath.Join(dir, "images-key.asc"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	got := source.NewPoller(v1alpha1.ImageSource{URL: server.URL, TransportPolicy: v1alpha1.TransportAllowHTTP, Keyring: string(keyring)}).Read(t.Context())
	if len(got.Offers) != 1 || got.Offers[0].Version != "v1.34.4" || got.Problem.Holds() {
		t.Errorf("%+v", got)
	}
}
