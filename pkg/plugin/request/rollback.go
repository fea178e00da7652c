package request

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// maxNamed is the API's limit on the values of a label in a selector.
const maxNamed = 32

// Check returns an error unless the request is complete by itself.
func (r Upgrade) Check() error {
	switch {
	case len(r.Nodes) > maxNamed:
		return fmt.Errorf("%d nodes are named, and %d is the most: %s, or several commands", len(r.Nodes), maxNamed, r.every())
	case r.Type == v1alpha1.TypeReboot && r.Force && len(r.Nodes) == 0:
		return errors.New("--force: name the nodes, which are rebooted whether they ask for it or not")
	case !r.Type.HasVersion():
		return nil
	case r.Type != v1alpha1.TypeRollback:
		return CheckVersion(r.Version)
	}
	if _, err := version.Parse(r.Version); err != nil && r.Version != "" {
		return fmt.Errorf("--to=%s: must be a version in full, such as v1.34.3", r.Version)
	}
	if r.Method == string(v1alpha1.MethodRestart) {
		return errors.New("--method=Restart: is for patches, and a node that is taken back starts again; give Reboot or SoftReboot, or leave it out")
	}
	return nil
}

// every returns how a command asks for every node.
func (r Upgrade) every() string {
	switch r.Type {
	case v1alpha1.TypeReboot:
		return "name none, which means each that asks for a reboot"
	case v1alpha1.TypeCertificates:
		return "name none, which means each control plane"
	}
	return "use --all"
}

func isRollback(u *v1alpha1.ClusterUpgrade) bool { return rules.TypeOf(u) == v1alpha1.TypeRollback }

// isOfApply reports whether u is what `kubectl upgrade apply VERSION` asks for.
func isOfApply(u *v1alpha1.ClusterUpgrade) bool {
	return rules.TypeOf(u).HasVersion() && !isRollback(u)
}

// isLike reports whether u is an upgrade of the kind that is requested: one to a version, or a
// Rollback, Reboot or renewal of certificates of the same nodes.
func (r Upgrade) isLike(s clusterstate.Snapshot, u *v1alpha1.ClusterUpgrade) bool {
	if r.Type == "" {
		return isOfApply(u)
	}
	if rules.TypeOf(u) != r.Type || r.Force && !u.Spec.AlwaysReboots() {
		return false
	}
	selector, err := r.selector(s)
	return err == nil && equality.Semantic.DeepEqual(selector, u.Spec.NodeSelector)
}

// selector selects the nodes, each by its own label. Nil: all are meant.
func (r Upgrade) selector(s clusterstate.Snapshot) (*v1alpha1.LabelSelector, error) {
	if len(r.Nodes) == 0 {
		return nil, nil
	}
	key := corev1.LabelHostname
	var values []v1alpha1.LabelValue
	for _, name := range r.Nodes {
		i := slices.IndexFunc(s.Nodes, func(n clusterstate.Node) bool { return n.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no node %q; `kubectl upgrade status` lists them", name)
		}
		value := s.Nodes[i].Labels[key]
		if value == "" {
			return nil, fmt.Errorf("node %s has no label %s, by which it is selected: `kubectl label node %s %s=%s`", name, key, name, key, name)
		}
		for _, other := range s.Nodes {
			if other.Name != name && other.Labels[key] == value {
				return nil, fmt.Errorf("node %s cannot be selected alone: node %s has its label %s=%s, too", name, other.Name, key, value)
			}
		}
		values = append(values, v1alpha1.LabelValue(value))
	}
	slices.Sort(values)
	if values = slices.Compact(values); len(values) == 1 {
		return &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{key: values[0]}}, nil
	}
	return &v1alpha1.LabelSelector{MatchExpressions: []v1alpha1.LabelRequirement{{Key: key, Operator: "In", Values: values}}}, nil
}

// takeBack makes a Rollback of u. It refuses nodes that cannot be taken back
// to the version.
func (r Upgrade) takeBack(s clusterstate.Snapshot, u *v1alpha1.ClusterUpgrade, to version.Version) (err error) {
	u.Name, u.Spec.Type = unusedName(s.Upgrades, "rollback-"+to.Name()), v1alpha1.TypeRollback
	if u.Spec.NodeSelector, err = r.selector(s); err != nil {
		return err
	}
	if len(r.Nodes) > 0 {
		return r.checkNamed(s, to)
	}
	some := false
	for _, n := range managedNodes(s) {
		runs, err := version.Parse(n.Kubelet)
		switch {
		case err != nil:
		case !runs.SameLine(to) && to.Less(runs):
			return fmt.Errorf("node %s runs %s, and a kubelet is taken back within its minor only, not to %s: name the nodes instead of --all", n.Name, runs, to)
		case to.Less(runs):
			some = true
		}
	}
	if !some {
		return fmt.Errorf("no managed node runs a newer patch of %s than %s: there is nothing to take back", to.Line(), to)
	}
	return nil
}

// checkNamed refuses named nodes that cannot be taken back to the version.
func (r Upgrade) checkNamed(s clusterstate.Snapshot, to version.Version) error {
	managed := managedNodes(s)
	var problems []string
	for _, name := range slices.Compact(slices.Sorted(slices.Values(r.Nodes))) {
		i := slices.IndexFunc(managed, func(n clusterstate.Node) bool { return n.Name == name })
		if i < 0 {
			problems = append(problems, "node "+name+" is not managed: the UpgradePolicy's nodeSelector does not match it, or it does not get Kubernetes as a sysext image")
			continue
		}
		_, held := managed[i].Labels[v1alpha1.HoldLabel]
		runs, err := version.Parse(managed[i].Kubelet)
		switch {
		case err != nil:
			problems = append(problems, "node "+name+" does not report its kubelet's version")
		case !runs.SameLine(to):
			problems = append(problems, fmt.Sprintf("node %s runs %s, and a kubelet is taken back within its minor only, not to %s", name, runs, to))
		case !to.Less(runs):
			problems = append(problems, fmt.Sprintf("node %s runs %s, which is not newer than %s: there is nothing to take back", name, runs, to))
		case held:
			problems = append(problems, fmt.Sprintf("node %s is on hold: `kubectl label node %s %s-` first", name, name, v1alpha1.HoldLabel))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(problems, "; "))
}

// managedNodes returns those that the policy selects and that get Kubernetes as a sysext image.
func managedNodes(s clusterstate.Snapshot) (nodes []clusterstate.Node) {
	selector := policySelector(s)
	for _, n := range s.Nodes {
		lacks := slices.ContainsFunc(s.NodeUpgrades, func(u v1alpha1.NodeUpgrade) bool { return u.Name == n.Name && u.Status.LacksImage() })
		if selector.Matches(labels.Set(n.Labels)) && (n.OS == "" || n.OS == "linux") && !lacks {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// policySelector returns the policy's selector of nodes.
func policySelector(s clusterstate.Snapshot) labels.Selector {
	if s.Policy == nil || s.Policy.Spec.NodeSelector == nil {
		return labels.Everything()
	}
	selector, err := s.Policy.Spec.NodeSelector.AsSelector()
	if err != nil {
		return labels.Nothing()
	}
	return selector
}

// former returns the version to which the nodes go back: the one that is asked for, that of an
// unfinished request for the same, or else the newest older patch that the cluster ran, or that the
// source offers. A note says which of them.
func (r Upgrade) former(s clusterstate.Snapshot, at time.Time) (to version.Version, note string, err error) {
	if _, err := r.selector(s); err != nil {
		return to, "", err
	}
	if r.Version != "" {
		to, err = version.Parse(r.Version)
		return to, "", err
	}
	for _, u := range queueOf(s, at) {
		if r.isLike(s, u.ClusterUpgrade) {
			to, err = version.Parse(u.Spec.Version)
			return to, "", err
		}
	}
	from, err := r.newest(s)
	if err != nil {
		return to, "", err
	}
	if to = newestOlder(s, from, ranVersions(s)); to != (version.Version{}) {
		return to, fmt.Sprintf("The newest patch before %s that this cluster ran is %s.", from, to), nil
	}
	var offered []string
	for _, offer := range s.Source.Offers {
		offered = append(offered, offer.Version)
	}
	if to = newestOlder(s, from, offered); to != (version.Version{}) {
		return to, fmt.Sprintf("The newest patch before %s that the source offers is %s.", from, to), nil
	}
	return to, "", fmt.Errorf("no patch of %s before %s is known that this cluster ran or the source offers: say which, as in --to %s.0", from.Line(), from, from.Line())
}

// newest returns the newest version that the nodes run which are to be taken back: in the middle of an
// upgrade some run an older one. Of all nodes, those that a person abandoned do not count.
func (r Upgrade) newest(s clusterstate.Snapshot) (from version.Version, err error) {
	for _, n := range managedNodes(s) {
		abandoned := slices.ContainsFunc(s.NodeUpgrades, func(u v1alpha1.NodeUpgrade) bool { return u.Name == n.Name && u.Abandoned != nil })
		meant := len(r.Nodes) == 0 && !abandoned || slices.Contains(r.Nodes, n.Name)
		if v, err := version.Parse(n.Kubelet); err == nil && meant && from.Less(v) {
			from = v
		}
	}
	switch {
	case from == version.Version{}:
		return from, errors.New("no managed node reports its kubelet's version: say with --to to which version they are taken back")
	case from.Patch == 0:
		return from, fmt.Errorf("%s is the first patch of its minor, and a kubelet is taken back within its minor only", from)
	}
	return from, nil
}

// ranVersions returns the versions that the cluster ran, or still runs on some nodes.
func ranVersions(s clusterstate.Snapshot) (list []string) {
	if s.Policy != nil {
		for _, one := range s.Policy.Status.Ran {
			list = append(list, one.Version)
		}
	}
	for _, record := range s.Records {
		list = append(list, record.Spec.FromVersion)
		if record.Spec.Outcome == v1alpha1.OutcomeSucceeded {
			list = append(list, record.Spec.Version)
		}
	}
	for _, n := range managedNodes(s) {
		list = append(list, n.Kubelet)
	}
	return list
}

// newestOlder returns the newest of the versions that is an older patch of from's minor, is not
// blocked, and whose images the coordinator can name. Zero: none is.
func newestOlder(s clusterstate.Snapshot, from version.Version, versions []string) (newest version.Version) {
	for _, text := range versions {
		v, err := version.Parse(text)
		older := err == nil && v.SameLine(from) && v.Less(from) && v.Pre == ""
		if older && newest.Less(v) && s.Policy.Blocked(v.String()) == nil && isNamed(s, v.String()) {
			newest = v
		}
	}
	return newest
}

// isNamed reports whether the images of a version are known: by their digests, as the cluster ran
// them, or as the source offers them. If its index was not read, the coordinator will know.
func isNamed(s clusterstate.Snapshot, text string) bool {
	ran := s.Policy != nil && slices.ContainsFunc(s.Policy.Status.Ran, func(one v1alpha1.RanVersion) bool { return one.Version == text && len(one.Digests) > 0 })
	recorded := slices.ContainsFunc(s.Records, func(one v1alpha1.UpgradeRecord) bool {
		return one.Spec.Version == text && one.Spec.Outcome == v1alpha1.OutcomeSucceeded && len(one.Spec.Digests) > 0
	})
	return ran || recorded || offeredToAll(s, text) || s.Source.Problem.Reason == v1alpha1.ReasonSourceUnavailable
}

// refuseLeftOut refuses a Rollback if all nodes that it would take back are left out.
func refuseLeftOut(decided plan.Plan, to version.Version) error {
	for _, n := range decided.Nodes {
		runs, err := version.Parse(n.From)
		if asked := n.Reason != v1alpha1.ReasonNotSelected && n.Reason != v1alpha1.ReasonUnmanaged; err == nil && asked && runs.SameLine(to) && to.Less(runs) {
			return fmt.Errorf("no node can be taken back to %s now: node %s runs %s and is left out: %s: %s", to, n.Name, runs, n.Reason, n.Message)
		}
	}
	return nil
}

// TakesBack returns the unfinished upgrades that a Rollback ends, as they bring what it takes back.
// The Rollback may not exist yet.
func TakesBack(s clusterstate.Snapshot, u *v1alpha1.ClusterUpgrade) (list []*v1alpha1.ClusterUpgrade) {
	to, err := version.Parse(u.Spec.Version)
	for i := range s.Upgrades {
		other := &s.Upgrades[i]
		brings, unknown := version.Parse(other.Spec.Version)
		newer := err == nil && unknown == nil && isRollback(u) && !isRollback(other) && to.SameLine(brings) && to.Less(brings)
		unfinished := other.Status.Outcome == "" && other.DeletionTimestamp == nil
		if newer && unfinished && (u.CreationTimestamp.IsZero() || !u.CreationTimestamp.Before(&other.CreationTimestamp)) {
			list = append(list, other)
		}
	}
	return list
}

// withoutTaken returns the snapshot without the upgrades that a Rollback ends.
func withoutTaken(s clusterstate.Snapshot, u *v1alpha1.ClusterUpgrade) clusterstate.Snapshot {
	taken := TakesBack(s, u)
	s.Upgrades = slices.DeleteFunc(slices.Clone(s.Upgrades), func(one v1alpha1.ClusterUpgrade) bool {
		return slices.ContainsFunc(taken, func(t *v1alpha1.ClusterUpgrade) bool { return t.UID == one.UID })
	})
	return s
}
