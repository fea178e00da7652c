package v1alpha1

import "time"

// OutOfService returns how long a node with these steps was cordoned by its agent, over all attempts. A step without an
// end lasts until end.
func OutOfService(steps []StepTime, end time.Time) (total time.Duration) {
	var since time.Time
	for _, step := range steps {
		switch step.Step {
		case StepCordoning:
			since = step.StartTime.Time
		case StepUncordoning, StepAborting, StepRolledBack:
			if step.Step == StepRolledBack && step.EndTime == nil {
				break // it does not serve again yet
			}
			if !since.IsZero() {
				total += step.until(end).Sub(since)
			}
			since = time.Time{}
		}
	}
	if !since.IsZero() {
		total += end.Sub(since)
	}
	return max(total, 0)
}

func (s *StepTime) until(end time.Time) time.Time {
	if s.EndTime != nil {
		return s.EndTime.Time
	}
	return end
}
