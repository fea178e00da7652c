//go:build dist

// These tests check the files that `make release` built in dist/.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// version is the one that `make release` built.
var version = os.Getenv("RELEASE")

// inDist returns the path of a file in dist/.
func inDist(t *testing.T, parts ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(append([]string{"..", "dist"}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func glob(t *testing.T, patterns ...string) []string {
	t.Helper()
	var all []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(inDist(t, pattern))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// output runs a program and returns what it printed.
func output(t *testing.T, program string, args ...string) string {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, text)
	}
	return strings.TrimSpace(string(text))
}

// TestChecksums checks that the checksums are those of all files that are published
// and that no other digest protects.
func TestChecksums(t *testing.T) {
	listed := map[string]string{}
	for line := range strings.Lines(read(t, inDist(t, "plugin", "checksums.txt"))) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		listed[name] = sum
	}
	files := glob(t, "plugin/*.tar.gz", "plugin/*.zip", "plugin/*.cdx.json", "*.cdx.json", "install.yaml", "clusterapi-*.yaml", "charts/*.tgz")
	for _, file := range files {
		sum := sha256.Sum256([]byte(read(t, file)))
		if got := hex.EncodeToString(sum[:]); listed[filepath.Base(file)] != got {
			t.Errorf("%s has %s, checksums.txt says %q", file, got, listed[filepath.Base(file)])
		}
	}
	if len(files) != len(listed) || len(files) < 15 {
		t.Errorf("%d files are published, checksums.txt has %d", len(files), len(listed))
	}
}

// unpack unpacks an archive into a new folder.
func unpack(t *testing.T, archive string) string {
	t.Helper()
	dir := t.TempDir()
	if strings.HasSuffix(archive, ".zip") {
		output(t, "python3", "-m", "zipfile", "-e", archive, dir)
	} else {
		output(t, "tar", "-xzf", archive, "-C", dir)
	}
	return dir
}

// TestArchives unpacks each archive: it has the program for its platform, the licence
// and the completion script, and nothing else.
func TestArchives(t *testing.T) {
	for _, system := range []string{"linux", "darwin", "windows"} {
		for _, architecture := range []string{"amd64", "arm64"} {
			program, script, ending := "kubectl-upgrade", "kubectl_complete-upgrade", ".tar.gz"
			if system == "windows" {
				program, script, ending = program+".exe", script+".cmd", ".zip"
			}
			dir := unpack(t, inDist(t, "plugin", "kubectl-upgrade_"+system+"_"+architecture+ending))
			var names []string
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, entry := range entries {
				names = append(names, entry.Name())
			}
			if want := []string{"LICENSE", program, script}; !slices.Equal(names, want) {
				t.Errorf("%s/%s: the archive has %v, want %v", system, architecture, names, want)
			}
			if read(t, filepath.Join(dir, "LICENSE")) != read(t, "../LICENSE") {
				t.Errorf("%s/%s: the licence differs", system, architecture)
			}
			built := output(t, "go", "version", "-m", filepath.Join(dir, program))
			if !strings.Contains(built, "GOOS="+system) || !strings.Contains(built, "GOARCH="+architecture) || !strings.Contains(built, "CGO_ENABLED=0") {
				t.Errorf("%s/%s: the program was built with\n%s", system, architecture, built)
			}
		}
	}
}

// kubectl returns the path of a real kubectl, which finds plugins in the folders.
func kubectl(t *testing.T, folders ...string) string {
	t.Helper()
	program := os.Getenv("KUBECTL")
	if program == "" {
		t.Fatal("KUBECTL has to be the path of kubectl")
	}
	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "kubectl")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", strings.Join(append(folders, bin, os.Getenv("PATH")), ":"))
	return filepath.Join(bin, "kubectl")
}

// TestPlugin lets kubectl find this machine's program and its completion script in the
// unpacked archive.
func TestPlugin(t *testing.T) {
	kubectl := kubectl(t, unpack(t, inDist(t, "plugin", "kubectl-upgrade_linux_"+runtime.GOARCH+".tar.gz")))
	want := fmt.Sprintf("plugin        %s (%s, linux/%s)", version, runtime.Version(), runtime.GOARCH)
	if got := output(t, kubectl, "upgrade", "version", "--client"); got != want {
		t.Errorf("kubectl upgrade version --client: got %q, want %q", got, want)
	}
	if got := output(t, kubectl, "upgrade", "--version"); got != "kubectl upgrade version "+version {
		t.Errorf("kubectl upgrade --version: got %q", got)
	}
	if got := output(t, kubectl, "__complete", "upgrade", "stat"); !strings.Contains(got, "\nstatus\t") && !strings.HasPrefix(got, "status\t") {
		t.Errorf("completion of `kubectl upgrade stat`: got %q", got)
	}
}

// TestSBOMs compares each SBOM with what Go says of the program.
func TestSBOMs(t *testing.T) {
	about := map[string][]string{} // the programs of each document
	for _, architecture := range architectures {
		for _, name := range programs {
			document := inDist(t, "node-agent_linux_"+architecture+".cdx.json")
			about[document] = append(about[document], inDist(t, "node-agent", name+"_linux_"+architecture))
		}
	}
	for _, document := range glob(t, "plugin/*.cdx.json") {
		name := strings.TrimSuffix(filepath.Base(document), ".cdx.json")
		ending := ".tar.gz"
		if strings.Contains(name, "windows") {
			ending = ".zip"
		}
		found, err := filepath.Glob(filepath.Join(unpack(t, inDist(t, "plugin", name+ending)), "kubectl-upgrade*"))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: programs %v (%v)", name, found, err)
		}
		about[document] = found
	}
	if len(about) != 8 {
		t.Errorf("there are %d SBOMs, want 8", len(about))
	}
	for document, files := range about {
		var bom struct {
			Metadata struct {
				Component struct{ Version string }
			}
			Components []struct{ PURL string }
		}
		if err := json.Unmarshal([]byte(read(t, document)), &bom); err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for line := range strings.Lines(output(t, "go", append([]string{"version", "-m"}, files...)...)) {
			if module, is := strings.CutPrefix(line, "\tdep\t"); is {
				found[module] = true
			}
		}
		modules := len(found)
		if modules == 0 || len(bom.Components) != modules+1 || bom.Components[0].PURL != "pkg:golang/std@"+strings.TrimPrefix(runtime.Version(), "go") {
			t.Errorf("%s has %d components, want the standard library and %d modules", document, len(bom.Components), modules)
		}
		if bom.Metadata.Component.Version != version {
			t.Errorf("%s is for %q, want %s", document, bom.Metadata.Component.Version, version)
		}
	}
}
