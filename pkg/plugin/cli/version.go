package cli

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// versions is what `kubectl upgrade version -o json` prints.
type versions struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Plugin     string `json:"plugin"`
	Go         string `json:"go"`
	Platform   string `json:"platform"`
	// Coordinator is the version of the coordinator that leads, or led last.
	Coordinator string `json:"coordinator,omitempty"`
	// Agents counts the nodes by the version of their agents.
	Agents map[string]int `json:"agents,omitempty"`
}

func newVersion(p *program) *cobra.Command {
	var out output
	var plugin bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "The versions of this plugin, of the coordinator and of the agents",
		Long: `Shows the version of this plugin, and those that the coordinator and the agents have
reported. kubectl upgrade doctor says which of them do not fit together.`,
		Example: `  kubectl upgrade version
  kubectl upgrade version --client
  kubectl upgrade version -o jsonpath='{.coordinator}'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := versions{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "UpgradeVersion",
				Plugin: p.version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
			}
			var err error
			if !plugin {
				err = v.readCluster(cmd.Context(), p)
			}
			if !out.forPeople() {
				if err != nil {
					return err
				}
				return out.print(p, v)
			}
			v.write(p)
			if err != nil {
				return fmt.Errorf("%w; `kubectl upgrade version --client` asks no cluster", err)
			}
			return nil
		},
	}
	out.addTo(cmd)
	cmd.Flags().BoolVar(&plugin, "client", false, "Only the plugin's version; asks no cluster.")
	return cmd
}

// write writes the versions for people.
func (v versions) write(p *program) {
	fmt.Fprintf(p.Out, "plugin        %s (%s, %s)\n", v.Plugin, v.Go, v.Platform)
	if v.Coordinator != "" {
		fmt.Fprintf(p.Out, "coordinator   %s\n", v.Coordinator)
	}
	for _, agent := range slices.Sorted(maps.Keys(v.Agents)) {
		fmt.Fprintf(p.Out, "agent         %s (nodes: %d)\n", agent, v.Agents[agent])
	}
}

// readCluster reads the versions that coordinator and agents have reported.
func (v *versions) readCluster(ctx context.Context, p *program) error {
	reader, err := p.reader()
	if err != nil {
		return err
	}
	list, err := reader.kinds.NodeUpgrades.List(ctx, metav1.ListOptions{})
	if err != nil {
		return explain("reading NodeUpgrades", err)
	}
	v.Agents = map[string]int{}
	for _, node := range list.Items {
		if node.Status.AgentVersion != "" {
			v.Agents[node.Status.AgentVersion]++
		}
	}
	policy, err := reader.kinds.UpgradePolicies.Get(ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return explain("reading UpgradePolicy "+v1alpha1.PolicyName, err)
	}
	v.Coordinator = policy.Status.CoordinatorVersion
	return nil
}
