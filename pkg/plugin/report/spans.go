package report

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// span is the time from start, included, to end, not included.
type span struct{ start, end time.Time }

func (s span) length() time.Duration { return s.end.Sub(s.start) }

func (s span) covers(t time.Time) bool { return !t.Before(s.start) && t.Before(s.end) }

// union merges spans that overlap or touch. The result is in order.
func union(spans []span) (merged []span) {
	slices.SortFunc(spans, func(a, b span) int { return a.start.Compare(b.start) })
	for _, s := range spans {
		if last := len(merged) - 1; last >= 0 && !s.start.After(merged[last].end) {
			merged[last].end = later(merged[last].end, s.end)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// end returns when the upgrade ended, or for one that has not ended now.
func (b *builder) end() time.Time {
	if end := b.report.Upgrade.EndTime; end != nil {
		return *end
	}
	return b.at
}

// span returns the time of a step. One that has no end lasts until the upgrade's.
func (b *builder) span(s Step) span {
	if s.End != nil {
		return span{s.Start, later(s.Start, *s.End)}
	}
	return span{s.Start, later(s.Start, b.end())}
}

// outOfService returns how long the node was cordoned by its agent.
func (b *builder) outOfService(steps []Step) (total time.Duration) {
	var since time.Time
	for _, step := range steps {
		at := b.span(step)
		switch step.Step {
		case v1alpha1.StepCordoning:
			since = at.start
		case v1alpha1.StepUncordoning, v1alpha1.StepAborting:
			if !since.IsZero() {
				total += at.end.Sub(since)
			}
			since = time.Time{}
		}
	}
	if !since.IsZero() {
		total += b.end().Sub(since)
	}
	return total
}

// busy returns the times in which the node held its slot.
func (b *builder) busy(n *Node) (spans []span) {
	for _, step := range n.Steps {
		if phase := step.Step.Info().Phase; phase == v1alpha1.PhaseRevocable || phase == v1alpha1.PhaseCommitted {
			spans = append(spans, b.span(step))
		}
	}
	return union(spans)
}

// stopped returns since when the node had failed, and until when.
func (b *builder) stopped(n *Node) (spans []span) {
	for _, step := range n.Steps {
		if step.Step.Info().Phase == v1alpha1.PhaseStopped {
			spans = append(spans, b.span(step))
		}
	}
	return spans
}

// waiting returns the times in which the node waited.
func (b *builder) waiting(n *Node) (spans []span) {
	for _, step := range n.Steps {
		if step.Step == v1alpha1.StepWaiting {
			spans = append(spans, b.span(step))
		}
	}
	start := b.report.Upgrade.StartTime
	if len(n.Steps) == 0 && n.State != UpToDate && n.State != Done && start != nil && b.report.Upgrade.Triggered {
		spans = append(spans, span{*start, later(*start, b.end())})
	}
	return union(spans)
}
