//go:build dist

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKrew checks both manifests by the rules of krew's index. Then it serves them and
// the archives, and installs the plugin for every platform, and for this machine from
// an address and from an index of our own.
func TestKrew(t *testing.T) {
	served := t.TempDir()
	server := httptest.NewServer(http.FileServer(http.Dir(served)))
	defer server.Close()
	for _, archive := range glob(t, "plugin/*.tar.gz", "plugin/*.zip") {
		if err := os.Symlink(archive, filepath.Join(served, filepath.Base(archive))); err != nil {
			t.Fatal(err)
		}
	}
	kubectl := krew(t)
	for _, name := range []string{"upgrade", "flatcar-upgrade"} {
		manifest := inDist(t, "plugin", "krew", name+".yaml")
		t.Log(output(t, "validate-krew-manifest", "-skip-install", "-manifest", manifest))
		text := read(t, manifest)
		published := repository + "/releases/download/" + version + "/"
		if strings.Count(text, "uri: "+published) != 6 || !strings.Contains(text, "  version: "+version+"\n") {
			t.Errorf("%s: want version %s and 6 archives below %s:\n%s", name, version, published, text)
		}
		local := filepath.Join(served, name+".yaml")
		if err := os.WriteFile(local, []byte(strings.ReplaceAll(text, "uri: "+published, "uri: "+server.URL+"/")), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Log(output(t, "validate-krew-manifest", "-manifest", local))
		output(t, kubectl, "krew", "install", "--no-update-index", "--manifest-url", server.URL+"/"+name+".yaml")
		if got := output(t, kubectl, name, "version", "--client"); !strings.HasPrefix(got, "plugin        "+version+" (") {
			t.Errorf("kubectl %s version --client: got %q", name, got)
		}
	}
	kubectl = krew(t)
	output(t, kubectl, "krew", "index", "add", "kubectl-upgrade", krewIndex(t, filepath.Join(served, "upgrade.yaml")))
	output(t, kubectl, "krew", "install", "--no-update-index", "kubectl-upgrade/upgrade")
	if got := output(t, kubectl, "upgrade", "version", "--client"); !strings.HasPrefix(got, "plugin        "+version+" (") {
		t.Errorf("from the index: got %q", got)
	}
}

// krew returns the path of kubectl with krew, and nothing installed by it.
func krew(t *testing.T) string {
	t.Helper()
	bin, root := t.TempDir(), t.TempDir()
	link(t, "krew", filepath.Join(bin, "kubectl-krew"))
	link(t, "validate-krew-manifest", filepath.Join(bin, "validate-krew-manifest"))
	t.Setenv("KREW_ROOT", root)
	return kubectl(t, bin, filepath.Join(root, "bin"))
}

// krewIndex returns the address of an index with that plugin.
func krewIndex(t *testing.T, manifest string) string {
	t.Helper()
	dir := t.TempDir()
	plugins := filepath.Join(dir, "plugins")
	if err := os.Mkdir(plugins, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(plugins, "upgrade.yaml"), []byte(read(t, manifest)), 0o600); err != nil {
		t.Fatal(err)
	}
	output(t, "git", "init", "-q", dir)
	output(t, "git", "-C", dir, "add", "plugins")
	output(t, "git", "-C", dir, "-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "-q", "-m", "upgrade")
	return "file://" + dir
}

// link links a program of bin/ to another path.
func link(t *testing.T, program, to string) {
	t.Helper()
	from, err := filepath.Abs(filepath.Join("..", "bin", program))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(from, to); err != nil {
		t.Fatal(err)
	}
}
