package agent

import (
	"context"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/drain"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/kubetest"
)

// unconnected returns an agent of node w1 whose API server does not answer.
func unconnected(t *testing.T) *Agent {
	t.Helper()
	upgrades, err := kube.NewKinds(&rest.Config{Host: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	client := kubetest.Of(fake.NewClientset())
	return New(Config{Node: "w1", Account: client, Kubelet: client, Upgrades: upgrades, Now: time.Now})
}

// TestOwnWriteOfNode checks that a write of the Node counts until the watch shows another version, also
// one that it shows before the write has returned, or another Node of that name.
func TestOwnWriteOfNode(t *testing.T) {
	node := func(uid types.UID, version string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1", UID: uid, ResourceVersion: version}}
	}
	for name, test := range map[string]struct {
		meanwhile, later *corev1.Node // what the watch shows before and after the write returns
		want             string
	}{
		"the watch is late":               {node("u", "7"), node("u", "7"), "8"},
		"it shows the write":              {node("u", "7"), node("u", "8"), "8"},
		"it shows more":                   {node("u", "7"), node("u", "9"), "9"},
		"it shows more before the answer": {node("u", "9"), node("u", "9"), "9"},
		"another Node":                    {node("u", "7"), node("another", "7"), "7"},
	} {
		t.Run(name, func(t *testing.T) {
			a := unconnected(t)
			show := func(n *corev1.Node) {
				if err := a.nodes.GetStore().Replace([]any{n}, ""); err != nil {
					t.Fatal(err)
				}
			}
			show(node("u", "7"))
			err := a.writeNode(func() (*corev1.Node, error) {
				show(test.meanwhile)
				return node("u", "8"), nil
			})
			show(test.later)
			if got := a.node(); err != nil || got.ResourceVersion != test.want {
				t.Errorf("got version %s, %v, want %s", got.ResourceVersion, err, test.want)
			}
			show(node("u", "10"))
			a.node()
			show(node("u", "7")) // as after etcd was restored
			if got := a.node(); got.ResourceVersion != "7" {
				t.Errorf("a former version is shown again: got %s, want that", got.ResourceVersion)
			}
		})
	}
}

// TestOwnWriteOfLease checks the same of the slot's Lease.
func TestOwnWriteOfLease(t *testing.T) {
	me, next := fleet.Owner{Node: "w1", UID: "u"}, fleet.Owner{Node: "w2", UID: "v"}
	lease := func(version, reserved string, holder fleet.Owner) *coordinationv1.Lease {
		l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "slot-0", ResourceVersion: version, Annotations: map[string]string{v1alpha1.ReservedForAnnotation: reserved}}}
		if text := holder.String(); holder != (fleet.Owner{}) {
			l.Spec.HolderIdentity = &text
		}
		return l
	}
	for name, test := range map[string]struct {
		before, later *coordinationv1.Lease
		holder        fleet.Owner
		want          machine.Slot
	}{
		"taken":                          {lease("7", me.String(), fleet.Owner{}), lease("7", me.String(), fleet.Owner{}), me, machine.Slot{Held: "slot-0", Reserved: "slot-0"}},
		"freed":                          {lease("7", me.String(), me), lease("7", me.String(), me), fleet.Owner{}, machine.Slot{}},
		"freed, and reserved for others": {lease("7", next.String(), me), lease("7", next.String(), me), fleet.Owner{}, machine.Slot{}},
		"taken by another one since":     {lease("7", me.String(), fleet.Owner{}), lease("9", next.String(), next), me, machine.Slot{}},
	} {
		t.Run(name, func(t *testing.T) {
			a := unconnected(t)
			a.leases.scope = slotScope{name: "slot-0"}
			show := func(l *coordinationv1.Lease) {
				if err := a.leases.store.Replace([]any{l}, ""); err != nil {
					t.Fatal(err)
				}
			}
			show(test.before)
			err := a.writeHolder("slot-0", test.holder, func() error {
				show(test.later)
				return nil
			})
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: me.Node, UID: types.UID(me.UID)}}
			if got := a.slot(node, "slot-0"); got != test.want || err != nil {
				t.Errorf("got %+v, %v, want %+v", got, err, test.want)
			}
		})
	}
}

// TestOpenGateCounts checks for how long, and for what, an open gate counts: this agent cannot read it
// again.
func TestOpenGateCounts(t *testing.T) {
	now := time.Date(2026, 11, 27, 18, 0, 0, 0, time.UTC)
	order := v1alpha1.NodeUpgradeSpec{Version: "v1.34.4", Type: v1alpha1.TypePatch}
	for name, test := range map[string]struct {
		step    v1alpha1.Step
		at      time.Time
		now     bool // read in this reconcile
		version string
		counts  bool
	}{
		"cordon after the slot": {v1alpha1.StepCordoning, now.Add(-answerCounts / 2), true, "v1.34.4", true},
		"first eviction":        {v1alpha1.StepDraining, now.Add(-answerCounts / 2), true, "v1.34.4", true},
		"another order":         {v1alpha1.StepCordoning, now.Add(-answerCounts / 2), true, "v1.34.5", false},
		"a second later":        {v1alpha1.StepCordoning, now.Add(-answerCounts), true, "v1.34.4", false},
		"clock set back":        {v1alpha1.StepCordoning, now.Add(time.Hour), true, "v1.34.4", false},
		"the next reconcile":    {v1alpha1.StepCordoning, now.Add(-answerCounts / 2), false, "v1.34.4", false},
		"the last check":        {v1alpha1.StepLastCheck, now.Add(-answerCounts / 2), true, "v1.34.4", false},
	} {
		t.Run(name, func(t *testing.T) {
			a := unconnected(t)
			a.state.Step = test.step
			a.open = openGate{at: test.at, now: test.now, spec: order}
			asked := order
			asked.Version = test.version
			o := machine.Observation{Now: now, Spec: asked, Host: &machine.Host{}}
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1"}}
			gate := a.askGate(t.Context(), node, o)
			if gate == nil || gate.Holds() == test.counts {
				t.Errorf("got %+v, want that the answer counts: %v", gate, test.counts)
			}
		})
	}
}

// TestGateOfRounds checks that the gate is read before a round of evictions, and not for one that only looks
// whether the evicted pods have gone.
func TestGateOfRounds(t *testing.T) {
	now := time.Now()
	for name, test := range map[string]struct {
		ago    time.Duration // since the last round
		ending []types.UID   // what it left
		reads  bool
		looks  bool
	}{
		"a pod still ends":                  {time.Second, []types.UID{"gone", "ends"}, false, false},
		"a pod still ends, some time later": {betweenRounds, []types.UID{"gone", "ends"}, false, false},
		"a pod still ends after a while":    {betweenLooks, []types.UID{"gone", "ends"}, true, false},
		"all have gone":                     {time.Second, []types.UID{"gone", "gone-too"}, false, true},
		"all have gone, some time later":    {betweenRounds, []types.UID{"gone"}, false, true},
		"a pod was refused":                 {time.Second, nil, false, false},
		"a pod was refused some time ago":   {betweenRounds, nil, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			a := unconnected(t)
			a.state.Step = v1alpha1.StepDraining
			a.drained, a.ending = &machine.Drain{At: now.Add(-test.ago), Left: 1}, test.ending
			a.pods.begin = func(context.Context) (cache.Store, func() bool, func()) {
				store := cache.NewStore(cache.MetaNamespaceKeyFunc)
				_ = store.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "ends"}})
				return store, func() bool { return true }, func() {}
			}
			a.pods.start(t.Context())
			gate := a.askGate(t.Context(), &corev1.Node{}, machine.Observation{Now: now, Host: &machine.Host{}})
			if reads := gate != nil && gate.Holds(); reads != test.reads || a.onlyLooks != test.looks || test.looks != (gate != nil && !gate.Holds()) {
				t.Errorf("the gate is %+v, and the round only looks: %v", gate, a.onlyLooks)
			}
		})
	}
}

// TestReleaseFromAnswer checks that the release is read unless this observation's status has just been
// written. Here every read fails.
func TestReleaseFromAnswer(t *testing.T) {
	now := time.Now()
	for name, test := range map[string]struct {
		answered bool
		age      time.Duration // of the observation
		release  v1alpha1.Release
		reads    bool
		held     bool
	}{
		"still released":             {true, 0, v1alpha1.ReleaseNode, false, false},
		"withdrawn":                  {true, answerCounts / 2, v1alpha1.ReleaseNone, false, true},
		"the machine stood still":    {true, time.Minute, v1alpha1.ReleaseNode, true, false},
		"the clock was set back":     {true, -time.Minute, v1alpha1.ReleaseNode, true, false},
		"an earlier status":          {false, 0, v1alpha1.ReleaseNode, true, false},
		"an earlier status, changed": {false, 0, v1alpha1.ReleaseNone, true, false},
		"with another slot":          {true, 0, "", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			a := unconnected(t)
			a.Now = func() time.Time { return now.Add(test.age) }
			a.answered, a.lastStatus.spec = test.answered, v1alpha1.NodeUpgradeSpec{Release: test.release}
			if test.release == "" {
				a.lastStatus.spec = v1alpha1.NodeUpgradeSpec{Release: v1alpha1.ReleaseNode, Slot: "slot-1"}
			}
			hold, err := a.stillReleased(t.Context(), machine.Observation{Now: now, Spec: v1alpha1.NodeUpgradeSpec{Release: v1alpha1.ReleaseNode}})
			if (err != nil) != test.reads || hold.Holds() != test.held {
				t.Errorf("got %+v and error %v", hold, err)
			}
		})
	}
}

// TestLookEvictsNothing checks that a round which only looks evicts no pod that has come meanwhile, and that
// the next one is a round of evictions again.
func TestLookEvictsNothing(t *testing.T) {
	for name, left := range map[string]bool{"a pod has come": true, "drained": false} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			if left {
				client = fake.NewClientset(&corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Name: "new", Namespace: "default", UID: "new", OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Controller: ptr.To(true)}}},
					Spec:       corev1.PodSpec{NodeName: "w1"},
				})
			}
			a := unconnected(t)
			a.drainer = &drain.Drainer{Node: "w1", Account: kubetest.Of(client), Kubelet: kubetest.Of(client)}
			before := &machine.Drain{At: time.Now(), Left: 1}
			a.onlyLooks, a.ending, a.drained = true, []types.UID{"gone"}, before
			if err := a.act(t.Context(), machine.Action{Do: machine.DoDrain}, machine.Observation{}); err != nil {
				t.Fatal(err)
			}
			if a.ending != nil || left && a.drained != before || !left && a.drained.Left != 0 || a.goesOn(machine.DoDrain) == left {
				t.Errorf("after the look: %+v, ending %s", a.drained, a.ending)
			}
			for _, action := range client.Actions() {
				if action.GetVerb() != "list" {
					t.Errorf("the look did %s %s", action.GetVerb(), action.GetResource().Resource)
				}
			}
		})
	}
}

// TestWritesWithin checks that an agent writes less often to an API server that is slow.
func TestWritesWithin(t *testing.T) {
	a := unconnected(t)
	for took, want := range map[time.Duration]time.Duration{
		-time.Hour: writeWithin, 0: writeWithin, 50 * time.Millisecond: writeWithin,
		300 * time.Millisecond: 3 * time.Second, 20 * time.Second: writeAtLatest,
	} {
		if a.lastStatus.took = took; a.writesWithin() != want {
			t.Errorf("after a write that took %s: %s, want %s", took, a.writesWithin(), want)
		}
	}
}

// TestMayWriteLater checks before which actions the status need not be written.
func TestMayWriteLater(t *testing.T) {
	work := func(v verb.Verb) machine.Action { return machine.Action{Do: machine.DoWork, Verb: v} }
	do := func(d machine.Do) machine.Action { return machine.Action{Do: d} }
	for name, test := range map[string]struct {
		written, step v1alpha1.Step
		action        machine.Action
		later         bool
	}{
		"staging begins":             {v1alpha1.StepIdle, v1alpha1.StepStaging, work(verb.Stage), true},
		"staging goes on":            {v1alpha1.StepStaging, v1alpha1.StepStaging, do(machine.DoNothing), true},
		"a cordon of ours is lifted": {v1alpha1.StepStaging, v1alpha1.StepStaging, do(machine.DoDisown), false},
		"kubeadm ahead of the turn":  {v1alpha1.StepWaiting, v1alpha1.StepKubeadmAhead, work(verb.Kubeadm), true},
		"kubeadm in the turn":        {v1alpha1.StepLocking, v1alpha1.StepKubeadm, work(verb.Kubeadm), false},
		"the node waits":             {v1alpha1.StepKubeadmAhead, v1alpha1.StepWaiting, do(machine.DoNothing), false},
		"the slot is taken":          {v1alpha1.StepWaiting, v1alpha1.StepLocking, do(machine.DoTake), false},
		"the cordon":                 {v1alpha1.StepLocking, v1alpha1.StepCordoning, do(machine.DoCordon), true},
		"the activation":             {v1alpha1.StepDraining, v1alpha1.StepActivating, work(verb.Activate), false},
		"the reboot":                 {v1alpha1.StepActivating, v1alpha1.StepRebooting, do(machine.DoReboot), false},
		"the slot is freed":          {v1alpha1.StepRebooting, v1alpha1.StepIdle, do(machine.DoFree), false},
	} {
		a := unconnected(t)
		a.state.Step, a.lastStatus.sent.Step = test.step, test.written
		if got := a.mayWriteLater(test.action, machine.Observation{}); got != test.later {
			t.Errorf("%s: got %v, want %v", name, got, test.later)
		}
	}
}
