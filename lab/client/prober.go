package client

import (
	"net/http"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/probe"
)

// Failure is a request that was not answered.
type Failure struct {
	At, Ended time.Time
	Err       error
}

// Report counts what a Prober sent.
type Report struct {
	Sent, Answered int
	Slowest        time.Duration
	Failures       []Failure
}

// Prober sends requests to a URL from a client machine, at a fixed interval.
type Prober struct {
	*probe.Probe
}

// NewProber returns a prober that sends a request at each interval.
func NewProber(c *Client, url string, every time.Duration) *Prober {
	return &Prober{probe.New("client", url, &http.Transport{DialContext: c.DialContext}, every)}
}

// Report returns the counts so far.
func (p *Prober) Report() Report {
	var report Report
	for _, a := range p.Answers() {
		report.Sent++
		if a.Err != nil {
			report.Failures = append(report.Failures, Failure{At: a.Asked, Ended: a.Ended, Err: a.Err})
			continue
		}
		report.Answered++
		report.Slowest = max(report.Slowest, a.Ended.Sub(a.Asked))
	}
	return report
}
