//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
)

const savedSnapshot = "../report/testdata/running-snapshot.json"

// TestReportIsWrittenThrough checks that a report replaces a regular file, and that anything else
// stays what it is.
func TestReportIsWrittenThrough(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	report := func(file string) string {
		t.Helper()
		out, errOut, code := offline(t, "report", "v1.35.4", "--snapshot", savedSnapshot, "--output-file", file)
		if code != 0 || errOut != "" {
			t.Errorf("writing %s: got exit code %d and %q", file, code, errOut)
		}
		return out
	}
	if err := errors.Join(os.WriteFile(in("old.md"), []byte("old"), 0o640), os.Symlink("old.md", in("link.md")), os.Symlink("new.md", in("dangling.md")), os.Symlink("/dev/null", in("null")), syscall.Mkfifo(in("pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	report(in("link.md"))
	report(in("dangling.md"))
	for name, kind := range map[string]fs.FileMode{"link.md": fs.ModeSymlink, "dangling.md": fs.ModeSymlink, "old.md": 0, "new.md": 0} {
		if info, err := os.Lstat(in(name)); err != nil || info.Mode().Type() != kind {
			t.Errorf("%s: it is %v (%v), want %v", name, info, err, kind)
		}
		if text, err := os.ReadFile(in(name)); err != nil || !strings.HasPrefix(string(text), "## ") {
			t.Errorf("%s has %.20q (%v)", name, text, err)
		}
	}
	before, err := os.Stat(in("old.md"))
	if err != nil {
		t.Fatal(err)
	}
	report(in("old.md"))
	if after, err := os.Stat(in("old.md")); err != nil || os.SameFile(before, after) || after.Mode() != 0o640 {
		t.Errorf("a regular file is written in place, or has another mode: %v (%v)", after.Mode(), err)
	}
	read := make(chan []byte, 1)
	go func() {
		text, _ := os.ReadFile(in("pipe"))
		read <- text
	}()
	report(in("pipe"))
	select {
	case text := <-read:
		if !bytes.HasPrefix(text, []byte("## ")) {
			t.Errorf("the pipe got %.20q", text)
		}
	case <-time.After(10 * time.Second):
		t.Error("nothing is written to the pipe")
	}
	report(in("null")) // by a symlink, as a fault would replace the machine's
	if to, err := os.Readlink(in("null")); to != "/dev/null" || err != nil {
		t.Errorf("the symlink to a device leads to %q (%v)", to, err)
	}
	if out := report("-"); !strings.HasPrefix(out, "## ") {
		t.Errorf("standard output got %.20q", out)
	}
	if left, err := filepath.Glob(in(".*")); len(left) > 0 || err != nil {
		t.Errorf("files are left behind: %v %v", left, err)
	}
}

// TestOutputsThatAreNoFiles checks standard output by its other names, and names that a report
// cannot have.
func TestOutputsThatAreNoFiles(t *testing.T) {
	log, full := filepath.Join(t.TempDir(), "log"), filepath.Join(t.TempDir(), "full")
	if err := os.Symlink("/dev/full", full); err != nil {
		t.Fatal(err)
	}
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := out.WriteString("before\n"); err != nil {
		t.Fatal(err)
	}
	var errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: &errOut}
	if code := cli.Run(t.Context(), []string{"report", "v1.35.4", "--snapshot", savedSnapshot, "--output-file", log, "-o", "markdown"}, streams, "test"); code != 0 {
		t.Errorf("got exit code %d and %s", code, errOut.String())
	}
	if text, err := os.ReadFile(log); err != nil || !strings.HasPrefix(string(text), "before\n## ") {
		t.Errorf("what was written before is lost: %.30q (%v)", text, err)
	}
	for args, want := range map[string]string{
		"--output-file report.pdf":                            "error: --output-file=report.pdf: there is no format for the ending .pdf; use .html, .md, .json or .yaml, or say the format with -o\n",
		"--output-file /no/such/report.md":                    "error: writing /no/such/report.md: no such file or directory\n",
		"--output-file " + filepath.Dir(log) + " -o markdown": "error: writing " + filepath.Dir(log) + ": is a directory\n",
		"--output-file " + full:                               "error: writing " + full + ": no space left on device\n",
	} {
		_, errOut, code := offline(t, append([]string{"report", "v1.35.4", "--snapshot", savedSnapshot}, strings.Fields(args)...)...)
		if code != 1 || errOut != want {
			t.Errorf("%s: got exit code %d and %q, want 1 and %q", args, code, errOut, want)
		}
	}
	// A report, or a snapshot, does not replace what it was made of.
	input := filepath.Join(t.TempDir(), "input.json")
	text, err := os.ReadFile(savedSnapshot)
	if err := errors.Join(err, os.WriteFile(input, text, 0o600), os.Symlink("input.json", filepath.Join(filepath.Dir(input), "link.md"))); err != nil {
		t.Fatal(err)
	}
	refused(t, "--output-file="+input+": it is the snapshot that --snapshot reads", "report", "v1.35.4", "--snapshot", input, "--output-file", input)
	link := filepath.Join(filepath.Dir(input), "link.md")
	refused(t, "--output-file="+link+": it is the snapshot that --snapshot reads", "report", "v1.35.4", "--snapshot", input, "--output-file", link)
	refused(t, "--save-snapshot="+input+": it is a file that -f reads", "plan", "-f", input, "--save-snapshot", input)
	if _, errOut, code := offline(t, "report", "v1.35.4", "--output-file", "-", "--follow"); code != 1 || !strings.Contains(errOut, "--follow rewrites a file, and - is none") {
		t.Errorf("got exit code %d and %q", code, errOut)
	}
}

// TestFolderWithAPipe checks that to read a folder does not wait for who writes into a pipe.
func TestFolderWithAPipe(t *testing.T) {
	folder := t.TempDir()
	text := "apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: MaintenanceSchedule\nmetadata: {name: a}\nspec: {}\n"
	if err := errors.Join(syscall.Mkfifo(filepath.Join(folder, "pipe.yaml"), 0o600), os.WriteFile(filepath.Join(folder, "a.yaml"), []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, errOut, code := runIn(ctx, "windows", "-f", folder)
	if want := "warning: " + filepath.Join(folder, "pipe.yaml") + " is left out: it is no file\n"; code != 0 || errOut != want {
		t.Errorf("got exit code %d and %q, want 0 and %q", code, errOut, want)
	}
}

// full is a disk without space.
type full struct{}

func (full) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}
}

// TestFullDisk checks that no verb succeeds whose output is lost.
func TestFullDisk(t *testing.T) {
	schedule := filepath.Join(t.TempDir(), "schedule.yaml")
	text := "apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: MaintenanceSchedule\nmetadata: {name: a}\nspec: {maintenanceWindows: [{name: w, startTime: \"2026-01-01T00:00:00Z\", endTime: \"2026-01-01T04:00:00Z\", recurrence: FREQ=DAILY}]}\n"
	if err := os.WriteFile(schedule, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"", "--help", "--version", "help", "help status", "status --help", "migrate", "completion bash", "completion zsh", "completion fish", "completion powershell", "completion kubectl",
		"version --client", "version --client -o json", "windows -f " + schedule, "windows -o yaml -f " + schedule,
		"freeze --for 1h --reason x --dry-run=client", "freeze --for 1h --reason x --dry-run=client -o yaml",
		"plan --snapshot " + savedSnapshot, "plan --snapshot " + savedSnapshot + " --exit-code", "plan -o name --snapshot " + savedSnapshot, "plan -o json --snapshot " + savedSnapshot,
		"report v1.35.4 --snapshot " + savedSnapshot, "report v1.35.4 -o json --snapshot " + savedSnapshot, "report v1.35.4 --output-file - --snapshot " + savedSnapshot,
	} {
		run := func(out io.Writer) (string, int) {
			var errOut bytes.Buffer
			code := cli.Run(t.Context(), strings.Fields(command), genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: &errOut}, "test")
			return errOut.String(), code
		}
		if errOut, code := run(io.Discard); code == 1 {
			t.Errorf("%s: without a full disk it fails: %s", command, errOut)
		}
		if errOut, code := run(full{}); code != 1 || errOut != "error: writing standard output: no space left on device\n" {
			t.Errorf("%s: got exit code %d and %q", command, code, errOut)
		}
	}
}
