package gate

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// Interval is the time between an answer and the next question.
const Interval = 10 * time.Second

// RefreshAfter is how old the time of an answer may become in the policy's status while nothing
// changes.
const RefreshAfter = time.Minute

// Keeper asks gates again and again while an upgrade is active, and keeps the answers.
type Keeper struct {
	ask      func(context.Context, v1alpha1.Gate) Answer
	onAnswer func()
	now      func() time.Time

	mu     sync.Mutex
	asking map[string]*asked     // by name; none while no upgrade is active
	before []v1alpha1.GateStatus // answers of an earlier leader: since when a gate is in its state
	wake   chan struct{}         // signals that asking has changed
}

// asked is a gate with its last answer.
type asked struct {
	gate       v1alpha1.Gate
	status     *v1alpha1.GateStatus // nil: there is no answer yet
	at         time.Time            // of the answer; the clock may be set meanwhile
	flying     bool                 // it is being asked
	reportedAt time.Time            // when onAnswer was called last
}

// NewKeeper returns a Keeper that asks by ask, and calls onAnswer after an answer that differs from
// the one before.
func NewKeeper(ask func(context.Context, v1alpha1.Gate) Answer, onAnswer func(), now func() time.Time) *Keeper {
	return &Keeper{ask: ask, onAnswer: onAnswer, now: now, asking: map[string]*asked{}, wake: make(chan struct{}, 1)}
}

// Follow has the gates asked from now on; none: no upgrade is active. before are the answers that
// the policy has.
func (k *Keeper) Follow(gates []v1alpha1.Gate, before []v1alpha1.GateStatus) {
	k.mu.Lock()
	defer k.mu.Unlock()
	news := false
	asking := make(map[string]*asked, len(gates))
	for _, g := range gates {
		if was := k.asking[g.Name]; was != nil && reflect.DeepEqual(was.gate, g) {
			asking[g.Name] = was
			continue
		}
		asking[g.Name], news = &asked{gate: g}, true
	}
	if news {
		k.before = before
		select {
		case k.wake <- struct{}{}:
		default: // already signalled
		}
	}
	k.asking = asking
}

// Answers returns the last answer of each gate that is asked and has been answered, in the order of
// gates. One that is too old, or not of the past, is Unknown.
func (k *Keeper) Answers(gates []v1alpha1.Gate) []v1alpha1.GateStatus {
	k.mu.Lock()
	defer k.mu.Unlock()
	var list []v1alpha1.GateStatus
	for _, g := range gates {
		if one := k.asking[g.Name]; one != nil && one.status != nil && reflect.DeepEqual(one.gate, g) {
			status, counts := one.current(k.now())
			if !counts {
				one.reportedAt = time.Time{} // the next answer is news
			}
			list = append(list, status)
		}
	}
	return list
}

// age returns how old the answer is by the clock that cannot be set, or by the wall clock if that says
// more. It is less than zero if the wall clock was set back behind the answer.
func (one *asked) age(now time.Time) time.Duration {
	byWall := now.Round(0).Sub(one.status.AskedTime.Time)
	if byWall < 0 {
		return byWall
	}
	return max(byWall, now.Sub(one.at))
}

// dueIn returns when the next question is due.
func (one *asked) dueIn(now time.Time) time.Duration {
	if one.status == nil || one.age(now) < 0 {
		return 0
	}
	return max(0, Interval-one.age(now))
}

// current returns the last answer as it is to be taken now, and whether it still counts.
func (one *asked) current(now time.Time) (status v1alpha1.GateStatus, counts bool) {
	status = *one.status
	lasts := 2*Interval + time.Duration(one.gate.TimeoutSeconds)*time.Second
	since := status.AskedTime.Add(lasts)
	switch age := one.age(now); {
	case age < 0:
		since = now.UTC().Truncate(time.Second)
		status.Message = "the coordinator's clock was set back after the last answer"
	case age > lasts:
		status.Message = "there is no answer after that of " + clusterstate.FormatTime(status.AskedTime.Time)
	default:
		return status, true
	}
	status.State, status.SinceTime, status.Ran = v1alpha1.GateUnknown, metav1.NewTime(since), nil
	return status, false
}

// Run asks until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		for _, one := range k.due() {
			running.Go(func() { k.question(ctx, one) })
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-k.wake:
		}
	}
}

// AskDue asks the gates that are due, one after the other.
func (k *Keeper) AskDue(ctx context.Context) {
	for _, one := range k.due() {
		k.question(ctx, one)
	}
}

// Due returns when the next question is due. Nil: no gate is asked.
func (k *Keeper) Due() *time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	var first *time.Time
	for _, one := range k.asking {
		at := k.now().Add(one.dueIn(k.now()))
		if first == nil || at.Before(*first) {
			first = &at
		}
	}
	return first
}

// due returns the gates whose next question is due. They are not due again before they are answered.
func (k *Keeper) due() []*asked {
	k.mu.Lock()
	defer k.mu.Unlock()
	var list []*asked
	for _, one := range k.asking {
		if !one.flying && one.dueIn(k.now()) == 0 {
			one.flying = true
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b *asked) int { return strings.Compare(a.gate.Name, b.gate.Name) })
	return list
}

// question asks a gate, and keeps the answer.
func (k *Keeper) question(ctx context.Context, one *asked) {
	answer := k.ask(ctx, one.gate)
	if ctx.Err() != nil {
		return
	}
	if k.keep(one, answer) {
		k.onAnswer()
	}
}

// keep stores an answer, and reports whether it is news, or RefreshAfter has passed since the last.
func (k *Keeper) keep(one *asked, answer Answer) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	one.at = k.now()
	now := metav1.NewTime(one.at.UTC().Truncate(time.Second))
	status := &v1alpha1.GateStatus{Name: one.gate.Name, State: answer.State, Message: answer.Message, SinceTime: now, AskedTime: now, Ran: answer.Ran}
	was := one.status
	if was == nil {
		was = k.earlier(status)
	}
	if was != nil && was.State == status.State && !was.SinceTime.After(now.Time) {
		status.SinceTime = was.SinceTime
	}
	news := one.status == nil || was.State != status.State || was.Message != status.Message || !reflect.DeepEqual(was.Ran, status.Ran) ||
		one.at.Sub(one.reportedAt).Abs() >= RefreshAfter
	if news {
		one.reportedAt = one.at
	}
	one.status, one.flying = status, false
	return news
}

// earlier returns the answer of an earlier leader to the same gate, if that is not long ago.
func (k *Keeper) earlier(status *v1alpha1.GateStatus) *v1alpha1.GateStatus {
	for i := range k.before {
		if one := &k.before[i]; one.Name == status.Name && status.AskedTime.Sub(one.AskedTime.Time).Abs() < 2*RefreshAfter {
			return one
		}
	}
	return nil
}
