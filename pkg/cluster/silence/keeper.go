package silence

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/secret"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

const (
	// Lease is how long a silence lasts. It is extended when half of that is over.
	Lease = 5 * time.Minute
	// timeout is how long one round with an Alertmanager may take.
	timeout = 10 * time.Second
	// firstPause is the pause after a first failure. It doubles with each, up to longestPause.
	firstPause, longestPause = 5 * time.Second, time.Minute
	// failuresToReport is how often in a row a failure that may pass by itself is met before it is
	// reported.
	failuresToReport = 3
)

// Keeper keeps silences while it runs. Its other methods do not block.
type Keeper struct {
	client  func(context.Context, v1alpha1.Silence) (*http.Client, error)
	log     *slog.Logger
	onNews  func()
	changed chan struct{}

	mutex sync.Mutex
	work  []Work
	known func(clusterstate.Owner) bool
	kept  []*kept
}

// kept is one silence of the policy, with what its Alertmanager has of it. Only one round at a time
// uses held, began and listed.
type kept struct {
	silence v1alpha1.Silence
	retired bool // the policy does not have it any more: what it holds is ended

	held   map[clusterstate.Owner]posted
	began  map[clusterstate.Owner]time.Time // since when a node is seen at work
	listed bool                             // the silences of the leader before are known

	answered bool // since this replica leads
	failures int  // in a row
	next     time.Time
	trouble  *Trouble
}

// Trouble is why an Alertmanager does not take a silence.
type Trouble struct {
	Silence string
	Reason  string
	Message string
	Fix     string // a command or manifest that solves it; empty: there is none
}

// ReasonNotSilenced is the reason of a Trouble that is not about a Secret.
const ReasonNotSilenced = "NotSilenced"

// Message returns the troubles as a condition's message, with the reason of the first. Its first line
// is all of them; what solves them follows.
func Message(troubles []Trouble) (reason, message string) {
	var list, fixes []string
	for _, t := range troubles {
		list = append(list, "silence "+t.Silence+": "+t.Message)
		if t.Fix != "" && !slices.Contains(fixes, t.Fix) {
			fixes = append(fixes, t.Fix)
		}
	}
	return troubles[0].Reason, strings.Join(append([]string{strings.Join(list, "; ")}, fixes...), "\n")
}

// NewKeeper returns a Keeper whose requests are made by client. onNews is called when Troubles changes.
func NewKeeper(client func(context.Context, v1alpha1.Silence) (*http.Client, error), log *slog.Logger, onNews func()) *Keeper {
	return &Keeper{client: client, log: log, onNews: onNews, changed: make(chan struct{}, 1)}
}

// Update sets the policy's silences and the nodes at work. known reports whether a node is of this
// cluster: a silence for it that the leader before has left is ended.
func (k *Keeper) Update(silences []v1alpha1.Silence, work []Work, known func(clusterstate.Owner) bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.work, k.known = work, known
	for _, one := range k.kept {
		one.retired = !slices.ContainsFunc(silences, func(s v1alpha1.Silence) bool { return reflect.DeepEqual(s, one.silence) })
	}
	for _, s := range silences {
		if !slices.ContainsFunc(k.kept, func(one *kept) bool { return reflect.DeepEqual(s, one.silence) }) {
			k.kept = append(k.kept, &kept{silence: s, held: map[clusterstate.Owner]posted{}, began: map[clusterstate.Owner]time.Time{}})
		}
	}
	select {
	case k.changed <- struct{}{}:
	default: // already signalled
	}
}

// Troubles returns which silences cannot be made, and whether each Alertmanager was tried since this
// replica leads.
func (k *Keeper) Troubles() (list []Trouble, allTried bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	allTried = true
	for _, one := range k.kept {
		t := one.trouble
		fails := t != nil && (t.Fix != "" || one.failures >= failuresToReport)
		if fails && !one.retired {
			list = append(list, *t)
		}
		allTried = allTried && (one.retired || fails || one.answered)
	}
	return list, allTried
}

// Run keeps silences until ctx ends. It leaves them as they are then: the next leader goes on, or they
// end by themselves.
func (k *Keeper) Run(ctx context.Context) {
	for ctx.Err() == nil {
		next := k.round(ctx)
		select {
		case <-ctx.Done():
		case <-k.changed:
		case <-time.After(next):
		}
	}
}

// round does what is due, for all Alertmanagers at the same time. It returns when something is due
// next.
func (k *Keeper) round(ctx context.Context) time.Duration {
	k.mutex.Lock()
	all, work, known := slices.Clone(k.kept), k.work, k.known
	k.mutex.Unlock()
	var group sync.WaitGroup
	for _, one := range all {
		group.Go(func() { k.keep(ctx, one, work, known) })
	}
	group.Wait()
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.kept = slices.DeleteFunc(k.kept, func(one *kept) bool { return one.retired && len(one.held) == 0 })
	next := time.Minute
	for _, one := range k.kept {
		next = min(next, one.dueIn(time.Now()))
	}
	return max(next, time.Second)
}

// dueIn returns for how long there is nothing to do, if no node begins or ends.
func (one *kept) dueIn(now time.Time) time.Duration {
	if one.next.After(now) {
		return one.next.Sub(now)
	}
	due := time.Minute
	for _, p := range one.held {
		if at := p.EndsAt.Add(-Lease / 2); at.After(now) {
			due = min(due, at.Sub(now))
			continue
		}
		due = min(due, max(p.EndsAt.Sub(now), 0)) // it is not extended
	}
	return due
}

// keep does what is due for one silence of the policy.
func (k *Keeper) keep(ctx context.Context, one *kept, work []Work, known func(clusterstate.Owner) bool) {
	now := time.Now()
	k.mutex.Lock()
	retired := one.retired
	k.mutex.Unlock()
	if one.next.After(now) && !retired {
		return
	}
	todo := one.plan(work, retired, now)
	first := !one.listed && !retired // this also finds out whether it answers
	if todo.empty() && !first {
		return
	}
	ctx, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	client, err := k.client(ctx, one.silence)
	if err == nil {
		server := alertmanager{client, one.silence.URL}
		if first {
			if err = one.adopt(ctx, server, work, known); err == nil {
				todo = one.plan(work, retired, now)
			}
		}
		if err == nil {
			err = one.carryOut(ctx, server, todo, now)
		}
	}
	k.note(ctx, one, err, now)
}

// note keeps what came of a round.
func (k *Keeper) note(ctx context.Context, one *kept, err error, now time.Time) {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return // this replica does not lead any more
	}
	k.mutex.Lock()
	before := one.trouble
	one.trouble = nil
	if err == nil {
		one.answered, one.failures, one.next = true, 0, time.Time{}
	} else {
		one.trouble = newTrouble(one.silence.Name, err)
		one.next = now.Add(min(firstPause<<min(one.failures, 10), longestPause))
		one.failures++
		k.log.Warn("an Alertmanager does not take a silence", "silence", one.silence.Name, "attempt", one.failures, "problem", one.trouble.Message)
	}
	news := !reflect.DeepEqual(before, one.trouble) || one.failures == failuresToReport
	k.mutex.Unlock()
	if news {
		k.onNews()
	}
}

func newTrouble(name string, err error) *Trouble {
	t := &Trouble{Silence: name, Reason: ReasonNotSilenced, Message: err.Error()}
	var problem *secret.Problem
	if errors.As(err, &problem) {
		t.Reason, t.Message, t.Fix = problem.Reason, problem.Message, problem.Fix
	}
	return t
}
