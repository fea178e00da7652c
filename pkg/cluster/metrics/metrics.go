package metrics

import (
	"context"
	"net/http"
	"net/url"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	clientmetrics "k8s.io/client-go/tools/metrics"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
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
	plans, sourceReads, notices       *prometheus.CounterVec
	client                            clientMetrics

	versions, budgets, noticeNames vocabulary
}

// State is what the fleet's metrics are computed from.
type State struct {
	// Snapshot is what was read last, with the policy's status as it should be.
	Snapshot clusterstate.Snapshot
	// Plan is what was decided on it.
	Plan plan.Plan
	// Agents returns how many agents should run, and how many are Ready.
	Agents func() (desired, ready int)

	nodeCertificates []nodeCertificates
}

// New returns the metrics of a replica of that version.
func New(version string, now func() time.Time) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), now: now, fleet: map[string]*prometheus.Desc{},
		versions: vocabulary{limit: maxVersions}, budgets: vocabulary{limit: maxBudgets}, noticeNames: vocabulary{limit: maxNotices}}
	m.leading, m.lastPlan, m.sourceLastRead = newGauge(leader), newGauge(lastPlan), newGauge(sourceLastRead)
	m.plans, m.sourceReads, m.notices = newCounters(plans), newCounters(sourceReads), newCounters(notices)
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
	s.nodeCertificates = certificatesIn(&s.Snapshot)
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

// The results of an attempt to send a notice.
const (
	NoticeSent   = "Sent"
	NoticeFailed = "Failed"
	NoticeGaveUp = "GivenUp"
)

// Notice counts an attempt to send a notice of that name.
func (m *Metrics) Notice(name, result string) {
	if m == nil {
		return
	}
	if !m.noticeNames.add(name) {
		name = other
	}
	m.notices.WithLabelValues(name, result).Inc()
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
	s.certificates()
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
	return []prometheus.Collector{c.lastPlan, c.plans, c.sourceReads, c.sourceLastRead, c.notices, c.steps.durations, c.steps.handOffs, c.steps.boots}
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

// A node reports its kubelet's version, its step, its reason and the message of its drain as
// any string, and Prometheus keeps a series for each value of a label that it ever saw. So
// these labels have only values of a table, or a limited number of others.

// other is a label's value in place of one that is not in its table, or beyond its limit.
const other = "Other"

// The numbers of values that nodes may add while the program runs.
const (
	maxVersions = 64
	maxBudgets  = 256
	maxNotices  = 32 // names, which a policy may change
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

// clientMetrics are the requests to the API server.
type clientMetrics struct {
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
}

func newClientMetrics() clientMetrics {
	return clientMetrics{
		requests:  newCounters(clientRequests),
		durations: newHistograms(clientDuration, []float64{0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60}),
	}
}

// CountRequests counts the requests of all clients of this process. client-go allows
// that once.
func (m *Metrics) CountRequests() {
	clientmetrics.Register(clientmetrics.RegisterOpts{RequestResult: m.client, RequestLatency: m.client})
}

// Increment implements clientmetrics.ResultMetric.
func (c clientMetrics) Increment(_ context.Context, code, method, _ string) {
	if code == "<error>" {
		code = "error"
	}
	c.requests.WithLabelValues(method, code).Inc()
}

// Observe implements clientmetrics.LatencyMetric.
func (c clientMetrics) Observe(_ context.Context, method string, _ url.URL, took time.Duration) {
	c.durations.WithLabelValues(method).Observe(took.Seconds())
}
