package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
)

// offline runs a command without a cluster.
func offline(t *testing.T, args ...string) (out, errOut string, code int) {
	t.Helper()
	return runIn(t.Context(), args...)
}

func runIn(ctx context.Context, args ...string) (out, errOut string, code int) {
	var stdout, stderr bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &stdout, ErrOut: &stderr}
	code = cli.Run(ctx, args, streams, "test")
	return stdout.String(), stderr.String(), code
}

// checkOutcome checks that a command either did its work, or wrote one line that is no fault of
// its own and exited with 1.
func checkOutcome(t *testing.T, about, errOut string, code int) {
	t.Helper()
	errors := 0
	for line := range strings.Lines(errOut) {
		if strings.HasPrefix(line, "error: ") {
			errors++
		}
	}
	if code > 1 || errors != code || strings.Contains(errOut, "a fault of kubectl upgrade") || strings.Contains(errOut, "goroutine ") {
		t.Errorf("%s: got exit code %d and %q", about, code, errOut)
	}
}

// TestChangedSnapshots checks that no value of a snapshot that is lost, null or empty
// makes the plugin panic. With -short, it tries each tenth: the whole needs no race detector, as all take the same ways.
func TestChangedSnapshots(t *testing.T) {
	text, err := os.ReadFile("../report/testdata/running-snapshot.json")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "snapshot.json")
	each := 1
	if testing.Short() {
		each = 10
	}
	changes, tried, refused := 0, 0, 0
	try := func(about string, root any) {
		if changes++; changes%each != 0 {
			return
		}
		changed, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"plan"}, {"plan", "v1.36.0"}, {"report", "v1.35.4"}} {
			_, errOut, code := offline(t, append(args, "--snapshot", file)...)
			checkOutcome(t, strings.Join(args, " ")+" with "+about, errOut, code)
			tried, refused = tried+1, refused+code
		}
	}
	var root any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	mutate(root, "", func(value any) { root = value }, func(about string) { try(about, root) })
	if tried < 500/each || refused < 50/each || refused > tried*9/10 {
		t.Errorf("%d of %d were refused, so that this test proves nothing", refused, tried)
	}
}

// mutate calls try for each value below at, while it is null or empty, and puts it back. Of a list
// only the first item is changed.
func mutate(value any, at string, set func(any), try func(about string)) {
	set(nil)
	try(at + "=null")
	switch value.(type) {
	case map[string]any:
		set(map[string]any{})
		try(at + "={}")
	case []any:
		set([]any{nil})
		try(at + "=[null]")
	}
	set(value)
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if key == "labels" || key == "steps" {
				continue // there are many, and all alike
			}
			mutate(v[key], at+"."+key, func(other any) { v[key] = other }, try)
		}
	case []any:
		if len(v) > 0 {
			mutate(v[0], at+"[0]", func(other any) { v[0] = other }, try)
		}
	}
}
