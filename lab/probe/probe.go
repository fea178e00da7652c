package probe

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
)

// Answer is what became of one question.
type Answer struct {
	Asked, Ended time.Time
	Err          error
}

// Probe asks one address again and again.
type Probe struct {
	Name   string
	url    string
	every  time.Duration
	client *http.Client

	mu      sync.Mutex
	answers []Answer
}

// New makes a probe that asks every so often, each time over a new connection,
// and gives an answer up to five seconds: a machine that is busy is no machine
// that is away. The transport says how connections are made.
func New(name, url string, transport *http.Transport, every time.Duration) *Probe {
	transport.DisableKeepAlives = true
	return &Probe{
		Name: name, url: url, every: every,
		client: &http.Client{Timeout: timelimit.Scale(5 * time.Second), Transport: transport},
	}
}

// Run asks until ctx ends. A question that hangs does not keep the next from
// being asked.
func (p *Probe) Run(ctx context.Context) {
	var open sync.WaitGroup
	defer open.Wait()
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case asked := <-tick.C:
			open.Go(func() { p.note(asked, p.Ask(context.WithoutCancel(ctx))) })
		}
	}
}

func (p *Probe) note(asked time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers = append(p.answers, Answer{Asked: asked, Ended: time.Now(), Err: err})
}

// Ask asks once, and does not note the answer.
func (p *Probe) Ask(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s: %s", response.Status, body)
	}
	return nil
}

// Answers are all so far, in the order in which they were asked.
func (p *Probe) Answers() []Answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	answers := slices.Clone(p.answers)
	slices.SortFunc(answers, func(a, b Answer) int { return a.Asked.Compare(b.Asked) })
	return answers
}
