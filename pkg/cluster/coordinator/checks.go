package coordinator

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

const (
	// reportTimeout is how long a plan waits for a report.
	reportTimeout = 2 * time.Second
	// checksTimeout is how long reading a large cluster for the checks may take.
	checksTimeout = 2 * time.Minute
	// checksRetry is the pause after checks that failed.
	checksRetry = 10 * time.Second
)

// checks holds the last preflight report, and whether a run is in progress.
type checks struct {
	sync.Mutex
	report    *clusterstate.Preflight
	problem   string // why the last run gave none
	running   bool
	notBefore time.Time // the next run begins then at the earliest
	group     sync.WaitGroup
}

// addTo puts the last report into s.
func (c *checks) addTo(s *clusterstate.Snapshot) {
	c.Lock()
	defer c.Unlock()
	s.Preflight, s.PreflightProblem = c.report, c.problem
}

// begin reports whether a run may begin now. If so, it counts as running.
func (c *checks) begin(now time.Time) bool {
	c.Lock()
	defer c.Unlock()
	if c.running || now.Before(c.notBefore) {
		return false
	}
	c.running = true
	return true
}

// end stores the result of a run. After an error the next run begins later.
func (c *checks) end(report *clusterstate.Preflight, err error) {
	c.Lock()
	defer c.Unlock()
	c.running, c.notBefore, c.problem = false, time.Time{}, ""
	if err != nil {
		c.notBefore, c.problem = time.Now().Add(checksRetry), err.Error()
		return
	}
	c.report = report
}

// planWithChecks makes a plan, and runs preflight if the plan asks for it. If the report
// arrives soon, it makes another plan with it. Otherwise it returns the first plan,
// which may withdraw releases and releases no other node.
func (c *Coordinator) planWithChecks(ctx context.Context, s clusterstate.Snapshot, now time.Time) plan.Plan {
	c.checks.addTo(&s)
	p := plan.Decide(s, now)
	if !p.NeedsPreflight || p.Target == nil || !c.checks.begin(now) {
		return p
	}
	select {
	case <-c.check(ctx, s, p, now):
	case <-time.After(reportTimeout):
		return p
	}
	c.checks.addTo(&s)
	return plan.Decide(s, now)
}

// check runs preflight, and then queues another plan.
func (c *Coordinator) check(ctx context.Context, s clusterstate.Snapshot, p plan.Plan, now time.Time) <-chan struct{} {
	done := make(chan struct{})
	s.Policy = s.Policy.DeepCopy() // notePlan adds to the other one while the checks run
	c.checks.group.Go(func() {
		defer close(done)
		report, err := c.runChecks(ctx, s, p, now)
		c.checks.end(report, err)
		c.queue.Add(wholeCluster)
		if err != nil && ctx.Err() == nil {
			c.log.Error("preflight failed, retrying", "upgrade", p.Upgrade, "error", err)
			c.queue.AddAfter(wholeCluster, checksRetry)
		}
	})
	return done
}

// runChecks reads the facts and runs the checks on them. The report's age counts from now, by the clock that
// plans are made by: it measures on while the wall clock is set. Nodes and our own kinds are those that the plan
// was made from: a large cluster would have them in memory twice, and a policy that was just created has not yet
// the status that says what is blocked.
func (c *Coordinator) runChecks(ctx context.Context, s clusterstate.Snapshot, p plan.Plan, now time.Time) (*clusterstate.Preflight, error) {
	ctx, cancel := context.WithTimeout(ctx, checksTimeout)
	defer cancel()
	began, upgrade := time.Now(), *p.Target
	clients := snapshot.Clients{Kube: c.kube, Ours: c.ours, Policy: s.Policy, Access: c.access, Lists: c.reader.Lists(s)}
	facts, err := snapshot.ReadPreflight(ctx, clients, upgrade, s.Source.Architectures(p.Version))
	if err != nil {
		return nil, err
	}
	facts.Schedules = s.Schedules
	report := &clusterstate.Preflight{Upgrade: upgrade.Reference(), Key: p.PreflightKey, At: now, Findings: c.checkFacts(facts)}
	c.recordChecks(&upgrade, report, time.Since(began))
	return report, nil
}

// recordChecks logs a run, and records an event for each blocking check that is
// ignored.
func (c *Coordinator) recordChecks(u *v1alpha1.ClusterUpgrade, report *clusterstate.Preflight, took time.Duration) {
	blocks, warns := 0, 0
	for _, f := range report.Findings {
		switch {
		case f.Level != v1alpha1.LevelBlock:
			warns++
		case f.Ignored:
			if !slices.ContainsFunc(u.Status.Findings, func(was v1alpha1.Finding) bool { return was.ID == f.ID && was.Ignored }) {
				c.recordIgnored(u, f)
			}
		default:
			blocks++
		}
	}
	c.log.Info("preflight ran", "upgrade", u.Name, "key", report.Key, "block", blocks, "warn", warns, "took", took.Round(time.Millisecond))
}
