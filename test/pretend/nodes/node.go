package nodes

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/agent"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/pretend"
)

// node is one node.
type node struct {
	*Cluster
	name string
	host *pretend.Host
	// mirrored are the versions that the pods of a control plane show.
	mirrored map[string]string
	// boots receives the ID of each boot as it begins.
	boots chan string
}

func (c *Cluster) newNode(name string, controlPlane bool) *node {
	n := &node{Cluster: c, name: name, host: pretend.NewHost(), boots: make(chan string, 1)}
	n.host.Slow = c.slowVerbs()
	n.host.Dir = "/nonexistent" // there is no output of kubeadm
	n.host.OnReboot = func(boot string) { n.boots <- boot }
	n.host.OnSoftReboot, n.host.OnRestart = n.host.OnReboot, func(string) {}
	n.host.Facts.Kubeadm.Version = First
	n.host.Facts.Node = v1alpha1.NodeFacts{CgroupVersion: 2, Disks: []v1alpha1.DiskFacts{
		{Path: "/opt", FreeBytes: 100 << 30, Device: "8:9"}, {Path: "/var/lib/containerd", FreeBytes: 100 << 30, Device: "8:9"},
		{Path: "/etc/kubernetes", FreeBytes: 100 << 30, Device: "8:9"}, {Path: "/var/lib/kubectl-upgrade", FreeBytes: 100 << 30, Device: "8:9"},
	}}
	if controlPlane {
		n.host.Facts.ControlPlane = true
		n.host.Facts.Node.Certificates = []v1alpha1.CertificateFacts{{Path: "/etc/kubernetes/pki/apiserver.crt", NotAfter: metav1.NewTime(time.Now().AddDate(1, 0, 0)),
			NotBefore: ptr.To(metav1.Now()), RenewedBy: v1alpha1.RenewedByKubeadm, UsedBy: []string{"kube-apiserver"}, InUse: v1alpha1.UsesCurrent}}
		n.host.Facts.StaticPods = map[string]string{}
		for _, component := range host.ControlPlaneComponents {
			n.host.Facts.StaticPods[component] = First
		}
		n.mirrored = maps.Clone(n.host.Facts.StaticPods)
		n.host.SetEtcd(&v1alpha1.EtcdFacts{DatabaseBytes: 1 << 20, Members: []v1alpha1.EtcdMember{{Name: name, Healthy: true, Version: "3.6.5"}}})
	}
	return n
}

// BrokenLog is what the guard of a pretended node shows of a kubelet that does not become healthy.
const BrokenLog = "a pretended node, on which no kubelet ran: this image is broken, as the one who published it wanted\n"

// run runs the node: its agent, until that asks for a reboot, and again.
func (n *node) run(ctx context.Context) {
	go n.beat(ctx)
	for ctx.Err() == nil {
		boot, rebooted := n.runAgent(ctx)
		if rebooted {
			n.boot(ctx, boot)
		}
	}
}

// runAgent runs an agent with the identities and rights of a real one, and with its own connections, until
// the node reboots, the agent cannot go on, or ctx ends.
func (n *node) runAgent(ctx context.Context) (boot string, rebooted bool) {
	connections := &connections{Cluster: n.Cluster}
	defer connections.close()
	clients, err := connections.clients(n.name)
	if err != nil {
		n.Log(n.name, err.Error())
		<-ctx.Done()
		return "", false
	}
	running, stop := context.WithCancel(ctx)
	a := agent.New(agent.Config{
		Node: n.name, Version: cmp.Or(n.Version, "pretended"), Host: n.host, Install: n.host.Install,
		Account: clients.Account, Upgrades: clients.Upgrades, Kubelet: clients.Kubelet,
		Events: agent.NewRecorder(running, clients.Account.Events(), "node-agent", n.name),
		Ready:  func() {}, ReadyWithin: time.Minute,
		Output: io.Discard, Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := a.Run(running); err != nil {
			n.Log(n.name, "its agent ends: "+err.Error())
		}
	}()
	n.Agents.Add(1)
	defer n.Agents.Add(-1)
	select {
	case boot = <-n.boots:
		rebooted = true
	case <-ctx.Done():
	case <-done:
	}
	stop()
	<-done
	return boot, rebooted
}

// boot boots the node, until its kubelet reports. One whose kubelet does not become healthy is returned to
// its former version by its guard.
func (n *node) boot(ctx context.Context, boot string) {
	n.Reboots.Add(1)
	version := n.host.Merged()
	n.Log(n.name, "reboots into "+version)
	n.lost(ctx)
	sleep(ctx, n.Reboot)
	if n.Broken != nil && n.Broken(version) {
		n.Log(n.name, "has booted, and the kubelet of "+version+" does not become healthy")
		sleep(ctx, n.Guard)
		boot = n.host.Return("the kubelet is not healthy: connection refused", BrokenLog)
		n.Reboots.Add(1)
		version = n.host.Merged()
		n.Log(n.name, "is returned to "+version+" by its guard, and reboots")
		sleep(ctx, n.Reboot)
	}
	n.report(ctx, boot)
	go n.guard(ctx)
	if ctx.Err() == nil {
		n.Log(n.name, "is Ready with "+version)
	}
}

// report reports the node's status as its kubelet does, until that succeeds.
func (n *node) report(ctx context.Context, boot string) {
	n.patchStatus(ctx, fmt.Sprintf(`{"status":{"nodeInfo":{"kubeletVersion":%q,"bootID":%q},`+
		`"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady","message":"kubelet is posting ready status","lastHeartbeatTime":%[3]q,"lastTransitionTime":%[3]q}]}}`,
		n.host.Merged(), boot, time.Now().UTC().Format(time.RFC3339)))
}

// lost shows the node as the node controller does when its kubelet is silent.
func (n *node) lost(ctx context.Context) {
	n.patchStatus(ctx, fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown",`+
		`"message":"Kubelet stopped posting node status.","lastTransitionTime":%q}]}}`,
		time.Now().UTC().Format(time.RFC3339)))
}

func (n *node) patchStatus(ctx context.Context, status string) {
	_ = n.untilDone(ctx, n.name, func() error {
		_, err := n.admin.CoreV1().Nodes().Patch(ctx, n.name, types.StrategicMergePatchType, []byte(status), metav1.PatchOptions{}, "status")
		return err
	})
}

// renew writes the kubelet's Lease, once: it counts for longer than any of these clusters lives.
func (n *node) renew(ctx context.Context) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: n.name}}
	lease.Spec.HolderIdentity = &n.name
	lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = ptr.To[int32](7*24*3600), ptr.To(metav1.NowMicro())
	return n.create(ctx, func() error {
		_, err := n.admin.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(ctx, lease, metav1.CreateOptions{})
		return err
	})
}

// beat reports the node's status every five minutes, as a kubelet does of which nothing
// changes, and mirrors the versions of static pods.
func (n *node) beat(ctx context.Context) {
	last := time.Now()
	for ; ctx.Err() == nil; sleep(ctx, time.Second) {
		n.mirror(ctx)
		if time.Since(last) < 5*time.Minute {
			continue
		}
		last = time.Now()
		patch := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","lastHeartbeatTime":%q}]}}`, last.UTC().Format(time.RFC3339))
		_, _ = n.admin.CoreV1().Nodes().Patch(ctx, n.name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	}
}
