package rollback

import (
	"context"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/sysext"
)

// maxFailures is how often a rollback that cannot write its record or a file is tried
// again before it goes on without: a node with the former image and newer files is better
// than one that stays out of service.
const maxFailures = 10

// rollBack restores the former version's files and symlink, and then merges its image, by
// a restart of the kubelet or a reboot. It reboots if the former version is merged already
// and that was not enough.
func (g *guardian) rollBack(ctx context.Context, why string) error {
	if err := g.ReleaseReserve(); err != nil {
		g.log.Printf("%v", err)
	}
	err := g.begin(ctx, why)
	if err == nil {
		_, err = g.restoreFiles()
	}
	if err != nil {
		g.failures++
		if g.failures < maxFailures {
			return err
		}
		g.log.Printf("going on without: %v", err)
	}
	if err := g.restoreLink(); err != nil {
		return err
	}
	if g.record.Method != v1alpha1.MethodRestart || g.merged() == g.record.From {
		return g.reboot(ctx)
	}
	if err := sysext.Return(ctx, g.Layout, g.record.From, g.log); err != nil {
		g.log.Printf("merging %s without a reboot: %v", g.record.From, err)
		return g.reboot(ctx)
	}
	return nil // the next observation finishes, or reboots after all
}

// begin records the rollback. A rollback that began in an earlier boot keeps its record,
// but for the boot.
func (g *guardian) begin(ctx context.Context, why string) error {
	boot, err := g.BootID()
	if err != nil {
		return err
	}
	former, err := g.Rollback()
	if err != nil {
		g.log.Printf("%v", err)
	}
	r := host.Rollback{Upgrade: g.record.Upgrade, From: g.record.From, To: g.record.To, Message: why, StartedAt: time.Now().UTC()}
	switch {
	case isOf(former, g.record) && former.BootID == boot:
		return nil
	case isOf(former, g.record):
		r = *former
	default:
		r.Log = g.journal(ctx)
	}
	r.BootID = boot
	return g.SetRollback(r)
}

// journal returns the end of the kubelet's journal of this boot, and of systemd-sysext's.
func (g *guardian) journal(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	text, err := g.run(ctx, g.log, "journalctl", "--boot", "--lines=12", "--output=cat", "--no-pager",
		"--unit=kubelet.service", "--unit=systemd-sysext.service")
	if err != nil {
		return "the journal could not be read: " + err.Error()
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
