package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/follow"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// timeout is the flag --timeout: how long an upgrade is followed.
type timeout struct {
	text  string
	limit time.Duration // 0: none
}

func (t *timeout) addTo(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVar(&t.text, "timeout", "0", usage+" 0: without limit.")
}

// read parses the flag, which is a DURATION that may be 0.
func (t *timeout) read() (err error) {
	if clock, err := time.ParseDuration(t.text); err == nil && clock == 0 {
		return nil
	}
	if strings.HasPrefix(t.text, "-") {
		return fmt.Errorf("--timeout=%s: must not be negative", t.text)
	}
	t.limit, err = parseDuration("timeout", t.text)
	return err
}

// follow runs the follower: on a terminal it redraws the screen, elsewhere it writes a
// line for each change.
func (p *program) follow(ctx context.Context, reader *reader, first view.Objects, f follow.Follower) error {
	f.Kinds, f.Core, f.Now = reader.kinds, reader.core, p.now
	f.Programs = reader.programs
	f.Forecast.Records, _ = reader.records(ctx) // without them the forecast is less exact
	f.Display = follow.NewLog(p.Out, p.now)
	if _, _, terminal := p.terminal(); terminal {
		f.Display = follow.NewScreen(p.terminalOut, p.terminal, p.drawing)
	}
	err := f.Run(ctx, first)
	if errors.Is(err, context.Canceled) && f.Upgrade != "" {
		fmt.Fprintf(p.ErrOut, "The upgrade %s continues. Follow it with `kubectl upgrade status -w`; pause it with `kubectl upgrade suspend %s`.\n", f.Upgrade, f.Upgrade)
	}
	return err
}
