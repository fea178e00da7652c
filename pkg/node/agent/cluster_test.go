package agent

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/pretend"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// cluster is a real API server with our kinds, rights and policies, and one node whose host
// and kubelet are simulated.
type cluster struct {
	t      *testing.T
	config *rest.Config
	admin  kubernetes.Interface
	ours   *kube.Kinds
	slots  *slot.Slots
	node   string
	owner  clusterstate.Owner
	host   *pretend.Host

	mu   sync.Mutex
	stop func() // of the agent that runs
	log  bytes.Buffer
	// ready counts how often an agent was ready, and readyWithin is by when it is without
	// a report.
	ready       atomic.Int32
	onReady     func()
	readyWithin time.Duration
	clockAhead  atomic.Int64
}

func (c *cluster) setReady() {
	if c.onReady != nil {
		c.onReady()
	}
	c.ready.Add(1)
}

// newCluster makes the test run beside others: each has a server of its own, and mostly waits.
func newCluster(t *testing.T, node string) *cluster {
	t.Helper()
	t.Parallel()
	config := apitest.Fresh(t, func(config *rest.Config) { setup(t, config) })
	c := clusterOf(t, config)
	c.node, c.host, c.stop, c.readyWithin = node, pretend.NewHost(), func() {}, time.Hour
	c.host.OnReboot, c.host.OnSoftReboot = c.boot, c.bootSoftly
	c.host.OnRestart = func(boot string) { c.report(boot, corev1.ConditionTrue) }
	c.host.Dir = t.TempDir()
	c.createNode()
	t.Cleanup(func() {
		c.kill()
		if t.Failed() {
			t.Log(c.log.String())
		}
	})
	return c
}

func clusterOf(t *testing.T, config *rest.Config) *cluster {
	c := &cluster{t: t, config: config, admin: kubernetes.NewForConfigOrDie(config)}
	ours, err := kube.NewKinds(config)
	c.must(err)
	c.ours, c.slots = ours, slotsOf(c.admin)
	return c
}

// setup makes what is in every cluster.
func setup(t *testing.T, config *rest.Config) {
	c := clusterOf(t, config)
	apitest.InstallCRDs(t, config)
	manifests := filepath.Join(apitest.Root(t), "manifests")
	c.kubectl("apply", "-f", filepath.Join(manifests, "namespace.yaml"))
	c.kubectl("apply", "-k", filepath.Join(manifests, "agent"))
	c.kubectl("apply", "-k", filepath.Join(manifests, "admission"))
	c.createUpgrade()
	c.createKubeadmConfig()
}

func (c *cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) kubectl(args ...string) {
	c.t.Helper()
	if out, err := apitest.Kubectl(c.t, c.config, args...).CombinedOutput(); err != nil {
		c.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// createNode creates the Node with a label, as a kubelet does: the API server keeps no managedFields of
// an object that is created without any field.
func (c *cluster) createNode() {
	node, err := c.admin.CoreV1().Nodes().Create(c.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: c.node, Labels: map[string]string{corev1.LabelHostname: c.node}}}, metav1.CreateOptions{})
	c.must(err)
	c.owner = clusterstate.Owner{Node: node.Name, UID: string(node.UID)}
	c.report("boot-0", corev1.ConditionTrue)
	c.renew(time.Now(), time.Hour)
}

// renew writes the kubelet's Lease, which then counts for that long.
func (c *cluster) renew(at time.Time, lasts time.Duration) {
	c.t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: c.node}}
	lease.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: &c.node, LeaseDurationSeconds: ptr.To(int32(lasts.Seconds())), RenewTime: ptr.To(metav1.NewMicroTime(at)),
	}
	leases := c.admin.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	old, err := leases.Get(c.t.Context(), c.node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = leases.Create(c.t.Context(), lease, metav1.CreateOptions{})
	} else if err == nil {
		lease.ResourceVersion = old.ResourceVersion
		_, err = leases.Update(c.t.Context(), lease, metav1.UpdateOptions{})
	}
	c.must(err)
}

// report reports the node's status as its kubelet does.
func (c *cluster) report(boot string, ready corev1.ConditionStatus) {
	status := fmt.Sprintf(`{"status":{"nodeInfo":{"kubeletVersion":%q,"bootID":%q},"conditions":[{"type":"Ready","status":%q}]}}`, c.host.Merged(), boot, ready)
	_, err := c.admin.CoreV1().Nodes().Patch(context.Background(), c.node, "application/strategic-merge-patch+json", []byte(status), metav1.PatchOptions{}, "status")
	if err != nil {
		c.t.Error(err)
	}
}

// boot reboots the node: the agent dies, the kubelet reports, and starts the agent.
func (c *cluster) boot(boot string) {
	c.kill()
	c.report(boot, corev1.ConditionFalse)
	time.Sleep(100 * time.Millisecond)
	c.report(boot, corev1.ConditionTrue)
	c.run()
}

// bootSoftly starts the agent before the kubelet reports: the Node still shows the former one.
func (c *cluster) bootSoftly(boot string) {
	c.kill()
	c.run()
	time.Sleep(time.Second)
	c.report(boot, corev1.ConditionTrue)
}

func (c *cluster) createUpgrade() {
	c.must(c.setMode(v1alpha1.ModeManage))
	always := v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: "always"}}
	always.Spec.MaintenanceWindows = []v1alpha1.MaintenanceWindow{{Period: v1alpha1.Period{
		Name: "always", StartTime: metav1.NewTime(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)), EndTime: metav1.NewTime(time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)),
	}}}
	c.create(&always)
	c.create(&v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "patch"}, Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.34.4"}})
	fixed := &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "patch"}}
	fixed.Status.Images = []v1alpha1.Image{patchImage()}
	_, err := c.ours.ClusterUpgrades.Apply(c.t.Context(), fixed, "test", "status")
	c.must(err)
	c.pod("kube-system", "kube-apiserver-elsewhere", func(p *corev1.Pod) {
		p.Labels = map[string]string{"component": "kube-apiserver"}
		p.Spec.NodeName, p.Spec.Containers[0].Image = "elsewhere", "registry.k8s.io/kube-apiserver:v1.34.4"
	})
	c.must(c.slots.Ensure(c.t.Context(), 1))
}

// setMode creates the UpgradePolicy that all tests share, or sets its mode.
func (c *cluster) setMode(mode v1alpha1.ManagementMode) error {
	policy := &v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}, Spec: v1alpha1.UpgradePolicySpec{Mode: mode}}
	_, err := c.ours.UpgradePolicies.Apply(context.Background(), policy, "test", "")
	return err
}

// patchImage returns the image that the upgrade "patch" fixed at its trigger.
func patchImage() v1alpha1.Image {
	return v1alpha1.Image{Architecture: "amd64", URL: "http://bakery/kubernetes-v1.34.4-x86-64.raw", Digest: v1alpha1.DigestOf(strings.Repeat("a", 64))}
}

// createKubeadmConfig creates the ConfigMap that kubeadm leaves in a cluster, with the
// rights that it gives to kubelets.
func (c *cluster) createKubeadmConfig() {
	c.t.Helper()
	cmd := apitest.Kubectl(c.t, c.config, "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(`
apiVersion: v1
kind: ConfigMap
metadata: {name: kubeadm-config, namespace: kube-system}
data:
  ClusterConfiguration: |
    kind: ClusterConfiguration
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: "kubeadm:nodes-kubeadm-config", namespace: kube-system}
rules:
- {apiGroups: [""], resources: [configmaps], resourceNames: [kubeadm-config], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: "kubeadm:nodes-kubeadm-config", namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: "kubeadm:nodes-kubeadm-config"}
subjects:
- {kind: Group, name: "system:nodes", apiGroup: rbac.authorization.k8s.io}
`)
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("%v\n%s", err, out)
	}
}

// create creates an object that all tests share.
func (c *cluster) create(object any) {
	c.t.Helper()
	var err error
	switch o := object.(type) {
	case *v1alpha1.MaintenanceSchedule:
		_, err = c.ours.MaintenanceSchedules.Apply(c.t.Context(), o, "test", "")
	case *v1alpha1.ClusterUpgrade:
		_, err = c.ours.ClusterUpgrades.Apply(c.t.Context(), o, "test", "")
	}
	c.must(err)
}

func (c *cluster) pod(namespace, name string, change func(*corev1.Pod)) {
	c.t.Helper()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.PodSpec{NodeName: c.node, Containers: []corev1.Container{{Name: "c", Image: "web"}}},
	}
	change(p)
	_, err := c.admin.CoreV1().Pods(namespace).Create(c.t.Context(), p, metav1.CreateOptions{})
	if err != nil && !strings.Contains(err.Error(), "already exists") {
		c.t.Fatal(err)
	}
}

// order writes the node's order as the coordinator does, and reserves its slot.
func (c *cluster) order(release v1alpha1.Release, change ...func(*v1alpha1.NodeUpgradeSpec)) {
	c.t.Helper()
	nu := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: c.node}}
	nu.Spec = v1alpha1.NodeUpgradeSpec{
		Managed: true,
		Upgrade: c.upgrade("patch"), Type: v1alpha1.TypePatch, Version: "v1.34.4", Release: release, Kubeadm: v1alpha1.KubeadmNode,
		Image: ptr.To(patchImage()),
		Pace:  v1alpha1.DefaultStrategy().Pace,
	}
	nu.Spec.SettleSeconds, nu.Spec.MinReadySeconds = ptr.To[int32](1), ptr.To[int32](0)
	for _, f := range change {
		f(&nu.Spec)
	}
	if release != v1alpha1.ReleaseNone {
		c.must(c.slots.Reserve(c.t.Context(), "slot-0", c.owner))
	}
	_, err := c.ours.NodeUpgrades.Apply(c.t.Context(), nu, "coordinator", "")
	c.must(err)
}

// upgrade returns the reference to an upgrade that orders have.
func (c *cluster) upgrade(name string) *v1alpha1.UpgradeReference {
	c.t.Helper()
	upgrade, err := c.ours.ClusterUpgrades.Get(c.t.Context(), name, metav1.GetOptions{})
	c.must(err)
	return ptr.To(upgrade.Reference())
}

// as returns the configuration of a client that impersonates a user.
func (c *cluster) as(user string, groups []string, node string) *rest.Config {
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	if node != "" {
		config.Impersonate.Extra = map[string][]string{"authentication.kubernetes.io/node-name": {node}}
	}
	return config
}

func (c *cluster) account(node string) *rest.Config {
	return c.as("system:serviceaccount:"+v1alpha1.Namespace+":node-agent", []string{"system:serviceaccounts"}, node)
}

// run starts an agent with the identities and rights of a real one.
func (c *cluster) run() {
	account := c.account(c.node)
	upgrades, err := kube.NewKinds(account)
	if err != nil {
		c.t.Error(err)
		return
	}
	kubelet := c.as("system:node:"+c.node, []string{"system:nodes"}, "")
	kubelet.Wrap(retryReads)
	accountClient, err := kube.NewForConfig(account)
	if err != nil {
		c.t.Error(err)
		return
	}
	kubeletClient, err := kube.NewForConfig(kubelet)
	if err != nil {
		c.t.Error(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	a := New(Config{
		Node: c.node, Version: "test", Host: c.host, Install: c.host.Install,
		Account: accountClient, Upgrades: upgrades,
		Kubelet: kubeletClient,
		Events:  NewRecorder(ctx, accountClient.Events(), "node-agent", c.node),
		Ready:   c.setReady, ReadyWithin: c.readyWithin,
		Output: &locked{c: c},
		Log:    slog.New(slog.NewTextHandler(&locked{c: c}, nil)),
		Now:    time.Now,

		ClockAhead: func() time.Duration { return time.Duration(c.clockAhead.Load()) },
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := a.Run(ctx); err != nil {
			c.t.Errorf("the agent ended: %v", err)
		}
	}()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop = func() { cancel(); <-done }
}

// kill stops the agent, and waits until it has ended.
func (c *cluster) kill() {
	c.mu.Lock()
	stop := c.stop
	c.stop = func() {}
	c.mu.Unlock()
	stop()
}

type locked struct{ c *cluster }

func (l *locked) Write(p []byte) (int, error) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	return l.c.log.Write(p)
}

// kubelet ends deleted pods, until the test ends.
func (c *cluster) kubelet() {
	ctx := c.t.Context()
	go func() {
		for ctx.Err() == nil {
			pods, err := c.admin.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + c.node})
			if err != nil {
				return
			}
			for _, p := range pods.Items {
				if p.DeletionTimestamp != nil {
					_ = c.admin.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))})
				}
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
}

// agentStatus is the status that the agent has written, with its reason and message.
type agentStatus struct {
	v1alpha1.NodeUpgradeStatus
	Reason  v1alpha1.Reason
	Message string
}

func (c *cluster) status() agentStatus {
	nu, err := c.ours.NodeUpgrades.Get(context.Background(), c.node, metav1.GetOptions{})
	if err != nil {
		return agentStatus{}
	}
	reason, message := nu.Status.Cause()
	return agentStatus{nu.Status, reason, message}
}

// awaitInventory waits until the agent has written an inventory for which is returns true.
func (c *cluster) awaitInventory(what string, is func(v1alpha1.NodeInventory) bool) v1alpha1.NodeInventory {
	c.t.Helper()
	var inventory *v1alpha1.NodeInventory
	var err error
	for range 600 {
		if inventory, err = c.ours.NodeInventories.Get(context.Background(), c.node, metav1.GetOptions{}); err == nil && is(*inventory) {
			return *inventory
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Fatalf("waiting until %s: %+v %v", what, inventory, err)
	return v1alpha1.NodeInventory{}
}

func (c *cluster) await(what string, is func(agentStatus) bool) agentStatus {
	c.t.Helper()
	for range 600 {
		if status := c.status(); is(status) {
			return status
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Fatalf("waiting until %s: %+v", what, c.status())
	return agentStatus{}
}

func (c *cluster) awaitStep(step v1alpha1.Step) agentStatus {
	c.t.Helper()
	return c.await("step is "+string(step), func(s agentStatus) bool { return s.Step == step })
}
