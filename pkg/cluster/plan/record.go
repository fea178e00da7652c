package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// The limits of one piece of a record. The API limits the number of nodes and steps;
// etcd limits a whole request, by default to 1.5 MiB. A piece that etcd refused would
// keep the upgrade from ever ending. https://etcd.io/docs/v3.6/dev-guide/limit/.
const (
	maxPieceNodes = 500
	maxPieceBytes = 256 << 10
	maxSteps      = 64
	// nodeBytes and stepBytes are the most that an entry takes besides its texts, and
	// summaryBytes the most that a piece's summary takes.
	nodeBytes    = 352
	stepBytes    = 140
	summaryBytes = 24 << 10
	// rehearsalBytes are the most that a surprise at a boot takes besides its text.
	rehearsalBytes = 64
	// maxMethodMessage is the API's limit for why a node rebooted.
	maxMethodMessage = 256
	// maxVersion is how much of a version is recorded, as its node says it.
	maxVersion = 64
	// maxName is the API server's limit on an object's name.
	maxName = 253
	// maxUser is how much of a user's name is recorded, as an annotation has it.
	maxUser = 1024
)

// records returns the pieces of the record of an upgrade that has ended, as u says.
func (c *cluster) records(t *target, u *v1alpha1.ClusterUpgrade, verdicts []verdict) []v1alpha1.UpgradeRecord {
	pieces := [][]v1alpha1.NodeRecord{nil}
	room := maxPieceBytes - summaryBytes
	for _, r := range c.nodeRecords(t, verdicts) {
		last := len(pieces) - 1
		if room -= sizeOf(r); len(pieces[last]) == maxPieceNodes || room < 0 {
			pieces, room = append(pieces, nil), maxPieceBytes-summaryBytes-sizeOf(r)
			last++
		}
		pieces[last] = append(pieces[last], r)
	}
	records := make([]v1alpha1.UpgradeRecord, len(pieces))
	for i, nodes := range pieces {
		records[i] = piece(u, i+1, len(pieces))
		records[i].Spec.Nodes, records[i].Spec.ClusterName = nodes, c.reading.policySpec().ClusterName
	}
	return records
}

// nodeRecords returns how each node went so far. Nodes that the upgrade does not concern
// are left out.
func (c *cluster) nodeRecords(t *target, verdicts []verdict) []v1alpha1.NodeRecord {
	var records []v1alpha1.NodeRecord
	for i, n := range c.nodes {
		if t.unsupported(n) || t.leavesOut(n) {
			continue
		}
		records = append(records, n.record(t, verdicts[i]))
	}
	return records
}

// endedFor returns the verdicts for the nodes of an upgrade that ends for that reason, and not by what its nodes do.
func (c *cluster) endedFor(t *target, reason v1alpha1.Reason) []verdict {
	verdicts := make([]verdict, len(c.nodes))
	for i, n := range c.nodes {
		verdicts[i] = verdict{decision: Wait, hold: clusterstate.Hold{Reason: reason}}
		switch {
		case n.failed() && t.isFor(n.status.Upgrade):
			verdicts[i] = verdict{decision: Blocked, hold: n.cause}
		case t.upToDate(n):
			verdicts[i] = verdict{decision: Done}
		}
	}
	return verdicts
}

// piece returns one piece of the upgrade's record, with no node in it yet.
func piece(u *v1alpha1.ClusterUpgrade, number, of int) v1alpha1.UpgradeRecord {
	_, changedBy := u.Changed()
	record := v1alpha1.UpgradeRecord{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "UpgradeRecord"},
		ObjectMeta: metav1.ObjectMeta{
			Name: recordName(u, number), Labels: map[string]string{v1alpha1.UpgradeUIDLabel: string(u.UID)},
		},
		Spec: v1alpha1.UpgradeRecordSpec{
			UpgradeSummary: v1alpha1.UpgradeSummary{
				Upgrade: u.Reference(), Type: rules.TypeOf(u), FromVersion: u.Status.FromVersion, Version: u.Spec.Version, Digests: v1alpha1.DigestsOf(u.Status.Images),
				Outcome: u.Status.Outcome, CreatedBy: shorten(u.Annotations[v1alpha1.CreatedByAnnotation], maxUser),
				RequestedBy: shorten(u.Annotations[v1alpha1.RequestedByAnnotation], maxUser), ChangedBy: shorten(changedBy, maxUser),
				ApprovedBy: u.Spec.Approved.By, Comment: u.Spec.Comment,
				TriggerTime: u.Status.TriggerTime, EndTime: *u.Status.EndTime, Counts: u.Status.Nodes,
				IgnoreChecks: u.Spec.IgnoreChecks, IgnoreGates: u.Spec.IgnoreGates, EtcdSnapshot: u.Status.EtcdSnapshot,
			},
			Piece: int32(number), Pieces: int32(of), //nolint:gosec // a piece has hundreds of nodes
		},
	}
	if ended := meta.FindStatusCondition(u.Status.Conditions, v1alpha1.ConditionSucceeded); ended != nil {
		record.Spec.Reason, record.Spec.Message = v1alpha1.Reason(ended.Reason), ended.Message
	}
	return record
}

// recordName returns <upgrade>-<first 8 of its UID>-<piece>.
func recordName(u *v1alpha1.ClusterUpgrade, number int) string {
	suffix := fmt.Sprintf("-%s-%d", u.UID[:min(8, len(u.UID))], number)
	name := u.Name[:min(len(u.Name), maxName-len(suffix))]
	return strings.TrimRight(name, "-.") + suffix
}

// RecordBytes returns how many bytes a piece of a record takes, about.
func RecordBytes(r *v1alpha1.UpgradeRecord) int {
	size := 1 << 10
	for _, node := range r.Spec.Nodes {
		size += sizeOf(node)
	}
	return size
}

// sizeOf returns how many bytes r takes at most.
func sizeOf(r v1alpha1.NodeRecord) int {
	size := nodeBytes + len(r.Name) + len(r.From) + len(r.To) + len(r.Reason) + len(r.MethodMessage) + len(r.Steps)*stepBytes
	if r.Rehearsal != nil {
		size += rehearsalBytes + len(r.Rehearsal.Message)
	}
	return size
}

// surprise returns what a record says of a boot: nothing of one that did what its rehearsal had found.
func surprise(o *v1alpha1.RehearsalOutcome) *v1alpha1.RehearsalOutcome {
	if o.String() == "" {
		return nil
	}
	return &v1alpha1.RehearsalOutcome{Result: o.Result, Boot: o.Boot, Message: shorten(o.Message, maxMethodMessage)}
}

func (n *node) record(t *target, v verdict) v1alpha1.NodeRecord {
	runs := shorten(n.Kubelet, maxVersion)
	r := v1alpha1.NodeRecord{Name: n.Name, From: runs, To: runs}
	if v.decision != Done {
		r.Reason = v.hold.Reason
	}
	if !t.isFor(n.status.Upgrade) {
		return r // its NodeUpgrade.spec was never for this upgrade
	}
	r.From, r.Attempts = shorten(cmp.Or(n.status.Versions.From, n.Kubelet), maxVersion), n.status.Retry.Attempts
	r.MethodMessage = shorten(n.status.MethodMessage, maxMethodMessage)
	r.Rehearsal = surprise(n.status.Rehearsal)
	r.Steps = n.status.Steps[max(0, len(n.status.Steps)-maxSteps):]
	for _, step := range n.status.Steps {
		if step.Step == v1alpha1.StepLocking && r.StartTime == nil {
			r.StartTime = wholeSecond(step.StartTime.Time)
		}
		if step.Step == v1alpha1.StepUnlocking && step.EndTime != nil && v.decision == Done {
			r.EndTime = wholeSecond(step.EndTime.Time)
		}
	}
	for _, s := range append(n.passes(), sample{staging, stagingTook(n.status.Steps)}) {
		*s.part.durationField(&r) = int32(min(math.Ceil(s.took.Seconds()), math.MaxInt32))
	}
	return r
}

// RecordSoFar returns what the record of an upgrade would say of each node if the upgrade
// ended now. Nil: there is none of that UID, or it has ended.
func RecordSoFar(s clusterstate.Snapshot, uid string, now time.Time) []v1alpha1.NodeRecord {
	p := newPlanner(&s, now)
	for _, t := range p.queue.targets {
		switch {
		case string(t.UID) != uid:
		case t == p.cluster.target:
			return p.cluster.nodeRecords(t, p.verdicts)
		default:
			return p.cluster.nodeRecords(t, p.cluster.endedFor(t, v1alpha1.ReasonSuperseded))
		}
	}
	return nil
}

// Usual is how long each part of a node's upgrade usually takes, without settling and
// observing.
type Usual struct {
	Components, ControlPlane, Worker, Restart, SoftReboot time.Duration
}

// UsualDurations returns how long nodes took in the last upgrades before an instant that
// succeeded; where too few were measured, what is assumed.
func UsualDurations(s clusterstate.Snapshot, before time.Time) Usual {
	var earlier []v1alpha1.UpgradeRecord
	for _, r := range s.Records {
		if r.Spec.EndTime.Time.Before(before) {
			earlier = append(earlier, r)
		}
	}
	d := newDurations(samples{}, recordedSamples(earlier, s.Nodes))
	return Usual{Components: d[components], ControlPlane: d[controlPlane], Worker: d[worker], Restart: d[restart], SoftReboot: d[softReboot]}
}

// What the cluster has run is in the policy's status for clusters that follow it: the version with its
// digests, since when every node runs it, and whether a node failed with it.

const (
	maxRan        = 8   // versions that are kept
	maxRanProblem = 512 // bytes
)

// ran returns the versions that the cluster has run, the newest first. Upgrades of some nodes alone
// do not count. It comes after the upgrades' statuses and what was taken back.
func (p *planner) ran(out *Plan) []v1alpha1.RanVersion {
	policy := p.cluster.reading.snapshot.Policy.DeepCopy()
	if policy == nil {
		return nil
	}
	list := policy.Status.Ran
	policy.Status.TakenBack = out.TakenBack
	if t := p.cluster.target; t.bringsVersion() && p.survey.begun {
		list = p.bring(list, t)
	}
	for i := range list {
		one := &list[i]
		p.noteEnd(one, &list[0], out.Target)
		one.Behind, one.Blocked = 0, ""
		if blocked := policy.Blocked(one.Version); blocked != nil {
			one.Blocked = shorten(blocked.Comment, maxReason)
		}
	}
	if len(list) > 0 && list[0].UntilTime == nil {
		p.noteNodes(&list[0])
	}
	return list
}

// bringsVersion reports whether the upgrade brings a version to every managed node.
func (t *target) bringsVersion() bool {
	return t != nil && !t.forLateNodes && !t.versionless() && t.Spec.NodeSelector == nil && t.Status.TriggerTime != nil
}

// bring returns the list with the version that the upgrade brings in front, once a node has begun. Of
// an upgrade that is retried the former entry goes. What ran only rises, but for a Rollback: an older
// upgrade may go on after a newer one, whose version stays in front unless that came to nothing.
func (p *planner) bring(list []v1alpha1.RanVersion, t *target) []v1alpha1.RanVersion {
	brought := len(list) == 0 || !t.isFor(&list[0].Upgrade)
	if brought {
		if len(list) > 0 && !t.mayFollow(parsed(list[0].Version)) && p.counts(&list[0]) {
			return list
		}
		list = slices.DeleteFunc(list, func(r v1alpha1.RanVersion) bool { return r.Version == t.Spec.Version })
		one := v1alpha1.RanVersion{Version: t.Spec.Version, Upgrade: t.Reference(), Digests: v1alpha1.DigestsOf(t.Status.Images)}
		list = slices.Insert(list, 0, one)[:min(len(list)+1, maxRan)]
	}
	for i := range list[1:] {
		if former := &list[i+1]; former.UntilTime == nil && (brought || t.atWork(p.cluster.reading)) {
			former.UntilTime = wholeSecond(p.cluster.now)
		}
	}
	return list
}

// counts reports whether every node has run the version, or its upgrade still brings it.
func (p *planner) counts(one *v1alpha1.RanVersion) bool {
	u := upgradeNamed(p.cluster.reading.snapshot.Upgrades, one.Upgrade.Name)
	return one.SinceTime != nil || u != nil && string(u.UID) == one.Upgrade.UID && u.Status.Outcome == "" && u.DeletionTimestamp == nil
}

// noteEnd notes how the upgrade to the version has ended. It may have gone on after that to the newest had begun.
func (p *planner) noteEnd(one, newest *v1alpha1.RanVersion, target *v1alpha1.ClusterUpgrade) {
	u := upgradeNamed(p.cluster.reading.snapshot.Upgrades, one.Upgrade.Name)
	if p.cluster.target.isFor(&one.Upgrade) {
		u = target // it may end now
	}
	switch {
	case u == nil || string(u.UID) != one.Upgrade.UID || one.SinceTime != nil:
	case u.Status.Outcome == v1alpha1.OutcomeSucceeded:
		if one.SinceTime = u.Status.EndTime; newest.SinceTime == nil {
			one.UntilTime = nil
		}
	case u.Status.Outcome != "" && u.Status.Outcome != v1alpha1.OutcomeSuperseded && one.Problem == "" && !endedByNode(u):
		one.Problem = shorten(fmt.Sprintf("upgrade %s ended: %s", u.Name, u.Status.Outcome), maxRanProblem)
	}
}

// endedByNode reports whether an upgrade ended because a node was at fault, and not its version.
func endedByNode(u *v1alpha1.ClusterUpgrade) bool {
	ended := meta.FindStatusCondition(u.Status.Conditions, v1alpha1.ConditionSucceeded)
	return ended != nil && ended.Reason == string(v1alpha1.ReasonNodeAtFault)
}

// noteNodes notes a node that failed with the newest version, and how many do not run it.
func (p *planner) noteNodes(one *v1alpha1.RanVersion) {
	to := parsed(one.Version)
	for _, n := range p.cluster.nodes {
		if n.eligible() && !n.status.LacksImage() && !atLeast(*n.runs.kubelet, to) {
			one.Behind++
		}
		switch {
		case one.Problem != "":
		case n.failed() && !n.isAtFault() && n.status.Upgrade != nil && n.status.Upgrade.UID == one.Upgrade.UID:
			one.Problem = shorten(failure(n).Message, maxRanProblem)
		case p.cluster.relapsed(n):
			one.Problem = shorten(n.lostHold().Message, maxRanProblem)
		}
	}
}
