package node

// ensureSysext is what Flatcar's unit of that name does. systemd plans a boot before sysext
// images are merged, and before version 255 it does not read the units of an image by itself
// (EXTENSION_RELOAD_MANAGER=): without this unit containerd and the kubelet would not start.
const ensureSysext = `[Unit]
Description=Start the units of sysext images
DefaultDependencies=no
BindsTo=systemd-sysext.service
After=systemd-sysext.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/systemctl daemon-reload
ExecStart=/usr/bin/systemctl restart --no-block sockets.target timers.target multi-user.target
`

func (s Spec) flatcarFiles() []file {
	return []file{
		{path: systemd + "ensure-sysext.service", text: ensureSysext},
		{path: systemd + "sysinit.target.wants/ensure-sysext.service", link: "../ensure-sysext.service"},
	}
}
