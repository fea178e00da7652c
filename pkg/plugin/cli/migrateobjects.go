package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/manifest"
)

// migrateObjects is `kubectl upgrade migrate objects` with its arguments.
type migrateObjects struct {
	*program
	paths []string
	write bool

	files []string
}

func newMigrateObjects(p *program) *cobra.Command {
	m := &migrateObjects{program: p}
	cmd := &cobra.Command{
		Use:   "objects -f FILE",
		Short: "Rewrite files with objects of an earlier version",
		Long: `Rewrites the objects of kubectl-upgrade in files of YAML or JSON that were written for an
earlier version: fields that have another name or shape now. Comments, order and layout of
YAML stay, and so do objects of other programs. Each change is written to standard error.

Without --write, the rewritten file goes to standard output. With it, every file is replaced
in which something changes.`,
		Example: `  kubectl upgrade migrate objects -f upgrades/ --write
  kubectl get kubeupgrade -o yaml | kubectl upgrade migrate objects -f - > objects.yaml`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return inOrder(cmd, m) },
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&m.paths, "filename", "f", nil, "A file, a folder, or - for standard input. May be given several times. Required.")
	flags.BoolVarP(&m.write, "write", "w", false, "Replace the files.")
	return cmd
}

func (m *migrateObjects) validate() error {
	if len(m.paths) == 0 {
		return errors.New("-f is required: a file, a folder, or - for standard input")
	}
	return nil
}

// complete finds the files.
func (m *migrateObjects) complete(*cobra.Command) error {
	for _, path := range m.paths {
		files, _, err := filesOf(path)
		if err != nil {
			return err
		}
		m.files = append(m.files, files...)
	}
	if !m.write && len(m.files) != 1 {
		return fmt.Errorf("-f has %d files: give one, or --write to replace them", len(m.files))
	}
	return nil
}

func (m *migrateObjects) run(context.Context) error {
	for _, file := range m.files {
		text, err := m.readFile(file)
		if err != nil {
			return fmt.Errorf("reading %s: %w", displayName(file), err)
		}
		rewritten, changes, err := manifest.Rewrite(text)
		if err != nil {
			return fmt.Errorf("%s: %w", displayName(file), err)
		}
		for _, change := range changes {
			fmt.Fprintf(m.ErrOut, "%s: %s\n", displayName(file), change)
		}
		to := file
		if !m.write {
			to = standardOutput
		} else if len(changes) == 0 && file != "-" {
			continue
		}
		if err := m.writeFile(to, os.FileMode(0o644), rewritten); err != nil {
			return err
		}
	}
	return nil
}
