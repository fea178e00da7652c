package node

import (
	"fmt"
	"path"
	"runtime"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image"
)

const extensions = "/opt/extensions/"

// transfer is the conf that Flatcar's sysext-bakery publishes for a minor.
const transfer = `[Transfer]
Verify=false

[Source]
Type=url-file
Path=%[2]s/
MatchPattern=kubernetes-v%[1]s.@v-%%a.raw

[Target]
InstancesMax=3
Type=regular-file
Path=/opt/extensions/kubernetes
CurrentSymlink=/etc/extensions/kubernetes.raw
`

// noTransfer keeps the default component of systemd-sysupdate from failing
// because it has nothing to do: the unit calls it as well.
const noTransfer = `[Source]
Type=regular-file
Path=/
MatchPattern=nothing-@v.raw

[Target]
Type=regular-file
Path=/
`

// updateDropIn is what Flatcar's guides and CAPZ add to the unit: fetch what
// is new, and ask for a reboot when the symlink then points elsewhere. The
// empty condition is the lab's: the unit does not run in containers.
const updateDropIn = `[Unit]
ConditionVirtualization=

[Service]
ExecStartPre=/bin/sh -c "readlink -f /etc/extensions/kubernetes.raw >/run/kubernetes-before"
ExecStartPre=/usr/lib/systemd/systemd-sysupdate -C kubernetes update
ExecStartPost=/bin/sh -c "readlink -f /etc/extensions/kubernetes.raw >/run/kubernetes-after"
ExecStartPost=/bin/sh -c "cmp --silent /run/kubernetes-before /run/kubernetes-after || touch /run/reboot-required"
`

// ContainerdLink points at the containerd that the next boot merges.
const ContainerdLink = "/etc/extensions/containerd.raw"

// ContainerdImage returns where a node has that sysext image of containerd.
func ContainerdImage(image string) string {
	return path.Join(extensions, "containerd", path.Base(image))
}

// updateFiles are the sysexts and what keeps Kubernetes' one up to date.
func (s Spec) updateFiles() ([]file, error) {
	minor, _, ok := cutLast(s.Version, ".")
	if !ok || strings.Count(minor, ".") != 1 {
		return nil, fmt.Errorf("%q is no Kubernetes version: write it as 1.34.4", s.Version)
	}
	containerd := ContainerdImage(s.Containerd)
	files := []file{
		{path: containerd, source: s.Containerd},
		{path: ContainerdLink, link: containerd},
	}
	if s.Ignition == "" {
		image := path.Join(extensions, "kubernetes", image.Name("v"+s.Version, runtime.GOARCH))
		files = append(files,
			file{path: image, source: s.Kubernetes},
			file{path: "/etc/extensions/kubernetes.raw", link: image},
			file{path: "/etc/sysupdate.kubernetes.d/kubernetes-v" + minor + ".conf", text: fmt.Sprintf(transfer, minor, s.ImageServer)},
			file{path: "/etc/sysupdate.d/noop.conf", text: noTransfer},
			file{path: units + "systemd-sysupdate.service.d/kubernetes.conf", text: updateDropIn})
	}
	if s.asShipped() {
		enabledIn := units
		if s.Ignition != "" {
			enabledIn = systemd // by Flatcar, since 4515
		}
		files = append(files,
			file{path: enabledIn + "systemd-sysupdate.timer.d/container.conf", text: "[Unit]\nConditionVirtualization=\n"},
			file{path: enabledIn + "timers.target.wants/systemd-sysupdate.timer", link: systemd + "systemd-sysupdate.timer"})
	}
	return files, nil
}

// asShipped reports whether the units that Flatcar enables by default are enabled.
func (s Spec) asShipped() bool { return s.AutoUpdate || s.Ignition != "" }

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
