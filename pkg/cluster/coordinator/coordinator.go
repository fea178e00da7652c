package coordinator

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/gate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/hook"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/metrics"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/notice"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/silence"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/program"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
)

// manager is the field manager of everything that the coordinator applies.
const manager = "coordinator"

// Coordinator is one replica.
type Coordinator struct {
	kube     kubernetes.Interface
	ours     *kube.Kinds
	slots    *slot.Slots
	reader   *snapshot.Reader
	offers   *offers
	notices  *notice.Sender
	silences *silence.Keeper
	events   record.EventRecorder
	log      *slog.Logger
	// requirePolicy is Clients.RequirePolicy.
	requirePolicy bool
	// writers is how many NodeUpgrades are written at a time.
	writers int

	access         *rest.Config
	checkFacts     func(preflight.Facts) []v1alpha1.Finding
	checks         checks
	watchdog       program.Watchdog
	metrics        *metrics.Metrics
	metricsProblem func() (problem string, known bool)
	version        string
	sendNotice     []string
	clockAhead     func() time.Duration
	askGate        func(context.Context, v1alpha1.Gate) gate.Answer
	gates          *gate.Keeper
	hooks          *hook.Keeper

	progress progress     // of the active upgrade
	behind   progress     // of the policy's newest version
	reasons  reasons      // of nodes that wait
	holders  plan.Holders // the nodes that hold slots

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
	// MetricsProblem says why the metrics are not served; empty: they are, if that is known. Nil: it never is.
	MetricsProblem func() (problem string, known bool)
	// ClockAhead returns by how much this host's clock is ahead of the API server's, if that is
	// too much to judge windows. Nil: it is not compared.
	ClockAhead func() time.Duration
	// AskGate asks a gate of the policy.
	AskGate func(context.Context, v1alpha1.Gate) gate.Answer
	// Version is the version of this program.
	Version string
	// SendNotice is the program that sends one notice, with its arguments.
	SendNotice []string
}

// New returns a coordinator. It does nothing until Run.
func New(clients Clients) *Coordinator {
	c := &Coordinator{
		requirePolicy: clients.RequirePolicy, hooks: hook.NewKeeper(clients.Kube.BatchV1(), clients.Ours, clients.Log),

		kube: clients.Kube, ours: clients.Ours, events: clients.Events, log: clients.Log,
		access: clients.Access, checkFacts: clients.Check, watchdog: clients.Watchdog, metrics: clients.Metrics, metricsProblem: clients.MetricsProblem,
		version: clients.Version, clockAhead: clients.ClockAhead, askGate: clients.AskGate, sendNotice: clients.SendNotice, writers: writers, readFor: map[string]bool{},
		reasons: reasons{limit: flowcontrol.NewTokenBucketRateLimiter(reasonsPerSecond, reasonsAtOnce), lasts: reasonLasts},
	}
	c.slots = slot.New(clients.Kube.CoordinationV1().Leases(v1alpha1.Namespace), clients.Kube.CoreV1().Nodes(),
		func(name string) *coordinationv1.Lease { return c.reader.Lease(name) })
	return c
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
	c.gates = gate.NewKeeper(c.askGate, planAgain, time.Now)
	if !reader.Start(ctx) {
		return nil
	}
	defer c.metrics.Lead()()
	if policy := reader.Policy(); policy != nil {
		c.offers.start(ctx, recall(policy, reader.Snapshot())) // the first plan needs to know what is on offer
	}
	c.notices, c.silences = c.newSender(planAgain), c.newSilences(planAgain)
	var beside sync.WaitGroup
	beside.Go(func() { c.offers.poll(ctx) })
	beside.Go(func() { c.gates.Run(ctx) })
	beside.Go(func() { c.notices.Run(ctx) })
	beside.Go(func() { c.silences.Run(ctx) })
	go func() {
		<-ctx.Done()
		queue.ShutDown()
	}()
	for c.syncNext(ctx) {
	}
	stop()
	beside.Wait()
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

// clockPause is how soon another plan is made while the coordinator's clock is wrong.
const clockPause = 30 * time.Second

// decision is a plan and what it was made from. The stages only read it.
type decision struct {
	now      time.Time
	policy   *v1alpha1.UpgradePolicy      // with what is remembered; nil: there is none
	shown    v1alpha1.UpgradePolicyStatus // as it is stored
	snapshot clusterstate.Snapshot        // its policy has the status that is to be stored
	plan     plan.Plan
}

// A stage carries out its part of a decision. It returns when another plan is due even if nothing
// changes.
type stage func(context.Context, decision) (again *time.Time, err error)

// sync makes a plan and carries it out, one stage after the other: none waits for the success of
// another. It returns when to do so again even if nothing changes.
func (c *Coordinator) sync(ctx context.Context, now time.Time) (*time.Time, error) {
	began := time.Now()
	d, again, err := c.decide(ctx, now)
	c.metrics.Planned(metrics.State{Snapshot: d.snapshot, Plan: d.plan, Agents: c.reader.Agents}, now)
	c.restAfter(time.Since(began))
	c.readForMissing(d.plan.Statuses)
	for _, write := range []stage{c.writePlan, c.writeHooks, c.writeSchedules} {
		due, failed := write(ctx, d)
		again, err = earliest(again, due), errors.Join(err, failed)
	}
	c.noteFailures(d.policy, err)
	return again, err
}

// decide observes the cluster and makes a plan, also where there is no policy: it returns why.
func (c *Coordinator) decide(ctx context.Context, now time.Time) (d decision, again *time.Time, err error) {
	s := c.reader.Snapshot()
	if c.clockAhead != nil {
		s.ClockAhead = c.clockAhead()
	}
	if s.ClockAhead != 0 {
		again = ptr.To(now.Add(clockPause)) // nothing else says when the clock is right again
	}
	policy, err := c.ensurePolicy(ctx, s)
	var shown v1alpha1.UpgradePolicyStatus
	if err == nil {
		shown, policy = policy.Status, recall(policy, s)
		s.Source = c.offers.follow(policy)
		s.Policy = observePolicy(policy, s, c.failing, now)
		noteGates(s.Policy, c.gates.Answers(policy.Spec.Gates))
		var unread error
		if s.HookJobs, unread = c.hooks.Read(ctx, policy, now); unread != nil {
			c.log.Error("the Jobs of hooks cannot be read", "error", unread)
		}
	}
	c.holders = c.holders.Note(&s, now)
	p := c.planWithChecks(ctx, s, now)
	if err == nil {
		again = earliest(again, c.notePlan(&s, &p, policy, now))
	}
	return decision{now, policy, shown, s, p}, earliest(again, p.Next), err
}

// notePlan adds what follows from the plan to the policy's status, and has gates asked, notices sent
// and alerts silenced. It returns when another plan is due for that.
func (c *Coordinator) notePlan(s *clusterstate.Snapshot, p *plan.Plan, stored *v1alpha1.UpgradePolicy, now time.Time) (again *time.Time) {
	s.Policy.Status.Ran, s.Policy.Status.TakenBack = p.Ran, p.TakenBack
	s.Policy.Status.HookTurns, s.Policy.Status.LastHookTurn = p.HookTurns, p.LastHookTurn
	noteAutomatic(s.Policy, p.AutomaticHold, now)
	c.gates.Follow(p.AskGates, stored.Status.Gates)
	again = c.noteNotices(s, p, now)
	c.noteSilences(*s, now)
	if p.HooksRun {
		again = earliest(again, ptr.To(now.Add(hook.Pause)))
	}
	return again
}

// readForMissing has the index read again, once for each upgrade whose version it did
// not offer: the version may have been published since.
func (c *Coordinator) readForMissing(statuses []plan.UpgradeStatus) {
	for _, one := range statuses {
		reason, _ := succeeded(one.Status)
		if reason == string(v1alpha1.ReasonNotOffered) && !c.readFor[one.UID] {
			c.readFor[one.UID] = true
			c.offers.readSoon()
		}
	}
}

// writePlan is the stage that writes the plan. What is not written yet, only because it may change
// again, is due later.
func (c *Coordinator) writePlan(ctx context.Context, d decision) (again *time.Time, err error) {
	c.progress.now, c.progress.due = d.now, nil
	c.behind.now, c.behind.due = d.now, nil
	err = c.carryOut(ctx, d)
	if c.reasons.takeLater() {
		again = ptr.To(d.now.Add(time.Second))
	}
	return earliest(again, c.progress.due, c.behind.due), err
}

// writeHooks is the stage that creates the Jobs of hooks, by the turns that are stored.
func (c *Coordinator) writeHooks(ctx context.Context, d decision) (again *time.Time, err error) {
	if d.policy == nil {
		return nil, nil
	}
	return nil, c.hooks.Write(ctx, d.policy, d.now)
}

// carryOut writes the plan. Releases are withdrawn first. A failed write stops only the
// writes that depend on it:
//
//   - An upgrade ends once its record is there, and the policy says what nodes
//     follow that join late.
//   - A NodeUpgrade's spec names an upgrade once the upgrade's status is written, with
//     the images that were fixed.
//   - No node is released before each release and reservation is taken back that the plan
//     takes back, and before the turns of hooks are stored.
func (c *Coordinator) carryOut(ctx context.Context, d decision) error {
	stored, p := index(d.snapshot.NodeUpgrades), d.plan
	c.reasons.forget(func(node string) bool { return stored[node] == nil })
	withdrawErr := errors.Join(c.withdrawReleases(ctx, stored, p.Nodes), c.withdrawSlots(ctx, p.Slots.Withdraw))
	problems := []error{withdrawErr, c.keepSlots(ctx, p.Slots), c.create(ctx, p.Create)}
	unwritten, err := c.writeUpgrades(ctx, d)
	problems = append(problems, err)
	nodes := keepSpecs(p.Nodes, stored, unwritten)
	if withdrawErr == nil {
		problems = append(problems, c.release(ctx, stored, nodes))
	}
	return errors.Join(append(problems,
		c.updateRest(ctx, stored, nodes),
		c.clearAbandoned(ctx, stored, nodes),
		c.prune(ctx, d.snapshot),
	)...)
}

// keepSpecs returns the nodes to write: if the status of an upgrade could not be
// written, its nodes keep their specs and none of them is released.
func keepSpecs(nodes []plan.NodePlan, stored map[string]*v1alpha1.NodeUpgrade, unwritten map[string]bool) []plan.NodePlan {
	if len(unwritten) == 0 {
		return nodes
	}
	var kept []plan.NodePlan
	for _, n := range nodes {
		if n.Spec.Upgrade != nil && unwritten[n.Spec.Upgrade.UID] {
			was := stored[n.Name]
			if was == nil || n.Slot != "" {
				continue
			}
			if !withdraws(was, n) {
				n.Spec = was.Spec
			}
		}
		kept = append(kept, n)
	}
	return kept
}

func earliest(times ...*time.Time) *time.Time {
	var first *time.Time
	for _, t := range times {
		if t != nil && (first == nil || t.Before(*first)) {
			first = t
		}
	}
	return first
}
