package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/rehearsal"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

func newHostCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "host",
		Short: "Work on the node's files; the node's systemd runs these commands as units",
	}
	for _, entry := range verb.Table {
		cmd.AddCommand(newVerbCommand(entry))
	}
	cmd.AddCommand(newMergeCommand(), newCopyCommand(), &cobra.Command{
		Use:   "ended VERB",
		Short: "Write a result for a verb that could not write its own",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			entry, ok := verb.Lookup(verb.Verb(args[0]))
			if !ok {
				return fmt.Errorf("there is no host verb %q", args[0])
			}
			err := host.Ended(host.OnNode, entry.Verb, entry.Failed, os.Getenv)
			if cleanUp := table[entry.Verb].CleanUp; cleanUp != nil {
				err = errors.Join(err, cleanUp(host.OnNode, host.NewLog(cmd.ErrOrStderr())))
			}
			return err
		},
	})
	return cmd
}

func newVerbCommand(entry verb.Entry) *cobra.Command {
	return &cobra.Command{
		Use:   string(entry.Verb),
		Short: entry.Help,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			run, log := host.Run, cmd.ErrOrStderr()
			if entry.Direct {
				run, log = host.RunDirect, io.Discard // its unit's outputs are one file, which has the result alone; its log is in that
			}
			result, err := run(cmd.Context(), host.OnNode, entry.Verb, entry.Failed, table[entry.Verb].Run, log)
			if result == nil {
				return err
			}
			return errors.Join(err, printJSON(cmd.OutOrStdout(), result))
		},
	}
}

// newMergeCommand returns the command that the trial of a merge runs in its unit.
func newMergeCommand() *cobra.Command {
	return &cobra.Command{
		Use:    rehearsal.MergeCommand + " IMAGE MOUNT...",
		Short:  "Merge an image in the mount namespace of a trial",
		Hidden: true,
		Args:   cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			seen, err := rehearsal.Merge(cmd.Context(), args[0], args[1:])
			if err != nil {
				return err
			}
			return printJSON(cmd.OutOrStdout(), seen)
		},
	}
}

// newCopyCommand returns the command that gets a program of a container image, in the unit of a trial.
func newCopyCommand() *cobra.Command {
	return &cobra.Command{
		Use:    rehearsal.CopyCommand + " SOCKET IMAGE PROGRAM",
		Short:  "Print a program of a container image",
		Hidden: true,
		Args:   cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			return rehearsal.CopyProgram(cmd.Context(), cmd.OutOrStdout(), args[0], args[1], args[2])
		},
	}
}

func printJSON(to io.Writer, value any) error {
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
