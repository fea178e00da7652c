package extension

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
)

// observed are the program's metrics.
type observed struct {
	registry *prometheus.Registry
	answers  *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newObserved(version string, waiting func() int) *observed {
	m := &observed{
		registry: prometheus.NewRegistry(),
		answers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kubectl_upgrade_capi_answers_total",
			Help: "Answers to Cluster API's hooks: Success, Waits (Cluster API is to ask again), or Failure.",
		}, []string{"hook", "answer"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "kubectl_upgrade_capi_answer_duration_seconds", Help: "How long answers to Cluster API's hooks took.",
			Buckets: []float64{.01, .05, .1, .25, .5, 1, 2, 5},
		}, []string{"hook"}),
	}
	m.registry.MustRegister(m.answers, m.duration,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "kubectl_upgrade_capi_owners_waiting",
			Help: "KubeadmControlPlanes and MachineDeployments that this replica has answered with Failure, and that wait for another answer.",
		}, func() float64 { return float64(waiting()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "kubectl_upgrade_capi_build_info", Help: "The version of the extension. The value is 1.", ConstLabels: prometheus.Labels{"version": version},
		}, func() float64 { return 1 }))
	return m
}

func (m *observed) observe(hook string, status runtimehooksv1.ResponseStatus, waits bool, took time.Duration) {
	answer := string(status)
	if waits {
		answer = "Waits"
	}
	m.answers.WithLabelValues(hook, answer).Inc()
	m.duration.WithLabelValues(hook).Observe(took.Seconds())
}

// ServeHTTP implements http.Handler.
func (m *observed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}
