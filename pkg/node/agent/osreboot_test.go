package agent

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/pretend"
)

const needReboot = "the operating system asks for a reboot: Flatcar's update_engine has installed an update (UPDATE_STATUS_UPDATED_NEED_REBOOT)"

// TestRebootReason checks which reason for a reboot the facts give.
func TestRebootReason(t *testing.T) {
	const file = "the file is there"
	tests := map[string]struct {
		active, merged, engine string
		file                   bool
		system                 bool
		want                   string
	}{
		"nothing":          {"v1.34.3", "v1.34.3", "UPDATE_STATUS_IDLE", false, false, ""},
		"no update_engine": {"v1.34.3", "v1.34.3", "", false, false, ""},
		"downloading":      {"v1.34.3", "v1.34.3", "UPDATE_STATUS_DOWNLOADING", false, false, ""},
		"update_engine":    {"v1.34.3", "v1.34.3", host.UpdateEngineNeedReboot, false, true, needReboot},
		"and its file":     {"v1.34.3", "v1.34.3", host.UpdateEngineNeedReboot, true, true, needReboot},
		"the file":         {"v1.34.3", "v1.34.3", "UPDATE_STATUS_IDLE", true, true, file},
		"Kubernetes":       {"v1.34.4", "v1.34.3", "", false, false, "runs v1.34.3, and the next boot brings v1.34.4"},
		"both":             {"v1.34.4", "v1.34.3", host.UpdateEngineNeedReboot, false, true, "runs v1.34.3, and the next boot brings v1.34.4; " + needReboot},
		"unreachable":      {"v1.34.4", "", "", false, false, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			facts := verb.HostFacts{Active: test.active, Merged: test.merged}
			if test.file {
				facts.RebootRequired, facts.RebootReason = true, file
			}
			if got := rebootReason(facts, test.engine); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			seen := hostOf(facts, test.engine)
			if seen.RebootRequired != test.system || (seen.RebootReason != "") != test.system || strings.Contains(seen.RebootReason, "next boot") {
				t.Errorf("the observation has RebootRequired %t, RebootReason %q", seen.RebootRequired, seen.RebootReason)
			}
		})
	}
}

// TestUpdateEngineSignal checks that update_engine's last status counts until it has another.
func TestUpdateEngineSignal(t *testing.T) {
	c := newCluster(t, "agent-engine")
	c.host.Facts.Node.Problems = []string{"a file is broken"}
	setUpdateEngine(c.host, "UPDATE_STATUS_IDLE", nil)
	c.order(v1alpha1.ReleaseNone)
	c.run()
	if status := c.awaitStep(v1alpha1.StepWaiting); status.Reboot.Required {
		t.Errorf("a reboot is required: %s", status.Reboot.Message)
	}

	setUpdateEngine(c.host, host.UpdateEngineNeedReboot, nil)
	status := c.await("update_engine's signal is read", func(s agentStatus) bool { return s.Reboot.Required })
	if status.Reboot.Message != needReboot {
		t.Errorf("got the reason %q, want %q", status.Reboot.Message, needReboot)
	}

	setUpdateEngine(c.host, "", errors.New("update_engine hangs"))
	c.awaitInventory("the problem is reported", func(i v1alpha1.NodeInventory) bool { return slices.Contains(i.Problems, "update_engine hangs") })
	if !c.status().Reboot.Required {
		t.Error("the last status of update_engine no longer counts")
	}

	setUpdateEngine(c.host, "", nil)
	c.await("it is masked", func(s agentStatus) bool { return !s.Reboot.Required })
	c.awaitInventory("the problem is gone", func(i v1alpha1.NodeInventory) bool { return slices.Equal(i.Problems, []string{"a file is broken"}) })
}

// setUpdateEngine sets update_engine's answer, and sends its signal.
func setUpdateEngine(h *pretend.Host, status string, err error) {
	h.Lock()
	defer h.Unlock()
	h.Engine = func() (string, error) { return status, err }
	h.Notify(host.Change{UpdateEngine: true})
}
