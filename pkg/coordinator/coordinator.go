package coordinator

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/client"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/snapshot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/source"
)

// manager is the field manager of everything that the coordinator applies.
const manager = "coordinator"

// Coordinator is one replica.
type Coordinator struct {
	config Config
	kube   kubernetes.Interface
	ours   *client.Interface
	slots  *slot.Slots
	reader *snapshot.Reader
	poller *source.Poller
	events record.EventRecorder
	log    *slog.Logger

	access     *rest.Config
	checkFacts func(preflight.Facts) []v1alpha1.Finding
	checks     checks

	queue   workqueue.TypedRateLimitingInterface[string]
	offered atomic.Pointer[plan.Source] // what the index said last; nil before the first look
	missed  chan struct{}               // the index is to be looked at before its time
	sought  map[string]bool             // upgrades that it was looked at for
}

// Clients are what a coordinator acts with.
type Clients struct {
	Kube   kubernetes.Interface
	Ours   *client.Interface
	Events record.EventRecorder
	Log    *slog.Logger
	// Access is how these reach the API server: each apiserver is asked for its
	// metrics in the same way.
	Access *rest.Config
	// Check says what speaks against an upgrade.
	Check func(preflight.Facts) []v1alpha1.Finding
}

// New makes a coordinator that does nothing until it runs.
func New(config Config, clients Clients) (*Coordinator, error) {
	poller, err := source.NewPoller(config.Source.URL)
	if err != nil {
		return nil, err
	}
	return &Coordinator{
		config: config, kube: clients.Kube, ours: clients.Ours, events: clients.Events, log: clients.Log,
		slots: slot.New(clients.Kube), poller: poller, missed: make(chan struct{}, 1), sought: map[string]bool{}, access: clients.Access, checkFacts: clients.Check,
	}, nil
}

// Run decides and writes until ctx ends. Call it only as the leader, or know
// why not: two at once waste work, and break nothing.
func (c *Coordinator) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c.queue = workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, 10*time.Second))
	queue := c.queue
	reader, err := snapshot.NewReader(c.kube, c.ours, func() { queue.Add(everything) })
	if err != nil {
		return err
	}
	c.reader = reader
	c.look(ctx)
	if !reader.Start(ctx) {
		return nil
	}
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		c.watchSource(ctx)
	}()
	go func() {
		<-ctx.Done()
		queue.ShutDown()
	}()
	for c.next(ctx) {
	}
	stop()
	<-watching
	c.checks.group.Wait()
	return nil
}

// everything is the queue's only key: a plan is made for the whole cluster.
const everything = "cluster"

// next waits for something to have changed and acts on it. False: it is over.
func (c *Coordinator) next(ctx context.Context) bool {
	key, over := c.queue.Get()
	if over {
		return false
	}
	defer c.queue.Done(key)
	again, err := c.sync(ctx, time.Now())
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil:
		c.log.Error("not all could be written, trying again", "error", err)
		c.queue.AddRateLimited(key)
		return true
	}
	c.queue.Forget(key)
	if again != nil {
		c.queue.AddAfter(key, time.Until(*again))
	}
	return true
}

// watchSource looks at the index again and again.
func (c *Coordinator) watchSource(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(c.config.Source.Interval.Duration):
		case <-c.missed:
		}
		c.look(ctx)
	}
}
