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
	"strconv"
	"strings"
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

// smallDisk puts /opt of w1, which has the images and the guard's files, on a file system of
// its own, which is there after a reboot too. The free space is 64 MiB. A mount below /opt
// would not do: systemd-sysext hides all of /opt then, when it merges images at boot.
func smallDisk(f *faultRun) error {
	used, err := f.Exec(f.ctx, "w1", "sh", "-c", "du -sm /opt | cut -f1")
	if err != nil {
		return err
	}
	size, err := strconv.ParseInt(strings.TrimSpace(used), 10, 64)
	if err != nil {
		return err
	}
	image, err := emptyDisk(f.ctx, (size*11/10+64+imageSize)<<20)
	if err != nil {
		return err
	}
	return onNode("w1", `echo `+image+` | base64 -d | gzip -d | gzip -d | cp --sparse=always /dev/stdin `+diskImage+`
cat >/etc/systemd/system/opt.mount <<END
`+diskMount+`END
systemctl daemon-reload
mkdir /root/opt
mount -o loop `+diskImage+` /root/opt
cp -a /opt/. /root/opt/
umount /root/opt
rmdir /root/opt
systemctl enable --now opt.mount
`+agentAgain)(f)
}

const (
	// imageSize is the space for the image that is staged, in MiB.
	imageSize = 100
	// diskImage is the image of the file system that smallDisk mounts.
	diskImage = "/root/opt.img"
	// diskMount mounts it at each boot. The loop devices are the lab's.
	diskMount = `[Unit]
Requires=lab-boot.service
After=lab-boot.service

[Mount]
What=` + diskImage + `
Where=/opt
Type=ext4
Options=loop

[Install]
RequiredBy=local-fs.target
`
	// fillDisk fills it to the last block: the end of a large file leaves some free.
	fillDisk = `mountpoint -q /opt
mkdir -p /opt/fault
cd /opt/fault
cat /dev/zero >zeros 2>&- || sync
n=0
while echo >$n; do n=$((n + 1)); done 2>&-
sync
! echo >again 2>&-`
	// largeDisk puts /opt back, with the files of kubectl-upgrade as they are now.
	largeDisk = `rm -rf /opt/fault
cp -a /opt/kubectl-upgrade /root/kubectl-upgrade
systemctl disable opt.mount
umount -l /opt
rm -rf /etc/systemd/system/opt.mount ` + diskImage + ` /opt/kubectl-upgrade
systemctl daemon-reload
mv /root/kubectl-upgrade /opt/
` + agentAgain
	// agentAgain ends the agent's process. The new one sees the mounts of the node as they
	// are now.
	agentAgain = `pkill -KILL -f '^/agent$' || true`
)

// emptyDisk returns the image of an empty ext4 file system, for base64 -d and gzip -d, twice.
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
	outer := gzip.NewWriter(&packed)
	inner := gzip.NewWriter(outer)
	_, err = io.Copy(inner, file)
	if err := errors.Join(err, inner.Close(), outer.Close()); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(packed.Bytes()), nil
}
