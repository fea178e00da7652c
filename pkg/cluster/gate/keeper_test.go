package gate_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/gate"
)

// asker answers, and notes what it was asked when.
type asker struct {
	sync.Mutex
	began  time.Time
	asked  map[string][]time.Duration
	answer map[string]gate.Answer
	lasts  map[string]time.Duration
	told   int
}

func (a *asker) ask(ctx context.Context, g v1alpha1.Gate) gate.Answer {
	a.Lock()
	a.asked[g.Name] = append(a.asked[g.Name], time.Since(a.began))
	answer, lasts := a.answer[g.Name], a.lasts[g.Name]
	a.Unlock()
	select {
	case <-time.After(lasts):
	case <-ctx.Done():
	}
	return answer
}

func (a *asker) tell() {
	a.Lock()
	defer a.Unlock()
	a.told++
}

func (a *asker) set(name string, state v1alpha1.GateState, message string) {
	a.Lock()
	defer a.Unlock()
	a.answer[name] = gate.Answer{State: state, Message: message}
}

// delay has the gate answer later from now on.
func (a *asker) delay(name string, lasts time.Duration) {
	a.Lock()
	defer a.Unlock()
	a.lasts[name] = lasts
}

// tellings returns how often it was told that an answer differs.
func (a *asker) tellings() int {
	a.Lock()
	defer a.Unlock()
	return a.told
}

// times returns when a gate was asked.
func (a *asker) times(name string) []time.Duration {
	a.Lock()
	defer a.Unlock()
	return slices.Clone(a.asked[name])
}

// questions returns how many gates were asked.
func (a *asker) questions() int {
	a.Lock()
	defer a.Unlock()
	return len(a.asked)
}

// keep runs a Keeper in a bubble of synctest.
func keep(t *testing.T, test func(t *testing.T, a *asker, k *gate.Keeper)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a := &asker{began: time.Now(), asked: map[string][]time.Duration{}, answer: map[string]gate.Answer{}, lasts: map[string]time.Duration{}}
		k := gate.NewKeeper(a.ask, a.tell, time.Now)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); k.Run(ctx) }()
		test(t, a, k)
		cancel()
		<-done
	})
}

// pass lets time pass, and waits until every goroutine of the bubble waits for something.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func gates(names ...string) (list []v1alpha1.Gate) {
	for _, name := range names {
		list = append(list, v1alpha1.Gate{Name: name})
	}
	return list
}

// TestKeeperAsksWhileActive checks that gates are asked every ten seconds, a slow one does not
// delay the others, and nothing is asked before or after.
func TestKeeperAsksWhileActive(t *testing.T) {
	keep(t, func(t *testing.T, a *asker, k *gate.Keeper) {
		a.set("fast", v1alpha1.GateOpen, "x")
		a.set("slow", v1alpha1.GateOpen, "y")
		a.delay("slow", 25*time.Second)
		pass(time.Minute)
		if a.questions() > 0 || k.Due() != nil {
			t.Fatal("it was asked without an upgrade")
		}
		k.Follow(gates("slow", "fast"), nil)
		pass(0) // Run asks at once, and slow answers later
		if got := k.Answers(gates("slow", "fast")); len(got) != 1 || got[0].Name != "fast" {
			t.Fatalf("the answers after the first question are %v, want one of fast", got)
		}
		pass(39 * time.Second)
		second := time.Second
		if want := []time.Duration{60 * second, 70 * second, 80 * second, 90 * second}; !slices.Equal(a.times("fast"), want) {
			t.Errorf("fast was asked at %v, want %v", a.times("fast"), want)
		}
		if want := []time.Duration{60 * second, 95 * second}; !slices.Equal(a.times("slow"), want) {
			t.Errorf("slow was asked at %v, want %v", a.times("slow"), want)
		}
		k.Follow(nil, nil)
		pass(time.Hour)
		if len(a.times("fast")) != 4 || len(k.Answers(gates("slow", "fast"))) > 0 {
			t.Errorf("after the upgrade fast was asked at %v, and the answers are %v", a.times("fast"), k.Answers(gates("slow", "fast")))
		}
	})
}

// TestKeeperSaysSinceWhen checks since when a gate is in its state, also after a change of leader,
// that changes are told, and that a changed gate has no answer.
func TestKeeperSaysSinceWhen(t *testing.T) {
	keep(t, func(t *testing.T, a *asker, k *gate.Keeper) {
		before := time.Now().Add(-time.Hour).UTC()
		earlier := func(asked time.Time) []v1alpha1.GateStatus {
			return []v1alpha1.GateStatus{{Name: "g", State: v1alpha1.GateClosed, SinceTime: metav1.NewTime(before), AskedTime: metav1.NewTime(asked)}}
		}
		status := func() v1alpha1.GateStatus {
			t.Helper()
			list := k.Answers(gates("g"))
			if len(list) != 1 {
				t.Fatalf("answers: %v", list)
			}
			return list[0]
		}
		a.set("g", v1alpha1.GateClosed, "2 alerts")
		k.Follow(gates("g"), earlier(time.Now().Add(-time.Minute)))
		pass(5 * time.Second)
		if got := status(); !got.SinceTime.Equal(new(metav1.NewTime(before))) || a.tellings() != 1 {
			t.Errorf("the next leader says since %s, and told %d times, want since %s, 1", got.SinceTime, a.tellings(), before)
		}
		pass(40 * time.Second)
		if a.tellings() != 1 {
			t.Errorf("told %d times although nothing changed", a.tellings())
		}
		pass(40 * time.Second)
		if a.tellings() != 2 {
			t.Errorf("told %d times in 85 s, want 2: the time in the status is at most a minute old", a.tellings())
		}
		a.set("g", v1alpha1.GateOpen, "none")
		changed := time.Now()
		pass(10 * time.Second)
		if got := status(); got.State != v1alpha1.GateOpen || got.SinceTime.Time.Before(changed) || a.tellings() != 3 {
			t.Errorf("got %+v, told %d times", got, a.tellings())
		}
		other := []v1alpha1.Gate{{Name: "g", TimeoutSeconds: 7}}
		if got := k.Answers(other); len(got) > 0 {
			t.Errorf("a changed gate has the answer of the former one: %v", got)
		}
		a.delay("g", time.Second)
		k.Follow(other, nil)
		pass(0)
		if got := k.Answers(other); len(got) > 0 {
			t.Errorf("a changed gate has the answer of the former one: %v", got)
		}
		k.Follow(nil, nil)
		pass(time.Minute)
		a.delay("g", 0)
		a.set("g", v1alpha1.GateClosed, "again")
		k.Follow(gates("g"), earlier(time.Now().Add(-time.Hour)))
		pass(time.Second)
		if got := status(); got.SinceTime.Time.Equal(before) {
			t.Error("a state of an hour ago is taken to have lasted")
		}
	})
}

// TestKeeperAfterTheClockWasSetBack checks that an answer of the future opens nothing, and that the
// gate is asked at once.
func TestKeeperAfterTheClockWasSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var step time.Duration
		a := &asker{began: time.Now(), asked: map[string][]time.Duration{}, answer: map[string]gate.Answer{}, lasts: map[string]time.Duration{}}
		k := gate.NewKeeper(a.ask, a.tell, func() time.Time { return time.Now().Round(0).Add(step) })
		a.set("g", v1alpha1.GateOpen, "no alerts")
		k.Follow(gates("g"), nil)
		k.AskDue(t.Context())
		state := func() v1alpha1.GateStatus { return k.Answers(gates("g"))[0] }
		if got := state(); got.State != v1alpha1.GateOpen {
			t.Fatalf("got %+v", got)
		}
		step = -time.Hour
		if got := state(); got.State != v1alpha1.GateUnknown || got.SinceTime.After(time.Now().Add(step)) {
			t.Errorf("an answer of the future counts: %+v", got)
		}
		if due := k.Due(); due.After(time.Now().Add(step)) {
			t.Errorf("the next question is due in %s", due.Sub(time.Now().Add(step)))
		}
		a.set("g", v1alpha1.GateClosed, "2 alerts")
		k.AskDue(t.Context())
		if got := state(); got.State != v1alpha1.GateClosed {
			t.Errorf("it was not asked: %+v", got)
		}
		time.Sleep(time.Minute)
		a.set("g", v1alpha1.GateClosed, "2 alerts")
		k.AskDue(t.Context())
		if got := state(); got.SinceTime.After(time.Now().Add(step)) || got.State != v1alpha1.GateClosed {
			t.Errorf("got %+v", got)
		}
	})
}

// TestKeeperOldAnswer checks that an answer counts for twice the interval and the gate's timeout, while
// the next question hangs.
func TestKeeperOldAnswer(t *testing.T) {
	keep(t, func(t *testing.T, a *asker, k *gate.Keeper) {
		g := []v1alpha1.Gate{{Name: "g", TimeoutSeconds: 5}}
		a.set("g", v1alpha1.GateOpen, "no alerts")
		k.Follow(g, nil)
		pass(time.Second)
		a.delay("g", 10*time.Minute)
		pass(23 * time.Second)
		if got := k.Answers(g)[0]; got.State != v1alpha1.GateOpen {
			t.Errorf("after 24 s: %+v", got)
		}
		pass(2 * time.Second)
		first := k.Answers(g)[0]
		if first.State != v1alpha1.GateUnknown || !first.SinceTime.Time.Equal(a.began.Add(25*time.Second)) {
			t.Errorf("after 26 s: %+v", first)
		}
		pass(time.Minute)
		if later := k.Answers(g)[0]; later.Message != first.Message || !later.SinceTime.Equal(&first.SinceTime) {
			t.Errorf("it is another state a minute later: %+v and %+v", first, later)
		}
		told := a.tellings()
		a.delay("g", 0)
		pass(10 * time.Minute)
		if got := k.Answers(g)[0]; got.State != v1alpha1.GateOpen || a.tellings() == told {
			t.Errorf("after the next answer: %+v, told %d times and %d before", got, a.tellings(), told)
		}
	})
}
