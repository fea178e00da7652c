package artifacts

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGoCompilesOnceWhatTwoPatchVersionsShare builds two versions of a module as
// Kubernetes is built, with real modules from a proxy that is a folder.
func TestGoCompilesOnceWhatTwoPatchVersionsShare(t *testing.T) {
	var progress []string
	c := openCache(t, func(string) Step { return recordedStep{&progress} })
	proxy, modules := t.TempDir(), t.TempDir()
	t.Setenv("GOPROXY", "file://"+proxy)
	t.Setenv("GOSUMDB", "off")
	t.Setenv("GOMODCACHE", modules)
	t.Cleanup(func() { makeWritable(t, modules) })
	for _, version := range []string{"v1.0.1", "v1.0.2"} {
		publishModule(t, proxy, version, c.Dir)
	}
	build := func(requires, version string) string {
		progress = nil
		m := goModule{cache: c, name: "small-" + version}
		err := c.step(version, func() error {
			err := m.prepare(t.Context(), imports([]string{"example.com/k/cmd/prog"}), []string{"example.com/k@" + requires}, []string{"example.com/k=example.com/k@" + version})
			if err != nil {
				return err
			}
			return m.build(t.Context(), t.TempDir(), "-s -w", "example.com/k/cmd/prog")
		})
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(progress[0], " ")
		return text
	}
	build("v1.0.999", "v1.0.1")
	if got, want := build("v1.0.999", "v1.0.2"), "0 of 2 packages"; got != want {
		t.Errorf("the second version compiles %s, want %s: the one that differs, and the program", got, want)
	}
	if got, want := build("v1.0.2", "v1.0.2"), "0 of 3 packages"; got != want {
		t.Errorf("without the common version %s are compiled, want %s", got, want)
	}
}

// publishModule writes a version of example.com/k into a folder that is a proxy. Only its
// package b differs from version to version.
func publishModule(t *testing.T, proxy, version, unique string) {
	t.Helper()
	goMod := "module example.com/k\n\ngo 1.24\n"
	folder := "example.com/k/@v/"
	write(t, proxy, folder+version+".info", fmt.Sprintf(`{"Version":%q}`, version))
	write(t, proxy, folder+version+".mod", goMod)
	file, err := os.Create(filepath.Join(proxy, folder, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	archive := zip.NewWriter(file)
	for name, text := range map[string]string{
		"go.mod":           goMod,
		"a/a.go":           "package a\n\nconst A = \"" + unique + "\"\n",
		"b/b.go":           "package b\n\nconst B = \"" + unique + version + "\"\n",
		"cmd/prog/main.go": "package main\n\nimport (\n\t\"example.com/k/a\"\n\t\"example.com/k/b\"\n)\n\nfunc main() { println(a.A, b.B) }\n",
	} {
		w, err := archive.Create("example.com/k@" + version + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
}

// makeWritable lets t.TempDir remove Go's module cache.
func makeWritable(t *testing.T, dir string) {
	err := filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return os.Chmod(name, 0o755)
	})
	if err != nil {
		t.Error(err)
	}
}
