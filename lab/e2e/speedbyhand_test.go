//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
)

// byHand does to nodes, without any pause, what https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/kubeadm-upgrade/
// has a person do, with Flatcar's images for the packages.
type byHand struct {
	*testCluster
	log  func(format string, args ...any)
	mu   sync.Mutex
	took map[string][]time.Duration // by the part
}

// The parts of the work on a node.
const (
	partImage    = "image"
	partKubeadm  = "kubeadm"
	partDrain    = "drain"
	partReboot   = "reboot, until Ready"
	partUncordon = "uncordon"
)

var partsByHand = []string{partImage, partKubeadm, partDrain, partReboot, partUncordon}

func (b *byHand) part(node, name string, run func() error) error {
	began := time.Now()
	if err := run(); err != nil {
		return fmt.Errorf("%s by hand, %s: %w", node, name, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.took == nil {
		b.took = map[string][]time.Duration{}
	}
	b.took[name] = append(b.took[name], time.Since(began))
	b.log("%s by hand, %s: %s", node, name, time.Since(began).Round(time.Millisecond))
	return nil
}

// fetchImage downloads the newest image of a minor; the definition is changed to that minor, if
// it is for another.
const fetchImage = `cd /etc/sysupdate.kubernetes.d
old=$(ls) new=kubernetes-%[1]s.conf
sed -i 's/kubernetes-v1\.[0-9]*\./kubernetes-%[1]s./' "$old"
[ "$old" = "$new" ] || mv "$old" "$new"
exec /usr/lib/systemd/systemd-sysupdate -C kubernetes update`

// runKubeadm runs the kubeadm of an image that no boot has merged.
const runKubeadm = `exec systemd-run --quiet --wait --pipe --collect -p MountImages=/opt/extensions/kubernetes/%[1]s:/run/by-hand \
	-E PATH=/run/by-hand/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
	sh -c 'echo y | kubeadm upgrade %[2]s --config /etc/kubernetes/kubeadm-upgrade.yaml'`

// nextBoot has the next boot merge an image, and boots.
const nextBoot = `ln -sfn /opt/extensions/kubernetes/%[1]s /etc/extensions/kubernetes.raw && exec systemctl reboot`

// upgrade takes a node to a version with the given arguments of `kubeadm upgrade`.
func (b *byHand) upgrade(node, version, kubeadm string) error {
	if err := b.prepare(node, version, kubeadm); err != nil {
		return err
	}
	return b.reboot(node, version, fmt.Sprintf(nextBoot, imageName(version)))
}

// prepare does what needs no drain.
func (b *byHand) prepare(node, version, kubeadm string) error {
	minor := version[:strings.LastIndex(version, ".")]
	if err := b.part(node, partImage, func() error { return b.sh(node, fmt.Sprintf(fetchImage, minor)) }); err != nil {
		return err
	}
	return b.part(node, partKubeadm, func() error { return b.sh(node, fmt.Sprintf(runKubeadm, imageName(version), kubeadm)) })
}

// reboot drains a node, reboots it with a command, waits until it is Ready with that kubelet, and
// uncordons it.
func (b *byHand) reboot(node, version, command string) error {
	before, err := b.node(node)
	if err != nil {
		return err
	}
	if err := b.part(node, partDrain, func() error {
		return b.kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout", "2m")
	}); err != nil {
		return err
	}
	if err := b.part(node, partReboot, func() error {
		if err := b.sh(node, command); err != nil { // its connection may end first
			b.log("%s by hand: %v", node, err)
		}
		return b.ready(node, before.BootID, version)
	}); err != nil {
		return err
	}
	return b.part(node, partUncordon, func() error { return b.kubectl("uncordon", node) })
}

func (b *byHand) sh(node, script string) error {
	_, err := b.Exec(b.ctx, node, "sh", "-euc", script)
	return err
}

// kubectl repeats a command for a minute: the API server that it asks may be the one that was
// just replaced.
func (b *byHand) kubectl(args ...string) error {
	_, err := b.Kube(b.ctx, args...)
	for deadline := time.Now().Add(time.Minute); err != nil && time.Now().Before(deadline); _, err = b.Kube(b.ctx, args...) {
		time.Sleep(200 * time.Millisecond)
	}
	return err
}

// ready waits until the node is Ready in another boot, with a kubelet of that version.
func (b *byHand) ready(name, boot, version string) error {
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		node, err := b.node(name)
		if err == nil && node.Ready && node.BootID != boot && node.Kubelet == version {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not Ready within 5 minutes: %+v: %w", node, err)
		}
	}
}

func (b *byHand) node(name string) (record.Node, error) {
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Second)
	defer cancel()
	node, err := b.kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return record.Node{}, err
	}
	return record.NodeOf(node), nil
}
