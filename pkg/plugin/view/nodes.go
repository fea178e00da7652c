package view

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// NewNodes joins NodeUpgrades with Nodes, so that a node without an agent is not
// overlooked. The control plane comes first, as it goes first. unmanaged has the names of
// the Nodes that the policy does not select, and on which nothing of kubectl-upgrade is left.
func NewNodes(s clusterstate.Snapshot) (nodes []Node, unmanaged []string) {
	nodes = make([]Node, 0, len(s.Nodes))
	upgrades := nodeUpgrades(s)
	controlPlane, isManaged := map[string]bool{}, managed(s.Policy)
	for _, node := range s.Nodes {
		controlPlane[node.Name] = node.ControlPlane
		u := upgrades[node.Name]
		delete(upgrades, node.Name)
		if !s.NodesUnread && !isManaged(node.Labels) && (u == nil || givenBack(u)) {
			unmanaged = append(unmanaged, node.Name)
			continue
		}
		n := Node{Name: node.Name, State: StateUnknown, Kubelet: node.Kubelet, Message: unreported}
		if u != nil {
			n = nodeOf(u)
		}
		n.Labels, n.Condition, n.AgentProblem = node.Labels, node.Condition, AgentProblem(s.Programs, node)
		_, n.OnHold = node.Labels[v1alpha1.HoldLabel]
		nodes = append(nodes, n)
	}
	for _, u := range upgrades { // their Nodes are gone
		nodes = append(nodes, nodeOf(u))
	}
	slices.SortFunc(nodes, func(a, b Node) int {
		if controlPlane[a.Name] != controlPlane[b.Name] {
			if controlPlane[a.Name] {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return nodes, unmanaged
}

// givenBack reports whether nothing of kubectl-upgrade is left on the node.
func givenBack(u *v1alpha1.NodeUpgrade) bool {
	return !u.Spec.Managed && !meta.IsStatusConditionTrue(u.Status.Conditions, v1alpha1.ConditionManaged)
}

func nodeOf(u *v1alpha1.NodeUpgrade) Node {
	v := Node{
		Name: u.Name, State: StateOf(u.Status.Step),
		Kubelet: u.Status.Versions.Kubelet, Staged: u.Status.Versions.Staged, Target: u.Spec.Version,
		Release: u.Spec.Release, Step: u.Status.Step, Since: clusterstate.Instant(u.Status.StepStartTime), RetryTime: clusterstate.Instant(u.Status.Retry.Time),
		Slot: u.Status.Slot, Agent: u.Status.AgentVersion, Attempts: u.Status.Retry.Attempts, Steps: u.Status.Steps,
		Method: u.Status.Method, MethodMessage: u.Status.MethodMessage, RebootReason: u.Status.Reboot.Message,
		Rehearsal: u.Status.Rehearsal.String(), KubeletLog: u.Status.KubeletLog,
	}
	v.Reason, v.Message = u.Status.Explain()
	v.Until = clusterstate.Instant(u.Status.StepEndTime)
	if hold, _ := u.Status.Hold(); hold == v.Reason {
		v.Until = clusterstate.Instant(u.Status.HoldEndTime)
	}
	switch {
	case u.Abandoned != nil:
		v.State, v.Reason, v.Message, v.Until = StateFailed, v1alpha1.ReasonAbandoned, u.Abandoned.String(), nil
	case v.State == StateUnknown:
		v.Reason, v.Message, v.Until = "", unreported, nil
	}
	return v
}

// unreported is the message of a node without an agent.
const unreported = "no agent has reported from this node"

// NewProgress returns the upgrade with its nodes, in the order in which they go in the
// expected plan.
func NewProgress(s clusterstate.Snapshot, u *v1alpha1.ClusterUpgrade, expected plan.Plan) Progress {
	p := Progress{Upgrade: *NewUpgrade(u), PredictedEnd: expected.PredictedEnd, PredictedFrom: expected.PredictedFrom}
	p.Upgrade.NoteBlocked(s.Policy)
	if newer, _ := plan.NewerPatch(s.Policy, u.Spec.Version); newer != "" && s.Policy.Blocked(newer) == nil {
		p.Newer = newer
	}
	place := map[string]int{}
	starts := map[string]*time.Time{}
	for i, n := range expected.Nodes {
		place[n.Name], starts[n.Name] = i, n.PredictedStart
	}
	upgrades, isSelected := nodeUpgrades(s), Selects(u.Spec.NodeSelector)
	nodes, _ := NewNodes(s)
	recorded := recordOf(s.Records, u)
	for _, node := range nodes {
		if !s.NodesUnread && !isSelected(node.Labels) || rules.TypeOf(u) == v1alpha1.TypeCertificates && !isControlPlane(s, upgrades, node.Name) {
			continue
		}
		one := NodeProgress{Node: node, PredictedStart: starts[node.Name]}
		if nodeUpgrade := upgrades[node.Name]; nodeUpgrade != nil {
			one.Passes, one.PassesDone = passes(nodeUpgrade.Status.Versions, u)
			correctOther(&one, nodeUpgrade, u)
		}
		if record := recorded[node.Name]; record != nil {
			one.endAs(record)
		}
		p.Nodes = append(p.Nodes, one)
	}
	slices.SortStableFunc(p.Nodes, func(a, b NodeProgress) int { return place[a.Name] - place[b.Name] })
	return p
}

// isControlPlane reports whether the node is a control plane. Who may not read Nodes learns it from the agent.
func isControlPlane(s clusterstate.Snapshot, upgrades map[string]*v1alpha1.NodeUpgrade, name string) bool {
	u := upgrades[name]
	return u != nil && u.Status.Versions.ControlPlane != "" || slices.ContainsFunc(s.Nodes, func(n clusterstate.Node) bool { return n.Name == name && n.ControlPlane })
}

// passes returns how often a node with these versions has to take a slot for u,
// and how often it is done with that before its last.
func passes(have v1alpha1.NodeVersions, u *v1alpha1.ClusterUpgrade) (all, done int) {
	switch {
	case have.ControlPlane == "", u.Spec.Version == "", rules.TypeOf(u) == v1alpha1.TypeRollback:
		return 1, 0
	case version.AtLeast(have.Kubeadm, u.Spec.Version):
		return 2, 1
	}
	return 2, 0
}

// correctOther corrects what a node shows whose agent has not begun with the upgrade:
// steps for another one do not count, and an idle node need not be done.
func correctOther(one *NodeProgress, nodeUpgrade *v1alpha1.NodeUpgrade, u *v1alpha1.ClusterUpgrade) {
	if !isFor(nodeUpgrade.Status.Upgrade, u) {
		one.Steps = nil
	}
	if one.State != StateDone {
		return
	}
	if u.Status.Outcome != "" && one.Reason == v1alpha1.ReasonNoUpgrade {
		one.Reason, one.Message = "", "" // the agent has forgotten this one
	}
	if u.Status.Outcome != "" && u.Spec.Version == "" {
		return
	}
	ordered := isFor(nodeUpgrade.Spec.Upgrade, u)
	upToDate := ordered
	switch {
	case u.Spec.Version == "":
	case rules.TypeOf(u) == v1alpha1.TypeRollback:
		upToDate = version.AtLeast(u.Spec.Version, nodeUpgrade.Status.Versions.Kubelet)
	default:
		upToDate = version.AtLeast(nodeUpgrade.Status.Versions.Kubelet, u.Spec.Version) && one.PassesDone == one.Passes-1
	}
	if upToDate {
		return
	}
	one.State, one.Reason, one.Message, one.Until = StateWaiting, "", "", nil
	if ordered {
		one.Reason, one.Message = nodeUpgrade.Status.Hold()
		one.Until = clusterstate.Instant(nodeUpgrade.Status.HoldEndTime)
	}
}

// recordOf returns how each node went in an upgrade that has ended. Empty: it has not, or that is not known.
func recordOf(records []v1alpha1.UpgradeRecord, u *v1alpha1.ClusterUpgrade) map[string]*v1alpha1.NodeRecord {
	nodes := map[string]*v1alpha1.NodeRecord{}
	for i := range records {
		if u.Status.Outcome == "" || records[i].Spec.Upgrade.UID != string(u.UID) {
			continue
		}
		for j := range records[i].Spec.Nodes {
			nodes[records[i].Spec.Nodes[j].Name] = &records[i].Spec.Nodes[j]
		}
	}
	return nodes
}

// endAs shows a node as the record of the upgrade has it: its agent may have forgotten the upgrade since. One that failed
// still says why.
func (n *NodeProgress) endAs(record *v1alpha1.NodeRecord) {
	n.Steps = record.Steps
	switch {
	case record.Reason == "":
		n.State, n.Reason, n.Message, n.Until = StateDone, "", "", nil
	case n.State == StateDone || n.State == StateWaiting:
		n.State, n.Reason, n.Message, n.Until = StateWaiting, record.Reason, "", nil
	}
}

// isFor reports whether the reference is to that very upgrade, and not to another one
// of its name.
func isFor(reference *v1alpha1.UpgradeReference, u *v1alpha1.ClusterUpgrade) bool {
	return reference != nil && reference.UID == string(u.UID)
}

// Kubelets counts the nodes by their kubelet's version, the oldest first, without those of these names.
func Kubelets(s clusterstate.Snapshot, without []string) []Count {
	numbers, left := map[string]int{}, Set(without)
	for _, n := range s.Nodes {
		if _, err := version.Parse(n.Kubelet); err == nil && !left[n.Name] {
			numbers[n.Kubelet]++
		}
	}
	return counted(numbers)
}

// OtherAPIServers returns the versions of kube-apiservers that none of these kubelets runs, the oldest first: those of a
// control plane whose kubelets were taken back, or have not begun.
func OtherAPIServers(s clusterstate.Snapshot, kubelets []Count) (versions []string) {
	numbers := map[string]int{}
	for _, pod := range s.APIServers {
		isKubelet := slices.ContainsFunc(kubelets, func(k Count) bool { return k.Version == pod.Version })
		if _, err := version.Parse(pod.Version); err == nil && !isKubelet && len(kubelets) > 0 {
			numbers[pod.Version]++
		}
	}
	for _, one := range counted(numbers) {
		versions = append(versions, one.Version)
	}
	return versions
}

// Set returns the names as a set.
func Set(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}
