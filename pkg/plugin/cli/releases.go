package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// releases is `kubectl upgrade releases` with its arguments.
type releases struct {
	*program
	output
}

func newReleases(p *program) *cobra.Command {
	r := &releases{program: p}
	cmd := &cobra.Command{
		Use:   "releases",
		Short: "List available versions, what runs, what is staged, and support",
		Long: `Lists the minors:

  - NEWEST is the newest patch that is available for every architecture;
  - SUPPORT is until when Kubernetes publishes patches for the minor;
  - STAGED is how many nodes have which version on their disk;
  - RUNS is how many nodes run which version.

The index of images is read from this machine, at the address in the UpgradePolicy.
The dates of support are part of this plugin: for a minor newer than the plugin,
SUPPORT is "not known".`,
		Example: `  kubectl upgrade releases
  kubectl upgrade releases -o jsonpath='{.items[?(@.support=="Ended")].minor}'`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return r.run(cmd.Context()) },
	}
	r.addTo(cmd)
	return cmd
}

func (r *releases) run(ctx context.Context) error {
	reader, err := r.reader()
	if err != nil {
		return err
	}
	s, err := reader.read(ctx)
	if err != nil {
		return err
	}
	policy, err := reader.policy(ctx)
	r.noteName(policy)
	s.Source = r.readSource(ctx, policy, err)
	items := view.NewMinors(s, r.now())
	switch {
	case r.format() == "name":
		for _, one := range items {
			fmt.Fprintln(r.Out, one.Minor)
		}
		return nil
	case !r.forPeople():
		return r.print(r.program, view.ReleaseList{APIVersion: v1alpha1.OutputVersion, Kind: "ReleaseList", Items: items})
	}
	_, err = io.WriteString(r.drawn, render.Releases(items, r.drawing()))
	return err
}
