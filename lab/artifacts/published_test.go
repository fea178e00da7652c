package artifacts

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	containerimage "github.com/kubectl-upgrade/kubectl-upgrade/lab/image"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/serve"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image"
)

// mirror is a server with the hosts that publish Kubernetes as its folders, and with
// faults.
type mirror struct {
	*httptest.Server
	files map[string]string // by their paths

	mu    sync.Mutex
	asked []string
	// cut ends so many answers after 10 kB.
	cut int
	// corrupt changes the contents of container images.
	corrupt bool
}

const kubeadmPath = "/dl.k8s.io/release/v1.34.4/bin/linux/" + runtime.GOARCH + "/kubeadm"

// newMirror publishes v1.34.4, with scripts as programs.
func newMirror(t *testing.T) *mirror {
	t.Helper()
	m := &mirror{files: map[string]string{}}
	for _, program := range publishedPrograms {
		text := "#!/bin/sh\n: " + strings.Repeat("x", 100_000) + "\necho '" + imageList + "'\n"
		file := strings.Replace(kubeadmPath, "kubeadm", program, 1)
		m.files[file], m.files[file+".sha256"] = text, sumOfText(text)
	}
	const sysext = "the sysext"
	file := image.Name("v1.34.4", runtime.GOARCH)
	folder := "/extensions.flatcar.org/extensions/kubernetes/"
	m.files[folder+file] = sysext
	m.files[folder+image.IndexName] = sumOfText(sysext) + "  " + file + "\n" + sumOfText("x") + "  docker-24.0.9-x86-64.raw\n"
	handler := http.NewServeMux()
	blobs := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	handler.HandleFunc("/v2/", func(w http.ResponseWriter, r *http.Request) {
		if m.corrupt && r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") {
			w = corruptWriter{w}
		}
		blobs.ServeHTTP(w, r)
	})
	handler.HandleFunc("/", m.serveFile)
	m.Server = httptest.NewServer(handler)
	t.Cleanup(m.Close)
	return m
}

func (m *mirror) serveFile(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, strings.TrimSpace(r.URL.Path+" "+r.Header.Get("Range")))
	text, found := m.files[r.URL.Path]
	if !found {
		http.NotFound(w, r)
		return
	}
	if m.cut > 0 && len(text) > 1000 {
		m.cut--
		w = &cutWriter{ResponseWriter: w, left: 10_000}
	}
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
}

// cutWriter breaks the connection.
type cutWriter struct {
	http.ResponseWriter
	left int
}

func (w *cutWriter) Write(p []byte) (int, error) {
	if len(p) > w.left {
		_, _ = w.ResponseWriter.Write(p[:w.left])
		w.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	w.left -= len(p)
	return w.ResponseWriter.Write(p)
}

// corruptWriter sends other bytes, and as many.
type corruptWriter struct{ http.ResponseWriter }

func (w corruptWriter) Write(p []byte) (int, error) {
	return w.ResponseWriter.Write(bytes.Repeat([]byte{'x'}, len(p)))
}

func sumOfText(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// pushImages fills the mirror's registry.
func (m *mirror) pushImages(t *testing.T) {
	t.Helper()
	for _, ref := range strings.Fields(imageList) {
		dir := t.TempDir()
		write(t, dir, "program", "program of "+ref)
		tar := filepath.Join(dir, "image.tar")
		if err := containerimage.BuildImage(ref, map[string]string{"/program": filepath.Join(dir, "program")}, nil, tar); err != nil {
			t.Fatal(err)
		}
		if err := serve.PushTar(t.Context(), m.Listener.Addr().String()+"/registry.k8s.io", tar); err != nil {
			t.Fatal(err)
		}
	}
}

func (m *mirror) cache(t *testing.T) *Cache {
	t.Helper()
	retryAfter = 0
	c := openCache(t, nil)
	var err error
	if c.Origin, err = ParseOrigin(m.URL); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestKubernetesFromAMirror(t *testing.T) {
	m := newMirror(t)
	m.pushImages(t)
	m.cut = 2
	c := m.cache(t)
	k, err := c.Kubernetes(t.Context(), "1.34.4")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(k.Sysext); err != nil || string(text) != "the sysext" || filepath.Base(k.Sysext) != image.Name("v1.34.4", runtime.GOARCH) {
		t.Errorf("the sysext is %q in %s (%v)", text, k.Sysext, err)
	}
	if same, err := c.BrokenSysext(t.Context(), k, BrokenKind{}); err != nil || same != k.Sysext {
		t.Errorf("the image that works is %s (%v), want the published one", same, err)
	}
	for _, program := range publishedPrograms {
		if info, err := os.Stat(filepath.Join(k.BinDir, program)); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v, %v", program, info, err)
		}
	}
	var refs []string
	for _, one := range k.Images {
		refs = append(refs, one.Ref)
		manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(one.Tar) })
		if err != nil || len(manifest) != 1 {
			t.Errorf("%s: %v, %v", one.Ref, manifest, err)
			continue
		}
		if diff := cmp.Diff([]string{one.Ref}, manifest[0].RepoTags); diff != "" {
			t.Errorf("the archive has another name (-want +got):\n%s", diff)
		}
		if err := serve.PushTar(t.Context(), m.Listener.Addr().String()+"/lab", one.Tar); err != nil {
			t.Errorf("the lab's registry cannot have it: %v", err)
		}
	}
	if len(refs) != 7 {
		t.Errorf("images are %v, want all 7", refs)
	}
	asked := len(m.asked)
	m.Close()
	if again, err := c.Kubernetes(t.Context(), "1.34.4"); err != nil || len(m.asked) != asked || cmp.Diff(k, again) != "" {
		t.Errorf("a second time, without the mirror: %v (%v)", again, err)
	}
}

func TestInterruptedDownloadIsContinued(t *testing.T) {
	m := newMirror(t)
	m.cut = downloadTries + 1 // more than one run tries
	c := m.cache(t)
	_, err := c.downloadPrograms(t.Context(), "1.34.4")
	if err == nil || !strings.Contains(err.Error(), kubeadmPath+": unexpected EOF") {
		t.Fatalf("got error %v, want the one of the connection", err)
	}
	if _, err := c.downloadPrograms(t.Context(), "1.34.4"); err != nil {
		t.Fatal(err)
	}
	var asked []string
	for _, one := range m.asked {
		if strings.HasPrefix(one, kubeadmPath+" ") || one == kubeadmPath {
			asked = append(asked, strings.TrimPrefix(one, kubeadmPath))
		}
	}
	if len(asked) < 3 || asked[0] != "" || asked[1] == "" || asked[len(asked)-1] == asked[1] {
		t.Errorf("kubeadm was asked for as %q, want each time only the rest", asked)
	}
}

func TestDownloadsThatAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*mirror)
		want   string
	}{
		"other bytes": {
			func(m *mirror) { m.files[kubeadmPath] = "other bytes" },
			"MIRROR" + kubeadmPath + " has another SHA-256 than published (" + sumOfText("other bytes") + " instead of ",
		},
		"no such version":   {func(m *mirror) { clear(m.files) }, "MIRROR" + kubeadmPath + ".sha256: the server answers 404 Not Found"},
		"a page as sum":     {func(m *mirror) { m.files[kubeadmPath+".sha256"] = "<html>" }, `MIRROR` + kubeadmPath + `.sha256 is not a SHA-256: "<html>"`},
		"program not there": {func(m *mirror) { delete(m.files, kubeadmPath) }, "downloading MIRROR" + kubeadmPath + ": the server answers 404 Not Found"},
		"sysext not listed": {
			func(m *mirror) { m.files["/extensions.flatcar.org/extensions/kubernetes/"+image.IndexName] = "" },
			"SHA256SUMS does not list " + image.Name("v1.34.4", runtime.GOARCH),
		},
		"no image": {func(*mirror) {}, "/registry.k8s.io/etcd:3.6.5-0: "},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMirror(t)
			test.change(m)
			_, err := m.cache(t).Kubernetes(t.Context(), "1.34.4")
			want := strings.ReplaceAll(test.want, "MIRROR", m.URL)
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got error %v, want one line with %s", err, want)
			}
			if len(m.asked) > 20 {
				t.Errorf("the mirror was asked %d times", len(m.asked))
			}
		})
	}
}

func TestCorruptImageIsRefused(t *testing.T) {
	m := newMirror(t)
	m.pushImages(t)
	m.corrupt = true
	c := m.cache(t)
	_, err := c.Kubernetes(t.Context(), "1.34.4")
	if err == nil || !strings.Contains(err.Error(), "error verifying sha256 checksum") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got error %v, want one line about the digest", err)
	}
	m.corrupt = false
	if _, err := c.Kubernetes(t.Context(), "1.34.4"); err != nil {
		t.Errorf("again, with the right contents: %v", err)
	}
}

func TestUpstreamAddresses(t *testing.T) {
	upstream, err := ParseOrigin("upstream")
	if err != nil {
		t.Fatal(err)
	}
	below, err := ParseOrigin("http://mirror.example:81/all/")
	if err != nil {
		t.Fatal(err)
	}
	const ref = "registry.k8s.io/coredns/coredns:v1.12.1"
	for want, got := range map[string]string{
		"https://dl.k8s.io/release/v1.34.4/bin/linux/" + runtime.GOARCH + "/kubelet":                                         upstream.program("1.34.4", "kubelet"),
		"http://mirror.example:81/all/dl.k8s.io/release/v1.34.4/bin/linux/" + runtime.GOARCH + "/kubelet":                    below.program("1.34.4", "kubelet"),
		"https://extensions.flatcar.org/extensions/kubernetes/" + image.Name("v1.34.4", runtime.GOARCH):                      upstream.sysext("1.34.4"),
		"http://mirror.example:81/all/extensions.flatcar.org/extensions/kubernetes/" + image.Name("v1.34.4", runtime.GOARCH): below.sysext("1.34.4"),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for want, origin := range map[string]Origin{ref: upstream, "mirror.example:81/all/" + ref: below} {
		if got, err := origin.image(ref); err != nil || got.Name() != want {
			t.Errorf("got %v (%v), want %s", got, err, want)
		}
	}
	for _, from := range []string{"Upstream", "mirror.example", "ftp://mirror.example", "https://", "https://m?x=y"} {
		if _, err := ParseOrigin(from); err == nil || !strings.Contains(err.Error(), `write "upstream", or a mirror's address`) {
			t.Errorf("%q gave %v", from, err)
		}
	}
}
