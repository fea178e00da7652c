package guard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/facts"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/kubeadm"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/renewal"
)

// pollInterval is the pause between observations.
const pollInterval = 2 * time.Second

const lockFile = "/run/kubectl-upgrade/guard.lock"

// Run restores what an interrupted kubeadm has left: manifests that are missing, and certificates that are half
// renewed, without which no API server may start that an agent could ask. Then it guards the
// activation that is armed, until nothing is left to do. It waits while another guard runs.
func Run(ctx context.Context, l host.Layout, log *host.Log) error {
	unlock, err := lock(ctx, l)
	if ctx.Err() != nil {
		return errStopped
	}
	if err != nil {
		// systemd runs one process of a unit anyway.
		log.Printf("taking the lock: %v; continuing without it", err)
	}
	defer unlock()
	armed, err := l.GuardArmed()
	if err != nil {
		return err
	}
	if err := restore(l, armed, log); err != nil {
		return err
	}
	record, err := l.Guard()
	if err != nil {
		return err
	}
	if !armed || record == nil {
		log.Printf("no activation is guarded on this node")
		return l.EndGuard(ctx, log, host.RunProgram)
	}
	checker := newChecker(l, *record)
	g := &guardian{
		Layout: l, record: *record, log: log, run: host.RunProgram, check: checker.check, ask: checker.ask, annotate: annotate(l),
		sinceBoot: sinceBoot, pause: pollInterval, rebootWithin: rebootWithin,
	}
	return g.guard(ctx)
}

// restore restores what an interrupted kubeadm has left. If it cannot, and no activation is guarded, systemd starts the guard
// again.
func restore(l host.Layout, armed bool, log *host.Log) error {
	err := renewal.PutBack(l, log)
	if err != nil && !armed {
		return err
	}
	if err := errors.Join(err, kubeadm.CleanUp(l, log)); err != nil {
		log.Printf("%v", err)
	}
	return nil
}

var errStopped = errors.New("it was stopped")

// guardian guards one activation.
type guardian struct {
	host.Layout
	record host.Guard
	log    *host.Log
	run    host.Runner
	check  func(ctx context.Context) (h Health, hosts bool)
	ask    func(ctx context.Context) answer

	sinceBoot           func() time.Duration
	pause, rebootWithin time.Duration

	boot     string        // the name of this boot
	start    time.Duration // when the guard first started in this boot
	began    time.Duration // when this process began to observe
	kubelet  time.Duration // when the kubelet first started in this boot, or before it; zero: it has not
	answer   answer        // of the API server, when it was last asked
	asked    time.Duration // when that was; zero: it was not, or its answer no longer counts
	answers  time.Duration // since when the API server has answered; zero: it does not
	healthy  bool          // the last finding
	since    time.Duration // when the finding changed
	said     string        // the last verdict that was logged
	failures int           // in a row, of writes that a rollback needs
	seen     Observation   // the last one
	tries    host.GuardTries

	annotate  func(ctx context.Context, value string) error
	told      string        // what was written on the Node
	tellAfter time.Duration // when to repeat a write that failed; zero: none has
}

// guard observes and acts until nothing is left to do.
func (g *guardian) guard(ctx context.Context) error {
	if err := g.observeBoot(ctx); err != nil {
		return err // systemd starts the guard again
	}
	g.began = g.sinceBoot()
	g.since = g.began
	if err := g.observeStart(); err != nil {
		g.log.Printf("%v; the limit counts from now", err)
	}
	var err error
	if g.tries, err = g.GuardTries(); err != nil {
		g.log.Printf("%v", err)
	}
	for ctx.Err() == nil {
		if over, err := g.over(); over {
			return err
		}
		verdict, why := g.verdict(ctx)
		if said := fmt.Sprintf("%s: %s", verdict, why); said != g.said {
			g.log.Printf("%s", said)
			g.said = said
		}
		g.tell(ctx, g.news(verdict, why))
		var err error
		switch verdict {
		case Leave:
			return nil
		case Disarm:
			return g.EndGuard(ctx, g.log, g.run)
		case Stay:
			if err = g.stay(ctx, why); err == nil {
				return g.tellAtLast(ctx, why)
			}
		case Restore:
			if err = g.finish(ctx); err == nil {
				return nil
			}
		case Merge:
			g.mergeOnceMore(ctx)
		case Start:
			g.startOnceMore(ctx)
		case Return:
			err = g.rollBack(ctx, why)
		}
		if err != nil {
			g.log.Printf("%v", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(g.pause):
		}
	}
	return errStopped
}

// over reports whether the activation is no longer guarded: it was confirmed, or another
// one was armed, which the next process guards.
func (g *guardian) over() (bool, error) {
	armed, err := g.GuardArmed()
	if err != nil {
		g.log.Printf("%v", err)
		return false, nil
	}
	if !armed {
		g.log.Printf("the activation was confirmed")
		return true, nil
	}
	record, err := g.Guard()
	if err != nil || record == nil {
		return false, nil // what was read before counts
	}
	if !record.ArmedAt.Equal(g.record.ArmedAt) {
		return true, errors.New("another activation was armed")
	}
	return false, nil
}

// lock takes the lock that only one guard holds. It waits for another one to end.
func lock(ctx context.Context, l host.Layout) (unlock func(), err error) {
	for {
		unlock, err = tryLock(l)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return unlock, ctx.Err()
		case <-time.After(pollInterval):
		}
	}
}

func tryLock(l host.Layout) (unlock func(), err error) {
	unlock = func() {}
	path := l.At(lockFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return unlock, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return unlock, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return unlock, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// Confirm ends the guard, and keeps the files that it would have restored for a later Rollback. It refuses while the kubelet
// does not work, or does not run the static pods that the former one ran: the guard may still return the node, and what the
// agent knows of the kubelet may be a minute old.
func Confirm(ctx context.Context, l host.Layout, log *host.Log) error {
	record, err := l.Guard()
	if err != nil {
		return err
	}
	kubelet := facts.FindKubelet(ctx, l)
	problem := kubelet.Problem(ctx)
	if record != nil && problem == "" {
		problem = newChecker(l, *record).checkStaticPods(kubelet)
	}
	if problem != "" {
		return host.Fail(v1alpha1.ReasonUnhealthy, "%s", problem)
	}
	if err := l.StopGuard(ctx, log, host.RunProgram); err != nil {
		return err
	}
	return l.KeepKubeletFiles()
}
