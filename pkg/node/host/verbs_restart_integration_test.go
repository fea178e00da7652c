//go:build integration

package host_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/sysext"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// TestRestart checks that Restart merges the active image for the whole node, and the next one
// once that is active. It runs after TestStageAndActivate.
func TestRestart(t *testing.T) {
	c := connect(t)
	changes := follow(t, c)
	restart := func(key, version string) (*verb.Result, sysext.RestartOutput) {
		t.Helper()
		start(t, c, request(t, verb.Restart, key, verb.RestartArgs{Version: version}), verb.Options{WholeNode: true})
		result := finish(t, c, changes, verb.Restart)
		var out sysext.RestartOutput
		if err := result.Decode(&out); err != nil {
			t.Fatalf("%v: %s %s\n%s", err, result.Reason, result.Message, result.LogTail)
		}
		return result, out
	}
	result, first := restart("first", "v1.34.4")
	if !result.OK || first.Merged != "v1.34.4" || first.KubeletPID == 0 {
		t.Fatalf("%s %s %+v\n%s", result.Reason, result.Message, first, result.LogTail)
	}
	activate(t, "v1.34.5")
	awaitDisarmed(t)
	result, second := restart("second", "v1.34.5")
	if !result.OK || second.Merged != "v1.34.5" || second.KubeletPID == 0 || second.KubeletPID == first.KubeletPID {
		t.Fatalf("%s %s %+v, after %+v\n%s", result.Reason, result.Message, second, first, result.LogTail)
	}

	// Something is mounted below /usr: nothing happens.
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "tmpfs", "/usr/share/doc").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	activate(t, "v1.34.4")
	result, third := restart("third", "v1.34.4")
	if result.OK || result.Reason != v1alpha1.ReasonRestartFailed || !strings.Contains(result.Message, "/usr/share/doc") || third.Merged != "v1.34.5" {
		t.Errorf("%s %s %+v", result.Reason, result.Message, third)
	}
}

// awaitDisarmed waits until the guard, if it runs, has noticed that the symlink points elsewhere.
// A verb that starts the guard at that moment would find no unit.
func awaitDisarmed(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		switch armed, err := host.OnNode.GuardArmed(); {
		case err != nil:
			t.Fatal(err)
		case !armed, exec.CommandContext(t.Context(), "systemctl", "is-active", "--quiet", host.GuardUnit).Run() != nil:
			return
		case time.Now().After(deadline):
			t.Fatal("the guard still watches a version that is not active any more")
		}
	}
}

// activate points the symlink to a version's image.
func activate(t *testing.T, version string) {
	t.Helper()
	path := host.ImagePath(version, host.Architecture())
	if _, err := os.Stat(path); err != nil {
		if out, err := exec.CommandContext(t.Context(), "cp", "/later.raw", path).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "ln", "-sfn", path, host.Link).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
