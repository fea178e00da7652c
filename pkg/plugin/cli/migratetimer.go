package cli

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/migrate"
)

func newMigrateTimer(p *program) *cobra.Command {
	m := &migration{program: p}
	cmd := &cobra.Command{
		Use:   "timer",
		Short: "What changes for nodes that update by the sysupdate timer",
		Long: `Shows what changes for nodes on which systemd-sysupdate.timer downloads patches of
Kubernetes, and what the agents have found there: drop-ins of the timer, a symlink that has
been moved already, locksmithd. It only reads. The agents find it out before any node is
managed; without agents, nothing is known of the nodes.`,
		Example: `  kubectl upgrade migrate timer
  kubectl upgrade migrate timer -o yaml`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return m.timer(cmd.Context()) },
	}
	m.output.addTo(cmd)
	return cmd
}

func (m *migration) timer(ctx context.Context) error {
	reader, err := m.reader()
	if err != nil {
		return err
	}
	var in migrate.Timer
	nodes, err := reader.core.Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return explain("reading Nodes", err)
	}
	for _, n := range nodes.Items {
		if cmp.Or(n.Status.NodeInfo.OperatingSystem, "linux") == "linux" {
			in.Nodes = append(in.Nodes, n.Name)
		}
	}
	switch list, err := reader.kinds.NodeUpgrades.List(ctx, metav1.ListOptions{}); {
	case err == nil:
		in.NodeUpgrades = list.Items
	case !apierrors.IsNotFound(err): // without the kind, no agent has reported
		return explain("reading NodeUpgrades", err)
	}
	switch list, err := reader.kinds.NodeInventories.List(ctx, metav1.ListOptions{}); {
	case err == nil:
		in.Inventories = list.Items
	case !apierrors.IsNotFound(err):
		return explain("reading NodeInventories", err)
	}
	return m.show(ctx, migrate.FromTimer(in))
}
