package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func TestBuildImageOfACrossBuiltProgram(t *testing.T) {
	for _, architecture := range []string{"amd64", "arm64"} {
		dir := t.TempDir()
		program, out := filepath.Join(dir, "program"), filepath.Join(dir, "image.tar")
		build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../artifacts/pause")
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+architecture)
		if text, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		cmd := New()
		cmd.SetArgs([]string{"build-image", "--binary", program, "--ref", "registry.example/program:v1", "--out", out})
		if err := cmd.Execute(); err != nil {
			t.Fatal(err)
		}
		img, err := tarball.ImageFromPath(out, nil)
		if err != nil {
			t.Fatal(err)
		}
		if config, err := img.ConfigFile(); err != nil || config.Architecture != architecture || config.OS != "linux" {
			t.Errorf("got %s/%s (%v), want linux/%s", config.OS, config.Architecture, err, architecture)
		}
	}
}
