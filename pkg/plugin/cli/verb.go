package cli

import (
	"context"

	"github.com/spf13/cobra"
)

// verb is a command whose options have been set from its arguments and flags. The file of one has them in
// this order: the options, the constructor of the command, validate, complete, run.
type verb interface {
	// validate refuses options that are wrong by themselves, or do not go together.
	validate() error
	// complete adds what the options stand for, such as times, the objects of a file, or clients.
	complete(cmd *cobra.Command) error
	run(ctx context.Context) error
}

// inOrder runs a verb.
func inOrder(cmd *cobra.Command, v verb) error {
	if err := v.validate(); err != nil {
		return err
	}
	if err := v.complete(cmd); err != nil {
		return err
	}
	return v.run(cmd.Context())
}
