package cli

import (
	"flag"
	"fmt"
	"io"
	"strconv"

	"k8s.io/klog/v2"
)

// maxVerbosity shows requests with their headers, without credentials. client-go's levels above it
// show what is sent and received, which may be secret: manifests have tokens in arguments.
const maxVerbosity = 7

// setVerbosity has client-go write what it does to standard error, as kubectl's -v does.
func (p *program) setVerbosity() error {
	switch {
	case p.verbosity < 0:
		return fmt.Errorf("--v=%d: must not be negative; 6 shows requests", p.verbosity)
	case p.verbosity == 0:
		return nil
	}
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	for name, value := range map[string]string{
		"v": strconv.Itoa(min(p.verbosity, maxVerbosity)), "logtostderr": "false", "one_output": "true", "stderrthreshold": "FATAL",
	} {
		if err := flags.Set(name, value); err != nil {
			return fmt.Errorf("--v=%d: %w", p.verbosity, err)
		}
	}
	klog.SetOutput(withoutCredentials{p.ErrOut})
	klog.ClearLogger() // main discards what client-go writes
	return nil
}

// withoutCredentials is an io.Writer that removes the user and password in addresses.
type withoutCredentials struct{ out io.Writer }

// Write is part of io.Writer.
func (w withoutCredentials) Write(line []byte) (int, error) {
	if _, err := w.out.Write(credentials.ReplaceAll(line, []byte("$1"))); err != nil {
		return 0, err
	}
	return len(line), nil
}
