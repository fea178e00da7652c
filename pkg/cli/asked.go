package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// target is the version that is asked for. A minor for which there is an upgrade
// that has not ended is that one's patch: it was settled when that was created.
func (a *apply) target(s fleet.Snapshot) (version.Version, error) {
	if u := ofMinor(s.Upgrades, a.version, a.retry); u != nil {
		to, err := version.Parse(u.Spec.Version)
		more := ""
		if newer, _ := newest(s, to.Line()); to.Less(newer) {
			more = fmt.Sprintf("; %s is on offer too, and `kubectl upgrade apply %s` asks for it as well", newer, newer)
		}
		fmt.Fprintf(a.ErrOut, "%s is %s, the patch of ClusterUpgrade %s%s.\n", a.version, to, u.Name, more)
		return to, err
	}
	to, err := resolve(s, a.version)
	if note := newestNote(a.version, to); note != "" && err == nil {
		fmt.Fprintln(a.ErrOut, note)
	}
	return to, err
}

// ofMinor is the upgrade to the newest patch of the minor that is wanted, among those
// that have not ended, or nil. With retry, one that failed does not count.
func ofMinor(upgrades []v1alpha1.ClusterUpgrade, wanted string, retry bool) (found *v1alpha1.ClusterUpgrade) {
	m := minor.FindStringSubmatch(wanted)
	if m == nil {
		return nil
	}
	var highest version.Version
	for _, u := range active(upgrades) {
		to, err := version.Parse(u.Spec.Version)
		over := u.DeletionTimestamp != nil || retry && hasFailed(u)
		if err == nil && to.Line() == "v1."+m[1] && to.Pre == "" && !over && !to.Less(highest) {
			found, highest = u, to
		}
	}
	return found
}

// running is the upgrade that has not ended and asks for that version, or nil.
func (a *apply) running(s fleet.Snapshot, to version.Version, start *time.Time) (*v1alpha1.ClusterUpgrade, error) {
	open := active(s.Upgrades)
	for _, u := range open {
		switch {
		case u.DeletionTimestamp != nil || u.Spec.Version != to.String() || hasFailed(u) && successor(open, u) != nil:
		case a.retry && hasFailed(u):
			return nil, nil
		case a.retry && u.Spec.RetryOf == "":
			return nil, fmt.Errorf("--retry: ClusterUpgrade %s asks for %s already, and has not failed; leave out --retry to follow it", u.Name, to)
		default:
			if other := a.otherwise(u, start); len(other) > 0 {
				return nil, fmt.Errorf("ClusterUpgrade %s asks for %s already, and %s would change it: leave that out to follow it, or `kubectl edit clusterupgrade %s`",
					u.Name, to, strings.Join(other, ", "), u.Name)
			}
			return u, nil
		}
	}
	return nil, nil
}

// successor is the upgrade that takes the place of u, or nil.
func successor(open []*v1alpha1.ClusterUpgrade, u *v1alpha1.ClusterUpgrade) *v1alpha1.ClusterUpgrade {
	i := slices.IndexFunc(open, func(other *v1alpha1.ClusterUpgrade) bool {
		return other.Spec.RetryOf == u.Name && other.Name != u.Name
	})
	if i < 0 {
		return nil
	}
	return open[i]
}

// otherwise are the flags that ask for something else than u does. A flag that was
// not given asks for nothing, and a check that u lets through need not be asked for
// again: so the line that created an upgrade always comes back to it.
func (a *apply) otherwise(u *v1alpha1.ClusterUpgrade, start *time.Time) []string {
	spec := u.Spec
	is := map[string]bool{
		"start-time":      start == nil || spec.StartTime != nil && spec.StartTime.Time.Equal(*start),
		"max-unavailable": a.maxUnavailable == "" || spec.Strategy.MaxUnavailable != nil && *spec.Strategy.MaxUnavailable == intstr.Parse(a.maxUnavailable),
		"method":          a.method == "" || string(spec.Strategy.Method) == a.method,
		"ignore-schedule": a.ignoreWindows == spec.IgnoreWindows,
		"ignore-check":    !slices.ContainsFunc(a.ignoreChecks, func(c v1alpha1.IgnoredCheck) bool { return !spec.Ignores(c.ID) }),
	}
	return slices.DeleteFunc(slices.Clone(a.asked), func(flag string) bool { return is[strings.TrimPrefix(flag, "--")] })
}
