package plan

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// RecordSoFar returns what the record of an upgrade would say of each node if the upgrade
// ended now. Nil: there is none of that UID, or it has ended.
func RecordSoFar(s fleet.Snapshot, uid string, now time.Time) []v1alpha1.NodeRecord {
	p := newPlanner(&s, now)
	for _, t := range p.queue.targets {
		if string(t.UID) == uid {
			return p.nodeRecords(t, p.verdicts)
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
func UsualDurations(s fleet.Snapshot, before time.Time) Usual {
	var earlier []v1alpha1.UpgradeRecord
	for _, r := range s.Records {
		if r.CompletionTime.Time.Before(before) {
			earlier = append(earlier, r)
		}
	}
	d := newDurations(samples{}, recordedSamples(earlier, s.Nodes))
	return Usual{Components: d.of[components], ControlPlane: d.of[controlPlane], Worker: d.of[worker], Restart: d.of[restart], SoftReboot: d.of[softReboot]}
}
