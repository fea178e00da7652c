package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestParseStat(t *testing.T) {
	rest := " 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1000 200"
	tests := []struct {
		line  string
		state byte
		start uint64
		fails bool
	}{
		{line: "42 (sleep) S" + rest, state: 'S', start: 98765},
		{line: "42 (a) b) (c) Z" + rest, state: 'Z', start: 98765},
		{line: "42 (sleep) S 1 1", fails: true},
		{line: "", fails: true},
	}
	for _, test := range tests {
		state, start, err := parseStat(test.line)
		if (err != nil) != test.fails || state != test.state || start != test.start {
			t.Errorf("parseStat(%q) = %q, %d, %v", test.line, state, start, err)
		}
	}
}

func sleeper(t *testing.T) (ID, *exec.Cmd) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	id, err := Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return id, cmd
}

func TestEndStopsTheProcess(t *testing.T) {
	id, _ := sleeper(t)
	if !id.Alive() {
		t.Fatal("a running process is not alive")
	}
	if err := id.End(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	if id.Alive() {
		t.Error("the process is alive after End")
	}
	if err := id.End(t.Context(), time.Second); err != nil {
		t.Errorf("ending it again: %v", err)
	}
}

func TestAnotherProcessWithTheSameIDIsLeftAlone(t *testing.T) {
	id, _ := sleeper(t)
	earlier, otherBoot := id, id
	earlier.Start--
	otherBoot.Boot = "another"
	for _, stale := range []ID{earlier, otherBoot, {}} {
		if stale.Alive() {
			t.Errorf("%+v counts as alive", stale)
		}
		if err := stale.Signal(unix.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("Signal(%+v) = %v", stale, err)
		}
	}
	time.Sleep(50 * time.Millisecond)
	if !id.Alive() {
		t.Error("the process was reached by a stale name")
	}
}

func TestRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "process.json")
	if _, running, err := Load(path); running || err != nil {
		t.Fatalf("Load without a record: %v, %v", running, err)
	}
	id, cmd := sleeper(t)
	if err := Save(path, id); err != nil {
		t.Fatal(err)
	}
	if got, running, err := Load(path); got != id || !running || err != nil {
		t.Errorf("Load = %+v, %v, %v; want %+v, running", got, running, err, id)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if _, running, err := Load(path); running || err != nil {
		t.Errorf("Load after the end: %v, %v", running, err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Load(path); err == nil {
		t.Error("a broken record gave no error")
	}
}
