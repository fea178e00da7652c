package plan

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// Predict returns the plan of Decide with the times at which each node is expected to
// begin and to be done, across future windows. It simulates the upgrade: it repeats the
// decisions at each instant at which one may change, while every node takes as long as
// this cluster's nodes took before. What people will do is not known (repair a failed
// node, resume an upgrade): nodes that wait for that get no prediction.
func Predict(s fleet.Snapshot, now time.Time) Plan {
	decided := newPlanner(&s, now)
	p := decided.plan()
	future := newPrediction(decided)
	future.run()
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if span, ok := future.spans[n.Name]; ok {
			n.PredictedStart, n.PredictedEnd = &span.start, &span.end
		}
	}
	p.PredictedStart, p.PredictedEnd = future.startAndEnd()
	return p
}

// startAndEnd returns the first start and the last end; no end if a node is not upgraded.
// Once every node is up to date, the prediction waits only for running work, so it stops
// at the last end, which may be that of kubeadm's part or of an aborted attempt.
func (p *prediction) startAndEnd() (start, end *time.Time) {
	if p.begins.IsZero() {
		return nil, nil
	}
	for _, n := range p.nodes {
		if n.concerned && !n.upToDate {
			return &p.begins, nil
		}
	}
	return &p.begins, &p.now
}
