package artifacts

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRunSaysWhyAProgramFailed(t *testing.T) {
	c := openCache(t, nil)
	out, err := c.run(t.Context(), command{log: "l", env: []string{"WORD=hello"}, args: []string{"sh", "-c", "echo $WORD"}})
	if err != nil || out != "hello\n" {
		t.Errorf("output is %q (%v), want hello", out, err)
	}
	_, err = c.run(t.Context(), command{log: "l", args: []string{"sh", "-c", "echo no such luck >&2; exit 3"}})
	if err == nil || !strings.Contains(err.Error(), "no such luck") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error is %v, want the program's words and status", err)
	}
	log, err := os.ReadFile(filepath.Join(c.Dir, "log/l.log"))
	if err != nil || !strings.Contains(string(log), "no such luck") {
		t.Errorf("the log is %q (%v), want the program's words", log, err)
	}
}

func TestRunEndsTheWholeGroup(t *testing.T) {
	c := openCache(t, nil)
	alive := filepath.Join(t.TempDir(), "alive")
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(200*time.Millisecond, func() { cancel(reason) })
	_, err := c.run(ctx, command{log: "l", args: []string{"sh", "-c", "(sleep 1; touch " + alive + ") & wait"}})
	if !errors.Is(err, reason) {
		t.Errorf("error is %v, want the reason of the cancellation", err)
	}
	time.Sleep(1200 * time.Millisecond)
	if _, err := os.Stat(alive); err == nil {
		t.Error("a child of the program outlived it")
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	tail := &tailWriter{}
	for range 3 {
		if n, err := tail.Write([]byte(strings.Repeat("x", tailLimit))); n != tailLimit || err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := tail.Write([]byte("end\n")); err != nil {
		t.Fatal(err)
	}
	if got := tail.String(); !strings.HasSuffix(got, "xend") || len(got) >= tailLimit {
		t.Errorf("%d bytes that end with %q", len(got), got[len(got)-4:])
	}
}
