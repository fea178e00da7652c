package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

const (
	maxQueued  = 64   // pieces of records
	maxSpans   = 2000 // in one request
	maxTries   = 4
	firstRetry = 2 * time.Second
	timeout    = 30 * time.Second
)

// Exporter sends traces to a collector. A nil Exporter sends nothing.
type Exporter struct {
	url     string
	version string
	log     *slog.Logger
	queue   chan v1alpha1.UpgradeRecord
	client  *http.Client
	pause   time.Duration // after the first try
}

// New returns an Exporter to the collector's URL, such as http://10.0.0.1:4318/v1/traces.
// It returns nil if the URL is empty.
func New(url, version string, log *slog.Logger) *Exporter {
	if url == "" {
		return nil
	}
	return &Exporter{url: url, version: version, log: log, queue: make(chan v1alpha1.UpgradeRecord, maxQueued), client: &http.Client{Timeout: timeout}, pause: firstRetry}
}

// Export queues a piece of a record. It does not wait: if too many are queued, it drops
// this one.
func (e *Exporter) Export(r v1alpha1.UpgradeRecord) {
	if e == nil {
		return
	}
	select {
	case e.queue <- r:
	default:
		e.log.Warn("the trace of an upgrade is dropped, as too many are queued", "upgrade", r.Upgrade.Name)
	}
}

// Run sends what is queued until ctx ends.
func (e *Exporter) Run(ctx context.Context) {
	for e != nil {
		select {
		case <-ctx.Done():
			return
		case r := <-e.queue:
			for some := range slices.Chunk(spans(&r), maxSpans) {
				if err := e.send(ctx, some); err != nil && ctx.Err() == nil {
					e.log.Warn("the trace of an upgrade is lost", "upgrade", r.Upgrade.Name, "error", err)
					break
				}
			}
		}
	}
}

// send sends spans, and retries a few times.
func (e *Exporter) send(ctx context.Context, some []span) error {
	body, err := json.Marshal(request{[]resourceSpans{{
		Resource:   resource{attributes([2]string{"service.name", "kubectl-upgrade"}, [2]string{"service.version", e.version})},
		ScopeSpans: []scopeSpans{{Scope: scope{Name: "kubectl-upgrade.dev/coordinator", Version: e.version}, Spans: some}},
	}}})
	if err != nil {
		return fmt.Errorf("writing a trace: %w", err)
	}
	for try, pause := 1, e.pause; ; try, pause = try+1, 2*pause {
		again, err := e.post(ctx, body)
		if err == nil || !again || try == maxTries {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// post sends a request once. again reports whether another try may succeed.
func (e *Exporter) post(ctx context.Context, body []byte) (again bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return false, fmt.Errorf("sending a trace: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := e.client.Do(request)
	if err != nil {
		return true, fmt.Errorf("sending a trace: %w", err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 512)) // only for the message
	if answer.StatusCode/100 == 2 {
		return false, nil
	}
	again = answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode >= http.StatusBadGateway
	return again, fmt.Errorf("sending a trace to %s: %s: %s", e.url, answer.Status, text)
}
