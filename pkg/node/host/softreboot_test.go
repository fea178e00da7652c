package host

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

func TestSoftReboots(t *testing.T) {
	for name, test := range map[string]struct {
		prints   string
		err      error
		nextRoot bool
		count    int32
		problem  string // in the answer
		fails    bool
	}{
		"none yet":                {prints: "Version=257.9-1~deb13u1\nSoftRebootsCount=0\n"},
		"two":                     {prints: "Version=257.9-1~deb13u1\nSoftRebootsCount=2\n", count: 2},
		"an old systemd":          {prints: "Version=252.39-1~deb12u1\n", problem: "systemd is 252.39-1~deb12u1"},
		"another root is there":   {prints: "Version=258\nSoftRebootsCount=0\n", nextRoot: true, problem: "/run/nextroot"},
		"systemd does not answer": {err: errors.New("timeout"), fails: true},
		"no number":               {prints: "SoftRebootsCount=many\n", fails: true},
	} {
		l := Layout{Dir: t.TempDir()}
		if test.nextRoot {
			if err := os.MkdirAll(l.At(nextRoot, "usr"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		got, err := l.SoftReboots(t.Context(), NewLog(t.Output()), func(context.Context, *Log, string, ...string) (string, error) { return test.prints, test.err })
		if got.Count != test.count || !strings.Contains(got.Problem.Text(), test.problem) || (got.Problem == nil) != (test.problem == "") || (err != nil) != test.fails {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
}

func TestBootName(t *testing.T) {
	if first, soft := BootName("id", 0), BootName("id", 1); first != "id" || soft == first || soft == BootName("id", 2) {
		t.Errorf("%s %s", first, soft)
	}
}
