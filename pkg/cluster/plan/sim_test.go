package plan_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// sim is a simulated cluster: a coordinator that writes what the plan says, and on each
// node an agent that does one step at a time.
type sim struct {
	clusterstate.Snapshot
	now   time.Time
	tick  time.Duration
	begun []string        // nodes in the order in which they were cordoned
	hung  map[string]bool // nodes whose agents do nothing
	// dropSteps makes agents drop the steps of the previous upgrade, as real agents do.
	// Otherwise the durations of every node stay known.
	dropSteps bool

	findings      []v1alpha1.Finding // what preflight finds when it runs
	preflightRuns int
	boots         int
	wrongBoots    []string // nodes that were rebooted in another boot than their order ends
	created       int      // upgrades

	jobEnds    map[string]string // how Jobs end, by hook
	jobs       int
	started    []string // the Jobs that were created
	hookStates map[string]v1alpha1.HookState
	hookNews   []string

	holders   plan.Holders
	snapshots int // of etcd
	// slow makes pulls and snapshots take a step of their own.
	slow bool
}

func newSim(start time.Time) *sim {
	return &sim{Snapshot: clusterstate.Snapshot{Policy: managing()}, now: start, tick: time.Minute, hung: map[string]bool{}, jobEnds: map[string]string{}, hookStates: map[string]v1alpha1.HookState{}}
}

// step runs the coordinator once, and then each agent for one step.
func (s *sim) step() plan.Plan {
	p := s.decide()
	s.write(p)
	for i := range s.Nodes {
		if n := &s.Nodes[i]; !s.hung[n.Name] {
			s.agent(n)
			s.recordStep(n)
		}
	}
	s.now = s.now.Add(s.tick)
	return p
}

// decide decides, and decides again if the plan needs preflight.
func (s *sim) decide() plan.Plan {
	s.holders = s.holders.Note(&s.Snapshot, s.now)
	p := plan.Decide(s.Snapshot, s.now)
	checkQueue(s.Snapshot, s.now, p)
	if !p.NeedsPreflight || s.PreflightProblem != "" {
		return p
	}
	s.preflightRuns++
	s.Preflight = &clusterstate.Preflight{Upgrade: p.Target.Reference(), Key: p.PreflightKey, At: s.now}
	for _, f := range s.findings {
		f.Ignored = p.Target.Spec.Ignores(f.ID)
		s.Preflight.Findings = append(s.Preflight.Findings, f)
	}
	return plan.Decide(s.Snapshot, s.now)
}

// recordStep records the times of steps, as an agent does.
func (s *sim) recordStep(n *clusterstate.Node) {
	status := &s.nodeUpgrade(n.Name, n.UID).Status
	last := len(status.Steps) - 1
	if last >= 0 && status.Steps[last].EndTime == nil {
		if status.Steps[last].Step == status.Step {
			return
		}
		at := metav1.NewMicroTime(s.now)
		status.Steps[last].EndTime = &at
	}
	if status.Step != "" && status.Step != v1alpha1.StepIdle {
		status.Steps = append(status.Steps, v1alpha1.StepTime{Step: status.Step, StartTime: metav1.NewMicroTime(s.now)})
	}
}

// write writes a plan as the coordinator does.
func (s *sim) write(p plan.Plan) {
	if p.Create != nil {
		created := *p.Create.DeepCopy()
		created.UID, created.CreationTimestamp = s.uid(created.Name), metav1.NewTime(s.now)
		s.Upgrades = append(s.Upgrades, created)
	}
	s.Records = append(s.Records, p.Records...)
	s.writeTurns(p)
	if s.Policy != nil {
		s.Policy.Status.Ran, s.Policy.Status.TakenBack = p.Ran, p.TakenBack
	}
	if p.Policy != nil {
		status := &s.policy().Status
		status.Version, status.Upgrade, status.Images = p.Policy.Version, p.Policy.Upgrade, p.Policy.Images
	}
	for _, status := range p.Statuses {
		for i := range s.Upgrades {
			if s.Upgrades[i].Name == status.Name {
				s.Upgrades[i].Status = status.Status
			}
		}
	}
	s.writeSlots(p)
	for _, n := range p.Nodes {
		if n.Slot == "" || s.reserve(n.Slot, n.Owner) {
			nodeUpgrade := s.nodeUpgrade(n.Name, n.Owner.UID)
			if !equality.Semantic.DeepEqual(nodeUpgrade.Spec, n.Spec) {
				nodeUpgrade.Generation++
			}
			nodeUpgrade.Spec = n.Spec
			s.writeAdmission(nodeUpgrade, n)
			if n.Returned {
				nodeUpgrade.Abandoned = nil
				nodeUpgrade.Generation++
			}
		}
	}
}

// writeAdmission writes the condition Admitted, as the coordinator does.
func (s *sim) writeAdmission(nodeUpgrade *v1alpha1.NodeUpgrade, n plan.NodePlan) {
	list := &nodeUpgrade.Status.Conditions
	present, admitted := n.Admission()
	if !present {
		meta.RemoveStatusCondition(list, v1alpha1.ConditionAdmitted)
		return
	}
	status := metav1.ConditionFalse
	if admitted {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(list, metav1.Condition{
		Type: v1alpha1.ConditionAdmitted, Status: status, Reason: string(n.Reason), Message: n.Message, LastTransitionTime: metav1.NewTime(s.now),
	})
}

// reserve reserves a slot for a node, and reports false if the slot is another node's.
func (s *sim) reserve(name string, owner clusterstate.Owner) bool {
	slot := s.slot(name)
	if slot.ReservedFor != owner && (slot.ReservedFor != clusterstate.Owner{} || slot.Holder != clusterstate.Owner{}) {
		return false
	}
	slot.ReservedFor = owner
	return true
}

func (s *sim) writeSlots(p plan.Plan) {
	changes := p.Slots
	changes.Reap = slices.DeleteFunc(slices.Clone(changes.Reap), s.exists)
	s.Slots = changes.Apply(s.Slots)
	if p.Slots.Ensure {
		s.Slots = slices.DeleteFunc(s.Slots, func(slot clusterstate.Slot) bool {
			i, err := strconv.Atoi(strings.TrimPrefix(slot.Name, "slot-"))
			return err == nil && i >= p.Slots.Count && slot.ReservedFor == clusterstate.Owner{} && slot.Holder == clusterstate.Owner{}
		})
		for i := range p.Slots.Count {
			s.slot(fmt.Sprintf("slot-%d", i))
		}
	}
}

func (s *sim) exists(owner clusterstate.Owner) bool {
	return slices.ContainsFunc(s.Nodes, func(n clusterstate.Node) bool { return n.Owner() == owner })
}

// slot returns the slot of that name, and creates it where it is missing.
func (s *sim) slot(name string) *clusterstate.Slot {
	for i := range s.Slots {
		if s.Slots[i].Name == name {
			return &s.Slots[i]
		}
	}
	s.Slots = append(s.Slots, clusterstate.Slot{Name: name})
	return &s.Slots[len(s.Slots)-1]
}

// nodeUpgrade returns the node's NodeUpgrade, and creates it where it is missing.
// request has Cluster API ask for these nodes, and for no others, in an upgrade.
func (s *sim) request(u *v1alpha1.ClusterUpgrade, names []string) {
	for i := range s.NodeUpgrades {
		if s.NodeUpgrades[i].RequestedFor(u.UID) {
			s.NodeUpgrades[i].Annotations = nil
		}
	}
	for i := range s.Nodes {
		if n := &s.Nodes[i]; slices.Contains(names, n.Name) {
			s.nodeUpgrade(n.Name, n.UID).Annotations = map[string]string{v1alpha1.RequestedForAnnotation: string(u.UID)}
		}
	}
}

func (s *sim) nodeUpgrade(name, uid string) *v1alpha1.NodeUpgrade {
	for i := range s.NodeUpgrades {
		if s.NodeUpgrades[i].Name == name {
			return &s.NodeUpgrades[i]
		}
	}
	owner := metav1.OwnerReference{Kind: "Node", Name: name, UID: types.UID(uid)}
	s.NodeUpgrades = append(s.NodeUpgrades, v1alpha1.NodeUpgrade{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{owner}},
	})
	return &s.NodeUpgrades[len(s.NodeUpgrades)-1]
}

func (s *sim) upgrade(name string) *v1alpha1.ClusterUpgrade {
	for i := range s.Upgrades {
		if s.Upgrades[i].Name == name {
			return &s.Upgrades[i]
		}
	}
	return nil
}
