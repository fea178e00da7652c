package rollback

import (
	"context"
	"errors"
	"strings"
	"time"
)

// The reboots that are tried one after the other, and for how long each.
var reboots = [][]string{{"reboot"}, {"reboot", "--force"}, {"reboot", "--force", "--force"}}

const rebootWithin = time.Minute

// reboot reboots the node. It returns if that fails, or if ctx ends as the node shuts down.
func (g *guardian) reboot(ctx context.Context) error {
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

// finish restores what is left, and disarms the guard. If files of the kubelet are
// restored only now, the kubelet is restarted with them.
func (g *guardian) finish(ctx context.Context) error {
	changed, err := g.restoreFiles()
	if err != nil {
		return err
	}
	if changed {
		if _, err := g.run(ctx, g.log, "systemctl", "restart", "--no-block", "kubelet.service"); err != nil {
			g.log.Printf("%v", err)
		}
	}
	r, err := g.Rollback()
	if err != nil || r == nil {
		return errors.Join(err, errors.New("the record of the rollback is gone"))
	}
	r.FinishedAt = time.Now().UTC()
	if err := g.SetRollback(*r); err != nil {
		return err
	}
	return g.DisarmGuard()
}
