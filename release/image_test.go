package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// checkout copies the source of the programs into a new folder.
func checkout(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	for _, part := range []string{"cmd", "pkg"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join("..", part))); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join("..", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestImage builds the image twice, from two folders, with another environment and
// time zone: the digest has to be the same. Then it checks what is in the image.
func TestImage(t *testing.T) {
	created := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	out := t.TempDir()
	b := build{source: checkout(t, "a"), version: "v1.2.3", revision: "0123456789abcdef", created: created}
	first, err := b.write(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOFLAGS", "-tags=other")
	t.Setenv("GOAMD64", "v3")
	b.source, b.created = checkout(t, "another/folder"), created.In(time.FixedZone("elsewhere", 3600))
	second, err := b.write(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if first != second {
		t.Errorf("two builds of the same source gave %s and %s", first, second)
	}
	index := readIndex(t, filepath.Join(out, "image"), first)
	checkIndex(t, index, "v1.2.3", "0123456789abcdef", "2026-11-22T10:00:00Z")
	left, err := filepath.Glob(filepath.Join(out, "*"))
	if err != nil || len(left) != 1+2*len(programs) {
		t.Errorf("it left %v (%v), want the image, and the programs for two architectures", left, err)
	}
}

// readIndex returns the index of an OCI layout, which has to have that digest.
func readIndex(t *testing.T, dir string, want v1.Hash) v1.ImageIndex {
	t.Helper()
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := index.Digest(); err != nil || got != want {
		t.Errorf("%s has the digest %s (%v), want %s", dir, got, err, want)
	}
	return index
}

// maxImage is what a node downloads at most. It is close to what it is now: another large library fails the test.
const maxImage = 47 << 20

// checkIndex checks the image of every platform, and its labels and annotations.
func checkIndex(t *testing.T, index v1.ImageIndex, version, revision, created string) {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"org.opencontainers.image.version": version, "org.opencontainers.image.revision": revision,
		"org.opencontainers.image.created": created, "org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.source": repository,
	}
	contains(t, "the index's annotations", manifest.Annotations, want)
	var platforms []string
	for _, m := range manifest.Manifests {
		platforms = append(platforms, m.Platform.String())
		img, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkImage(t, img, m.Platform.Architecture, want)
	}
	if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, platforms); diff != "" {
		t.Errorf("platforms (-want +got):\n%s", diff)
	}
}

func checkImage(t *testing.T, img v1.Image, architecture string, want map[string]string) {
	t.Helper()
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := img.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	contains(t, architecture+"'s labels", config.Config.Labels, want)
	contains(t, architecture+"'s annotations", manifest.Annotations, want)
	if got := manifest.Annotations["kubectl-upgrade.dev/go-version"]; got != runtime.Version() {
		t.Errorf("%s was built with %q, want %q", architecture, got, runtime.Version())
	}
	if command := manifest.Annotations["kubectl-upgrade.dev/build-command"]; !strings.Contains(command, " GOARCH="+architecture+" ") || !strings.Contains(command, " -trimpath ") {
		t.Errorf("%s was built by %q", architecture, command)
	}
	if config.Architecture != architecture || config.OS != "linux" || !cmp.Equal(config.Config.Entrypoint, []string{"/node-agent"}) {
		t.Errorf("%s: the configuration is %+v", architecture, config)
	}
	size := manifest.Config.Size
	for _, layer := range manifest.Layers {
		size += layer.Size
	}
	t.Logf("linux/%s: %.1f MiB", architecture, float64(size)/(1<<20))
	if size > maxImage {
		t.Errorf("linux/%s has %d bytes, at most %d are allowed", architecture, size, maxImage)
	}
	if architecture == runtime.GOARCH {
		dir := unpackImage(t, img)
		for _, name := range programs {
			text, err := exec.CommandContext(t.Context(), filepath.Join(dir, name), "--version").CombinedOutput()
			if got := strings.TrimSpace(string(text)); err != nil || got != name+" version "+want["org.opencontainers.image.version"] {
				t.Errorf("the program %s says %q (%v)", name, got, err)
			}
		}
	}
}

// unpackImage returns a folder with the image's files.
func unpackImage(t *testing.T, img v1.Image) string {
	t.Helper()
	dir := t.TempDir()
	content := mutate.Extract(img)
	defer content.Close()
	unpack := exec.CommandContext(t.Context(), "tar", "-x", "-C", dir)
	unpack.Stdin = content
	if text, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	_, _ = io.Copy(io.Discard, content)
	return dir
}

func contains(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s: %s is %q, want %q", what, key, got[key], value)
		}
	}
}

// TestProgramsOfMakefile checks that `make image` puts the same programs into the image as a release.
func TestProgramsOfMakefile(t *testing.T) {
	text, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^PROGRAMS := (.*)$`).FindSubmatch(text)
	if line == nil {
		t.Fatal("the Makefile has no PROGRAMS")
	}
	got, want := strings.Fields(string(line[1])), slices.Sorted(slices.Values(programs))
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("make image has %v, and a release %v", got, want)
	}
}
