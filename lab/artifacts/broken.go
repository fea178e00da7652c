package artifacts

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// BrokenKind is a kind of Kubernetes image that passes every check of its content and
// fails once it is merged. The zero value is an image that works.
type BrokenKind struct {
	Name string
	// Does says what a node with the image does.
	Does string
	// kubelet is what the image has in place of the kubelet: lines of sh, in which
	// "$kubelet" is the real one. Empty: the real one is in its place.
	kubelet string
	// proxy adds criproxy.
	proxy bool
	// release is the image's own extension-release.
	release string
	// texts are further files of the image.
	texts map[string]string
}

// BrokenKinds are all kinds.
var BrokenKinds = []BrokenKind{
	{
		Name:    "crash",
		Does:    "the kubelet ends at once with an error, again and again",
		kubelet: "echo 'panic: broken on purpose' >&2\nexit 2\n",
	},
	{
		Name:    "hang",
		Does:    "the kubelet's process lives and does nothing: it has no health endpoint",
		kubelet: "exec sleep infinity\n",
	},
	{
		Name:    "not-ready",
		Does:    "the kubelet runs and is healthy, and reports its Node as not ready: its container runtime says that there is no network",
		kubelet: startProxy + `exec "$kubelet" "$@" --container-runtime-endpoint=unix://$socket` + "\n",
		proxy:   true,
	},
	{
		Name:    "no-merge",
		Does:    "systemd-sysext leaves the image out, because it is for another operating system",
		release: releaseFor("broken-on-purpose"),
	},
	{
		Name: "no-network",
		Does: "the node's network interfaces go down after each boot with the image",
		texts: map[string]string{
			"usr/lib/systemd/system/no-network.service":                     noNetworkUnit,
			"usr/lib/systemd/system/multi-user.target.d/10-no-network.conf": upholds("no-network.service"),
		},
	},
	{
		Name:    "no-static-pods",
		Does:    "the kubelet runs and starts no static pods: a control plane's components stay down",
		kubelet: "mkdir -p /run/no-static-pods\n" + `exec "$kubelet" "$@" --pod-manifest-path=/run/no-static-pods` + "\n",
	},
	{
		Name:    "dies",
		Does:    "the kubelet works for 80 seconds, and dies for good: systemd does not start it again",
		kubelet: dies(80),
	},
	{
		Name:    "dies-late",
		Does:    "the kubelet works for 115 seconds, and dies for good",
		kubelet: dies(115),
	},
	{
		Name:    "late",
		Does:    "the kubelet works, and starts 60 seconds late",
		kubelet: "sleep 60\n" + `exec "$kubelet" "$@"` + "\n",
	},
}

// dies returns the program of a kubelet that dies that many seconds after its start, some five of which pass until its Node is
// Ready.
func dies(seconds int) string {
	return fmt.Sprintf("\"$kubelet\" \"$@\" &\nsleep %d\nkill -KILL $!\nexec sleep infinity\n", seconds)
}

// BrokenKindNames are the names of all kinds.
func BrokenKindNames() []string {
	var names []string
	for _, kind := range BrokenKinds {
		names = append(names, kind.Name)
	}
	return names
}

// FindBrokenKind returns the kind with that name. Without a name it is an image that
// works.
func FindBrokenKind(name string) (BrokenKind, error) {
	if name == "" {
		return BrokenKind{}, nil
	}
	i := slices.IndexFunc(BrokenKinds, func(k BrokenKind) bool { return k.Name == name })
	if i < 0 {
		return BrokenKind{}, fmt.Errorf("%q is no kind of broken image: they are %s", name, strings.Join(BrokenKindNames(), ", "))
	}
	return BrokenKinds[i], nil
}

// BrokenSysext packs the programs of a version as an image of that kind, and returns
// it. An image that works is k.Sysext.
func (c *Cache) BrokenSysext(ctx context.Context, k Kubernetes, kind BrokenKind) (string, error) {
	if kind.Name == "" {
		return k.Sysext, nil
	}
	return c.kubernetesSysext(ctx, k.Version, k.BinDir, kind)
}

const (
	kubeletPath     = "usr/bin/kubelet"
	realKubeletPath = "usr/libexec/kubelet"
	criproxyPath    = "usr/libexec/criproxy"
)

// brokenKubelet finds the real kubelet beside itself, because an image is asked for its
// version where it is mounted.
const brokenKubelet = `#!/bin/sh
# This kubelet tells its version, and is otherwise broken on purpose: %s.
libexec=${0%%/*}/../libexec
kubelet=$libexec/kubelet
case " $*" in
*" --version"*) exec "$kubelet" "$@" ;;
esac
%s`

const startProxy = `socket=/run/criproxy.sock
rm -f $socket
"$libexec/criproxy" $socket /run/containerd/containerd.sock &
until [ -S $socket ]; do sleep 0.1; done
`

// noNetworkUnit waits for the network, so that nothing sets it up again afterwards.
const noNetworkUnit = `[Unit]
Description=No network, on purpose
After=network-online.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'for link in /sys/class/net/*; do [ $${link##*/} = lo ] || ip link set $${link##*/} down; done'
`

// spoil makes an image of that kind out of one that works.
func (c *Cache) spoil(ctx context.Context, t *tree, kind BrokenKind) error {
	criproxy := ""
	if kind.proxy {
		dir, err := c.program(ctx, "criproxy", criproxyMain)
		if err != nil {
			return err
		}
		criproxy = filepath.Join(dir, "criproxy")
	}
	kind.change(t, criproxy)
	return nil
}

func (k BrokenKind) change(t *tree, criproxy string) {
	if k.kubelet != "" {
		t.copies[realKubeletPath] = t.copies[kubeletPath]
		delete(t.copies, kubeletPath)
		t.scripts = map[string]string{kubeletPath: fmt.Sprintf(brokenKubelet, k.Name, k.kubelet)}
	}
	if k.proxy {
		t.copies[criproxyPath] = criproxy
	}
	if k.release != "" {
		t.release = k.release
	}
	maps.Copy(t.texts, k.texts)
}

//go:embed criproxy/main.go
var criproxyMain string
