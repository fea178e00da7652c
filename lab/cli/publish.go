package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/cluster"
)

func publishCommand(where *folders) *cobra.Command {
	options := cluster.PublishOptions{}
	cmd := &cobra.Command{
		Use:   "publish VERSION",
		Short: "Offer a version of Kubernetes to the nodes",
		Long: `Offer a version of Kubernetes to the nodes: its sysext image, and all container
images that kubeadm needs. A version that was never built is built first. To
publish a version again replaces what is offered under it.

With --programs-of the version need not exist: the programs of another version
say that they are this one. Both need to be equally long.

With --broken the image passes every check of its content, and fails once it is
merged:
` + brokenKinds(),
		Example: `  lab publish v1.34.4
  lab publish v1.34.5 --content v1.34.4   # an image that holds something else
  lab publish v1.34.5 --programs-of v1.34.4   # a patch that was never released
  lab publish v1.34.4 --corrupt           # bytes that differ from SHA256SUMS
  lab publish v1.34.4 --broken crash      # an image whose kubelet ends at once
  lab publish v1.34.4                     # the good image again`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := where.open(cmd)
			if err != nil {
				return err
			}
			return c.Publish(cmd.Context(), args[0], options)
		},
	}
	cmd.Flags().StringVar(&options.Content, "content", "", "the version that the image really holds")
	cmd.Flags().StringVar(&options.ProgramsOf, "programs-of", "", "the version whose programs are offered under this version")
	cmd.Flags().BoolVar(&options.Corrupt, "corrupt", false, "serve bytes that differ from what SHA256SUMS promises")
	cmd.Flags().StringVar(&options.Broken, "broken", "", "an image that fails once it is merged: "+strings.Join(artifacts.BrokenKindNames(), ", "))
	return cmd
}

// brokenKinds is a line for each kind of broken image.
func brokenKinds() string {
	var lines []string
	for _, kind := range artifacts.BrokenKinds {
		lines = append(lines, fmt.Sprintf("  %-16s%s", kind.Name, kind.Does))
	}
	return strings.Join(lines, "\n")
}
