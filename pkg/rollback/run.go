package rollback

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/guard"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kubeadm"
)

// pollInterval is the pause between observations.
const pollInterval = 2 * time.Second

const (
	lockFile  = "/run/kubectl-upgrade/guard.lock"
	startFile = "/run/kubectl-upgrade/guard-start"
)

// Run restores manifests that an interrupted kubeadm left missing, and then guards the
// activation that is armed, until nothing is left to do. It returns nil if another guard
// runs.
func Run(ctx context.Context, l host.Layout, log *host.Log) error {
	unlock, err := lock(l)
	if errors.Is(err, unix.EWOULDBLOCK) {
		log.Printf("another guard is running on this node")
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	if err := kubeadm.CleanUp(l, log); err != nil {
		log.Printf("%v", err)
	}
	armed, err := l.GuardArmed()
	if err != nil {
		return err
	}
	record, err := l.Guard()
	if err != nil {
		return err
	}
	if !armed || record == nil {
		log.Printf("no activation is guarded on this node")
		return l.DisarmGuard()
	}
	g := &guardian{
		Layout: l, record: *record, log: log, run: host.RunProgram, health: checkHealth,
		sinceBoot: sinceBoot, pause: pollInterval, rebootWithin: rebootWithin,
	}
	return g.guard(ctx)
}

// guardian guards one activation.
type guardian struct {
	host.Layout
	record host.Guard
	log    *host.Log
	run    program
	health func(ctx context.Context, l host.Layout, record host.Guard) guard.Health

	sinceBoot           func() time.Duration
	pause, rebootWithin time.Duration

	start        time.Duration // when the guard first started in this boot
	healthySince time.Duration // negative while the node is not healthy
	said         string        // the last verdict that was logged
	failures     int           // rollbacks in a row that failed before the symlink was changed
}

// guard observes and acts until nothing is left to do.
func (g *guardian) guard(ctx context.Context) error {
	g.healthySince = -1
	if err := g.observeStart(); err != nil {
		g.log.Printf("%v; the limit counts from now", err)
	}
	for ctx.Err() == nil {
		verdict, why := g.decide(ctx)
		if said := fmt.Sprintf("%s: %s", verdict, why); said != g.said {
			g.log.Printf("%s", said)
			g.said = said
		}
		var err error
		switch verdict {
		case guard.Leave:
			return nil
		case guard.Disarm:
			return g.DisarmGuard()
		case guard.Restore:
			if err = g.finish(ctx); err == nil {
				return nil
			}
		case guard.Return:
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
	return errors.New("it was stopped")
}

// lock takes the lock that only one guard holds.
func lock(l host.Layout) (unlock func(), err error) {
	path := l.At(lockFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}
