package coordinator

import (
	"maps"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// In a large cluster, the reasons of all nodes that wait may change at once. No more of them are written
// than this, so that a node that may begin does not wait for those of thousands that may not. A reason
// that passes sooner than reasonLasts is not written, and neither is the release of a node that begins sooner.
const (
	reasonsPerSecond = 50
	reasonsAtOnce    = 200
	reasonLasts      = 2 * time.Second
)

// reasons decides when the reasons of nodes that wait are written.
type reasons struct {
	limit flowcontrol.RateLimiter
	lasts time.Duration // a reason is written once it has lasted this long

	mu    sync.Mutex
	since map[string]lastingReason // by node
	later bool                     // some are not written yet
}

// lastingReason is the reason of a node that is not written yet.
type lastingReason struct {
	reason string
	since  time.Time
}

// unlimited is the limit for releases: the budget limits how many there are.
var unlimited = flowcontrol.NewFakeAlwaysRateLimiter()

// due reports whether the node's reason is to be written now, as far as it has lasted and the limit allows it.
// If not, it is later.
func (r *reasons) due(node, reason string, limit flowcontrol.RateLimiter, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, known := r.since[node]
	if !known || last.reason != reason || last.since.After(now) {
		last = lastingReason{reason, now}
	}
	if now.Sub(last.since) < r.lasts || !limit.TryAccept() {
		if r.since == nil {
			r.since = map[string]lastingReason{}
		}
		r.since[node], r.later = last, true
		return false
	}
	delete(r.since, node)
	return true
}

// takeLater reports whether reasons have to be written later, and forgets it.
func (r *reasons) takeLater() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	later := r.later
	r.later = false
	return later
}

// forget forgets the reasons of nodes that are gone.
func (r *reasons) forget(gone func(node string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.since, func(node string, _ lastingReason) bool { return gone(node) })
}

// written notes that the node's reason is what is stored.
func (r *reasons) written(node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.since, node)
}

// mayPass reports whether the reason that a node waits for, or its release, may pass before it has to be written.
// Three changes are written at once, because the next plan reads them from the condition: an agent has not answered,
// it answers again, and a release that was written has ended.
func mayPass(stored, wanted admitted) bool {
	const away = string(v1alpha1.ReasonAgentNotAnswering)
	switch {
	case wanted.condition == nil || wanted.condition.Reason == away:
		return false
	case stored.condition == nil:
		return true
	}
	return stored.condition.Reason != away && stored.condition.Status != metav1.ConditionTrue
}

// sameReason reports whether a node waits for the reason that is stored, though its order may have
// changed since.
func sameReason(stored, wanted admitted) bool {
	if stored.condition == nil || !mayPass(stored, wanted) {
		return false
	}
	was := *stored.condition
	was.ObservedGeneration = wanted.condition.ObservedGeneration
	return sameAdmitted(admitted{&was, stored.until}, wanted)
}
