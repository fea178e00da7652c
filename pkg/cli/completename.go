package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"
)

// completeWithin is how long a person waits for the Tab key.
const completeWithin = 3 * time.Second

// completeName offers the names of objects for a verb's one argument.
func (p *program) completeName(names func(context.Context, *reader) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
		defer cancel()
		reader, err := p.reader()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		found, err := names(ctx, reader)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}
