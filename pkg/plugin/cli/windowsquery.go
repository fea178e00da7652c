package cli

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// query is what the flags of `kubectl upgrade windows` ask for.
type query struct {
	schedules   []v1alpha1.MaintenanceSchedule
	labels      map[string]string
	kind        v1alpha1.UpgradeType
	from, until time.Time // until is zero where there is no limit
	count       int       // 0: no limit
	zone        *time.Location
}

// query reads the flags. counted reports whether --count was given.
func (w *windows) query(counted bool) (q query, err error) {
	q.from, q.labels, q.count = w.now(), w.labels, w.count
	if q.zone, err = zone(w.timeZone); err != nil {
		return q, err
	}
	if w.from != "" {
		if q.from, err = parseTime("from", w.from, q.zone); err != nil {
			return q, err
		}
	}
	if w.until != "" {
		if q.until, err = parseTime("until", w.until, q.zone); err != nil {
			return q, err
		}
		if !counted {
			q.count = 0
		}
	}
	if w.kind != "" {
		kinds, err := upgradeTypes("type", []string{w.kind})
		if err != nil {
			return q, err
		}
		q.kind = kinds[0]
	}
	switch {
	case counted && w.count < 1:
		return q, fmt.Errorf("--count=%d: must be 1 or more", w.count)
	case w.until != "" && !q.until.After(q.from):
		return q, fmt.Errorf("--until=%q: must be later than --from", w.until)
	case w.node != "" && (len(w.files) > 0 || len(w.labels) > 0):
		return q, errors.New("--node asks the cluster for its labels: leave out -f and --labels, or --node")
	case w.format() == "name":
		return q, errors.New("-o name: openings have no names; use -o json")
	}
	return q, nil
}

// openings returns those that begin before until, at most count. As it is not known how
// many begin before until, it asks the schedule for more and more.
func (q query) openings() ([]schedule.Opening, error) {
	for n := max(q.count, defaultCount); ; n *= 4 {
		found, err := schedule.Next(q.schedules, q.labels, q.kind, q.from, n)
		if err != nil {
			return nil, err
		}
		complete := len(found) < n
		if !q.until.IsZero() {
			late := slices.IndexFunc(found, func(o schedule.Opening) bool { return !o.Start.Before(q.until) })
			if late >= 0 {
				found, complete = found[:late], true
			}
		}
		if q.count > 0 {
			return found[:min(q.count, len(found))], nil
		}
		if complete {
			return found, nil
		}
	}
}
