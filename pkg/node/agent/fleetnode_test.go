//go:build fleet

package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// fleetNode is a node of the fleet.
type fleetNode struct {
	*manyNodes
	name string
	host *fakeHost
	// mirrored are the versions that the pods of a control plane show.
	mirrored map[string]string

	mu   sync.Mutex
	stop func() // ends the agent that runs
}

func (f *manyNodes) newNode(name string, controlPlane bool) *fleetNode {
	n := &fleetNode{manyNodes: f, name: name, host: newFakeHost(), stop: func() {}}
	n.host.slow = slowVerbs()
	n.host.dir = "/nonexistent" // there is no output of kubeadm
	n.host.onReboot = n.boot
	n.host.facts.Kubeadm.Version = "v1.34.3"
	n.host.facts.Node = v1alpha1.NodeFacts{CgroupVersion: 2, Disks: []v1alpha1.DiskFacts{
		{Path: "/opt", FreeBytes: 100 << 30, Device: "8:9"}, {Path: "/var/lib/containerd", FreeBytes: 100 << 30, Device: "8:9"},
		{Path: "/etc/kubernetes", FreeBytes: 100 << 30, Device: "8:9"}, {Path: "/var/lib/kubectl-upgrade", FreeBytes: 100 << 30, Device: "8:9"},
	}}
	if controlPlane {
		n.host.facts.ControlPlane = true
		n.host.facts.StaticPods = map[string]string{}
		for _, component := range host.ControlPlaneComponents {
			n.host.facts.StaticPods[component] = "v1.34.3"
		}
		n.mirrored = maps.Clone(n.host.facts.StaticPods)
		n.host.setEtcd(&v1alpha1.EtcdFacts{DatabaseBytes: 1 << 20, Members: []v1alpha1.EtcdMember{{Name: name, Healthy: true, Version: "3.6.5"}}})
	}
	return n
}

// startAgent starts an agent with the identities and rights of a real one, and with its own
// connections.
func (n *fleetNode) startAgent() {
	connections := &connections{manyNodes: n.manyNodes}
	account := connections.account(n.name)
	kubelet := connections.kubelet(n.name)
	upgrades, err := kube.NewKinds(account)
	accountClient, accountErr := kube.NewForConfig(account)
	kubeletClient, kubeletErr := kube.NewForConfig(kubelet)
	if err := errors.Join(err, accountErr, kubeletErr); err != nil {
		n.Error(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	a := New(Config{
		Node: n.name, Version: "fleet", Host: n.host, Install: n.host.install,
		Account: accountClient, Upgrades: upgrades, Kubelet: kubeletClient,
		Events: NewRecorder(ctx, accountClient.Events(), "node-agent", n.name),
		Ready:  func() {}, ReadyWithin: time.Minute,
		Output: io.Discard, Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.Run(ctx)
	}()
	n.agents.Add(1)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stop = func() { cancel(); <-done; connections.close(); n.agents.Add(-1) }
}

// boot reboots the node: the agent dies, the kubelet reports, and starts the agent.
func (n *fleetNode) boot(boot string) {
	n.mu.Lock()
	stop := n.stop
	n.stop = func() {}
	n.mu.Unlock()
	stop()
	n.reboots.Add(1)
	n.report(boot, corev1.ConditionFalse)
	time.Sleep(fleetReboot)
	n.report(boot, corev1.ConditionTrue)
	n.startAgent()
}

// report reports the node's status as its kubelet does, until that succeeds.
func (n *fleetNode) report(boot string, ready corev1.ConditionStatus) {
	status := fmt.Sprintf(`{"status":{"nodeInfo":{"kubeletVersion":%q,"bootID":%q},"conditions":[{"type":"Ready","status":%q,"lastHeartbeatTime":%q}]}}`,
		n.host.merged(), boot, ready, time.Now().UTC().Format(time.RFC3339))
	n.untilDone(func() error {
		_, err := n.admin.CoreV1().Nodes().Patch(context.Background(), n.name, types.StrategicMergePatchType, []byte(status), metav1.PatchOptions{}, "status")
		return err
	})
}

// untilDone repeats a request while the API server does not accept it.
func (f *manyNodes) untilDone(do func() error) {
	for begun := time.Now(); ; time.Sleep(time.Second) {
		err := do()
		if err == nil {
			return
		}
		if time.Since(begun) > 5*time.Minute {
			f.Log(err)
			begun = time.Now()
		}
	}
}

// renew writes the kubelet's Lease, once: it counts for longer than any fleet lives.
func (n *fleetNode) renew() {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: n.name}}
	lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = ptr.To[int32](7*24*3600), ptr.To(metav1.NowMicro())
	n.untilDone(func() error {
		_, err := n.admin.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(context.Background(), lease, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
}

// beat reports the node's status every five minutes, as a kubelet does of which nothing
// changes, and mirrors the versions of static pods.
func (n *fleetNode) beat(ctx context.Context) {
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
