package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// patience is the flag --timeout: how long an upgrade is followed.
type patience struct {
	text    string
	timeout time.Duration // 0: without limit
}

func (p *patience) addTo(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVar(&p.text, "timeout", "0", usage+" 0: without limit.")
}

// read understands the flag, which is a DURATION that may be nothing.
func (p *patience) read() (err error) {
	if clock, err := time.ParseDuration(p.text); err == nil && clock == 0 {
		return nil
	}
	if strings.HasPrefix(p.text, "-") {
		return fmt.Errorf("--timeout=%s: must not be negative", p.text)
	}
	p.timeout, err = span("timeout", p.text)
	return err
}
