package guard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/sysext"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

const (
	// maxFailures is how often a rollback that cannot write its record or a file is
	// retried before it continues without: a node with the former image and newer
	// files is better than one that stays out of service.
	maxFailures = 10
	// These end programs that hang.
	journalTimeout = 10 * time.Second
	mergeTimeout   = 2 * time.Minute
	stopTimeout    = 30 * time.Second
)

// rollBack restores the former version's files and symlink, and then merges its image, by
// a restart of the kubelet or a reboot. It reboots if the former version is merged already
// and that was not enough.
func (g *guardian) rollBack(ctx context.Context, why string) error {
	err := g.begin(ctx, why)
	if err == nil {
		g.stopRestart(ctx)
		if err := g.ReleaseReserve(); err != nil {
			g.log.Printf("%v", err)
		}
		_, err = g.restoreFiles()
	}
	if err := g.tolerate(err); err != nil {
		return err
	}
	changed, err := g.restoreLink()
	if err != nil {
		return err
	}
	if g.record.Method != v1alpha1.MethodRestart {
		return g.reboot(ctx)
	}
	if g.merged() != g.record.From {
		ctx, cancel := context.WithTimeout(ctx, mergeTimeout)
		defer cancel()
		err := sysext.Return(ctx, g.Layout, g.record.From, g.log)
		if err == nil {
			return nil // the next observation finishes, or reboots after all
		}
		g.log.Printf("merging %s without a reboot: %v", g.record.From, err)
	} else if changed {
		return nil // the image was never merged: the next observation finishes
	}
	return g.reboot(ctx)
}

// tolerate returns err, until there were maxFailures in a row.
func (g *guardian) tolerate(err error) error {
	if err == nil {
		g.failures = 0
		return nil
	}
	if g.failures++; g.failures < maxFailures {
		return err
	}
	g.log.Printf("continuing in spite of: %v", err)
	return nil
}

// begin records the rollback, unless it did so in this boot. The record is written before
// the journal is read, which may take time.
func (g *guardian) begin(ctx context.Context, why string) error {
	if over, err := g.over(); over {
		return errors.Join(errors.New("the activation is no longer guarded"), err)
	}
	r, err := g.Rollback()
	if err != nil {
		g.log.Printf("%v", err)
	}
	switch {
	case r.Of(g.record) && r.BootID == g.boot:
		return nil
	case r.Of(g.record):
		r.BootID = g.boot
		return g.SetRollback(*r)
	}
	r = &host.Rollback{Upgrade: g.record.Upgrade, From: g.record.From, To: g.record.To, Message: why, StartedAt: time.Now().UTC(), BootID: g.boot}
	if err := g.BeginRollback(*r); err != nil {
		return err
	}
	r.Log = g.journal(ctx)
	return g.SetRollback(*r)
}

// stay records that the node cannot return, and ends the guard.
func (g *guardian) stay(ctx context.Context, why string) error {
	now := time.Now().UTC()
	r := host.Rollback{
		Upgrade: g.record.Upgrade, From: g.record.From, To: g.record.To, Message: why, Log: g.journal(ctx),
		StartedAt: now, FinishedAt: now, Impossible: true,
	}
	if err := g.tolerate(g.BeginRollback(r)); err != nil {
		return err
	}
	return g.EndGuard(ctx, g.log, g.run)
}

// stopRestart ends the verb "restart", which must not refresh the image and restart the
// kubelet at the same time as the rollback.
func (g *guardian) stopRestart(ctx context.Context) {
	if g.record.Method != v1alpha1.MethodRestart {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if _, err := g.run(ctx, g.log, "systemctl", "stop", host.Unit(verb.Restart)); err != nil {
		g.log.Printf("%v", err) // it is not loaded if it does not run
	}
}

// journal returns the end of the kubelet's journal of this boot, and of systemd-sysext's.
func (g *guardian) journal(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, journalTimeout)
	defer cancel()
	text, err := g.run(ctx, g.log, "journalctl", "--boot", "--lines=12", "--output=cat", "--no-pager",
		"--unit=kubelet.service", "--unit=systemd-sysext.service")
	if err != nil {
		return fmt.Sprintf("the journal could not be read: %v", err)
	}
	return lastBytes(strings.TrimSpace(text), 2<<10)
}

// lastBytes returns whole lines at the end of a text, at most n bytes.
func lastBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = text[len(text)-n:]
	return text[strings.IndexByte(text, '\n')+1:]
}
