package agent

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

const engineTimeout = 5 * time.Second

// engineView is the last status of Flatcar's update_engine.
type engineView struct {
	// ask is set when the status may have changed: update_engine sent a signal, or the
	// host's facts are being gathered.
	ask     atomic.Bool
	status  string
	problem string // why the last read failed; status is kept
}

// readUpdateEngine reads update_engine's status if it may have changed. An error only means
// that the node is not rebooted for it.
func (a *Agent) readUpdateEngine(ctx context.Context) {
	if !a.engine.ask.Swap(false) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	status, err := a.Host.UpdateEngine(ctx)
	if err != nil {
		a.Log.WarnContext(ctx, "asking update_engine", "node", a.Node, "error", err)
		a.engine.problem = err.Error()
		return
	}
	a.engine.status, a.engine.problem = status, ""
}

// osReboot reports whether the operating system requires a reboot, and why.
// update_engine touches /run/reboot-required too, and says more.
func osReboot(f host.Facts, updateEngine string) (required bool, reason string) {
	if updateEngine == host.UpdateEngineNeedReboot {
		return true, "the operating system asks for a reboot: Flatcar's update_engine has installed an update (" + updateEngine + ")"
	}
	return f.RebootRequired, f.RebootReason
}

// rebootReason returns every reason for a reboot, Kubernetes' own first; or an empty
// string.
func rebootReason(f host.Facts, updateEngine string) string {
	var reasons []string
	if f.Active != "" && f.Merged != "" && f.Active != f.Merged {
		reasons = append(reasons, fmt.Sprintf("runs %s, and the next boot brings %s", f.Merged, f.Active))
	}
	if required, reason := osReboot(f, updateEngine); required {
		reasons = append(reasons, reason)
	}
	return strings.Join(reasons, "; ")
}
