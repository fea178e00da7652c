package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// block is `kubectl upgrade block` with its arguments, or with remove `kubectl upgrade unblock`.
type block struct {
	*program
	dryRun
	version, reason string
	remove          bool
}

func newBlock(p *program) *cobra.Command {
	b := &block{program: p}
	cmd := &cobra.Command{
		Use:   "block VERSION --reason TEXT",
		Short: "Let nothing automatic bring a version to a node",
		Long: `Adds a version to spec.blockedVersions of the UpgradePolicy: no automatic upgrade brings
it to a node, and nodes that join do not follow it. A ClusterUpgrade to it waits, also in
the middle, unless it ignores the check version-blocked. Nodes that run it stay as they
are: kubectl upgrade rollback takes them back.

With a version that is blocked already, the reason is replaced.`,
		Example: `  kubectl upgrade block v1.34.5 --reason "its kubelet leaks, ticket 4711"
  kubectl upgrade block v1.34.5 --reason "not tested yet" --dry-run=server`,
		Args:              oneVersion,
		ValidArgsFunction: p.complete(versionsOnOffer),
		RunE: func(cmd *cobra.Command, args []string) error {
			b.version = args[0]
			return inOrder(cmd, b)
		},
	}
	b.dryRun.addTo(cmd)
	cmd.Flags().StringVar(&b.reason, "reason", "", "Why, for people whose nodes do not get the version. Required.")
	return cmd
}

func newUnblock(p *program) *cobra.Command {
	b := &block{program: p, remove: true}
	cmd := &cobra.Command{
		Use:   "unblock VERSION",
		Short: "End the blocking of a version",
		Long: `Removes a version from spec.blockedVersions of the UpgradePolicy. A version that a
Rollback has taken back is blocked, too, and stays so: kubectl upgrade apply VERSION
--ignore-check version-blocked=REASON brings it nevertheless.`,
		Example:           `  kubectl upgrade unblock v1.34.5`,
		Args:              oneVersion,
		ValidArgsFunction: p.complete(versionsBlocked),
		RunE: func(cmd *cobra.Command, args []string) error {
			b.version = args[0]
			return inOrder(cmd, b)
		},
	}
	b.dryRun.addTo(cmd)
	return cmd
}

func (b *block) validate() error {
	if _, err := version.Parse(b.version); err != nil {
		return fmt.Errorf("VERSION %q: expected a version in full, such as v1.34.4", b.version)
	}
	if !b.remove {
		if err := checkReason(b.reason); err != nil {
			return err
		}
	}
	return b.dryRun.check()
}

func (b *block) complete(*cobra.Command) error {
	v, err := version.Parse(b.version)
	b.version, b.reason = v.String(), strings.TrimSpace(b.reason)
	return err
}

func (b *block) run(ctx context.Context) error {
	reader, err := b.reader()
	if err != nil {
		return err
	}
	var policy *v1alpha1.UpgradePolicy
	changed := false
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if policy, err = reader.policy(ctx); err != nil {
			return err
		}
		if policy == nil {
			return fmt.Errorf("there is no UpgradePolicy %s: kubectl upgrade doctor says whether kubectl-upgrade is installed", v1alpha1.PolicyName)
		}
		list, err := b.change(policy)
		if changed = !slices.Equal(list, policy.Spec.BlockedVersions); err != nil || !changed || b.mode == dryRunClient {
			return err
		}
		patch, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"uid": policy.UID, "resourceVersion": policy.ResourceVersion},
			"spec":     map[string]any{"blockedVersions": list},
		})
		if err != nil {
			return err
		}
		_, err = reader.kinds.UpgradePolicies.Patch(ctx, policy.Name, types.MergePatchType, patch, b.dryRun.patchOptions())
		if apierrors.IsConflict(err) {
			return err
		}
		return explain("changing UpgradePolicy "+policy.Name, err)
	})
	if err != nil {
		return err
	}
	b.noteName(policy)
	b.say(policy, changed)
	return nil
}

// change returns the blocked versions as they are to be.
func (b *block) change(policy *v1alpha1.UpgradePolicy) ([]v1alpha1.BlockedVersion, error) {
	list := slices.Clone(policy.Spec.BlockedVersions)
	i := slices.IndexFunc(list, func(one v1alpha1.BlockedVersion) bool { return one.Version == b.version })
	switch {
	case !b.remove && i >= 0:
		list[i].Comment = b.reason
		return list, nil
	case !b.remove:
		return append(list, v1alpha1.BlockedVersion{Version: b.version, Comment: b.reason}), nil
	case i >= 0:
		return slices.Delete(list, i, i+1), nil
	}
	if taken := policy.Blocked(b.version); taken != nil {
		return nil, fmt.Errorf("%s was %s, and stays blocked: `%s` brings it nevertheless", b.version, taken.Comment, view.BringAgain(b.version))
	}
	return nil, errors.New(b.version + " is not blocked" + blockedAre(list))
}

// blockedAre returns the end of a sentence with the versions that are blocked.
func blockedAre(list []v1alpha1.BlockedVersion) string {
	if len(list) == 0 {
		return "; no version is"
	}
	names := make([]string, 0, len(list))
	for _, one := range list {
		names = append(names, one.Version)
	}
	return "; blocked are " + strings.Join(names, ", ")
}

// say prints what was done, and warns where the policy's owner may undo it.
func (b *block) say(policy *v1alpha1.UpgradePolicy, changed bool) {
	done := map[bool]string{false: "blocked", true: "unblocked"}[b.remove]
	if !changed {
		done += " already"
	}
	if owner := request.GitOwner(policy); owner != "" && changed {
		fmt.Fprintf(b.ErrOut, "warning: %s owns UpgradePolicy %s and may undo this: change spec.blockedVersions there too\n", owner, policy.Name)
	}
	b.answer(b.version+" "+done, b.dryRun)
}

// versionsBlocked returns the versions that spec.blockedVersions has.
func versionsBlocked(ctx context.Context, reader *reader) (names []string, err error) {
	policy, err := reader.policy(ctx)
	if err != nil || policy == nil {
		return nil, err
	}
	for _, one := range policy.Spec.BlockedVersions {
		names = append(names, cobra.CompletionWithDesc(one.Version, one.Comment))
	}
	slices.Sort(names)
	return names, nil
}
