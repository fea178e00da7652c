package artifacts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recordedStep writes down what a step reports.
type recordedStep struct{ progress *[]string }

func (s recordedStep) Progress(part float64, text string) {
	*s.progress = append(*s.progress, fmt.Sprintf("%.1f %s", part, text))
}
func (recordedStep) End(error) {}

func TestCompilationCountsWhatIsNotInTheBuildCache(t *testing.T) {
	var progress []string
	c := openCache(t, func(string) Step { return recordedStep{&progress} })
	m := goModule{cache: c, name: "small"}
	for name, text := range map[string]string{
		"go.mod":  "module small\n\ngo 1.24\n",
		"main.go": "package main\n\nimport (\n\t\"small/a\"\n\t\"small/b\"\n)\n\nfunc main() { println(a.A, b.B) }\n",
		// The name of the test's folder makes its contents new to the build cache.
		"a/a.go": "package a\n\nconst A = \"" + c.Dir + "\"\n",
		"b/b.go": "package b\n\nconst B = \"" + c.Dir + "\"\n",
	} {
		write(t, m.dir(), name, text)
	}
	build := func() []string {
		progress = nil
		if err := c.step("small", func() error { return m.build(t.Context(), t.TempDir(), "", ".") }); err != nil {
			t.Fatal(err)
		}
		return progress
	}
	first := build()
	if len(first) < 3 {
		t.Fatalf("the first build reported %q, want each of its packages", first)
	}
	var part float64
	var done, all int
	last := first[len(first)-1]
	if _, err := fmt.Sscanf(last, "%f %d of %d packages", &part, &done, &all); err != nil || done != all-1 || part > 0.9 {
		t.Errorf("the last report is %q (%v), want all packages but one, and linking is left", last, err)
	}
	write(t, m.dir(), "b/b.go", "package b\n\nconst B = \"changed\"\n// "+c.Dir+"\n")
	if diff := cmp.Diff([]string{"0.0 0 of 2 packages", "0.0 1 of 2 packages"}, build()); diff != "" {
		t.Errorf("after a change of one package (-want +got):\n%s", diff)
	}
}

func TestTakenLinesAreNotLogged(t *testing.T) {
	c := openCache(t, nil)
	var taken []string
	take := func(line string) bool {
		taken = append(taken, line)
		return strings.HasPrefix(line, "progress")
	}
	script := "printf 'progress 1\nno such '; sleep 0.1; printf 'luck\nprogress 2\nend'; exit 1"
	_, err := c.run(context.Background(), command{log: "l", take: take, args: []string{"sh", "-c", "exec >&2; " + script}})
	if err == nil || !strings.HasSuffix(err.Error(), "\nno such luck\nend") {
		t.Errorf("the error is %v, want only the lines that are not taken", err)
	}
	if diff := cmp.Diff([]string{"progress 1", "no such luck", "progress 2"}, taken); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	log, err := os.ReadFile(filepath.Join(c.Dir, "log/l.log"))
	if err != nil || !strings.HasSuffix(string(log), "exit 1\nno such luck\nend") {
		t.Errorf("the log is %q (%v)", log, err)
	}
}
