package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// explainFlag returns the error of parsing a flag with what it expects.
func explainFlag(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		expected := map[string]string{"int": "a whole number, such as 10", "bool": "true or false", "duration": "a duration, such as 90m"}
		if want, known := expected[invalid.GetFlag().Value.Type()]; known {
			err = fmt.Errorf("--%s=%s: must be %s", invalid.GetFlag().Name, invalid.GetValue(), want)
		}
	}
	return fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())
}

// explainArguments returns a check that names the first argument that is not expected.
func explainArguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if err == nil || check(cmd, nil) != nil {
			return err
		}
		for n := range args {
			if check(cmd, args[:n+1]) != nil {
				return fmt.Errorf("%q is one argument too many; usage: %s", args[n], strings.TrimSuffix(cmd.UseLine(), " [flags]"))
			}
		}
		return err
	}
}
