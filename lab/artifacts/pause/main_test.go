package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestPause(t *testing.T) {
	program := filepath.Join(t.TempDir(), "pause")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := exec.Command(program, "-v").Run(); err != nil {
		t.Errorf("with -v, as kubeadm runs it: %v", err)
	}
	cmd := exec.Command(program)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("told to end: %v, want status 0", err)
		}
	case <-time.After(5 * time.Second):
		cmd.Process.Signal(os.Kill)
		t.Error("it did not end when told to")
	}
}
