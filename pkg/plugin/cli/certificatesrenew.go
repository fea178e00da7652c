package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
)

func newCertificatesRenew(p *program) *cobra.Command {
	a := &apply{program: p, request: request.Upgrade{Type: v1alpha1.TypeCertificates}}
	cmd := &cobra.Command{
		Use:   "renew [NODE...] --reason TEXT",
		Short: "Have kubeadm renew the certificates of control planes",
		Long: `Has kubeadm renew the certificates that it has issued, on one control plane after
the other, in windows as an upgrade. Nodes stay in service: none is drained, cordoned or
rebooted. A program that does not load its new certificate by itself is restarted; what
does not come back gets its former files. It shows the plan, asks for confirmation,
creates a ClusterUpgrade of type Certificates, and follows it to its end, as
` + "`kubectl upgrade apply`" + ` does.

Without names it takes every control plane. Kubelets renew their own certificates, an
authority is replaced by hand, and what another authority has signed stays as it is.

With {type: Certificates} in spec.automatic of the UpgradePolicy the coordinator does the
same before certificates expire.

Exit codes: as of ` + "`kubectl upgrade apply`" + `.`,
		Example: `  kubectl upgrade certificates renew --reason "the year is over"
  kubectl upgrade certificates renew cp-1 --reason "expired" --ignore-windows
  kubectl upgrade certificates renew --reason yearly --yes --detach`,
		Args:              nodeNamesOnly,
		ValidArgsFunction: p.completeControlPlanes,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkReason(a.request.Reason); err != nil {
				return err
			}
			for _, arg := range args {
				a.request.Nodes = append(a.request.Nodes, nodeResource.in([]string{arg}))
			}
			a.noteGiven(cmd, "")
			a.request.Flags = slices.DeleteFunc(a.request.Flags, func(flag string) bool { return flag == "--reason" }) // one renewal serves several reasons
			return inOrder(cmd, a)
		},
	}
	a.output.addTo(cmd)
	a.dryRun.addTo(cmd)
	a.addRequestFlags(cmd)
	for name, usage := range map[string]string{
		"dry-run":    dryRunOfPlan,
		"output":     "Print the ClusterUpgrade as json, yaml, name, … and do not follow it; wide: a plan with more columns.",
		"reason":     "Why, for people who read the record. Required.",
		"start-time": "Do not begin before this time: RFC 3339, or 2026-12-24 18:00 in --time-zone.",
		"retry":      "Replace a renewal that failed by a new one.",
		"detach":     "Return as soon as the ClusterUpgrade is created.",
	} {
		cmd.Flags().Lookup(name).Usage = usage
	}
	return cmd
}

// completeControlPlanes offers the control planes that are not given yet.
func (p *program) completeControlPlanes(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	names, directive := p.candidatesFor(cmd, controlPlaneNames)
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) }), directive
}

func controlPlaneNames(ctx context.Context, reader *reader) (names []string, err error) {
	s, err := reader.read(ctx)
	for _, n := range s.Nodes {
		if n.ControlPlane {
			names = append(names, n.Name)
		}
	}
	return names, err
}
