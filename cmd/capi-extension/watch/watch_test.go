package watch

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/management"
	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/workload"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

var prod = types.NamespacedName{Namespace: "default", Name: "prod"}

// clusters are a management cluster with a KubeadmControlPlane that wants v1.34.4 and a Machine that is
// updated, and its workload cluster with an upgrade for which the Machine's node is asked.
type clusters struct {
	t                    *testing.T
	management, workload client.WithWatch
	unreachable          error
	log                  *slog.Logger
}

func newClusters(t *testing.T, more ...client.Object) *clusters {
	inCluster := map[string]string{clusterv1.ClusterNameLabel: "prod"}
	return &clusters{
		t: t, log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		management: fake.NewClientBuilder().WithScheme(management.Scheme()).WithObjects(
			&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "prod"}},
			&controlplanev1.KubeadmControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cp", Labels: inCluster}, Spec: controlplanev1.KubeadmControlPlaneSpec{Version: "v1.34.4"}},
			&clusterv1.Machine{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "m1", Labels: inCluster, Finalizers: []string{"example.org/hold"}, Annotations: map[string]string{
					clusterv1.UpdateInProgressAnnotation: "", clusterv1.MachineSkipRemediationAnnotation: management.Marked,
				}},
				Spec:   clusterv1.MachineSpec{ClusterName: "prod"},
				Status: clusterv1.MachineStatus{NodeRef: clusterv1.MachineNodeReference{Name: "n1"}},
			},
		).Build(),
		workload: fake.NewClientBuilder().WithScheme(workload.Scheme()).WithObjects(append([]client.Object{
			&v1alpha1.ClusterUpgrade{
				ObjectMeta: metav1.ObjectMeta{Name: "capi-v1.34.4", UID: "u", Labels: map[string]string{workload.Label: workload.LabelValue}},
				Spec:       v1alpha1.ClusterUpgradeSpec{Version: "v1.34.4"},
			},
			requestedFor("u", "n1"), requestedFor("u", "n2"),
		}, more...)...).Build(),
	}
}

func requestedFor(upgrade, node string) *v1alpha1.NodeUpgrade {
	return &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: node, Annotations: map[string]string{v1alpha1.RequestedForAnnotation: upgrade}}}
}

// listing is a fake client, which cannot begin a watch with what is there.
type listing struct{ client.WithWatch }

func (listing) IsWatchListSemanticsUnSupported() bool { return true }

func (c *clusters) open(_ context.Context, name types.NamespacedName) (workload.Cluster, error) {
	return workload.Cluster{Name: name, Client: c.workload}, c.unreachable
}

func (c *clusters) machine(change func(*clusterv1.Machine)) {
	c.t.Helper()
	var m clusterv1.Machine
	if err := c.management.Get(c.t.Context(), client.ObjectKey{Namespace: "default", Name: "m1"}, &m); err != nil {
		c.t.Fatal(err)
	}
	change(&m)
	if err := c.management.Update(c.t.Context(), &m); err != nil {
		c.t.Fatal(err)
	}
}

func (c *clusters) mark() string {
	c.t.Helper()
	var mark string
	c.machine(func(m *clusterv1.Machine) { mark = m.Annotations[clusterv1.MachineSkipRemediationAnnotation] })
	return mark
}

// requested lists the requested nodes. An upgrade that does not exist has none, and is not there.
func (c *clusters) requested(upgrade string) (nodes []string, there bool) {
	c.t.Helper()
	var u v1alpha1.ClusterUpgrade
	if err := c.workload.Get(c.t.Context(), client.ObjectKey{Name: upgrade}, &u); err != nil {
		return nil, false
	}
	var list v1alpha1.NodeUpgradeList
	if err := c.workload.List(c.t.Context(), &list); err != nil {
		c.t.Fatal(err)
	}
	for _, n := range list.Items {
		if n.RequestedFor(u.UID) {
			nodes = append(nodes, n.Name)
		}
	}
	return nodes, true
}

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !check(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

func TestMachines(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*clusters)
	}{
		{"deleted", func(c *clusters) {
			if err := c.management.Delete(t.Context(), &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "m1"}}); err != nil {
				t.Fatal(err)
			}
		}},
		{"no longer updated", func(c *clusters) {
			c.machine(func(m *clusterv1.Machine) { delete(m.Annotations, clusterv1.UpdateInProgressAnnotation) })
		}},
	} {
		for _, before := range []bool{false, true} {
			c := newClusters(t)
			watcher := &Machines{Management: listing{c.management}, Open: c.open, Log: c.log, Timeout: time.Minute}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan struct{})
			if before { // the program was down
				test.change(c)
			}
			go func() { watcher.Run(ctx); close(ended) }()
			eventually(t, "the Machines are read", watcher.Synced)
			if !before {
				if nodes, _ := c.requested("capi-v1.34.4"); !slices.Equal(nodes, []string{"n1", "n2"}) || c.mark() != management.Marked {
					t.Errorf("%s: requested nodes %v, mark %q before anything happens", test.name, nodes, c.mark())
				}
				test.change(c)
			}
			eventually(t, test.name+": n1 is withdrawn, and the mark removed", func() bool {
				nodes, _ := c.requested("capi-v1.34.4")
				return slices.Equal(nodes, []string{"n2"}) && c.mark() == ""
			})
			stop()
			<-ended
		}
	}
}

// TestMachineGone deletes a Machine without finalizers while its cluster cannot be reached.
func TestMachineGone(t *testing.T) {
	c := newClusters(t)
	watcher := &Machines{Management: c.management, Open: c.open, Log: c.log, Timeout: time.Minute}
	left := departure{machine: types.NamespacedName{Namespace: "default", Name: "gone"}, cluster: prod, node: "n1"}
	c.unreachable = errors.New("no route to host")
	if err := watcher.takeBack(t.Context(), left); !errors.Is(err, c.unreachable) {
		t.Errorf("unreachable: got %v, want that it is tried again", err)
	}
	c.unreachable = nil
	if err := watcher.takeBack(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	if nodes, _ := c.requested("capi-v1.34.4"); !slices.Equal(nodes, []string{"n2"}) {
		t.Errorf("requested nodes: got %v, want n2", nodes)
	}
	// A Machine that is updated again meanwhile.
	left.machine.Name = "m1"
	left.node = "n2"
	if err := watcher.takeBack(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	if nodes, _ := c.requested("capi-v1.34.4"); !slices.Equal(nodes, []string{"n2"}) {
		t.Errorf("requested nodes: got %v, want n2", nodes)
	}
}

// TestMoved deletes a Machine of a paused cluster, as clusterctl move does.
func TestMoved(t *testing.T) {
	c := newClusters(t)
	var cluster clusterv1.Cluster
	if err := c.management.Get(t.Context(), prod, &cluster); err != nil {
		t.Fatal(err)
	}
	cluster.Spec.Paused = ptr.To(true)
	if err := c.management.Update(t.Context(), &cluster); err != nil {
		t.Fatal(err)
	}
	watcher := &Machines{Management: c.management, Open: c.open, Log: c.log, Timeout: time.Minute}
	left := departure{machine: types.NamespacedName{Namespace: "default", Name: "gone"}, cluster: prod, node: "n1"}
	for range 2 {
		if err := watcher.takeBack(t.Context(), left); err != nil {
			t.Fatal(err)
		}
		if nodes, _ := c.requested("capi-v1.34.4"); !slices.Equal(nodes, []string{"n1", "n2"}) {
			t.Errorf("requested nodes: got %v, want both", nodes)
		}
		if err := client.IgnoreNotFound(c.management.Delete(t.Context(), &cluster)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSweep(t *testing.T) {
	unwanted := func() *v1alpha1.ClusterUpgrade {
		return &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "capi-v1.34.5", UID: "v", Labels: map[string]string{workload.Label: workload.LabelValue}}, Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.34.5"}}
	}
	for _, test := range []struct {
		name     string
		upgrade  *v1alpha1.ClusterUpgrade
		change   func(*clusters)
		more     []client.Object
		requests []string
		stays    bool
	}{
		{name: "an upgrade that nobody wants", upgrade: unwanted(), requests: []string{"n1"}},
		{name: "one of a person", upgrade: func() *v1alpha1.ClusterUpgrade { u := unwanted(); u.Labels = nil; return u }(), requests: []string{"n1"}, stays: true},
		{name: "one that has ended", upgrade: func() *v1alpha1.ClusterUpgrade {
			u := unwanted()
			u.Status.Outcome = v1alpha1.OutcomeSucceeded
			return u
		}(), requests: []string{"n1"}, stays: true},
		{name: "one in which a node failed", upgrade: unwanted(), more: []client.Object{
			&v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "n3"}, Status: v1alpha1.NodeUpgradeStatus{Step: v1alpha1.StepFailed, Upgrade: &v1alpha1.UpgradeReference{Name: "capi-v1.34.5", UID: "v"}}},
		}, requests: []string{"n1"}, stays: true},
		{name: "one in which a node is asked for whose Machine is updated", upgrade: unwanted(), more: []client.Object{requestedFor("v", "n3")}, change: func(c *clusters) {
			var m clusterv1.Machine
			if err := c.management.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "m1"}, &m); err != nil {
				t.Fatal(err)
			}
			m.Name, m.ResourceVersion, m.Status.NodeRef.Name = "m3", "", "n3"
			if err := c.management.Create(t.Context(), &m); err != nil {
				t.Fatal(err)
			}
		}, requests: []string{"n1"}, stays: true},
		{name: "one that the topology is on its way to", upgrade: unwanted(), change: func(c *clusters) {
			var cluster clusterv1.Cluster
			if err := c.management.Get(t.Context(), prod, &cluster); err != nil {
				t.Fatal(err)
			}
			cluster.Spec.Topology.Version = "v1.35.0"
			if err := c.management.Update(t.Context(), &cluster); err != nil {
				t.Fatal(err)
			}
		}, requests: []string{"n1"}, stays: true},
		{name: "a paused cluster", upgrade: unwanted(), change: func(c *clusters) {
			var cluster clusterv1.Cluster
			if err := c.management.Get(t.Context(), prod, &cluster); err != nil {
				t.Fatal(err)
			}
			cluster.Spec.Paused = ptr.To(true)
			if err := c.management.Update(t.Context(), &cluster); err != nil {
				t.Fatal(err)
			}
		}, requests: []string{"n1", "n2"}, stays: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newClusters(t, append(test.more, test.upgrade)...)
			if test.change != nil {
				test.change(c)
			}
			s := &Sweep{Management: c.management, Open: c.open, Log: c.log, Timeout: time.Minute, Used: func() []types.NamespacedName { return nil }}
			if err := s.sweep(t.Context(), prod); err != nil {
				t.Fatal(err)
			}
			if nodes, there := c.requested("capi-v1.34.4"); !slices.Equal(nodes, test.requests) || !there {
				t.Errorf("capi-v1.34.4: got %v (%t), want %v", nodes, there, test.requests)
			}
			if _, there := c.requested("capi-v1.34.5"); there != test.stays {
				t.Errorf("capi-v1.34.5: it is there: %t, want %t", there, test.stays)
			}
		})
	}
}

// TestSweepAtStart checks that a program that starts looks at every cluster, and then at those in use.
func TestSweepAtStart(t *testing.T) {
	c := newClusters(t)
	opened := make(chan types.NamespacedName, 10)
	s := &Sweep{Management: c.management, Log: c.log, Timeout: time.Minute, Used: func() []types.NamespacedName { return []types.NamespacedName{prod, prod} }, Open: func(ctx context.Context, name types.NamespacedName) (workload.Cluster, error) {
		opened <- name
		return c.open(ctx, name)
	}}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { s.Run(ctx, 10*time.Millisecond); close(ended) }()
	for range 3 {
		if got := <-opened; got != prod {
			t.Errorf("opened %s", got)
		}
	}
	stop()
	<-ended
}

func TestAgain(t *testing.T) {
	c := newClusters(t)
	now := time.Unix(1_800_000_000, 0)
	a := &Again{Management: c.management, Now: func() time.Time { return now }, Log: c.log, Timeout: time.Minute}
	owner, err := management.ControlPlane(t.Context(), c.management, types.NamespacedName{Namespace: "default", Name: "cp"})
	if err != nil {
		t.Fatal(err)
	}
	touched := func() string {
		var kcp controlplanev1.KubeadmControlPlane
		if err := c.management.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "cp"}, &kcp); err != nil {
			t.Fatal(err)
		}
		return kcp.Annotations[management.AskedAgainAnnotation]
	}
	answer := errors.New("the window is closed")
	a.Remember(owner, func(context.Context) error { return answer })
	a.askAll(t.Context())
	if got := touched(); got != "" || a.Waiting() != 1 {
		t.Errorf("while it waits: touched %q, %d wait", got, a.Waiting())
	}
	answer = nil
	a.askAll(t.Context())
	if got := touched(); got != "2027-01-15T08:00:00Z" || a.Waiting() != 0 {
		t.Errorf("the answer is yes: touched %q, %d wait", got, a.Waiting())
	}
	// One that has asked itself meanwhile, and was answered.
	answer = errors.New("the window is closed")
	a.Remember(owner, func(context.Context) error { return answer })
	a.Remember(owner, nil)
	if a.Waiting() != 0 {
		t.Errorf("answered: %d wait, want none", a.Waiting())
	}
	// One that does not ask any more.
	answer = errors.New("the window is closed")
	a.Remember(owner, func(context.Context) error { return answer })
	now = now.Add(forgetAfter + time.Second)
	answer = nil
	a.askAll(t.Context())
	if got := touched(); got != "2027-01-15T08:00:00Z" || a.Waiting() != 0 {
		t.Errorf("long ago: touched %q, %d wait", got, a.Waiting())
	}
}
