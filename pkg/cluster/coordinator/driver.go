package coordinator

import (
	"context"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/gate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// Driver runs a coordinator one plan at a time, for a caller that has its own clock and
// fills the caches itself. Coordinator.Run does the same with watches and a queue.
type Driver struct {
	now         time.Time // of the last Sync
	coordinator *Coordinator
	source      clusterstate.Source
}

// NewDriver returns the Driver of a coordinator that has not begun. It writes one object
// after the other, and few reasons at once, as in a cluster of thousands.
func NewDriver(clients Clients) (*Driver, error) {
	c := New(clients)
	reader, err := snapshot.NewReader(c.kube, c.ours, func() {})
	if err != nil {
		return nil, err
	}
	c.reader, c.queue, c.writers = reader, ignored{}, 1
	c.reasons.limit = flowcontrol.NewTokenBucketRateLimiter(1, 5)
	c.offers, c.notices, c.silences = newOffers(c.log, c.metrics, func() {}), c.newSender(func() {}), c.newSilences(func() {})
	d := &Driver{coordinator: c}
	c.gates = gate.NewKeeper(c.askGate, func() {}, func() time.Time { return d.now })
	return d, nil
}

// Caches returns the stores to fill before Sync.
func (s *Driver) Caches() snapshot.Caches { return s.coordinator.reader.Caches() }

// Offer sets what the policy's source offers.
func (s *Driver) Offer(source clusterstate.Source) { s.source = source }

// Sync makes a plan and carries it out. It returns when to do so again even if nothing
// changes.
func (s *Driver) Sync(ctx context.Context, now time.Time) (again *time.Time, err error) {
	if policy := s.coordinator.reader.Policy(); policy != nil {
		s.coordinator.offers.last.Store(&reading{source: policy.Spec.Source, said: s.source})
	}
	s.now = now
	s.coordinator.gates.AskDue(ctx)
	again, err = s.coordinator.sync(ctx, now)
	if due := s.coordinator.gates.Due(); due != nil {
		again = earliest(again, due)
	}
	return again, err
}

// ignored is a queue whose items are dropped.
type ignored struct {
	workqueue.TypedRateLimitingInterface[string]
}

func (ignored) Add(string) {}

func (ignored) AddAfter(string, time.Duration) {}
