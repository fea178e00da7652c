package coordinator

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// Steps runs a coordinator one plan at a time, for a caller that has its own clock and
// fills the caches itself. Coordinator.Run does the same with watches and a queue.
type Steps struct {
	coordinator *Coordinator
	source      fleet.Source
}

// NewSteps returns the Steps of a coordinator that has not begun. It writes one object
// after the other.
func NewSteps(clients Clients) (*Steps, error) {
	c := New(clients)
	reader, err := snapshot.NewReader(c.kube, c.ours, func() {})
	if err != nil {
		return nil, err
	}
	c.reader, c.queue, c.writers = reader, ignored{}, 1
	c.offers = newOffers(c.log, c.metrics, func() {})
	return &Steps{coordinator: c}, nil
}

// Caches returns the stores to fill before Sync.
func (s *Steps) Caches() snapshot.Caches { return s.coordinator.reader.Caches() }

// Offer sets what the policy's source offers.
func (s *Steps) Offer(source fleet.Source) { s.source = source }

// Sync makes a plan and carries it out. It returns when to do so again even if nothing
// changes.
func (s *Steps) Sync(ctx context.Context, now time.Time) (again *time.Time, err error) {
	if policy := s.coordinator.reader.Policy(); policy != nil {
		s.coordinator.offers.last.Store(&reading{source: policy.Spec.Source, said: s.source})
	}
	return s.coordinator.sync(ctx, now)
}

// ignored is a queue whose items are dropped.
type ignored struct {
	workqueue.TypedRateLimitingInterface[string]
}

func (ignored) Add(string) {}

func (ignored) AddAfter(string, time.Duration) {}
