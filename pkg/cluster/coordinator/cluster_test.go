package coordinator_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/coordinator"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/gate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// cluster is a real API server with nodes that exist as objects only.
type cluster struct {
	*testing.T
	config  *rest.Config
	kube    kubernetes.Interface
	ours    *kube.Kinds
	index   *index
	outages outages
	check   func(preflight.Facts) []v1alpha1.Finding // nil: no findings
	facts   func(node string) *v1alpha1.NodeFacts    // what agents report; nil: no inventories

	requirePolicy bool // of coordinators that are started
}

// index is a source of images whose list can be changed.
type index struct {
	sync.Mutex
	*httptest.Server
	lines string
}

func (i *index) offer(versions ...string) {
	i.Lock()
	defer i.Unlock()
	i.lines = ""
	for _, v := range versions {
		i.lines += fmt.Sprintf("%064x  kubernetes-%s-x86-64.raw\n", len(v), v)
	}
}

// newCluster returns a cluster with our CRDs and the coordinator's manifests, so that tests run
// with its real rights.
func newCluster(t *testing.T, nodes ...string) *cluster {
	t.Helper()
	c := &cluster{T: t, config: coordinator.FreshServer(t)}
	c.kube = kubernetes.NewForConfigOrDie(c.config)
	ours, err := kube.NewKinds(c.config)
	c.must(err)
	c.ours = ours
	c.index = newIndex(t)
	c.policy(func(p *v1alpha1.UpgradePolicy) {
		p.Spec.Mode = v1alpha1.ModeManage
		p.Spec.Automatic = []v1alpha1.AutomaticUpgrade{{Type: v1alpha1.TypePatch}}
		p.Spec.Source = v1alpha1.ImageSource{URL: c.index.URL + "/", TransportPolicy: v1alpha1.TransportAllowHTTP, IntervalSeconds: 1}
		p.Spec.Strategy.MaxUnavailable = ptr.To(intstr.FromInt32(2))
		p.Spec.Strategy.SettleSeconds, p.Spec.Strategy.MinReadySeconds = ptr.To[int32](0), ptr.To[int32](0)
	})
	for _, name := range nodes {
		c.addNode(name)
	}
	return c
}

func newIndex(t *testing.T) *index {
	i := &index{}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		i.Lock()
		defer i.Unlock()
		_, _ = w.Write([]byte(i.lines))
	}))
	t.Cleanup(i.Close)
	return i
}

func (c *cluster) apply(args ...string) {
	c.Helper()
	if out, err := apitest.Kubectl(c.T, c.config, append([]string{"apply"}, args...)...).CombinedOutput(); err != nil {
		c.Fatalf("kubectl apply %s: %v\n%s", args, err, out)
	}
}

// policy changes the UpgradePolicy, as an administrator does, and creates it where it
// is missing.
func (c *cluster) policy(change func(*v1alpha1.UpgradePolicy)) {
	c.Helper()
	c.must(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		policy, err := c.ours.UpgradePolicies.Get(c.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			policy = &v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}}
			change(policy)
			_, err = c.ours.UpgradePolicies.Create(c.Context(), policy, metav1.CreateOptions{})
			return err
		}
		if err != nil {
			return err
		}
		change(policy)
		_, err = c.ours.UpgradePolicies.Update(c.Context(), policy, metav1.UpdateOptions{})
		return err
	}))
}

func (c *cluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// addNode creates a Node at v1.34.3. For a name that begins with cp it also creates what
// makes the node a control plane.
func (c *cluster) addNode(name string) {
	c.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	if strings.HasPrefix(name, "cp") {
		n.Labels["node-role.kubernetes.io/control-plane"] = ""
		for _, component := range []string{"kube-apiserver", "etcd"} {
			c.addPod(component, name)
		}
	}
	made, err := c.kube.CoreV1().Nodes().Create(c.Context(), n, metav1.CreateOptions{})
	c.must(err)
	made.Status.NodeInfo = corev1.NodeSystemInfo{KubeletVersion: "v1.34.3", BootID: "boot-0", Architecture: "amd64", OperatingSystem: "linux"}
	made.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	_, err = c.kube.CoreV1().Nodes().UpdateStatus(c.Context(), made, metav1.UpdateOptions{})
	c.must(err)
}

func (c *cluster) addPod(component, node string) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: component + "-" + node, Labels: map[string]string{"component": component, "tier": "control-plane"}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: component, Image: "registry.k8s.io/" + component + ":v1.34.3"}}},
	}
	made, err := c.kube.CoreV1().Pods("kube-system").Create(c.Context(), pod, metav1.CreateOptions{})
	c.must(err)
	made.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	_, err = c.kube.CoreV1().Pods("kube-system").UpdateStatus(c.Context(), made, metav1.UpdateOptions{})
	c.must(err)
}

// lockKured installs kured with its lock held, and returns a function that releases the lock.
func (c *cluster) lockKured() (unlock func()) {
	c.Helper()
	const lock = "weave.works/kured-node-lock"
	labels := map[string]string{"name": "kured"}
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "kured", Annotations: map[string]string{lock: `{"nodeID":"w1","TTL":0}`}}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.HostPID = true
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "kured", Image: "ghcr.io/kubereboot/kured"}}
	made, err := c.kube.AppsV1().DaemonSets("kube-system").Create(c.Context(), d, metav1.CreateOptions{})
	c.must(err)
	made.Status.ObservedGeneration, made.Status.UpdatedNumberScheduled = made.Generation, 1
	made, err = c.kube.AppsV1().DaemonSets("kube-system").UpdateStatus(c.Context(), made, metav1.UpdateOptions{})
	c.must(err)
	return func() {
		c.Helper()
		delete(made.Annotations, lock)
		_, err := c.kube.AppsV1().DaemonSets("kube-system").Update(c.Context(), made, metav1.UpdateOptions{})
		c.must(err)
	}
}

// startCoordinator runs a coordinator with its own rights until end is called, or the test ends.
func (c *cluster) startCoordinator(name string) (end func()) {
	c.Helper()
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:kubectl-upgrade:coordinator",
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:kubectl-upgrade", "system:authenticated"},
		Extra:    map[string][]string{"authentication.kubernetes.io/pod-name": {"coordinator-" + name}},
	}
	clients := kubernetes.NewForConfigOrDie(config)
	ours, err := kube.NewKinds(config)
	c.must(err)
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: clients.CoreV1().Events("")})
	log := slog.New(slog.NewTextHandler(c.Output(), nil)).With("coordinator", name)
	gates, err := gate.NewClients(config, clients.CoreV1())
	c.must(err)
	one := coordinator.New(coordinator.Clients{
		Kube: clients, Ours: ours, Log: log, Events: broadcaster.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: name}),
		Access: config, Check: func(f preflight.Facts) []v1alpha1.Finding {
			if c.check == nil {
				return nil
			}
			return c.check(f)
		},
		RequirePolicy: c.requirePolicy, AskGate: gates.Ask, SendNotice: coordinator.SendNotice(),
	})
	ctx, stop := context.WithCancel(c.Context())
	ended := make(chan error, 1)
	go func() { ended <- one.Run(ctx) }()
	end = sync.OnceFunc(func() {
		stop()
		if err := <-ended; err != nil {
			c.Error(err)
		}
		broadcaster.Shutdown()
	})
	c.Cleanup(end)
	return end
}

// schedule creates a schedule whose window is open, unless change changes that.
func (c *cluster) schedule(name string, change func(*v1alpha1.MaintenanceSchedule)) {
	c.Helper()
	start := time.Now().Add(-time.Hour).Truncate(time.Second)
	m := &v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: name}}
	m.Spec.TimeZone = "UTC"
	m.Spec.MaintenanceWindows = []v1alpha1.MaintenanceWindow{{Period: v1alpha1.Period{
		Name: "now", StartTime: metav1.NewTime(start), EndTime: metav1.NewTime(start.Add(24 * time.Hour)),
	}}}
	change(m)
	_, err := c.ours.MaintenanceSchedules.Create(c.Context(), m, metav1.CreateOptions{})
	c.must(err)
}

// eventually waits until check returns no problem.
func (c *cluster) eventually(check func() string) {
	c.Helper()
	deadline := time.Now().Add(10 * time.Minute) // a busy machine needs minutes for what takes seconds
	problem := check()
	for problem != "" {
		if time.Now().After(deadline) {
			c.Fatal(problem)
		}
		time.Sleep(50 * time.Millisecond)
		problem = check()
	}
}

// versions returns the resourceVersions of all objects that the coordinator writes.
func (c *cluster) versions() map[string]string {
	c.Helper()
	all := map[string]string{}
	upgrades, err := c.ours.ClusterUpgrades.List(c.Context(), metav1.ListOptions{})
	c.must(err)
	for _, o := range upgrades.Items {
		all["upgrade "+o.Name] = o.ResourceVersion
	}
	nodes, err := c.ours.NodeUpgrades.List(c.Context(), metav1.ListOptions{})
	c.must(err)
	for _, o := range nodes.Items {
		all["node "+o.Name] = o.ResourceVersion
	}
	policies, err := c.ours.UpgradePolicies.List(c.Context(), metav1.ListOptions{})
	c.must(err)
	for _, o := range policies.Items {
		all["policy "+o.Name] = o.ResourceVersion
	}
	states, err := c.ours.CoordinatorStates.List(c.Context(), metav1.ListOptions{})
	c.must(err)
	for _, o := range states.Items {
		all["state "+o.Name] = o.ResourceVersion
	}
	records, err := c.ours.UpgradeRecords.List(c.Context(), metav1.ListOptions{})
	c.must(err)
	for _, o := range records.Items {
		all["record "+o.Name] = o.ResourceVersion
	}
	schedules, err := c.ours.MaintenanceSchedules.List(c.Context(), metav1.ListOptions{})
	c.must(err)
	for _, o := range schedules.Items {
		all["schedule "+o.Name] = o.ResourceVersion
	}
	leases, err := c.kube.CoordinationV1().Leases(v1alpha1.Namespace).List(c.Context(), metav1.ListOptions{})
	c.must(err)
	for _, o := range leases.Items {
		all["lease "+o.Name] = o.ResourceVersion
	}
	return all
}
