package notice

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/metrics"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/notice/wire"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/secret"
)

const (
	// maxRunning is how many notices are sent at a time, and of them one for each notice of the
	// policy: an address that hangs holds up no other.
	maxRunning = 4
	// firstPause is the pause after a first failure. It doubles with each, up to longestPause.
	firstPause, longestPause = 10 * time.Second, 5 * time.Minute
	// giveUpAfter is for how long an event is retried.
	giveUpAfter = time.Hour
	// failuresToReport is how often in a row sending must fail for the condition, if it may
	// succeed by itself.
	failuresToReport = 3
)

// The reason of a problem that is not about a Secret.
const reasonNotSent = "NotSent"

// Sender sends notices. Its methods do not block.
type Sender struct {
	secrets typedcorev1.SecretsGetter
	send    func(context.Context, wire.Message) wire.Answer
	pause   time.Duration
	log     *slog.Logger
	counts  *metrics.Metrics
	onNews  func()
	changed chan struct{}

	mutex   sync.Mutex
	notices []v1alpha1.Notice
	pending []Pending
	results map[Key]Result
	states  map[string]*state // by the notice's name
	running int
}

// state is how sending one notice goes.
type state struct {
	notice   v1alpha1.Notice
	running  bool
	tried    bool // since this replica leads
	failures int  // in a row
	next     time.Time
	problem  *Trouble // the last attempt's; nil: it succeeded
}

// Trouble is why a notice cannot be sent.
type Trouble struct {
	Notice  string
	Reason  string
	Message string
	Fix     string // a command or manifest that solves it; empty: there is none
	lasts   bool   // does not pass by itself
}

// Config is what a Sender needs.
type Config struct {
	Secrets typedcorev1.SecretsGetter
	// Program is the program that sends one notice, with its arguments.
	Program []string
	Log     *slog.Logger
	Metrics *metrics.Metrics
	// OnNews is called when Results or Troubles changed.
	OnNews func()
	// Pause is the pause after a first failure. Zero: the default.
	Pause time.Duration
}

// NewSender returns a Sender, which sends while it runs.
func NewSender(c Config) *Sender {
	return &Sender{
		secrets: c.Secrets, log: c.Log, counts: c.Metrics, onNews: c.OnNews, pause: cmp.Or(c.Pause, firstPause),
		send:    func(ctx context.Context, o wire.Message) wire.Answer { return runProgram(ctx, c.Program, o) },
		changed: make(chan struct{}, 1), results: map[Key]Result{}, states: map[string]*state{},
	}
}

// Update sets the policy's notices, and what statuses say is still to be sent.
func (s *Sender) Update(notices []v1alpha1.Notice, pending []Pending) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.notices, s.pending = notices, pending
	for name := range s.states {
		if !slices.ContainsFunc(notices, func(n v1alpha1.Notice) bool { return n.Name == name }) {
			delete(s.states, name)
		}
	}
	for _, n := range notices {
		if known := s.states[n.Name]; known == nil || !reflect.DeepEqual(known.notice, n) {
			s.states[n.Name] = &state{notice: n, running: known != nil && known.running}
		}
	}
	for key := range s.results { // it is in the status now
		if !slices.ContainsFunc(pending, func(p Pending) bool { return p.Key == key }) {
			delete(s.results, key)
		}
	}
	s.signal()
}

func (s *Sender) signal() {
	select {
	case s.changed <- struct{}{}:
	default: // already signalled
	}
}

// Results returns what came of events that statuses still call pending.
func (s *Sender) Results() map[Key]Result {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	results := make(map[Key]Result, len(s.results))
	for key, result := range s.results {
		results[key] = result
	}
	return results
}

// Troubles returns which notices cannot be sent, in the policy's order, and whether every notice was
// tried since this replica leads.
func (s *Sender) Troubles() (list []Trouble, allTried bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	allTried = true
	for _, n := range s.notices {
		one := s.states[n.Name]
		allTried = allTried && one.tried
		if p := one.problem; p != nil && (p.lasts || one.failures >= failuresToReport) {
			list = append(list, *p)
		}
	}
	return list, allTried
}

// Run sends until ctx ends.
func (s *Sender) Run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	for {
		next := s.startDue(ctx, &group)
		select {
		case <-ctx.Done():
			return
		case <-s.changed:
		case <-time.After(next):
		}
	}
}

// startDue starts an attempt for each notice for which one is due. It returns when the next is.
func (s *Sender) startDue(ctx context.Context, group *sync.WaitGroup) time.Duration {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	next := longestPause
	for i := range s.notices {
		one := s.states[s.notices[i].Name]
		p := s.first(one.notice.Name)
		// Only an event shows whether the address answers; whether its Secret and its template are
		// right is checked without one.
		if known := one.tried && (one.problem == nil || !one.problem.lasts); one.running || p == nil && known {
			continue
		}
		if wait := time.Until(one.next); wait > 0 {
			next = min(next, wait)
			continue
		}
		if s.running < maxRunning {
			s.running++
			one.running = true
			group.Go(func() { s.attempt(ctx, one.notice, p) })
		}
	}
	return next
}

// first returns the oldest event that is to be sent to the notice; nil: there is none.
func (s *Sender) first(name string) *Pending {
	for i := range s.pending {
		if key := s.pending[i].Key; key.Notice == name && s.results[key] == 0 {
			return &s.pending[i]
		}
	}
	return nil
}

// attempt sends an event to a notice; nil: it checks whether it could.
func (s *Sender) attempt(ctx context.Context, n v1alpha1.Notice, p *Pending) {
	trouble := s.trySending(ctx, n, p)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	defer s.signal()
	s.running--
	if ctx.Err() != nil {
		return
	}
	one := s.states[n.Name]
	if one == nil {
		return // the policy does not have it any more
	}
	one.running = false
	if !reflect.DeepEqual(one.notice, n) {
		trouble = nil // the notice has another Secret or template now, which is tried next
	} else {
		one.tried, one.problem = true, trouble
	}
	if trouble != nil {
		one.failures++
		longest := longestPause
		if trouble.lasts { // to look again is cheap
			longest = 3 * s.pause
		}
		one.next = time.Now().Add(min(s.pause<<min(one.failures-1, 10), longest))
		s.log.Warn("a notice could not be sent", "notice", n.Name, "attempt", one.failures, "problem", trouble.Message)
		s.count(n.Name, metrics.NoticeFailed, p)
		s.giveUp(n.Name)
	} else {
		one.failures, one.next = 0, time.Time{}
		if p != nil && one.tried {
			s.results[p.Key] = Sent
			s.log.Info("a notice was sent", "notice", n.Name, "event", p.Data.Event, "upgrade", p.Data.Upgrade, "id", p.ID)
			s.count(n.Name, metrics.NoticeSent, p)
		}
	}
	s.onNews()
}

func (s *Sender) count(name, result string, p *Pending) {
	if p != nil {
		s.counts.Notice(name, result)
	}
}

// giveUp gives up the events that were retried for long enough.
func (s *Sender) giveUp(name string) {
	for i := range s.pending {
		p := &s.pending[i]
		if p.Notice == name && s.results[p.Key] == 0 && time.Since(p.Time) > giveUpAfter {
			s.results[p.Key] = GaveUp
			s.log.Error("a notice is given up", "notice", name, "event", p.Data.Event, "upgrade", p.Data.Upgrade, "id", p.ID)
			s.count(name, metrics.NoticeGaveUp, p)
		}
	}
}

// trySending sends an event; nil: it checks whether one could be sent. It returns what went wrong.
func (s *Sender) trySending(ctx context.Context, n v1alpha1.Notice, p *Pending) *Trouble {
	ctx, stop := context.WithTimeout(ctx, wire.Timeout)
	defer stop()
	address, err := secret.Read(ctx, s.secrets, n.URLSecretRef.Or(v1alpha1.URLKey))
	var problem *secret.Problem
	if errors.As(err, &problem) {
		return &Trouble{Notice: n.Name, Reason: problem.Reason, Message: problem.Message, Fix: problem.Fix, lasts: problem.Fix != ""}
	}
	o := wire.Message{URL: address, Template: n.Template, CheckOnly: p == nil}
	if p != nil {
		o.Data = p.Data
	}
	if answer := s.send(ctx, o); answer.Problem != "" {
		return &Trouble{Notice: n.Name, Reason: reasonNotSent, Message: problemText(answer), lasts: !problemPasses(answer)}
	}
	return nil
}

// Message returns the troubles as a condition's message, with the reason of the first. Its first line
// is all of them; what solves them follows.
func Message(troubles []Trouble) (reason, message string) {
	var list, fixes []string
	for _, t := range troubles {
		list = append(list, "notice "+t.Notice+": "+t.Message)
		if t.Fix != "" && !slices.Contains(fixes, t.Fix) {
			fixes = append(fixes, t.Fix)
		}
	}
	message = strings.Join(list, "; ")
	if fixes != nil {
		message += "\n" + strings.Join(fixes, "---\n")
	}
	return troubles[0].Reason, message
}
