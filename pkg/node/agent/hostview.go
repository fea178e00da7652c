package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// How old facts may be, and how soon a failed request is repeated.
const (
	factsAge        = 5 * time.Minute
	factsAgeProblem = 15 * time.Second // while there is a problem that a person may fix, or the guard may act
	factsRetry      = 10 * time.Second
)

// hostView holds the last facts of the host's files.
type hostView struct {
	facts *host.Facts
	after string    // the upgrade and the work that facts were gathered after
	at    time.Time // when they were asked for
	asked question
	wrong string // why the last gathering failed
}

// question is one request for facts. Its key is never used twice: the answer to
// an older one may be from another boot.
type question struct {
	key   string
	after string
	at    time.Time
	open  bool
}

// gather takes the result of the last request, and requests facts again if they are too
// old. Old facts remain valid until then, unless a verb has ended or another upgrade was
// requested since.
func (a *Agent) gather(ctx context.Context, o machine.Observation, after string) error {
	running, last, err := a.Host.Last(ctx, verb.Facts)
	if err != nil || running {
		return err
	}
	seen := &a.seen
	if seen.asked.open && last != nil && last.Key == seen.asked.key {
		if err := seen.answer(last); err != nil {
			return err
		}
	}
	age := o.Now.Sub(seen.asked.at)
	stale := seen.facts == nil || seen.wrong != "" || seen.after != after || age >= seen.maxAge() ||
		seen.at.Before(machine.HostSince(a.state, o, seen.facts.ConfProblem))
	if (seen.asked.open || seen.wrong != "") && age < factsRetry {
		stale = false
	}
	if stale {
		return a.requestFacts(ctx, o.Now, after)
	}
	if seen.wrong != "" {
		return errors.New(seen.wrong)
	}
	return nil
}

func (h *hostView) answer(last *verb.Result) error {
	h.asked.open, h.wrong = false, ""
	if !last.OK {
		h.wrong = "gathering the host's facts: " + last.Message
		return nil
	}
	var facts host.Facts
	if err := last.Decode(&facts); err != nil {
		return fmt.Errorf("reading the host's facts: %w", err)
	}
	h.facts, h.after, h.at = &facts, h.asked.after, h.asked.at
	return nil
}

func (a *Agent) requestFacts(ctx context.Context, now time.Time, after string) error {
	key := now.UTC().Format(time.RFC3339Nano)
	if err := a.start(ctx, verb.Facts, key, verb.Input{}); err != nil {
		return err
	}
	a.seen.asked = question{key: key, after: after, at: now, open: true}
	return nil
}

// maxAge returns how old the facts may be. The node's definitions matter only where
// Kubernetes comes as a sysext image.
func (h *hostView) maxAge() time.Duration {
	problem := h.facts.Supported && (h.facts.ConfProblem != "" || h.facts.MissingImage != "" || h.facts.Armed)
	if problem || h.facts.Guarded || h.facts.KubeletProblem != "" {
		return factsAgeProblem
	}
	return factsAge
}
