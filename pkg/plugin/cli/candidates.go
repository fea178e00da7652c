package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// candidates are what a NAME can be: the Tab key offers them, and where there is exactly one the
// name may be left out.
type candidates func(context.Context, *reader) ([]string, error)

// only returns the one name that is meant where NAME is left out. doing is the verb, with the
// flags that were given.
func (c candidates) only(ctx context.Context, reader *reader, doing string) (string, error) {
	names, err := c(ctx, reader)
	if err != nil {
		return "", err
	}
	return onlyName(names, doing)
}

func onlyName(names []string, doing string) (string, error) {
	switch len(names) {
	case 0:
		return "", fmt.Errorf("there is no ClusterUpgrade that `kubectl upgrade %s` can mean; `kubectl upgrade status` shows what there is", doing)
	case 1:
		return names[0], nil
	}
	verb, flags, _ := strings.Cut(doing, " ")
	example := strings.TrimSpace("kubectl upgrade " + verb + " " + names[0] + " " + flags)
	return "", fmt.Errorf("`kubectl upgrade %s` can mean %d ClusterUpgrades, %s: say which, as in `%s`", doing, len(names), strings.Join(names, ", "), example)
}

// upgradesThat returns the upgrades that are suspended, or not, and have not ended.
func (p *program) upgradesThat(suspended bool) candidates {
	return func(ctx context.Context, reader *reader) (names []string, err error) {
		s, err := reader.read(ctx)
		for _, u := range plan.Queue(s, p.now()) {
			if u.Spec.Suspend == suspended {
				names = append(names, u.Name)
			}
		}
		return names, err
	}
}

// approvals returns those that are missing.
func (p *program) approvals(ctx context.Context, reader *reader) (missing []view.Approval, err error) {
	s, err := reader.read(ctx)
	if err != nil {
		return nil, err
	}
	for _, u := range plan.Queue(s, p.now()) {
		missing = append(missing, view.Approvals(u.ClusterUpgrade, s.Policy)...)
	}
	return missing, nil
}

// upgradesToApprove returns the upgrades that wait for an approval.
func (p *program) upgradesToApprove(ctx context.Context, reader *reader) (names []string, err error) {
	missing, err := p.approvals(ctx, reader)
	for _, a := range missing {
		names = append(names, a.Upgrade)
	}
	return slices.Compact(names), err
}

// upgradeToApprove returns the one upgrade that an approval without NAME is for: the group's, or
// the whole upgrade's.
func (p *program) upgradeToApprove(ctx context.Context, reader *reader, group string) (string, error) {
	missing, err := p.approvals(ctx, reader)
	if err != nil {
		return "", err
	}
	var names, others []string
	for _, a := range missing {
		if a.Group == group {
			names = append(names, a.Upgrade)
		} else {
			others = append(others, "`"+a.Command+"`")
		}
	}
	doing := strings.TrimSuffix("approve --group "+group, " --group ")
	switch {
	case len(names) == 0 && len(others) > 0:
		return "", fmt.Errorf("`kubectl upgrade %s` can mean no ClusterUpgrade; what waits for an approval: %s", doing, strings.Join(others, ", "))
	case len(names) == 0:
		return "", errors.New("no ClusterUpgrade waits for an approval; `kubectl upgrade status` shows what there is")
	}
	return onlyName(names, doing)
}

// groupsToApprove returns the groups that wait for an approval.
func (p *program) groupsToApprove(ctx context.Context, reader *reader) (names []string, err error) {
	missing, err := p.approvals(ctx, reader)
	for _, a := range missing {
		if a.Group != "" {
			names = append(names, a.Group)
		}
	}
	return names, err
}

// endedUpgrades returns the upgrades that have ended.
func endedUpgrades(ctx context.Context, reader *reader) (names []string, err error) {
	items, err := (&history{}).read(ctx, reader)
	for _, e := range items {
		names = append(names, e.Name)
	}
	return slices.Compact(names), err
}

// freezeNames returns the freezes.
func freezeNames(ctx context.Context, reader *reader) (names []string, err error) {
	schedules, err := reader.schedules(ctx)
	for _, s := range schedules {
		if request.IsFreeze(s) {
			names = append(names, s.Name)
		}
	}
	return names, err
}

// nodeNames returns the nodes.
func nodeNames(ctx context.Context, reader *reader) (names []string, err error) {
	s, err := reader.read(ctx)
	found, _ := view.NewNodes(s)
	for _, node := range found {
		names = append(names, node.Name)
	}
	return names, err
}

// versionsOnOffer returns the versions that the source offers, as the coordinator has read them,
// and their minors.
func versionsOnOffer(ctx context.Context, reader *reader) (names []string, err error) {
	policy, err := reader.policy(ctx)
	if err != nil || policy == nil {
		return nil, err
	}
	for _, offer := range policy.Status.Offered {
		names = append(names, offer.Version)
		if v, err := version.Parse(offer.Version); err == nil {
			names = append(names, v.Line())
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// endTimeout is how long a person waits after the Tab key.
var endTimeout = 3 * time.Second

// complete offers the candidates for the one argument of a verb, or for a flag.
func (p *program) complete(names candidates) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return p.candidatesFor(cmd, names)
	}
}

func (p *program) candidatesFor(cmd *cobra.Command, names candidates) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), endTimeout)
	defer cancel()
	reader, err := p.newReader()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	found, err := names(ctx, reader)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completeFlag offers the candidates for the value of a flag.
func (p *program) completeFlag(names candidates) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return p.candidatesFor(cmd, names)
	}
}

// completeFlags completes the values of flags that all verbs have, or several.
func (p *program) completeFlags(root *cobra.Command) {
	zones := cobra.FixedCompletions(schedule.ZoneNames(), cobra.ShellCompDirectiveNoFileComp)
	var kinds []cobra.Completion
	for _, t := range v1alpha1.UpgradeTypes {
		kinds = append(kinds, string(t))
	}
	types := cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp)
	for name, complete := range map[string]cobra.CompletionFunc{
		"color":   cobra.FixedCompletions([]cobra.Completion{"auto", "always", "never"}, cobra.ShellCompDirectiveNoFileComp),
		"context": completeKubeconfig(p, func(c clientcmdapi.Config) map[string]*clientcmdapi.Context { return c.Contexts }),
		"cluster": completeKubeconfig(p, func(c clientcmdapi.Config) map[string]*clientcmdapi.Cluster { return c.Clusters }),
		"user":    completeKubeconfig(p, func(c clientcmdapi.Config) map[string]*clientcmdapi.AuthInfo { return c.AuthInfos }),
	} {
		_ = root.RegisterFlagCompletionFunc(name, complete)
	}
	for _, cmd := range below(root) {
		for name, complete := range map[string]cobra.CompletionFunc{"time-zone": zones, "type": types, "upgrades": types} {
			if cmd.Flags().Lookup(name) != nil {
				_ = cmd.RegisterFlagCompletionFunc(name, complete)
			}
		}
	}
}

// below returns the commands below one, at any depth.
func below(cmd *cobra.Command) (all []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		all = append(append(all, sub), below(sub)...)
	}
	return all
}
