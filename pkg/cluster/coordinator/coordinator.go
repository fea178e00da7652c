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
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/metrics"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/slot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/program"
)

// manager is the field manager of everything that the coordinator applies.
const manager = "coordinator"

// Coordinator is one replica.
type Coordinator struct {
	kube   kubernetes.Interface
	ours   *kube.Kinds
	slots  *slot.Slots
	reader *snapshot.Reader
	offers *offers
	events record.EventRecorder
	log    *slog.Logger
	// requirePolicy is Clients.RequirePolicy.
	requirePolicy bool
	// writers is how many NodeUpgrades are written at a time.
	writers int

	access     *rest.Config
	checkFacts func(preflight.Facts) []v1alpha1.Finding
	checks     checks
	watchdog   program.Watchdog
	metrics    *metrics.Metrics
	version    string
	clockAhead func() time.Duration

	holders   map[fleet.Owner]holder // the nodes that hold slots
	holdersAt time.Time              // when that was noted

	queue   workqueue.TypedRateLimitingInterface[string]
	readFor map[string]bool // upgrades for which the index was read again
	failing string          // the writes of the last plan that failed
	rest    atomic.Int64    // the pause before a plan after a change, as a time.Duration
}

// Clients are the clients that a coordinator uses.
type Clients struct {
	Kube   kubernetes.Interface
	Ours   *kube.Kinds
	Events record.EventRecorder
	Log    *slog.Logger
	// Access is the configuration of these clients. It is also used to read each
	// apiserver's metrics.
	Access *rest.Config
	// RequirePolicy has the coordinator wait for an UpgradePolicy, instead of creating
	// one if it is missing: another program creates it, such as Helm.
	RequirePolicy bool
	// Check returns the findings of preflight for an upgrade.
	Check func(preflight.Facts) []v1alpha1.Finding
	// Watchdog watches each round of the loop.
	Watchdog program.Watchdog
	// Metrics are told what was read and decided. Nil: there are none.
	Metrics *metrics.Metrics
	// ClockAhead returns by how much this host's clock is ahead of the API server's, if that is
	// too much to judge windows. Nil: it is not compared.
	ClockAhead func() time.Duration
	// Version is the version of this program.
	Version string
}

// New returns a coordinator. It does nothing until Run.
func New(clients Clients) *Coordinator {
	return &Coordinator{
		requirePolicy: clients.RequirePolicy,

		kube: clients.Kube, ours: clients.Ours, slots: slot.New(clients.Kube.CoordinationV1().Leases(v1alpha1.Namespace), clients.Kube.CoreV1().Nodes()), events: clients.Events, log: clients.Log,
		access: clients.Access, checkFacts: clients.Check, watchdog: clients.Watchdog, metrics: clients.Metrics, version: clients.Version, clockAhead: clients.ClockAhead, writers: writers, readFor: map[string]bool{},
	}
}

// Run makes plans and carries them out until ctx ends. Only the leader needs to run;
// two at once waste work, but break nothing.
func (c *Coordinator) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, 10*time.Second))
	planAgain := func() { queue.AddAfter(wholeCluster, time.Duration(c.rest.Load())) }
	reader, err := snapshot.NewReader(c.kube, c.ours, planAgain)
	if err != nil {
		return err
	}
	c.queue, c.reader, c.offers = queue, reader, newOffers(c.log, c.metrics, planAgain)
	if !reader.Start(ctx) {
		return nil
	}
	defer c.metrics.Lead()()
	if policy := reader.Policy(); policy != nil {
		c.offers.start(ctx, policy.Spec.Source) // the first plan needs to know what is on offer
	}
	polling := make(chan struct{})
	go func() {
		defer close(polling)
		c.offers.poll(ctx)
	}()
	go func() {
		<-ctx.Done()
		queue.ShutDown()
	}()
	for c.syncNext(ctx) {
	}
	stop()
	<-polling
	c.checks.group.Wait()
	return nil
}

// afterConflict is the pause before the next plan after a conflict.
const afterConflict = 200 * time.Millisecond

// longestRest is the longest pause between a change and the plan for it.
const longestRest = time.Second

// restAfter has the coordinator rest twice as long as a plan took, without its writes: in a
// large cluster something changes all the time, and the changes meanwhile need one plan.
func (c *Coordinator) restAfter(took time.Duration) {
	c.rest.Store(int64(min(2*took, longestRest)))
}

// wholeCluster is the queue's only key: a plan is made for the whole cluster.
const wholeCluster = "cluster"

// syncNext waits until something has changed, and then makes a plan and carries it
// out. It returns false when ctx has ended.
func (c *Coordinator) syncNext(ctx context.Context) bool {
	key, over := c.queue.Get()
	if over {
		return false
	}
	defer c.queue.Done(key)
	end := c.watchdog.Round()
	again, err := c.sync(ctx, time.Now())
	end()
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil && failures(err) == "":
		c.metrics.CarriedOut(metrics.ResultConflict)
		c.log.Info("an object changed meanwhile, planning again", "conflict", err)
		c.queue.Forget(key)
		c.queue.AddAfter(key, afterConflict) // the watch is about to deliver the change
		return true
	case err != nil:
		c.metrics.CarriedOut(metrics.ResultFailed)
		c.log.Error("some writes failed, retrying", "error", err)
		c.queue.AddRateLimited(key)
		return true
	}
	c.metrics.CarriedOut(metrics.ResultOK)
	c.queue.Forget(key)
	if again != nil {
		c.queue.AddAfter(key, time.Until(*again))
	}
	return true
}
