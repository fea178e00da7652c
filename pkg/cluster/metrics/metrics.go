package metrics

import (
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// Metrics are the metrics of one replica. All methods may be called on nil, which does
// nothing.
type Metrics struct {
	registry *prometheus.Registry
	state    atomic.Pointer[State] // nil: this replica does not lead
	now      func() time.Time
	fleet    map[string]*prometheus.Desc // of the metrics that are computed from state
	steps    stepTimes

	leading, lastPlan, sourceLastRead prometheus.Gauge
	plans, sourceReads                *prometheus.CounterVec
	client                            clientMetrics

	versions, budgets vocabulary
}

// State is what the fleet's metrics are computed from.
type State struct {
	// Snapshot is what was read last, with the policy's status as it should be.
	Snapshot fleet.Snapshot
	// Plan is what was decided on it.
	Plan plan.Plan
	// Agents returns how many agents should run, and how many are Ready.
	Agents func() (desired, ready int)
}

// New returns the metrics of a replica of that version.
func New(version string, now func() time.Time) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), now: now, fleet: map[string]*prometheus.Desc{},
		versions: vocabulary{limit: maxVersions}, budgets: vocabulary{limit: maxBudgets}}
	m.leading, m.lastPlan, m.sourceLastRead = newGauge(leader), newGauge(lastPlan), newGauge(sourceLastRead)
	m.plans, m.sourceReads = newCounters(plans), newCounters(sourceReads)
	m.client = newClientMetrics()
	m.steps = newStepTimes()
	m.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.leading, m.client.requests, m.client.durations, newInfo(buildInfo, version, runtime.Version()),
	)
	for _, row := range Table {
		if row.Type == Gauge && !row.EachReplica && row.Name != lastPlan && row.Name != sourceLastRead {
			m.fleet[row.Name] = prometheus.NewDesc(row.FullName(), row.Help, row.Labels, nil)
		}
	}
	m.registry.MustRegister(collector{m})
	return m
}

// Handler returns the handler that serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 3, Timeout: 30 * time.Second})
}

// Lead marks this replica as the leader. The caller calls end when it is not any more.
func (m *Metrics) Lead() (end func()) {
	if m == nil {
		return func() {}
	}
	m.leading.Set(1)
	return func() {
		m.leading.Set(0)
		m.state.Store(nil)
		m.steps.forget()
	}
}

// Planned stores what the leader read and decided at an instant.
func (m *Metrics) Planned(s State, at time.Time) {
	if m == nil {
		return
	}
	m.steps.count(s.Snapshot.NodeUpgrades)
	m.lastPlan.Set(unix(at))
	// What no metric needs is not kept in memory.
	s.Snapshot.Inventories, s.Snapshot.Webhooks, s.Snapshot.RebootManagers = nil, nil, nil
	m.state.Store(&s)
}

// The results of a plan.
const (
	ResultOK       = "OK"
	ResultConflict = "Conflict"
	ResultFailed   = "Failed"
)

// CarriedOut counts a plan that was carried out.
func (m *Metrics) CarriedOut(result string) {
	if m != nil {
		m.plans.WithLabelValues(result).Inc()
	}
}

// SourceRead counts a read of the index of images. The reason is that of its problem.
func (m *Metrics) SourceRead(problem v1alpha1.Reason) {
	switch {
	case m == nil:
	case problem != "":
		m.sourceReads.WithLabelValues(string(problem)).Inc()
	default:
		m.sourceReads.WithLabelValues(ResultOK).Inc()
		m.sourceLastRead.Set(unix(m.now()))
	}
}

func newGauge(name string) prometheus.Gauge {
	row := lookup(name)
	return prometheus.NewGauge(prometheus.GaugeOpts{Name: row.FullName(), Help: row.Help})
}

func newInfo(name string, values ...string) prometheus.Gauge {
	row := lookup(name)
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: row.FullName(), Help: row.Help}, row.Labels).WithLabelValues(values...)
	info.Set(1)
	return info
}

func newCounters(name string) *prometheus.CounterVec {
	row := lookup(name)
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: row.FullName(), Help: row.Help}, row.Labels)
}

func newHistograms(name string, buckets []float64) *prometheus.HistogramVec {
	row := lookup(name)
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: row.FullName(), Help: row.Help, Buckets: buckets}, row.Labels)
}

// unix returns an instant as Prometheus writes it.
func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
