package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
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
  kubectl get kubeupgrade -o yaml |
    kubectl upgrade migrate objects -f - > objects.yaml`,
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
	changed := false
	for _, file := range m.files {
		changes, err := m.rewrite(file)
		if err != nil {
			return err
		}
		changed = changed || changes
	}
	if !changed {
		fmt.Fprintln(m.ErrOut, "Nothing is of an earlier version.")
	}
	return nil
}

// rewrite rewrites one file, and reports whether something changed. A file without our objects may be
// anything.
func (m *migrateObjects) rewrite(file string) (changed bool, err error) {
	text, err := m.readFile(file)
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", displayName(file), err)
	}
	var changes []string
	if bytes.Contains(text, []byte(v1alpha1.Group)) {
		if text, changes, err = manifest.Rewrite(text); err != nil {
			return false, fmt.Errorf("reading %s: %w", displayName(file), err)
		}
	}
	for _, change := range changes {
		fmt.Fprintf(m.ErrOut, "%s: %s\n", displayName(file), change)
	}
	switch changed = len(changes) > 0; {
	case !m.write:
		return changed, m.writeFile(standardOutput, newFile, text)
	case changed || file == "-":
		return changed, m.writeFile(file, newFile, text)
	}
	return changed, nil
}

// newFile is the mode of a file that was not there before.
const newFile = 0o644
