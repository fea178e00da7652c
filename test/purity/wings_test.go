package purity

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/kubectl-upgrade/kubectl-upgrade/"

// TestWings checks that neither the coordinator's packages nor the agent's import those of the other, tests included: what
// both need stands in pkg.
func TestWings(t *testing.T) {
	for wing, other := range map[string]string{"cluster": "node", "node": "cluster"} {
		files := 0
		err := filepath.WalkDir(filepath.Join("..", "..", "pkg", wing), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			files++
			for _, found := range importsOf(t, path, module+"pkg/"+other+"/") {
				t.Errorf("%s imports %s", path, found)
			}
			return nil
		})
		if err != nil || files == 0 {
			t.Errorf("pkg/%s: %d files, %v", wing, files, err)
		}
	}
	if len(importsOf(t, "wings_test.go", "go/")) == 0 {
		t.Error("no imports are found")
	}
}

// TestAPIModule checks that who imports the kinds gets neither client-go nor our programs' packages.
func TestAPIModule(t *testing.T) {
	out, err := exec.Command("go", "list", "-C", "../../pkg/api", "-deps", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	if !slices.Contains(packages, "k8s.io/apimachinery/pkg/apis/meta/v1") {
		t.Error("pkg/api does not import apimachinery: what is listed?")
	}
	for _, name := range packages {
		if strings.HasPrefix(name, "k8s.io/client-go") || strings.HasPrefix(name, module) && !strings.HasPrefix(name, module+"pkg/api/") {
			t.Errorf("pkg/api imports %s", name)
		}
	}
}

// importsOf returns the packages that a file imports whose path begins with prefix.
func importsOf(t *testing.T, path, prefix string) (found []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range file.Imports {
		if name, err := strconv.Unquote(spec.Path.Value); err == nil && strings.HasPrefix(name, prefix) {
			found = append(found, name)
		}
	}
	return found
}
