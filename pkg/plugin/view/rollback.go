package view

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Rollback is what an upgrade of that type does besides, and what it leaves as it is.
type Rollback struct {
	// APIServers are the versions of the kube-apiservers, which stay.
	APIServers []string
	// Ends are the upgrades that it ends.
	Ends []string
	// Blocks are the versions that nothing automatic brings again.
	Blocks []string
	// Holds are the nodes that are on hold afterwards.
	Holds []string
}

// NewRollback returns what u does besides, by the plan for it. s has the upgrades that have not
// ended. Nil: its type is another one.
func NewRollback(s clusterstate.Snapshot, u *v1alpha1.ClusterUpgrade, decided plan.Plan) *Rollback {
	if rules.TypeOf(u) != v1alpha1.TypeRollback {
		return nil
	}
	r := &Rollback{}
	for _, server := range s.APIServers {
		r.APIServers = append(r.APIServers, server.Version)
	}
	for _, taken := range decided.TakenBack {
		if taken.Upgrade.Name == decided.Upgrade {
			r.Blocks = append(r.Blocks, taken.Version)
		}
	}
	for _, ended := range request.TakesBack(s, u) {
		r.Ends = append(r.Ends, ended.Name)
		r.Blocks = append(r.Blocks, ended.Spec.Version)
	}
	for _, n := range decided.Nodes {
		if u.Spec.NodeSelector != nil && request.IsToGo(n) {
			r.Holds = append(r.Holds, n.Name)
		}
	}
	for _, list := range []*[]string{&r.APIServers, &r.Blocks} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return r
}

// TakenBack is a version that a Rollback has taken back, so that nothing automatic brings it again.
type TakenBack struct {
	Version string `json:"version"`
	// Upgrade is the Rollback.
	Upgrade string    `json:"upgrade"`
	Time    time.Time `json:"time"`
	Comment string    `json:"comment,omitempty"`
	// Command brings it again.
	Command string `json:"command"`
}

// aheadOfSome reports whether a version matters now: a kubelet runs an older patch of its minor.
func aheadOfSome(text string, kubelets []string) bool {
	v, err := version.Parse(text)
	return slices.ContainsFunc(kubelets, func(kubelet string) bool {
		runs, unknown := version.Parse(kubelet)
		return err == nil && unknown == nil && runs.SameLine(v) && runs.Less(v)
	})
}

// NewBlocked returns the versions that people block and that matter now.
func NewBlocked(all []v1alpha1.BlockedVersion, kubelets []string) []v1alpha1.BlockedVersion {
	return slices.DeleteFunc(slices.Clone(all), func(one v1alpha1.BlockedVersion) bool { return !aheadOfSome(one.Version, kubelets) })
}

// NewTakenBack returns those versions that matter now.
func NewTakenBack(all []v1alpha1.TakenBackVersion, kubelets []string) (list []TakenBack) {
	for _, one := range all {
		if aheadOfSome(one.Version, kubelets) {
			list = append(list, TakenBack{
				Version: one.Version, Upgrade: one.Upgrade.Name, Time: one.Time.UTC(), Comment: one.Comment, Command: BringAgain(one.Version),
			})
		}
	}
	return list
}

// BringAgain returns the command that brings a version which was taken back.
func BringAgain(version string) string {
	return "kubectl upgrade apply " + version + " --ignore-check version-blocked=REASON"
}
