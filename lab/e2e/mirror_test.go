//go:build e2e

package e2e

import (
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/serve"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image"
)

// publishedPrograms are the programs of Kubernetes that a lab takes from dl.k8s.io.
var publishedPrograms = []string{"kubeadm", "kubectl", "kubelet", "kube-proxy"}

// mirror is a server that has the hosts that publish Kubernetes as its folders, as
// lab/README.md describes it for `lab up --from`.
type mirror struct {
	*httptest.Server
	files map[string]string // paths on disk, by paths below the address
	texts map[string]string // contents, by paths below the address
}

// newMirror publishes compiled versions, "v1.34.3", with their images.
func newMirror(t *testing.T, versions ...string) *mirror {
	t.Helper()
	m := &mirror{files: map[string]string{}, texts: map[string]string{}}
	handler := http.NewServeMux()
	handler.Handle("/v2/", registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	handler.HandleFunc("/", m.serveFile)
	m.Server = httptest.NewServer(handler)
	t.Cleanup(m.Close)
	cache, err := artifacts.Open(env("LAB_CACHE", "/var/cache/kubectl-upgrade-lab"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range versions {
		compiled, err := cache.Kubernetes(t.Context(), strings.TrimPrefix(version, "v"))
		if err != nil {
			t.Fatal(err)
		}
		m.publish(t, version, compiled)
	}
	return m
}

func (m *mirror) publish(t *testing.T, version string, compiled artifacts.Kubernetes) {
	t.Helper()
	for _, program := range publishedPrograms {
		file := path.Join("/dl.k8s.io/release", version, "bin/linux", runtime.GOARCH, program)
		m.files[file] = filepath.Join(compiled.BinDir, program)
		m.texts[file+".sha256"] = sumOf(t, m.files[file])
	}
	const folder = "/extensions.flatcar.org/extensions/kubernetes/"
	sysext := image.Name(version, runtime.GOARCH)
	m.files[folder+sysext] = compiled.Sysext
	m.texts[folder+image.IndexName] += sumOf(t, compiled.Sysext) + "  " + sysext + "\n"
	for _, one := range compiled.Images {
		host, _, _ := strings.Cut(one.Ref, "/")
		if err := serve.PushTar(t.Context(), m.Listener.Addr().String()+"/"+host, one.Tar); err != nil {
			t.Fatal(err)
		}
	}
}

func (m *mirror) serveFile(w http.ResponseWriter, r *http.Request) {
	if text, found := m.texts[r.URL.Path]; found {
		fmt.Fprint(w, text)
		return
	}
	if file, found := m.files[r.URL.Path]; found {
		http.ServeFile(w, r, file)
		return
	}
	http.NotFound(w, r)
}

func sumOf(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}
