package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/watch"
)

// timeout is the flag --timeout: how long a verb may take, from its first request on.
type timeout struct {
	text  string
	limit time.Duration // 0: none
}

// timedOut is the error of a verb that its --timeout ended.
type timedOut struct{ error }

// timeoutGrace is how long a verb may take to notice that its time is over. A program that gets
// credentials for the kubeconfig, for example, is not told.
const timeoutGrace = time.Second

// addTo adds the flag to a verb that has its RunE, and ends the verb in time.
func (t *timeout) addTo(cmd *cobra.Command, standard, usage string) {
	cmd.Flags().StringVar(&t.text, "timeout", standard, usage+" 0: without limit.")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := t.read(); err != nil {
			return err
		}
		if t.limit == 0 {
			return run(cmd, args)
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), t.limit)
		defer cancel()
		cmd.SetContext(ctx)
		ended := make(chan error, 1)
		go func() { ended <- withoutStack(cmd.Root().Version, func() error { return run(cmd, args) }) }()
		var err error
		select {
		case err = <-ended:
		case <-time.After(t.limit + timeoutGrace):
			err = errors.New("the command does not end by itself, as something that it waits for cannot be interrupted")
		}
		if err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.As(err, new(watch.Failure)) {
			return err
		}
		return timedOut{fmt.Errorf("waiting timed out after %s; %w", t.limit, err)}
	}
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

// readRequestTimeout has kubectl's --request-timeout take days, as every other DURATION does.
func (p *program) readRequestTimeout() error {
	text := *p.cluster.Timeout
	if days.MatchString(text) {
		length, err := parseDuration("request-timeout", text)
		*p.cluster.Timeout = length.String()
		return err
	}
	if _, err := clientcmd.ParseTimeout(text); err != nil {
		return fmt.Errorf("--request-timeout=%s: must be a number of seconds, or a duration such as 30s, 2m or 1d", text)
	}
	return nil
}
