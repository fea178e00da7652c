//go:build e2e

package e2e

import (
	"time"
)

// guardProcess is how the guard runs, for pkill -f; the brackets keep pkill's own shell out.
const guardProcess = "node-agent-guard guar[d]"

// killGuard kills w1's guard every 5 seconds for 100 seconds, over its boots.
func killGuard(f *faultRun) error {
	for end := time.Now().Add(100 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Second) {
		_, _ = f.Exec(f.ctx, "w1", "pkill", "-KILL", "-f", guardProcess)
	}
	return nil
}

// secondGuard starts another guard on w1, beside that of the unit. It is retried while the
// node boots.
func secondGuard(f *faultRun) error {
	return waitUntil(time.Minute, func() error {
		return onNode("w1", "pgrep -f '"+guardProcess+"'; systemd-run --unit fault-guard --collect /opt/kubectl-upgrade/bin/node-agent-guard guard")(f)
	})
}

// killInRollback cuts w1's power just after the guard has recorded that it returns to the
// former version, before it has finished.
func killInRollback(f *faultRun) error {
	begun := onNode("w1", "while ! grep -q startedAt /opt/kubectl-upgrade/state/rollback.json 2>&-; do sleep 0.05; done")
	if err := waitUntil(3*time.Minute, func() error { return begun(f) }); err != nil {
		return err
	}
	return onLab("kill", "w1")(f)
}

const (
	// smallState puts the files of kubectl-upgrade's state on a file system of their own,
	// with 4 MiB free, and fillState fills it. largeState puts them back.
	smallState = `mkdir -p /root/state
mount -t tmpfs -o size=$(( $(du -sk /opt/kubectl-upgrade/state | cut -f1) + 4096 ))k tmpfs /root/state
cp -a /opt/kubectl-upgrade/state/. /root/state/
mount --bind /root/state /opt/kubectl-upgrade/state`
	fillState  = "cat /dev/zero >/opt/kubectl-upgrade/state/fault 2>&- || true"
	largeState = `umount /opt/kubectl-upgrade/state
rm -rf /opt/kubectl-upgrade/state/* /root/state/fault
cp -a /root/state/. /opt/kubectl-upgrade/state/
umount /root/state`
)
