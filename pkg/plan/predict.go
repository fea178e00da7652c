package plan

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// Predict is Decide, and says for each node when it is expected to begin and to
// be done, across the windows to come. It lets the same decisions be made again
// and again, at each instant at which one may come out differently, while every
// node takes as long as this cluster's nodes took before. What cannot be known
// (when a node that failed is mended, when people resume) is taken to stay as
// it is: nodes that wait for it get no prediction.
func Predict(s fleet.Snapshot, now time.Time) Plan {
	decided := newPlanner(&s, now)
	p := decided.plan()
	f := newForecast(decided)
	f.run()
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if span, ok := f.spans[n.Name]; ok {
			n.PredictedStart, n.PredictedEnd = &span.start, &span.end
		}
	}
	p.PredictedStart, p.PredictedEnd = f.whole()
	return p
}

// whole returns the first begin and the last end; no end where a node stays behind.
// Once every node is up to date, nothing but work is waited for: so the last end,
// be it that of kubeadm's part or of an attempt that is given up, is the instant at
// which the forecast came to rest.
func (f *forecast) whole() (start, end *time.Time) {
	if f.begins.IsZero() {
		return nil, nil
	}
	for _, n := range f.nodes {
		if n.concerned && !n.upToDate {
			return &f.begins, nil
		}
	}
	return &f.begins, &f.now
}
