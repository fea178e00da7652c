package request

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Upgrade is a request for an upgrade: the arguments of `kubectl upgrade apply`. An
// empty field leaves the choice to the UpgradePolicy.
type Upgrade struct {
	Version        string     // a release such as v1.35.4, or a minor such as v1.35
	StartTime      *time.Time // nil: at once
	MaxUnavailable string     // a number, or a percentage
	Method         string
	IgnoreWindows  bool
	IgnoreChecks   []v1alpha1.IgnoredCheck
	Retry          bool     // it takes the place of the upgrade that failed
	Flags          []string // the flags that were given for the fields above, such as --method
}

// Existing returns the upgrade that asks for the same and has not ended. Nil: there
// is none.
func (r Upgrade) Existing(s fleet.Snapshot, to version.Version, at time.Time) (*v1alpha1.ClusterUpgrade, error) {
	for _, u := range queueOf(s, at) {
		switch failed := hasFailed(u.ClusterUpgrade); {
		case u.Spec.Version != to.String() || failed && u.RetriedBy != nil:
		case r.Retry && failed:
			return nil, nil
		case r.Retry && u.Spec.RetryOf == "":
			return nil, fmt.Errorf("--retry: ClusterUpgrade %s asks for %s already, and has not failed; leave out --retry to follow it", u.Name, to)
		default:
			if flags := r.conflicts(u.ClusterUpgrade); len(flags) > 0 {
				return nil, fmt.Errorf("ClusterUpgrade %s asks for %s already, and %s would change it: leave that out to follow it, or `kubectl edit clusterupgrade %s`",
					u.Name, to, strings.Join(flags, ", "), u.Name)
			}
			return u.ClusterUpgrade, nil
		}
	}
	return nil, nil
}

// conflicts returns the flags that ask for something else than u does. A flag that
// was not given asks for nothing, and checks that u ignores need not be named again:
// so the command that created an upgrade always follows it.
func (r Upgrade) conflicts(u *v1alpha1.ClusterUpgrade) []string {
	spec, strategy := u.Spec, u.Spec.Strategy.Or(u.Status.Strategy)
	agrees := map[string]bool{
		"--start-time":      r.StartTime == nil || spec.StartTime != nil && spec.StartTime.Time.Equal(*r.StartTime),
		"--max-unavailable": r.MaxUnavailable == "" || strategy.MaxUnavailable != nil && *strategy.MaxUnavailable == intstr.Parse(r.MaxUnavailable),
		"--method":          r.Method == "" || string(strategy.Method) == r.Method,
		"--ignore-windows":  r.IgnoreWindows == spec.IgnoreWindows,
		"--ignore-check":    !slices.ContainsFunc(r.IgnoreChecks, func(c v1alpha1.IgnoredCheck) bool { return !spec.Ignores(c.ID) }),
	}
	return slices.DeleteFunc(slices.Clone(r.Flags), func(flag string) bool { return agrees[flag] })
}

// Object returns the ClusterUpgrade to create for the request.
func (r Upgrade) Object(s fleet.Snapshot, to version.Version, at time.Time) (*v1alpha1.ClusterUpgrade, error) {
	u := &v1alpha1.ClusterUpgrade{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterUpgrade"},
		ObjectMeta: metav1.ObjectMeta{Name: unusedName(s.Upgrades, to.Name())},
		Spec: v1alpha1.ClusterUpgradeSpec{
			Version: to.String(), IgnoreWindows: r.IgnoreWindows, IgnoreChecks: r.IgnoreChecks,
			Strategy: v1alpha1.Strategy{Method: v1alpha1.Method(r.Method)},
		},
	}
	if r.StartTime != nil {
		u.Spec.StartTime = &metav1.Time{Time: *r.StartTime}
	}
	if r.MaxUnavailable != "" {
		limit := intstr.Parse(r.MaxUnavailable)
		u.Spec.Strategy.MaxUnavailable = &limit
	}
	var err error
	u.Spec.RetryOf, err = r.retryOf(s, to, at)
	return u, err
}

// retryOf returns the name of the failed upgrade whose place the request takes.
// Empty: nothing failed.
func (r Upgrade) retryOf(s fleet.Snapshot, to version.Version, at time.Time) (string, error) {
	if queue := queueOf(s, at); len(queue) > 0 && hasFailed(queue[0].ClusterUpgrade) {
		active := queue[0]
		if r.Retry {
			return active.Name, nil
		}
		_, message := active.Status.Explain()
		return "", fmt.Errorf("ClusterUpgrade %s has a failed node (%s) and is still active, so this one would wait behind it: fix that, or add --retry to replace it", active.Name, message)
	}
	last := lastTo(s.Upgrades, to)
	switch failed := last != nil && (last.Status.Outcome == v1alpha1.OutcomeFailed || last.Status.Outcome == v1alpha1.OutcomeRolledBack); {
	case failed && r.Retry:
		return last.Name, nil
	case failed:
		return "", fmt.Errorf("the last upgrade to %s, %s, ended: %s: see `kubectl upgrade history %s`, and add --retry to start again", to, last.Name, last.Status.Outcome, last.Name)
	case r.Retry:
		return "", fmt.Errorf("--retry: no upgrade to %s has failed", to)
	}
	return "", nil
}

// hasFailed reports whether a node failed in the upgrade, so that it does not go on.
func hasFailed(u *v1alpha1.ClusterUpgrade) bool {
	reason, _ := u.Status.Explain()
	return u.Status.Stalled() && reason == v1alpha1.ReasonNodeFailed
}

// lastTo returns the upgrade to that version that ended last. Nil: there is none.
func lastTo(upgrades []v1alpha1.ClusterUpgrade, to version.Version) *v1alpha1.ClusterUpgrade {
	var last *v1alpha1.ClusterUpgrade
	for i := range upgrades {
		u := &upgrades[i]
		if u.Spec.Version == to.String() && u.Status.Outcome != "" && (last == nil || last.Status.CompletionTime.Before(u.Status.CompletionTime)) {
			last = u
		}
	}
	return last
}

// unusedName returns the name, or the name with the first number that no upgrade
// bears.
func unusedName(upgrades []v1alpha1.ClusterUpgrade, base string) string {
	name := base
	for n := 2; slices.ContainsFunc(upgrades, func(u v1alpha1.ClusterUpgrade) bool { return u.Name == name }); n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}
