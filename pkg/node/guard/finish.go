package guard

import (
	"context"
	"errors"
	"strings"
	"time"
)

// reboots are tried one after the other. systemd ends the guard when the shutdown begins.
// An inhibitor that blocks must not keep a node out of service.
var reboots = [][]string{{"reboot", "--ignore-inhibitors"}, {"reboot", "--force"}, {"reboot", "--force", "--force"}}

// rebootWithin is how long a shutdown may take to begin: the kubelet may delay it, to end
// its pods.
const rebootWithin = 2 * time.Minute

// reboot reboots the node. It returns if that fails, or if ctx ends as the node shuts down.
func (g *guardian) reboot(ctx context.Context) error {
	if err := g.countReboot(); err != nil {
		g.log.Printf("%v", err)
	}
	for _, args := range reboots {
		g.log.Printf("systemctl %s", strings.Join(args, " "))
		if _, err := g.run(ctx, g.log, "systemctl", args...); err != nil {
			g.log.Printf("%v", err)
			continue
		}
		select {
		case <-ctx.Done():
			return errors.New("the node reboots")
		case <-time.After(g.rebootWithin):
		}
	}
	return errors.New("the node does not reboot")
}

func (g *guardian) countReboot() error {
	r, err := g.Rollback()
	if err != nil || !r.Of(g.record) {
		return err
	}
	r.Reboots++
	return g.SetRollback(*r)
}

// finish restores what is left, and disarms the guard. If files of the kubelet are
// restored only now, the kubelet is restarted with them.
func (g *guardian) finish(ctx context.Context) error {
	changed, err := g.restoreFiles()
	if err := g.tolerate(err); err != nil {
		return err
	}
	if changed {
		if _, err := g.run(ctx, g.log, "systemctl", "restart", "--no-block", "kubelet.service"); err != nil {
			g.log.Printf("%v", err)
		}
	}
	if err := g.tolerate(g.recordEnd()); err != nil {
		return err
	}
	return g.EndGuard(ctx, g.log, g.run)
}

func (g *guardian) recordEnd() error {
	r, err := g.Rollback()
	if err != nil || r == nil {
		return errors.Join(err, errors.New("the record of the rollback is gone"))
	}
	r.FinishedAt = time.Now().UTC()
	return g.SetRollback(*r)
}
