package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// BenchmarkWindowsFile measures the whole program from its start to its end.
func BenchmarkWindowsFile(b *testing.B) {
	page, err := os.ReadFile(filepath.Join(apitest.Root(b), "docs", "schedules.md"))
	if err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(b.TempDir(), "weekend.yaml")
	if err := os.WriteFile(file, []byte(example.FindStringSubmatch(string(page))[1]), 0o644); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if out, err := exec.Command("kubectl-upgrade", "windows", "-f", file).CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
}
