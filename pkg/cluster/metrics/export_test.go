package metrics

import (
	"context"
	"net/url"
	"time"
)

// Request counts a request as client-go would.
func (m *Metrics) Request(method, code string, took time.Duration) {
	m.client.Increment(context.Background(), code, method, "")
	m.client.Observe(context.Background(), method, url.URL{}, took)
}
