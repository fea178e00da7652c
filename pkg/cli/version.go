package cli

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/spf13/cobra"
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
	// Agents counts the nodes by the version of their agents.
	Agents map[string]int `json:"agents,omitempty"`
}

func newVersion(p *program) *cobra.Command {
	var out output
	var plugin bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "The versions of this plugin and of the agents",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := versions{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "UpgradeVersion",
				Plugin: p.version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
			}
			var err error
			if !plugin {
				v.Agents, err = p.agents(cmd.Context())
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
	fmt.Fprintf(p.Out, "plugin   %s (%s, %s)\n", v.Plugin, v.Go, v.Platform)
	names := make([]string, 0, len(v.Agents))
	for name := range v.Agents {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(p.Out, "agent    %s (nodes: %d)\n", name, v.Agents[name])
	}
}

// agents counts the nodes by the version of their agents.
func (p *program) agents(ctx context.Context) (map[string]int, error) {
	reader, err := p.reader()
	if err != nil {
		return nil, err
	}
	list, err := reader.kinds.NodeUpgrades.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, explain("reading NodeUpgrades", err)
	}
	agents := map[string]int{}
	for _, node := range list.Items {
		if node.Status.AgentVersion != "" {
			agents[node.Status.AgentVersion]++
		}
	}
	return agents, nil
}
