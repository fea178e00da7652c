package sim

import (
	"container/heap"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// world is one simulated cluster and its clock, which is that of a bubble of
// testing/synctest: time passes only when the loop sleeps until the next event.
type world struct {
	script  script
	started time.Time
	events  events
	count   int
	rng     *rand.Rand
	api     *api
	turns   *turns
	nodes   []*node
	log     *slog.Logger

	agents       map[string]*agentProgram // by node
	coordinators [2]*coordinatorProgram

	apiDownUntil            time.Time
	coordinatorStoppedUntil time.Time // coordinators do not start
	waiting                 []fault   // for a node to enter a step
	published               string    // the digest of the image that the source offers
	findings                []v1alpha1.Finding
	blockedSince            time.Time                     // there are findings
	checks                  []checked                     // that coordinators made
	offersNext              bool                          // the source has script.next too
	approved                tree                          // what people have approved of all upgrades
	budgets                 []budget                      // of the upgrades that people ask for
	policyBudgets           []budget                      // of those that the UpgradePolicy asks for
	policy                  tree                          // the spec that people want the UpgradePolicy to have
	policyDeleted           bool                          // it was deleted, and is not there again
	gates                   map[string]v1alpha1.GateState // what they are answered with, by name
	asked                   int                           // upgrades that Cluster API has created
	hooked                  hooked
	edited                  map[string]editedLease // by the slot's name
	since                   map[string]time.Time   // when people began to hold something, by what
	decidedAt               time.Time              // when the last plan began that knew everything
	wroteAt                 time.Time              // when an object changed last, Jobs aside
	explained               map[string]bool        // nodes that may fail, because of a fault; or all
	snapshots               map[string]int         // of etcd, by the upgrade's UID
	fixed                   map[string]string      // the digest fixed at the trigger, by the upgrade's UID
	ended                   map[string]int         // the boot of a node that an upgrade ends, whether the node asks or not
	foreign                 map[string]bool        // nodes that a person cordoned
	lastHolder              map[string]string      // of each Lease
	specChangedAt           map[string]time.Time   // when the spec of a NodeUpgrade changed
	lastStep                map[string]v1alpha1.Step
	recreatedAt             time.Time            // when a ClusterUpgrade was created or deleted
	rollbacks               []string             // versions that people asked to take nodes back to
	liars                   map[string]*liar     // by node
	lied                    map[string]bool      // nodes whose agents have lied
	began                   map[string]bool      // upgrades in which a node has taken a slot, by UID
	coordinatorsClock       time.Duration        // by how much it was set
	jobsSay                 string               // why they fail
	takenBack               map[string]time.Time // versions, as coordinators have said
	suspects                map[string][]string  // nodes that failed for what may be the version's fault, by the upgrade's UID
	begins                  int
	repaired                bool
	meeting                 []fault         // what is to happen in the next renewal of certificates
	renewals                map[string]bool // upgrades that renew certificates, by UID
	calmSince               time.Time       // nothing is in the way of renewals since; zero: something is

	verbose bool
	trace   []string
	failure string // the first promise that was broken
	steps   int

	recorded recorded
	reads    []access
	writes   []access

	// In a chain.
	history  history
	followed int               // nodes that began with what the leader has soaked
	kubelets map[string]string // the version that ran last, by the node's UID
	ran      map[string]bool   // by the node's UID and the version
	versions map[string]string // of upgrades, by UID
}

// event happens at a time.
type event struct {
	at   time.Time
	seq  int
	name string
	do   func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	if !e[i].at.Equal(e[j].at) {
		return e[i].at.Before(e[j].at)
	}
	return e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	*e = old[:len(old)-1]
	return last
}

func (w *world) now() time.Time { return time.Now() }

// after schedules an event.
func (w *world) after(d time.Duration, name string, do func()) {
	w.count++
	heap.Push(&w.events, event{at: w.now().Add(d), seq: w.count, name: name, do: do})
}

// noise returns a random number below n, which only makes delays differ; 0 in a shrunk
// story without noise.
func (w *world) noise(n int) int {
	if n <= 0 || w.script.NoNoise {
		return 0
	}
	return w.rng.IntN(n)
}

// note adds a line to the story.
func (w *world) note(format string, args ...any) {
	if w.verbose {
		w.trace = append(w.trace, fmt.Sprintf("%9s  ", w.now().Sub(w.started).Round(10*time.Millisecond))+fmt.Sprintf(format, args...))
	}
}

// broken notes that a promise was broken. Only the first counts.
func (w *world) broken(promise, format string, args ...any) {
	if w.failure == "" {
		w.failure = promise + ": " + fmt.Sprintf(format, args...)
		w.note("BROKEN %s", w.failure)
	}
}

// run carries out events until a promise is broken, or until is reached, or done. A panic
// of the product counts as a broken promise.
func (w *world) run(until time.Time, done func() bool) {
	defer func() {
		if what := recover(); what != nil {
			w.broken("panic", "%v\n%s", what, debug.Stack())
		}
	}()
	for len(w.events) > 0 && w.failure == "" {
		next := heap.Pop(&w.events).(event)
		if next.at.After(until) {
			heap.Push(&w.events, next)
			time.Sleep(until.Sub(w.now()))
			return
		}
		if d := next.at.Sub(w.now()); d > 0 {
			time.Sleep(d)
		}
		w.steps++
		next.do()
		w.checkState()
		if w.script.Follows != nil {
			w.noteMoment()
		}
		if done() {
			return
		}
	}
}

// story returns the trace.
func (w *world) story() string { return strings.Join(w.trace, "\n") }
