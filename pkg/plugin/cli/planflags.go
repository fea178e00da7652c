package cli

import (
	"errors"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
)

// planFlags are the values of the flags.
type planFlags struct {
	zone      *time.Location
	at        time.Time // zero: when the snapshot was taken
	schedules []v1alpha1.MaintenanceSchedule
}

// readFlags checks the arguments, and returns the values of the flags.
func (n *planning) readFlags() (f planFlags, err error) {
	if n.snapshotFile != "" && n.saveTo != "" {
		return f, errors.New("--snapshot and --save-snapshot cannot be combined")
	}
	if n.version != "" {
		if err := request.CheckVersion(n.version); err != nil {
			return f, err
		}
	}
	if f.zone, err = zone(n.timeZone); err != nil {
		return f, err
	}
	if n.at != "" {
		if f.at, err = parseTime("at", n.at, f.zone); err != nil {
			return f, err
		}
	}
	if len(n.files) > 0 {
		f.schedules, err = n.schedulesIn(n.files)
	}
	return f, err
}
