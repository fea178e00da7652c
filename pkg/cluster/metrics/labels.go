package metrics

import (
	"sync"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// A node reports its kubelet's version, its step, its reason and the message of its drain as
// any string, and Prometheus keeps a series for each value of a label that it ever saw. So
// these labels have only values of a table, or a limited number of others.

// other is a label's value in place of one that is not in its table, or beyond its limit.
const other = "Other"

// The numbers of values that nodes may add while the program runs.
const (
	maxVersions = 64
	maxBudgets  = 256
	maxLength   = 64 // of a version
)

// vocabulary has the values that nodes have added to a label.
type vocabulary struct {
	limit int

	mutex  sync.Mutex
	values map[string]bool
}

// add reports whether the label may have the value.
func (v *vocabulary) add(value string) bool {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if v.values[value] || len(v.values) >= v.limit {
		return v.values[value]
	}
	if v.values == nil {
		v.values = map[string]bool{}
	}
	v.values[value] = true
	return true
}

// version returns the label of a version that a node reports.
func (s *scrape) version(reported string) string {
	switch {
	case reported == "" || s.known[reported]:
		return reported
	case len(reported) > maxLength:
		return other
	}
	if _, err := version.Parse(reported); err != nil || !s.versions.add(reported) {
		return other
	}
	return reported
}

// knownVersions returns the versions that the source offers or an upgrade names.
func (s *scrape) knownVersions() map[string]bool {
	known := map[string]bool{}
	for _, offer := range s.Snapshot.Source.Offers {
		known[offer.Version] = true
	}
	for i := range s.Snapshot.Upgrades {
		known[s.Snapshot.Upgrades[i].Spec.Version] = true
	}
	return known
}

// stepLabel returns the step's label: "Other" for one that this version does not know, as
// an agent may be newer.
func stepLabel(s v1alpha1.Step) string {
	if s == "" || s.Known() {
		return string(s)
	}
	return other
}

// reasonLabel returns the reason's label: "Other" for one that this version does not know.
func reasonLabel(r v1alpha1.Reason) string {
	if r == "" || r.Known() {
		return string(r)
	}
	return other
}
