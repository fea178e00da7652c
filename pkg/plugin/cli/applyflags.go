package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
)

func oneVersion(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("expected one VERSION, got %d: `kubectl upgrade releases` lists what is available; see `%s --help`", len(args), cmd.CommandPath())
	}
	return nil
}

// maxUnavailable is the API's pattern for a number of nodes, or a percentage of them.
var maxUnavailable = regexp.MustCompile(`^([1-9]\d{0,5}|([1-9]\d?|100)%)$`)

// readFlags checks the arguments, and fills the request. Times are in that zone.
func (a *apply) readFlags(in *time.Location) error {
	if err := request.CheckVersion(a.request.Version); err != nil {
		return err
	}
	if err := a.timeout.read(); err != nil {
		return err
	}
	switch r := a.request; {
	case a.timeout.limit > 0 && a.detach:
		return errors.New("--timeout limits following: leave out --detach, or --timeout")
	case r.MaxUnavailable != "" && !maxUnavailable.MatchString(r.MaxUnavailable):
		return fmt.Errorf("--max-unavailable=%s: must be a number from 1, or a percentage from 1%% to 100%%", r.MaxUnavailable)
	case r.Method != "" && !slices.Contains(v1alpha1.Methods, v1alpha1.Method(r.Method)):
		return fmt.Errorf("--method=%s: must be Reboot, SoftReboot or Restart", r.Method)
	}
	var err error
	if a.request.IgnoreChecks, err = ignoredChecks(a.ignoreChecks); err != nil {
		return err
	}
	if a.startTime != "" {
		at, err := parseTime("start-time", a.startTime, in)
		if err != nil {
			return err
		}
		at = at.UTC().Truncate(time.Second)
		a.request.StartTime = &at
	}
	return a.dryRun.check()
}
