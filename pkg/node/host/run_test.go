//go:build !integration

package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

const (
	requestFile = host.Root + "/state/stage.request.json"
	resultFile  = host.Root + "/state/stage.json"
)

func ask(t *testing.T, l host.Layout, key string) {
	t.Helper()
	write(t, l, requestFile, `{"verb":"stage","key":"`+key+`","args":{"n":1},"requestedAt":"2026-01-02T03:04:05Z"}`)
	_ = os.Remove(l.At(resultFile))
}

func result(t *testing.T, l host.Layout) verb.Result {
	t.Helper()
	var r verb.Result
	if err := json.Unmarshal([]byte(read(t, l, resultFile)), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRun(t *testing.T) {
	output := map[string]string{"path": "/x"}
	tests := map[string]struct {
		work   host.Work
		ok     bool
		reason v1alpha1.Reason
		text   string
	}{
		"well": {func(_ context.Context, _ host.Layout, args json.RawMessage, log *host.Log) (any, error) {
			if string(args) != `{"n":1}` {
				return nil, fmt.Errorf("args are %s", args)
			}
			log.Printf("working")
			return output, nil
		}, true, "", ""},
		"with a reason": {func(context.Context, host.Layout, json.RawMessage, *host.Log) (any, error) {
			return output, fmt.Errorf("staging: %w", host.Fail(v1alpha1.ReasonDiskFull, "no room"))
		}, false, v1alpha1.ReasonDiskFull, "staging: no room"},
		"without one": {func(context.Context, host.Layout, json.RawMessage, *host.Log) (any, error) {
			return nil, errors.New("something")
		}, false, v1alpha1.ReasonStageFailed, "something"},
		"at length": {func(context.Context, host.Layout, json.RawMessage, *host.Log) (any, error) {
			return nil, errors.New("something" + strings.Repeat("é", 4<<10))
		}, false, v1alpha1.ReasonStageFailed, "something" + strings.Repeat("é", 2042) + "..."},
		"panic": {func(context.Context, host.Layout, json.RawMessage, *host.Log) (any, error) {
			panic("oops")
		}, false, v1alpha1.ReasonStageFailed, "a bug in this program: oops"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := newTree(t)
			ask(t, l, "k")
			if _, err := host.Run(t.Context(), l, verb.Stage, v1alpha1.ReasonStageFailed, test.work, &bytes.Buffer{}); (err == nil) != test.ok {
				t.Errorf("error %v", err)
			}
			r := result(t, l)
			if r.OK != test.ok || r.Reason != test.reason || r.Message != test.text || r.Key != "k" || r.BootID != bootID {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestEnded(t *testing.T) {
	env := map[string]string{"SERVICE_RESULT": "signal", "EXIT_CODE": "killed", "EXIT_STATUS": "KILL"}
	ended := func(l host.Layout) {
		t.Helper()
		if err := host.Ended(l, verb.Stage, v1alpha1.ReasonStageFailed, func(k string) string { return env[k] }); err != nil {
			t.Fatal(err)
		}
	}
	l := newTree(t)
	ended(l) // without a request there is nothing to record
	if _, err := os.Stat(l.At(resultFile)); err == nil {
		t.Error("a result without a request")
	}
	ask(t, l, "k")
	ended(l)
	r := result(t, l)
	if r.OK || r.Key != "k" || !strings.Contains(r.Message, "signal, killed KILL") || r.Reason != v1alpha1.ReasonStageFailed {
		t.Errorf("%+v", r)
	}
	work := func(context.Context, host.Layout, json.RawMessage, *host.Log) (any, error) { return "fine", nil }
	if _, err := host.Run(t.Context(), l, verb.Stage, v1alpha1.ReasonStageFailed, work, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	ended(l) // its own result stays
	if r := result(t, l); !r.OK {
		t.Errorf("%+v", r)
	}
}

func TestLogTail(t *testing.T) {
	var all bytes.Buffer
	log := host.NewLog(&all)
	for i := range 1000 {
		log.Printf("line %d", i)
	}
	tail := log.Tail()
	if len(tail) > 4096 || !strings.HasPrefix(tail, "line ") || !strings.HasSuffix(tail, "line 999\n") {
		t.Errorf("%d bytes: %.20q", len(tail), tail)
	}
	if !strings.HasPrefix(all.String(), "line 0\n") {
		t.Error("not all was passed on")
	}
}

func TestLastLine(t *testing.T) {
	for output, want := range map[string]string{"": "", "one": "one", "one\ntwo\n\n": "two", "\n": ""} {
		if got := host.LastLine(output); got != want {
			t.Errorf("%q: got %q, want %q", output, got, want)
		}
	}
}
