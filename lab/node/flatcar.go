package node

import (
	"fmt"
	"runtime"
)

// osRelease has Flatcar's fields. An image for ID=flatcar is merged if it has the same
// SYSEXT_LEVEL.
const osRelease = `NAME="Flatcar Container Linux by Kinvolk"
ID=flatcar
ID_LIKE=coreos
VERSION=%[1]s
VERSION_ID=%[1]s
BUILD_ID=lab
SYSEXT_LEVEL=1.0
PRETTY_NAME="Flatcar Container Linux %[1]s (lab, Debian %[2]s)"
HOME_URL="https://flatcar.org/"
FLATCAR_BOARD="%[3]s-usr"
`

// osVersion has the form of a version that a developer of Flatcar builds.
const osVersion = "9999.0.0"

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

// locksmithd reboots no node: it only is there, to be masked.
const locksmithd = `[Unit]
Description=What stands for Flatcar's locksmithd

[Service]
ExecStart=/usr/bin/sleep infinity
Restart=always

[Install]
WantedBy=multi-user.target
`

// flatcarFiles are the operating system's own, so units are below /usr, and links below
// /usr start them.
func (s Spec) flatcarFiles() []file {
	files := []file{
		{path: "/usr/lib/os-release", text: fmt.Sprintf(osRelease, osVersion, s.Base, runtime.GOARCH)},
		{path: systemd + "ensure-sysext.service", text: ensureSysext},
		{path: systemd + "sysinit.target.wants/ensure-sysext.service", link: "../ensure-sysext.service"},
		{path: systemd + "locksmithd.service", text: locksmithd},
		{path: systemd + "multi-user.target.wants/locksmithd.service", link: "../locksmithd.service"},
	}
	if !s.asShipped() {
		// As the guides for Kubernetes and CAPZ have it.
		files = append(files, file{path: units + "locksmithd.service", link: "/dev/null"})
	}
	return files
}
