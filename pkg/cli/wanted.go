package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// hasFailed reports whether a node failed in an upgrade, so that it does not go on.
func hasFailed(u *v1alpha1.ClusterUpgrade) bool {
	return stalled(u) && viewUpgrade(u).Reason == v1alpha1.ReasonNodeFailed
}

// wanted is the object that is to be created.
func (a *apply) wanted(s fleet.Snapshot, to version.Version, start *time.Time) (*v1alpha1.ClusterUpgrade, error) {
	u := &v1alpha1.ClusterUpgrade{
		ObjectMeta: metav1.ObjectMeta{Name: freeName(s.Upgrades, to.Name())},
		Spec: v1alpha1.ClusterUpgradeSpec{
			Version: to.String(), IgnoreWindows: a.ignoreWindows, IgnoreChecks: a.ignoreChecks,
			Strategy: v1alpha1.Strategy{Method: v1alpha1.Method(a.method)},
		},
	}
	if start != nil {
		u.Spec.StartTime = &metav1.Time{Time: *start}
	}
	if a.maxUnavailable != "" {
		limit := intstr.Parse(a.maxUnavailable)
		u.Spec.Strategy.MaxUnavailable = &limit
	}
	var err error
	u.Spec.RetryOf, err = a.replaced(s, to)
	return withKind(u), err
}

// replaced is the name of the failed upgrade whose place is to be taken.
func (a *apply) replaced(s fleet.Snapshot, to version.Version) (string, error) {
	open := lineOf(s).open()
	if len(open) > 0 && hasFailed(open[0]) {
		if a.retry {
			return open[0].Name, nil
		}
		return "", fmt.Errorf("ClusterUpgrade %s has failed (%s) and is not over, so this one would wait behind it: mend that, or add --retry to take its place", open[0].Name, viewUpgrade(open[0]).Message)
	}
	last := lastTo(s.Upgrades, to)
	switch failed := last != nil && (last.Status.Outcome == v1alpha1.OutcomeFailed || last.Status.Outcome == v1alpha1.OutcomeRolledBack); {
	case failed && a.retry:
		return last.Name, nil
	case failed:
		return "", fmt.Errorf("the last upgrade to %s, %s, ended: %s: see `kubectl upgrade history %s`, and add --retry to begin anew", to, last.Name, last.Status.Outcome, last.Name)
	case a.retry:
		return "", fmt.Errorf("--retry: no upgrade to %s has failed", to)
	}
	return "", nil
}

// lastTo is the upgrade to that version that ended last, or nil.
func lastTo(upgrades []v1alpha1.ClusterUpgrade, to version.Version) *v1alpha1.ClusterUpgrade {
	return lastFinished(slices.DeleteFunc(slices.Clone(upgrades), func(u v1alpha1.ClusterUpgrade) bool { return u.Spec.Version != to.String() }))
}

// freeName is that name, or the name with the first number that is free.
func freeName(upgrades []v1alpha1.ClusterUpgrade, base string) string {
	name := base
	for n := 2; slices.ContainsFunc(upgrades, func(u v1alpha1.ClusterUpgrade) bool { return u.Name == name }); n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}

func withKind(u *v1alpha1.ClusterUpgrade) *v1alpha1.ClusterUpgrade {
	u.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterUpgrade"}
	return u
}

// create makes the object, unless it is only to be shown.
func (a *apply) create(ctx context.Context, wanted *v1alpha1.ClusterUpgrade) (*v1alpha1.ClusterUpgrade, error) {
	if a.mode == dryRunClient {
		return wanted, nil
	}
	reader, err := a.reader()
	if err != nil {
		return nil, err
	}
	if a.mode == dryRunNone {
		reader.sign(ctx, wanted)
	}
	created, err := reader.kinds.ClusterUpgrades.Create(ctx, wanted, metav1.CreateOptions{FieldManager: manager, DryRun: a.dryRun.options()})
	if apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("ClusterUpgrade %s has just been created by another person; `kubectl upgrade status` shows it, and the same command again follows it", wanted.Name)
	}
	if err != nil {
		return nil, explain("creating ClusterUpgrade "+wanted.Name, err)
	}
	return withKind(created), nil
}
