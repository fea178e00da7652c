package coordinator

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/snapshot"
)

const (
	// soon is how long a plan waits for them.
	soon = 2 * time.Second
	// checksPatience is how long reading a big cluster for the checks may take.
	checksPatience = 2 * time.Minute
	// checksRetry is when they are tried again where that failed.
	checksRetry = 10 * time.Second
)

// checks is the last report of preflight, and whether one is on its way.
type checks struct {
	sync.Mutex
	report  *plan.Preflight
	problem string // why the last run gave none
	running bool
	notYet  time.Time // the next run begins then at the earliest
	group   sync.WaitGroup
}

// tell puts into s what is known by now.
func (c *checks) tell(s *plan.Snapshot) {
	c.Lock()
	defer c.Unlock()
	s.Preflight, s.PreflightProblem = c.report, c.problem
}

// begin is whether a run may begin, which is then under way.
func (c *checks) begin(now time.Time) bool {
	c.Lock()
	defer c.Unlock()
	if c.running || now.Before(c.notYet) {
		return false
	}
	c.running = true
	return true
}

// end takes in what a run found, or why it found nothing: the next one begins
// then a little later.
func (c *checks) end(report *plan.Preflight, err error) {
	c.Lock()
	defer c.Unlock()
	c.running, c.notYet, c.problem = false, time.Time{}, ""
	if err != nil {
		c.notYet, c.problem = time.Now().Add(checksRetry), err.Error()
		return
	}
	c.report = report
}

// decide makes a plan, and runs preflight where that asks for it. A report that
// is there soon makes another plan at once. Otherwise it is waited for beside the
// loop: nodes are called back meanwhile, and nobody new is let go.
func (c *Coordinator) decide(ctx context.Context, s plan.Snapshot, now time.Time) plan.Plan {
	c.checks.tell(&s)
	p := plan.Decide(s, now)
	upgrade, known := planned(s, p)
	if !p.NeedsPreflight || !known || !c.checks.begin(now) {
		return p
	}
	select {
	case <-c.check(ctx, s, p, upgrade):
	case <-time.After(soon):
		return p
	}
	c.checks.tell(&s)
	return plan.Decide(s, now)
}

// check runs preflight, and then has a plan made.
func (c *Coordinator) check(ctx context.Context, s plan.Snapshot, p plan.Plan, upgrade v1alpha1.ClusterUpgrade) <-chan struct{} {
	done := make(chan struct{})
	c.checks.group.Go(func() {
		defer close(done)
		report, err := c.runChecks(ctx, upgrade, s.Source.Architectures(p.Version), p.PreflightKey)
		c.checks.end(report, err)
		c.queue.Add(everything)
		if err != nil && ctx.Err() == nil {
			c.log.Error("the checks could not be made, trying again", "upgrade", p.Upgrade, "error", err)
			c.queue.AddAfter(everything, checksRetry)
		}
	})
	return done
}

// planned is the upgrade that the plan is for, as it will say about itself.
func planned(s plan.Snapshot, p plan.Plan) (v1alpha1.ClusterUpgrade, bool) {
	for _, u := range s.Upgrades {
		if u.Name != p.Upgrade {
			continue
		}
		for _, wanted := range p.Statuses {
			if wanted.Name == u.Name {
				u.Status = wanted.Status
			}
		}
		return u, true
	}
	return v1alpha1.ClusterUpgrade{}, false
}

// runChecks reads what the checks look at, and has them look.
func (c *Coordinator) runChecks(ctx context.Context, upgrade v1alpha1.ClusterUpgrade, offered []string, key string) (*plan.Preflight, error) {
	ctx, cancel := context.WithTimeout(ctx, checksPatience)
	defer cancel()
	began := time.Now()
	facts, err := snapshot.ReadPreflight(ctx, snapshot.PreflightClients{Kube: c.kube, Ours: c.ours, Access: c.access}, upgrade, offered)
	if err != nil {
		return nil, err
	}
	report := &plan.Preflight{Upgrade: upgrade.Name, Key: key, At: began, Findings: c.checkFacts(facts)}
	c.tellChecks(&upgrade, report, time.Since(began))
	return report, nil
}

// tellChecks logs a run, and records an event for each check that is ignored
// though it blocks.
func (c *Coordinator) tellChecks(u *v1alpha1.ClusterUpgrade, report *plan.Preflight, took time.Duration) {
	blocks, warns := 0, 0
	for _, f := range report.Findings {
		switch {
		case f.Level != v1alpha1.LevelBlock:
			warns++
		case f.Ignored:
			if !slices.ContainsFunc(u.Status.Findings, func(was v1alpha1.Finding) bool { return was.ID == f.ID && was.Ignored }) {
				c.tellIgnored(u, f)
			}
		default:
			blocks++
		}
	}
	c.log.Info("the checks were made", "upgrade", u.Name, "key", report.Key, "block", blocks, "warn", warns, "took", took.Round(time.Millisecond))
}
