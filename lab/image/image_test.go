package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const ref = "registry.example/tools/thing:v1"

// source writes a file that was changed at a time and with a mode that the
// image must not show.
func source(t *testing.T, content string, mode os.FileMode, changed time.Time) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "source")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, changed, changed); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestBuildImageIsDeterministic(t *testing.T) {
	var built [2][]byte
	for i := range built {
		out := filepath.Join(t.TempDir(), "image.tar")
		files := map[string]string{
			"/usr/bin/a": source(t, "a", []os.FileMode{0o700, 0o755}[i], time.Unix(int64(i)*1e6, 0)),
			"/usr/bin/b": source(t, "b", 0o755, time.Now()),
			"/etc/c":     source(t, "c", []os.FileMode{0o600, 0o644}[i], time.Now()),
		}
		if err := BuildImage(ref, files, []string{"/usr/bin/a"}, out); err != nil {
			t.Fatal(err)
		}
		var err error
		if built[i], err = os.ReadFile(out); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(built[0], built[1]) {
		t.Error("the same files gave two different archives")
	}
}

func TestBuildImage(t *testing.T) {
	program := source(t, "program", 0o755, time.Now())
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(program, link); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "image.tar")
	files := map[string]string{"/usr/bin/program": link, "/etc/text": source(t, "text", 0o600, time.Now())}
	if err := BuildImage(ref, files, []string{"/usr/bin/program"}, out); err != nil {
		t.Fatal(err)
	}
	img, err := tarball.ImageFromPath(out, nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/usr/bin/program"}, config.Config.Entrypoint); diff != "" {
		t.Errorf("entrypoint: %s", diff)
	}
	if config.OS != "linux" || config.Architecture != runtime.GOARCH || len(config.Config.Env) != 1 {
		t.Errorf("configuration is %+v", config)
	}
	layers, err := img.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers (%v), want 1", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	want := []entry{
		{"tmp/", 0o1777, ""},
		{"etc/", 0o755, ""}, {"etc/text", 0o644, "text"},
		{"usr/", 0o755, ""}, {"usr/bin/", 0o755, ""}, {"usr/bin/program", 0o755, "program"},
	}
	if diff := cmp.Diff(want, entries(t, content)); diff != "" {
		t.Errorf("layer (-want +got):\n%s", diff)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(out), "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("beside the archive lie %v (%v)", left, err)
	}
}

func TestBuildImageRefuses(t *testing.T) {
	file := source(t, "x", 0o644, time.Now())
	for name, test := range map[string]struct {
		ref   string
		files map[string]string
	}{
		"a reference without tag": {"registry.example/thing", map[string]string{"/x": file}},
		"a relative path":         {ref, map[string]string{"x": file}},
		"a path with dots":        {ref, map[string]string{"/a/../x": file}},
		"a missing file":          {ref, map[string]string{"/x": file + ".missing"}},
		"a folder":                {ref, map[string]string{"/x": filepath.Dir(file)}},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "image.tar")
			if err := BuildImage(test.ref, test.files, nil, out); err == nil {
				t.Error("no error")
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), "*")); len(left) != 0 {
				t.Errorf("it left %v", left)
			}
		})
	}
}

type entry struct {
	Name    string
	Mode    int64
	Content string
}

func entries(t *testing.T, layer io.Reader) []entry {
	t.Helper()
	var all []entry
	for r := tar.NewReader(layer); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.ModTime.Unix() != 0 {
			t.Errorf("%s has owner %d and time %v", header.Name, header.Uid, header.ModTime)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entry{header.Name, header.Mode, string(content)})
	}
}
