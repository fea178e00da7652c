package snapshot

import (
	"cmp"
	"context"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
)

// ReadShown reads at once what people are shown of an upgrade: fewer kinds than a plan needs, so
// that all who may see the upgrade see the same. The Policy, the Nodes and the Programs may be
// forbidden to them. at is the time.
func ReadShown(ctx context.Context, c Clients, at time.Time) (clusterstate.Snapshot, error) {
	var (
		s     clusterstate.Snapshot
		nodes []corev1.Node
	)
	k := &kinds{}
	readKind(ctx, k, &s.NodeUpgrades, "NodeUpgrades", c.Ours.NodeUpgrades)
	read(ctx, k, &s.Upgrades, "ClusterUpgrades", c.Ours.ClusterUpgrades.List, "")
	read(ctx, k, &s.Schedules, "MaintenanceSchedules", c.Ours.MaintenanceSchedules.List, "")
	k.Go(func() (err error) {
		s.Policy, err = readPolicy(ctx, c.Ours)
		s.PolicyUnread, err = forbidden(err)
		return err
	})
	k.Go(func() (err error) {
		s.NodesUnread, err = forbidden(c.readNodes(ctx, &nodes))
		return err
	})
	k.Go(func() (err error) {
		s.Programs, err = ReadPrograms(ctx, c, at)
		return err
	})
	err := k.Wait()
	addReported(&s, pointers(nodes))
	return s, err
}

// forbidden reports whether the error says that the user may not read something; other errors remain.
func forbidden(err error) (bool, error) {
	if apierrors.IsForbidden(err) {
		return true, nil
	}
	return false, err
}

// coordinatorLease is the name of the leader's Lease.
const coordinatorLease = "coordinator"

// ReadPrograms reads whether the coordinator and the agents run.
func ReadPrograms(ctx context.Context, c Clients, at time.Time) (clusterstate.Programs, error) {
	p := clusterstate.Programs{At: at}
	leases, err := c.Kube.CoordinationV1().Leases(v1alpha1.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + coordinatorLease})
	unread, err := forbidden(err)
	if err != nil {
		return p, &Unreadable{"the coordinator's Lease", err}
	}
	if !unread {
		p.CoordinatorRenewed = &time.Time{}
		for _, lease := range leases.Items {
			if lease.Spec.RenewTime != nil {
				p.CoordinatorRenewed = &lease.Spec.RenewTime.Time
			}
		}
	}
	var pods []corev1.Pod
	if unread, err = forbidden(list(ctx, &pods, "the programs' pods", c.Kube.CoreV1().Pods(v1alpha1.Namespace).List, programPods)); err != nil || unread {
		return p, err
	}
	p.Agents = []clusterstate.AgentPod{}
	for i := range pods {
		if pods[i].Labels[agentComponentLabel] == agentComponent {
			p.Agents = append(p.Agents, agentPod(&pods[i]))
		} else if why := whyPending(&pods[i]); why != "" {
			p.CoordinatorWaits = why
		}
	}
	c.addRefused(ctx, &p)
	return p, nil
}

// refusedFor is for how long a refused pod counts: the controllers try again within that.
const refusedFor = 20 * time.Minute

// addRefused adds why the API server refuses pods of the programs, as the controllers that create them record it. Who may
// not read events does not see it.
func (c Clients) addRefused(ctx context.Context, p *clusterstate.Programs) {
	events, err := c.Kube.CoreV1().Events(v1alpha1.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=FailedCreate"})
	if err != nil {
		return
	}
	for _, e := range events.Items {
		message := strings.TrimPrefix(e.Message, "(combined from similar events): ") // as client-go calls them from the tenth on
		why := lastWords(strings.TrimPrefix(message, "Error creating: "))
		switch {
		case p.At.Sub(e.LastTimestamp.Time) > refusedFor:
		case e.InvolvedObject.Kind == "DaemonSet" && e.InvolvedObject.Name == agentComponent:
			p.AgentRefused = why
		case e.InvolvedObject.Kind == "ReplicaSet" && strings.HasPrefix(e.InvolvedObject.Name, coordinatorLease+"-"):
			p.CoordinatorWaits = cmp.Or(p.CoordinatorWaits, why)
		}
	}
}

func agentPod(pod *corev1.Pod) clusterstate.AgentPod {
	a := clusterstate.AgentPod{Node: pod.Spec.NodeName, Since: pod.CreationTimestamp.Time}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			a.Ready, a.Since = c.Status == corev1.ConditionTrue, c.LastTransitionTime.Time
		}
	}
	a.Waiting, a.Last = whyNotRunning(pod)
	return a
}

// addReported adds the Nodes and, as far as agents report it, slots and apiservers: what they do
// not report holds no node up. No image is on offer but those of triggered upgrades.
func addReported(s *clusterstate.Snapshot, nodes []*corev1.Node) {
	for _, n := range nodes {
		s.Nodes = append(s.Nodes, Node(n))
	}
	if s.PolicyUnread { // the coordinator follows one
		s.Policy = &v1alpha1.UpgradePolicy{Spec: v1alpha1.UpgradePolicySpec{Mode: v1alpha1.ModeManage}}
	}
	for _, u := range s.Upgrades {
		for _, image := range u.Status.Images {
			s.Source.Offers = append(s.Source.Offers, clusterstate.Offer{Version: u.Spec.Version, Image: image})
		}
	}
	reported := make(map[string]*v1alpha1.NodeUpgrade, len(s.NodeUpgrades))
	for i := range s.NodeUpgrades {
		u := &s.NodeUpgrades[i]
		reported[u.Name] = u
		if s.NodesUnread {
			s.Nodes = append(s.Nodes, reportedNode(u))
		}
	}
	for _, n := range s.Nodes {
		u := reported[n.Name]
		if u == nil {
			continue
		}
		if n.ControlPlane {
			s.APIServers = append(s.APIServers, clusterstate.StaticPod{Node: n.Name, Version: u.Status.Versions.ControlPlane, Ready: n.Ready})
		}
		if slot := u.Status.Slot; slot != "" {
			s.Slots = append(s.Slots, clusterstate.Slot{Name: slot, ReservedFor: n.Owner(), Holder: n.Owner()})
		}
	}
}

// reportedNode returns what a NodeUpgrade tells of its Node.
func reportedNode(u *v1alpha1.NodeUpgrade) clusterstate.Node {
	node := clusterstate.Node{
		Name: u.Name, OS: "linux", Ready: true,
		Kubelet: u.Status.Versions.Kubelet, ControlPlane: u.Status.Versions.ControlPlane != "",
	}
	if image := u.Spec.Image; image != nil {
		node.Architecture = string(image.Architecture)
	}
	for _, owner := range u.OwnerReferences {
		if owner.Kind == "Node" {
			node.UID = string(owner.UID)
		}
	}
	return node
}

// Following keeps up to date by watches what ReadShown reads.
type Following struct {
	reader   *Reader
	first    clusterstate.Snapshot
	programs atomic.Pointer[clusterstate.Programs]
}

// programsEvery is the pause between two reads of the programs' objects: people may list them, and
// need not be allowed to watch them.
const programsEvery = 10 * time.Second

// Follow begins to watch, until ctx ends. first is what ReadShown has read: it remains until
// everything has been listed again, and what it could not read is not watched. onChange is called
// from several goroutines.
func Follow(ctx context.Context, c Clients, first clusterstate.Snapshot, now func() time.Time, onChange func()) (*Following, error) {
	f := &Following{first: first, reader: &Reader{
		nodeUpgrades: c.Ours.NodeUpgrades.Informer(""),
		upgrades:     c.Ours.ClusterUpgrades.Informer(""),
		schedules:    c.Ours.MaintenanceSchedules.Informer(""),
	}}
	if !first.PolicyUnread {
		f.reader.policies = c.Ours.UpgradePolicies.Informer(v1alpha1.PolicyName)
	}
	if !first.NodesUnread {
		f.reader.nodes = kube.Informer(c.Kube.CoreV1().Nodes(), &corev1.Node{}, func(*metav1.ListOptions) {})
	}
	if err := f.reader.prepare(onChange); err != nil {
		return nil, err
	}
	f.programs.Store(&first.Programs)
	for _, informer := range f.reader.informers() {
		go informer.RunWithContext(ctx)
	}
	go f.readPrograms(ctx, c, now, onChange)
	return f, nil
}

// readPrograms reads again and again whether the programs run. While the API server does not
// answer, what was read last remains.
func (f *Following) readPrograms(ctx context.Context, c Clients, now func() time.Time, onChange func()) {
	defer utilruntime.HandleCrashWithContext(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(programsEvery):
		}
		if programs, err := ReadPrograms(ctx, c, now()); err == nil {
			f.programs.Store(&programs)
			onChange()
		}
	}
}

// Snapshot returns what is known now. The caller must not change what it points to.
func (f *Following) Snapshot() clusterstate.Snapshot {
	r := f.reader
	for _, informer := range r.informers() {
		if !informer.HasSynced() {
			return f.first
		}
	}
	s := clusterstate.Snapshot{
		NodeUpgrades: values(sorted[*v1alpha1.NodeUpgrade](r.nodeUpgrades)),
		Upgrades:     values(sorted[*v1alpha1.ClusterUpgrade](r.upgrades)),
		Schedules:    values(sorted[*v1alpha1.MaintenanceSchedule](r.schedules)),
		Records:      f.first.Records,
		Policy:       r.Policy(),
		NodesUnread:  r.nodes == nil, PolicyUnread: r.policies == nil,
		Programs: *f.programs.Load(),
	}
	addReported(&s, sorted[*corev1.Node](r.nodes))
	return s
}
