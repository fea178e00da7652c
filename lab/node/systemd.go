package node

import (
	"fmt"
	"strings"
)

// masked are units that a node of the lab has no use for; each costs every
// boot a little, and some would change the network that boot sets up.
var masked = []string{
	"apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "fstrim.timer",
	"console-getty.service", "getty@.service", "ldconfig.service", "systemd-journal-catalog-update.service",
	"systemd-networkd.service", "systemd-networkd.socket", "systemd-networkd-wait-online.service",
	"systemd-network-generator.service", "systemd-networkd-persistent-storage.service",
	"systemd-resolved.service", "systemd-importd.socket", "systemd-pstore.service",
	"systemd-update-done.service", "systemd-timesyncd.service",
}

// kept are mounts that a machine has before its systemd starts, so that nothing in it would
// make them again: a soft reboot must leave them alone. On real nodes a unit makes them, from
// /etc/fstab or by itself.
var kept = []string{"var-lib-containerd", "var-log-journal"}

// keepMounted takes a mount out of what systemd undoes on its way down (systemd.mount(5)).
const keepMounted = "[Unit]\nDefaultDependencies=no\n"

const (
	units   = "/etc/systemd/system/"
	early   = units + "sysinit.target.wants/"
	bootUp  = "/etc/lab/boot"
	systemd = "/usr/lib/systemd/system/"
)

// bootUnit comes before everything that needs control groups, loop devices or
// the network.
const bootUnit = `[Unit]
Description=What a machine gets from its hardware
DefaultDependencies=no
Before=systemd-sysext.service containerd.service kubelet.service network-pre.target network.target network-online.target
Wants=network-online.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=` + bootUp + `
`

// bootScript: systemd-nspawn mounts version 1 control groups read-only (those of
// version 2 are a delegated group of its own), makes no loop devices, and leaves the
// network alone. The machine's own loop device nodes cannot be bound, because systemd
// removes free loop devices. A kubelet does not start where /proc/cpuinfo has no clock
// speed, as in some virtual machines.
const bootScript = `#!/bin/sh
set -eu
if [ ! -e /sys/fs/cgroup/cgroup.controllers ]; then
	for controller in /sys/fs/cgroup/*; do
		[ -L "$controller" ] || mount -o remount,rw,bind "$controller"
	done
fi
if ! grep -q 'MHz' /proc/cpuinfo; then
	sed '$a cpu MHz : 1000.000' /proc/cpuinfo >/run/cpuinfo
	mount --bind /run/cpuinfo /proc/cpuinfo
fi
n=0
while [ $n -lt 64 ]; do
	[ -e /dev/loop$n ] || mknod /dev/loop$n b 7 $n
	n=$((n + 1))
done
echo 1 >/proc/sys/net/ipv4/ip_forward
echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables
ip -batch - <<END
link set lo up
link set host0 up
address replace %s/24 dev host0
%sEND
`

func (s Spec) boot() string {
	var routes strings.Builder
	fmt.Fprintf(&routes, "route replace default via %s\n", gateway)
	for _, peer := range s.Peers {
		if peer.Name != s.Name {
			fmt.Fprintf(&routes, "route replace %s via %s\n", peer.Pods, peer.Address)
		}
	}
	return fmt.Sprintf(bootScript, s.Address, routes.String())
}

func (s Spec) systemdFiles() []file {
	files := []file{
		{path: bootUp, mode: 0o755, text: s.boot()},
		{path: units + "lab-boot.service", text: bootUnit},
		{path: early + "lab-boot.service", link: units + "lab-boot.service"},
		{path: early + "systemd-sysext.service", link: systemd + "systemd-sysext.service"},
		// The kernel's messages are those of the whole machine.
		{path: "/etc/systemd/journald.conf.d/lab.conf", text: "[Journal]\nStorage=persistent\nSystemMaxUse=200M\nReadKMsg=no\n"},
		// A container that ignores SIGTERM holds up a reboot for this long.
		{path: "/etc/systemd/system.conf.d/lab.conf", text: "[Manager]\nDefaultTimeoutStopSec=15s\n"},
	}
	for _, mount := range kept {
		files = append(files, file{path: units + mount + ".mount.d/lab.conf", text: keepMounted})
	}
	for _, unit := range masked {
		files = append(files, file{path: units + unit, link: "/dev/null"})
	}
	return files
}
