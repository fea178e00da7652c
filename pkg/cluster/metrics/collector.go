package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// collector computes the fleet's metrics from the state. It has none while the replica
// does not lead.
type collector struct{ *Metrics }

// Describe implements prometheus.Collector.
func (c collector) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range c.fleet {
		to <- desc
	}
	for _, one := range c.counted() {
		one.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	state := c.state.Load()
	if state == nil {
		return
	}
	s := &scrape{State: state, now: c.now(), descs: c.fleet, to: to, versions: &c.versions, budgets: &c.budgets}
	s.known = s.knownVersions()
	s.nodes()
	s.fleetVersions()
	s.upgrades()
	s.slots()
	s.schedules()
	s.policy()
	s.findings()
	for _, one := range c.counted() {
		one.Collect(to)
	}
}

// counted returns the leader's metrics that are not computed from the state.
func (c collector) counted() []prometheus.Collector {
	return []prometheus.Collector{c.lastPlan, c.plans, c.sourceReads, c.sourceLastRead, c.steps.durations, c.steps.handOffs}
}

// scrape is one computation of the fleet's metrics.
type scrape struct {
	*State
	now   time.Time
	descs map[string]*prometheus.Desc
	to    chan<- prometheus.Metric

	versions, budgets *vocabulary
	known             map[string]bool // versions that did not come from nodes
}

// set adds a series with the values of its labels.
func (s *scrape) set(name string, value float64, labels ...string) {
	s.to <- prometheus.MustNewConstMetric(s.descs[name], prometheus.GaugeValue, value, labels...)
}

// at adds a series whose value is an instant, unless that is nil.
func (s *scrape) at(name string, instant *time.Time, labels ...string) {
	if instant != nil && !instant.IsZero() {
		s.set(name, unix(*instant), labels...)
	}
}

// flag adds a series that is 1 if on is true, and 0 otherwise.
func (s *scrape) flag(name string, on bool, labels ...string) {
	value := 0.0
	if on {
		value = 1
	}
	s.set(name, value, labels...)
}
