package soak

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// sleeper starts ten goroutines that wait, and ten that end, and then says that it is ready.
const sleeper = `package main

import (
	"fmt"
	"sync"
)

func main() {
	var ended, begun sync.WaitGroup
	for range 10 {
		ended.Go(func() {})
		begun.Add(1)
		go func() { begun.Done(); select {} }()
	}
	ended.Wait()
	begun.Wait()
	fmt.Println("ready")
	_, _ = fmt.Scanln()
}
`

func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "sleeper")
	if err := os.WriteFile(source, []byte(sleeper), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(program)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	got, err := Process{PID: cmd.Process.Pid}.Measure()
	if err != nil {
		t.Fatal(err)
	}
	// main, the ten and those of the runtime: five in go1.26.
	if got.Goroutines < 11 || got.Goroutines > 19 || got.Files < 3 || got.Memory == 0 || got.Threads == 0 {
		t.Errorf("got %+v, want 11 goroutines and those of the runtime, 3 files", got)
	}
	t.Logf("%+v", got)
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}
