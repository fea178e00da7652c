package serve

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/image"
)

func startRegistry(t *testing.T, state string) (address string) {
	t.Helper()
	registry, err := newRegistry(state)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestPushTarOutlivesTheRegistry(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("program"), 0o755); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(dir, "image.tar")
	if err := image.BuildImage("registry.k8s.io/coredns/coredns:v1.12.1", map[string]string{"/coredns": program}, []string{"/coredns"}, archive); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(dir, "state")
	if err := PushTar(t.Context(), startRegistry(t, state), archive); err != nil {
		t.Fatal(err)
	}

	again := startRegistry(t, state)
	ref, err := name.ParseReference(again+"/coredns/coredns:v1.12.1", name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := remote.Image(ref)
	if err != nil {
		t.Fatal(err)
	}
	layers, err := pulled.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers (%v), want 1", len(layers), err)
	}
	if kind, err := layers[0].MediaType(); err != nil || kind != types.OCIUncompressedLayer {
		t.Errorf("the layer is %s (%v), want it uncompressed", kind, err)
	}
	config, err := pulled.ConfigFile()
	if err != nil || len(config.Config.Entrypoint) != 1 || len(config.RootFS.DiffIDs) != 1 {
		t.Errorf("configuration is %+v (%v)", config, err)
	}

	// as containerd asks a mirror
	response, err := http.Get("http://" + again + "/v2/coredns/coredns/manifests/v1.12.1?ns=registry.k8s.io")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("a mirror's question gives %s", response.Status)
	}
}

func TestPushTarRefusesWhatIsNoImage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("no archive"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := PushTar(t.Context(), startRegistry(t, t.TempDir()), file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("error is %v, want one that names the file", err)
	}
}
