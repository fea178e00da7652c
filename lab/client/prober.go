package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// Failure is a request that was not answered.
type Failure struct {
	At  time.Time
	Err error
}

// Report counts what a Prober sent.
type Report struct {
	Sent, Answered int
	Slowest        time.Duration
	Failures       []Failure
}

// Prober asks a URL again and again, each time over a new connection.
type Prober struct {
	client *http.Client
	url    string
	every  time.Duration

	mu     sync.Mutex
	report Report
}

// NewProber makes a prober that sends a request every so often and waits up to
// five seconds for each answer.
func NewProber(c *Client, url string, every time.Duration) *Prober {
	return &Prober{
		url:   url,
		every: every,
		client: &http.Client{
			Timeout:   5 * time.Second,
			Transport: &http.Transport{DialContext: c.DialContext, DisableKeepAlives: true},
		},
	}
}

// Run sends until ctx ends, then waits for the last answers.
func (p *Prober) Run(ctx context.Context) {
	var open sync.WaitGroup
	defer open.Wait()
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			open.Go(func() { p.note(time.Now(), p.Ask(context.WithoutCancel(ctx))) })
		}
	}
}

// Ask sends one request and does not count it.
func (p *Prober) Ask(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", response.Status)
	}
	return nil
}

func (p *Prober) note(start time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.Sent++
	if err != nil {
		p.report.Failures = append(p.report.Failures, Failure{At: start, Err: err})
		return
	}
	p.report.Answered++
	p.report.Slowest = max(p.report.Slowest, time.Since(start))
}

// Report is what happened so far.
func (p *Prober) Report() Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	report := p.report
	report.Failures = append([]Failure(nil), report.Failures...)
	return report
}
