package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// folder has the programs, once bin has built them.
var folder string

// bin builds the programs once, as `make play` does.
var bin = sync.OnceValue(func() (err error) {
	if folder, err = os.MkdirTemp("", "play-test-"); err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-ldflags", "-s -w", "-o", folder+"/", "./cmd/coordinator", "./cmd/kubectl-upgrade", "./test/play")
	cmd.Dir, cmd.Env = filepath.Join("..", ".."), append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	return cmd.Run()
})

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// running is a play that runs.
type running struct {
	*testing.T
	dir     string // TMPDIR and HOME
	cmd     *exec.Cmd
	lines   chan string
	errors  *bytes.Buffer
	exports string
	ended   chan error
}

// prepare returns a play that is not started yet.
func prepare(t *testing.T, args ...string) *running {
	t.Helper()
	apitest.Path(t, "kube-apiserver") // skips with -short
	if err := bin(); err != nil {
		t.Fatal(err)
	}
	assets, err := apitest.Program("etcd")
	if err != nil {
		t.Fatal(err)
	}
	p := &running{T: t, dir: t.TempDir(), lines: make(chan string, 1000), errors: &bytes.Buffer{}, ended: make(chan error, 1)}
	p.cmd = exec.CommandContext(context.Background(), filepath.Join(folder, "play"), args...)
	p.cmd.Dir = apitest.Root(t)
	p.cmd.Env = append(os.Environ(), "TMPDIR="+p.dir, "HOME="+p.dir, "KUBE_ASSETS="+filepath.Dir(assets))
	p.cmd.Stderr = p.errors
	return p
}

func start(t *testing.T, args ...string) *running {
	t.Helper()
	p := prepare(t, args...)
	p.start()
	return p
}

func (p *running) start() {
	p.Helper()
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		p.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		p.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			p.lines <- lines.Text()
		}
		_, _ = io.Copy(io.Discard, output)
	}()
	go func() { <-read; p.ended <- p.cmd.Wait() }()
	p.Cleanup(func() { _ = p.cmd.Process.Kill() })
}

// awaitLine waits for a line of the output, and keeps one for the other terminal.
func (p *running) awaitLine(has string) {
	p.Helper()
	limit := time.After(5 * time.Minute)
	for {
		select {
		case line := <-p.lines:
			p.Log(line)
			if text := strings.TrimSpace(line); strings.HasPrefix(text, ". ") {
				p.exports = text
			}
			if strings.Contains(line, has) {
				return
			}
		case err := <-p.ended:
			p.Fatalf("it ended: %v %s", err, p.errors)
		case <-limit:
			p.Fatalf("no line with %q", has)
		}
	}
}

// end sends a signal, and checks that nothing is left.
func (p *running) end(signal os.Signal) {
	p.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.Fatal(err)
	}
	select {
	case err := <-p.ended:
		if err != nil || p.errors.Len() > 0 {
			p.Errorf("after %s: %v %s", signal, err, p.errors)
		}
	case <-time.After(time.Minute):
		p.Fatalf("it runs a minute after %s", signal)
	}
	p.nothingLeft()
}

// nothingLeft checks that no process names its folder, and that nothing is in it but caches.
func (p *running) nothingLeft() {
	p.Helper()
	left, err := filepath.Glob(filepath.Join(p.dir, "[^.]*")) // the caches in HOME begin with a dot, and stay
	if err != nil || len(left) > 0 {
		p.Errorf("it left %v (%v)", left, err)
	}
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		p.Fatal(err)
	}
	for _, file := range processes {
		if line, _ := os.ReadFile(file); bytes.Contains(line, []byte(p.dir)) && !bytes.Contains(line, []byte("/env\n")) {
			p.Errorf("it left the process %q", line)
		}
	}
}

// TestEndWhileItStarts checks that SIGTERM leaves nothing of a start that is not complete.
func TestEndWhileItStarts(t *testing.T) {
	p := start(t, "--clusters", "1", "--nodes", "1")
	p.awaitLine("No controller of Kubernetes runs: ")
	p.awaitLine("Starting 1 cluster of 1 node.")
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); time.Sleep(10 * time.Millisecond) {
		if there, _ := filepath.Glob(filepath.Join(p.dir, "apiserver-*", "etcd.log")); len(there) > 0 {
			break
		}
	}
	p.end(syscall.SIGTERM)
}

// TestFailures checks that what goes wrong is one line that says what to do, and leaves nothing.
func TestFailures(t *testing.T) {
	const failing = "#!/bin/sh\necho first line >&2\necho 'bind: address already in use' >&2\nexit 1\n"
	for _, test := range []struct {
		name string
		args []string
		env  func(dir string) []string
		want string
	}{
		{"no nodes", []string{"--nodes", "0"}, nil, "play: NODES=0: must be a whole number from 1 to 100\n"},
		{"too many nodes", []string{"--nodes", "500"}, nil, "play: NODES=500: must be a whole number from 1 to 100\n"},
		{"no number", []string{"--clusters", "abc"}, nil, "play: CLUSTERS=abc: must be a whole number from 1 to 9\n"},
		{"publish without one", []string{"publish", "v1.34.4"}, nil, "play: PLAY is not set: paste the line `export …` that `make play` shows\n"},
		{"publish after its end", []string{"publish", "v1.34.4"}, func(string) []string { return []string{"PLAY=http://127.0.0.1:1"} }, "play: no `make play` answers at http://127.0.0.1:1, which PLAY names: paste the line `export …` of the one that runs\n"},
		{"no Go", nil, func(dir string) []string { return []string{"KUBE_ASSETS=" + dir, "PATH=" + dir} }, "play: etcd and kube-apiserver are compiled the first time, and there is no Go on the PATH: see https://go.dev/dl/\n"},
		{"a program that fails", []string{"--clusters", "1"}, func(dir string) []string {
			for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(failing), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			return []string{"KUBE_ASSETS=" + dir}
		}, "play: etcd does not start (it ended): bind: address already in use\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := prepare(t, test.args...)
			if test.env != nil {
				p.cmd.Env = append(p.cmd.Env, test.env(t.TempDir())...)
			}
			p.start()
			go func() {
				for range p.lines { //nolint:revive // they are not read
				}
			}()
			select {
			case err := <-p.ended:
				if err == nil || p.errors.String() != test.want {
					t.Errorf("got %v %q, want %q", err, p.errors, test.want)
				}
			case <-time.After(2 * time.Minute):
				t.Fatal("it still runs")
			}
			p.nothingLeft()
		})
	}
}

// TestEndsWithoutAReader checks that it removes everything although its output is read no more, as
// when Ctrl-C ends `make play | tee log`.
func TestEndsWithoutAReader(t *testing.T) {
	p := prepare(t, "--clusters", "1", "--nodes", "1")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout = write
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	write.Close()
	for lines := bufio.NewScanner(read); lines.Scan() && !strings.HasPrefix(lines.Text(), "Ctrl-C "); { //nolint:revive // until it is ready
	}
	read.Close()
	go func() { p.ended <- p.cmd.Wait() }()
	p.end(os.Interrupt)
}

func TestNames(t *testing.T) {
	if got := strings.Join(names(5), " "); got != "dev staging prod prod-2 prod-3" {
		t.Errorf("got %s", got)
	}
	if got := quote("/home/o'neil x"); got != `'/home/o'\''neil x'` {
		t.Errorf("got %s", got)
	}
}
