package view

import (
	"fmt"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Again returns which command starts an upgrade again that failed.
func (u Upgrade) Again() string {
	switch u.Type {
	case v1alpha1.TypeRollback:
		return "the same `kubectl upgrade rollback` with --retry starts again"
	case v1alpha1.TypeReboot:
		return "the same `kubectl upgrade reboot` with --retry starts again"
	case v1alpha1.TypeCertificates:
		return "the same `kubectl upgrade certificates renew` with --retry starts again"
	}
	if u.Unblock != "" {
		return fmt.Sprintf("`%s`, and `kubectl upgrade apply %s --retry` starts again; or apply a newer version with --retry", u.Unblock, u.To)
	}
	return fmt.Sprintf("`kubectl upgrade apply %s --retry` starts again", u.To)
}

// NoteBlocked notes whether the policy, which may be nil, has people block the upgrade's version. The upgrade may be nil.
func (u *Upgrade) NoteBlocked(policy *v1alpha1.UpgradePolicy) {
	if u == nil || policy == nil {
		return
	}
	if slices.ContainsFunc(policy.Spec.BlockedVersions, func(one v1alpha1.BlockedVersion) bool { return one.Version == u.To }) {
		u.Unblock = "kubectl upgrade unblock " + u.To
	}
}

// AfterFailure returns what a person does next, once a node failed, or an upgrade did not succeed.
// Empty: nothing failed.
func (s Status) AfterFailure() string {
	switch u, last := s.Upgrade, s.Last; {
	case u != nil && u.Stalled && u.Reason == v1alpha1.ReasonNodeFailed:
		look := ""
		if i := slices.IndexFunc(s.Nodes, func(n Node) bool { return n.State == StateFailed }); i >= 0 {
			look = fmt.Sprintf("`kubectl upgrade status %s` shows what failed; ", s.Nodes[i].Name)
			if without := s.Nodes[i].WithoutParts(u.Name); without != "" {
				return look + "it goes on when that is back, or without it: `" + without + "`"
			}
		}
		next := look + "fix that, then " + u.Again()
		if u.Unblock != "" {
			next += fmt.Sprintf(", or `kubectl delete clusterupgrade %s`", u.Name)
		}
		return next
	case u == nil && last != nil && (last.Outcome == v1alpha1.OutcomeFailed || last.Outcome == v1alpha1.OutcomeRolledBack):
		return fmt.Sprintf("`kubectl upgrade history %s` shows each node; once that is fixed, %s", last.Name, last.Again())
	}
	return ""
}

// NewerPatch returns the newest patch that the source offers for all nodes, if a kubelet runs an older
// patch of its minor, and it is not blocked. Empty: there is none, or that is not known.
func NewerPatch(s clusterstate.Snapshot) string {
	if s.Policy == nil {
		return ""
	}
	var newest version.Version
	for _, offered := range s.Policy.Status.Offered {
		v, err := version.Parse(offered.Version)
		if err == nil && v.Pre == "" && newest.Less(v) && s.Policy.Blocked(offered.Version) == nil && isForAll(offered, s.Nodes) && isOlder(s.NodeUpgrades, v) {
			newest = v
		}
	}
	if newest == (version.Version{}) {
		return ""
	}
	return newest.String()
}

// isForAll reports whether there are images of the version for all nodes.
func isForAll(offered v1alpha1.OfferedVersion, nodes []clusterstate.Node) bool {
	return !slices.ContainsFunc(nodes, func(n clusterstate.Node) bool {
		return n.Architecture != "" && !slices.ContainsFunc(offered.Images, func(i v1alpha1.OfferedImage) bool { return string(i.Architecture) == n.Architecture })
	})
}

// isOlder reports whether a kubelet runs an older patch of the version's minor.
func isOlder(nodes []v1alpha1.NodeUpgrade, v version.Version) bool {
	return slices.ContainsFunc(nodes, func(u v1alpha1.NodeUpgrade) bool {
		runs, err := version.Parse(u.Status.Versions.Kubelet)
		return err == nil && !u.Status.LacksImage() && runs.SameLine(v) && runs.Less(v)
	})
}
