package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/chart/v2/util"
)

// TestArchive checks what `make chart` writes: the same bytes each time, which Helm loads and
// `helm lint` does not criticize.
func TestArchive(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	path, err := write(root, "v1.2.3", digest, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	again, err := write(root, "v1.2.3", digest, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	first, second := read(t, path), read(t, again)
	if !bytes.Equal(first, second) {
		t.Error("two archives of the same files differ")
	}
	if name := filepath.Base(path); name != "kubectl-upgrade-1.2.3.tgz" {
		t.Errorf("the archive is named %s", name)
	}
	t.Logf("%s has %d KiB", filepath.Base(path), len(first)>>10)
	c, err := loader.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	image := c.Values["image"].(map[string]any)
	if c.Metadata.Version != "1.2.3" || c.Metadata.AppVersion != "v1.2.3" || image["digest"] != digest {
		t.Errorf("got version %s, appVersion %s and image %v", c.Metadata.Version, c.Metadata.AppVersion, image)
	}
	folder := t.TempDir()
	if err := util.ExpandFile(folder, path); err != nil {
		t.Fatal(err)
	}
	for _, message := range lint.RunAll(filepath.Join(folder, c.Name()), nil, "default").Messages {
		if message.Severity > support.InfoSev {
			t.Error(message)
		}
	}
}

func TestVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3":            "1.2.3",
		"v1.2.3-rc.1":       "1.2.3-rc.1",
		"v1.2.3-4-gabcdef0": "1.2.3-4-gabcdef0",
		"0123456":           "0.0.0-g0123456",
		"a9c197c-dirty":     "0.0.0-ga9c197c-dirty",
		"dev":               "0.0.0-gdev",
	} {
		if got := semantic(version); got != want {
			t.Errorf("%s: got %s, want %s", version, got, want)
		}
	}
}
