package metrics

import (
	"context"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	clientmetrics "k8s.io/client-go/tools/metrics"
)

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
