package performance

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Book is lab/results/performance.md of this checkout, with its sections.
type Book struct{ results string }

// Open returns the checkout's page, for a benchmark that runs in a folder of it.
func Open(t testing.TB) Book {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "lab", "results", "README.md")); err == nil {
			return Book{filepath.Join(folder, "lab", "results")}
		}
	}
	t.Fatal("looking for lab/results/README.md above the test: not there")
	return Book{}
}

// Last returns the section of that name as it was recorded last; an empty one if it was not.
func (b Book) Last(t testing.TB, name string) Section {
	t.Helper()
	s, err := read(b.file(name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return s
}

// Record replaces a section, and writes the page.
func (b Book) Record(t testing.TB, s Section) {
	t.Helper()
	s.Commit, s.Date, s.Load = b.commit(t), time.Now().Format(time.DateOnly), load(t)
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(b.file(s.Name)), 0o755); err != nil { //nolint:gosec // it is for everyone
		t.Fatal(err)
	}
	if err := os.WriteFile(b.file(s.Name), append(text, '\n'), 0o644); err != nil { //nolint:gosec // it is for everyone
		t.Fatal(err)
	}
	page, err := Page(filepath.Dir(b.file(s.Name)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.results, "performance.md"), []byte(page), 0o644); err != nil { //nolint:gosec // it is for everyone
		t.Fatal(err)
	}
}

func (b Book) file(name string) string { return filepath.Join(b.results, "performance", name+".json") }

// commit returns the commit of the checkout; "-dirty" follows if files differ from it.
func (b Book) commit(t testing.TB) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", "describe", "--always", "--dirty", "--exclude", "*")
	command.Dir = b.results
	out, err := command.Output()
	if err != nil {
		t.Logf("the page will not name the commit: %v", err)
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// load says how many cores the machine has, and how busy it was.
func load(t testing.TB) string {
	t.Helper()
	averages, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "" // not on Linux
	}
	return fmt.Sprintf("on %d cores with load averages of %s at the end", runtime.NumCPU(), strings.Join(strings.Fields(string(averages))[:3], ", "))
}
