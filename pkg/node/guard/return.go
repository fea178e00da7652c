package guard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/sysext"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
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
// and that was not enough. Where the boot has merged nothing, it merges without a reboot.
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
	switch merged := g.merged(); {
	case merged == "" && g.boot != g.record.BootID && !g.seen.Merging:
		g.mergeFormer(ctx)
		return nil // the next observation finishes, or stays
	case g.record.Method != v1alpha1.MethodRestart:
		return g.reboot(ctx)
	case merged != g.record.From:
		return g.mergeOrReboot(ctx)
	case changed:
		return nil // the image was never merged: the next observation finishes
	}
	return g.reboot(ctx)
}

// mergeOrReboot merges the former version by a restart of the kubelet, or reboots. It does not
// reboot if the merge fails by an image with which the next boot would merge nothing either.
func (g *guardian) mergeOrReboot(ctx context.Context) error {
	merging, cancel := context.WithTimeout(ctx, mergeTimeout)
	defer cancel()
	err := sysext.Return(merging, g.Layout, g.record.From, g.log, g.run)
	if err == nil {
		return nil // the next observation finishes, or reboots after all
	}
	if refusedImage(err.Error()) != "" && g.merged() == "" {
		g.once(&g.tries.Former, "", func() error { return err })
		return nil // the next observation stays
	}
	g.log.Printf("merging %s without a reboot: %v", g.record.From, err)
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
	case host.IsRollbackOf(r, g.record) && r.BootID == g.boot:
		return nil
	case host.IsRollbackOf(r, g.record):
		r.BootID = g.boot
		return g.SetRollback(*r)
	}
	r = &verb.Rollback{
		Upgrade: g.record.Upgrade, From: g.record.From, To: g.record.To, Message: why,
		StartedAt: time.Now().UTC(), BootID: g.boot, NodesFault: NodesFault(g.activation(), g.seen), NoNetwork: g.seen.Merged == g.record.To && g.seen.Health.Network != "",
	}
	if err := g.BeginRollback(*r); err != nil {
		return err
	}
	r.Log = g.evidence(ctx)
	return g.SetRollback(*r)
}

// stay records that the node cannot return, and ends the guard. Of a rollback that had begun, what
// was wrong with the new version stays in the record.
func (g *guardian) stay(ctx context.Context, why string) error {
	now := time.Now().UTC()
	r, err := g.Rollback()
	if err != nil {
		g.log.Printf("%v", err)
	}
	write := g.SetRollback
	if host.IsRollbackOf(r, g.record) {
		r.Message += "; " + why
	} else {
		r, write = &verb.Rollback{Upgrade: g.record.Upgrade, From: g.record.From, To: g.record.To, Message: why, StartedAt: now}, g.BeginRollback
		r.Log = g.evidence(ctx)
	}
	r.FinishedAt, r.Impossible, r.NodesFault = now, true, r.NodesFault || NodesFault(g.activation(), g.seen)
	if err := g.tolerate(write(*r)); err != nil {
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

// lastBytes returns whole lines at the end of a text, at most n bytes.
func lastBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = text[len(text)-n:]
	return text[strings.IndexByte(text, '\n')+1:]
}

// restoreFiles restores definitions and the kubelet's files, and reports whether one
// differed. It has kubeadm run again in the next attempt, as what it wrote is gone.
func (g *guardian) restoreFiles() (changed bool, err error) {
	files := map[string][]byte{}
	for name, text := range g.record.Restore.Confs {
		files[filepath.Join(host.ConfDir, name)] = []byte(text)
	}
	var problems []error
	for path, saved := range g.record.Restore.Files {
		if files[path], err = os.ReadFile(g.At(saved)); err != nil {
			delete(files, path)
			problems = append(problems, fmt.Errorf("reading the saved %s: %w", path, err))
		}
	}
	for path, data := range files {
		restored, err := g.restoreFile(path, data)
		changed = changed || restored
		problems = append(problems, err)
	}
	return changed, errors.Join(append(problems, g.removeNewConfs(), g.ForgetKubeadm())...)
}

// restoreFile restores a file if it differs, and reports whether it did. The mode and a
// symlink stay, and what is replaced is kept in replacedDir.
func (g *guardian) restoreFile(path string, data []byte) (changed bool, err error) {
	target := g.At(path)
	present, err := os.ReadFile(target)
	if err == nil && string(present) == string(data) {
		return false, nil
	}
	if err == nil {
		if err := host.WriteFile(g.At(replacedDir, filepath.Base(path)), present, 0o600); err != nil {
			g.log.Printf("keeping the present %s: %v", path, err)
		}
	}
	if err := host.ReplaceContent(target, data); err != nil {
		return false, fmt.Errorf("restoring %s: %w", path, err)
	}
	g.log.Printf("restored %s", path)
	return true, nil
}

// replacedDir has the files that the last rollback replaced: a person may have changed
// them after the activation.
var replacedDir = filepath.Join(host.StateDir(host.Root), "replaced")

// removeNewConfs removes the definitions that the activation renamed: those that it
// restored have the former names, and there must not be two.
func (g *guardian) removeNewConfs() error {
	to, err := version.Parse(g.record.To)
	if err != nil || len(g.record.Restore.Confs) == 0 {
		return err
	}
	var problems []error
	for _, ext := range []string{".conf", ".transfer"} {
		name := "kubernetes-" + to.Line() + ext
		if _, former := g.record.Restore.Confs[name]; former {
			continue
		}
		if err := os.Remove(g.At(host.ConfDir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, fmt.Errorf("removing a definition of %s: %w", g.record.To, err))
		}
	}
	return errors.Join(problems...)
}

// restoreLink points the symlink to the former image, and reports whether it pointed
// elsewhere.
func (g *guardian) restoreLink() (changed bool, err error) {
	link, want := g.At(g.record.Restore.Link), g.record.Restore.LinkTarget
	if target, err := os.Readlink(link); err == nil && target == want {
		return false, nil
	}
	if err := renameio.Symlink(want, link); err != nil {
		return false, fmt.Errorf("pointing %s to %s: %w", g.record.Restore.Link, want, err)
	}
	g.log.Printf("%s points to %s again", g.record.Restore.Link, want)
	return true, host.SyncDir(filepath.Dir(link))
}

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
	if err != nil || !host.IsRollbackOf(r, g.record) {
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
	if err := g.tolerate(g.recordEnd(ctx)); err != nil {
		return err
	}
	return g.EndGuard(ctx, g.log, g.run)
}

func (g *guardian) recordEnd(ctx context.Context) error {
	r, err := g.Rollback()
	if err != nil || r == nil {
		return errors.Join(err, errors.New("the record of the rollback is gone"))
	}
	if r.NoNetwork && !g.networkReturns(ctx) {
		r.NodesFault = true
	}
	if ctx.Err() != nil {
		return errStopped
	}
	r.FinishedAt = time.Now().UTC()
	return g.SetRollback(*r)
}

// networkWithin is how long a network may take to return with the former version.
const networkWithin = 2 * time.Minute

// networkReturns reports whether a node that had no network with the new version has one with the
// former: then that version took it away, and else the node is at fault. It waits only while the
// API server cannot be reached anyway.
func (g *guardian) networkReturns(ctx context.Context) bool {
	for end := g.sinceBoot() + networkWithin; ctx.Err() == nil; {
		if health, hosts := g.check(ctx); health.Network == "" || health.with(g.ask(ctx), hosts).Network == "" {
			return true
		}
		if g.sinceBoot() >= end {
			return false
		}
		select {
		case <-ctx.Done():
		case <-time.After(g.pause):
		}
	}
	return true
}
