//go:build e2e

package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
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

// stateImage is the disk image of the file system that smallState mounts.
const stateImage = "/root/state.img"

// stateMount mounts stateImage at each boot, before anything that uses
// /opt/kubectl-upgrade/state. The loop devices are the lab's.
const stateMount = `[Unit]
Requires=lab-boot.service
After=lab-boot.service

[Mount]
What=` + stateImage + `
Where=/opt/kubectl-upgrade/state
Type=ext4
Options=loop

[Install]
RequiredBy=local-fs.target
`

// smallState puts the files of kubectl-upgrade's state on w1 on a file system of 8 MiB, which
// is there after a reboot too. A mount below /opt keeps a node from method Restart.
func smallState(f *faultRun) error {
	image, err := emptyDisk(f.ctx, 8<<20)
	if err != nil {
		return err
	}
	return onNode("w1", `echo `+image+` | base64 -d | gzip -d >`+stateImage+`
cp -a /opt/kubectl-upgrade/state /root/state
cat >'/etc/systemd/system/opt-kubectl\x2dupgrade-state.mount' <<END
`+stateMount+`END
systemctl daemon-reload
systemctl enable --now 'opt-kubectl\x2dupgrade-state.mount'
cp -a /root/state/. /opt/kubectl-upgrade/state/
`+agentAgain)(f)
}

// emptyDisk returns the image of an empty ext4 file system, for base64 -d | gzip -d.
func emptyDisk(ctx context.Context, size int64) (string, error) {
	file, err := os.CreateTemp("", "disk")
	if err != nil {
		return "", err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if err := file.Truncate(size); err != nil {
		return "", err
	}
	if out, err := exec.CommandContext(ctx, "mke2fs", "-q", "-t", "ext4", "-m", "0", file.Name()).CombinedOutput(); err != nil {
		return "", fmt.Errorf("mke2fs: %w: %s", err, out)
	}
	var packed bytes.Buffer
	pack := gzip.NewWriter(&packed)
	_, err = io.Copy(pack, file)
	if err := errors.Join(err, pack.Close()); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(packed.Bytes()), nil
}

// fillState fills that file system to the last block: the end of a large file leaves some
// free. It is retried while the node reboots.
func fillState(f *faultRun) error {
	return waitUntil(time.Minute, func() error {
		return onNode("w1", `mountpoint -q /opt/kubectl-upgrade/state
mkdir -p /opt/kubectl-upgrade/state/fault
cd /opt/kubectl-upgrade/state/fault
cat /dev/zero >zeros 2>&- || sync
n=0
while echo >$n; do n=$((n + 1)); done 2>&-
sync
! echo >again 2>&-`)(f)
	})
}

const (
	// largeState puts the files back where smallState took them from.
	largeState = `rm -rf /root/state /opt/kubectl-upgrade/state/fault
cp -a /opt/kubectl-upgrade/state /root/state
systemctl disable --now 'opt-kubectl\x2dupgrade-state.mount'
rm -rf /root/state/lost+found /opt/kubectl-upgrade/state/* '/etc/systemd/system/opt-kubectl\x2dupgrade-state.mount' ` + stateImage + `
systemctl daemon-reload
cp -a /root/state/. /opt/kubectl-upgrade/state/
rm -r /root/state
` + agentAgain
	// agentAgain ends the agent's process. The new one sees the mounts of the node as they
	// are now.
	agentAgain = `pkill -KILL -f 'node-agent agen[t]' || true`
)
