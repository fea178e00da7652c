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
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
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
				if err := a.kubelet.nodes.GetStore().Replace([]any{n}, ""); err != nil {
					t.Fatal(err)
				}
			}
			show(node("u", "7"))
			err := a.kubelet.write(func() (*corev1.Node, error) {
				show(test.meanwhile)
				return node("u", "8"), nil
			})
			show(test.later)
			if got := a.kubelet.node(); err != nil || got.ResourceVersion != test.want {
				t.Errorf("got version %s, %v, want %s", got.ResourceVersion, err, test.want)
			}
			show(node("u", "10"))
			a.kubelet.node()
			show(node("u", "7")) // as after etcd was restored
			if got := a.kubelet.node(); got.ResourceVersion != "7" {
				t.Errorf("a former version is shown again: got %s, want that", got.ResourceVersion)
			}
		})
	}
}

// TestOwnWriteOfLease checks the same of the slot's Lease.
func TestOwnWriteOfLease(t *testing.T) {
	me, next := clusterstate.Owner{Node: "w1", UID: "u"}, clusterstate.Owner{Node: "w2", UID: "v"}
	lease := func(version, reserved string, holder clusterstate.Owner) *coordinationv1.Lease {
		l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "slot-0", ResourceVersion: version, Annotations: map[string]string{v1alpha1.ReservedForAnnotation: reserved}}}
		if text := holder.String(); holder != (clusterstate.Owner{}) {
			l.Spec.HolderIdentity = &text
		}
		return l
	}
	for name, test := range map[string]struct {
		before, later *coordinationv1.Lease
		holder        clusterstate.Owner
		want          machine.Slot
	}{
		"taken":                          {lease("7", me.String(), clusterstate.Owner{}), lease("7", me.String(), clusterstate.Owner{}), me, machine.Slot{Held: "slot-0", Reserved: "slot-0"}},
		"freed":                          {lease("7", me.String(), me), lease("7", me.String(), me), clusterstate.Owner{}, machine.Slot{}},
		"freed, and reserved for others": {lease("7", next.String(), me), lease("7", next.String(), me), clusterstate.Owner{}, machine.Slot{}},
		"taken by another one since":     {lease("7", me.String(), clusterstate.Owner{}), lease("9", next.String(), next), me, machine.Slot{}},
	} {
		t.Run(name, func(t *testing.T) {
			a := unconnected(t)
			a.slots.leases.scope = slotScope{name: "slot-0"}
			show := func(l *coordinationv1.Lease) {
				if err := a.slots.leases.store.Replace([]any{l}, ""); err != nil {
					t.Fatal(err)
				}
			}
			show(test.before)
			err := a.slots.write("slot-0", test.holder, func() error {
				show(test.later)
				return nil
			})
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: me.Node, UID: types.UID(me.UID)}}
			if got := a.slots.of(node, "slot-0"); got != test.want || err != nil {
				t.Errorf("got %+v, %v, want %+v", got, err, test.want)
			}
		})
	}
}

// TestOpenRulesCount checks for how long, and for what, an answer counts that no rule holds the node: this agent cannot
// ask again.
func TestOpenRulesCount(t *testing.T) {
	now := time.Date(2026, 11, 27, 18, 0, 0, 0, time.UTC)
	order := v1alpha1.NodeUpgradeSpec{Version: "v1.34.4", Type: v1alpha1.TypePatch}
	for name, test := range map[string]struct {
		step    v1alpha1.Step
		at      time.Time // zero: not in this reconcile
		version string
		counts  bool
	}{
		"cordon after the slot": {v1alpha1.StepCordoning, now.Add(-answerCounts / 2), "v1.34.4", true},
		"first eviction":        {v1alpha1.StepDraining, now.Add(-answerCounts / 2), "v1.34.4", true},
		"another order":         {v1alpha1.StepCordoning, now.Add(-answerCounts / 2), "v1.34.5", false},
		"a second later":        {v1alpha1.StepCordoning, now.Add(-answerCounts), "v1.34.4", false},
		"clock set back":        {v1alpha1.StepCordoning, now.Add(time.Hour), "v1.34.4", false},
		"the next reconcile":    {v1alpha1.StepCordoning, time.Time{}, "v1.34.4", false},
		"the last check":        {v1alpha1.StepLastCheck, now.Add(-answerCounts / 2), "v1.34.4", false},
	} {
		t.Run(name, func(t *testing.T) {
			a := unconnected(t)
			a.state.Step = test.step
			asked := order
			asked.Version = test.version
			r := roundOf(test.step, nil, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1"}})
			r.Observation = machine.Observation{Now: now, Spec: asked, Host: &machine.Host{}}
			hold := a.askRules(t.Context(), r, &openRules{at: test.at, spec: order})
			if hold == nil || hold.Holds() == test.counts {
				t.Errorf("got %+v, want that the answer counts: %v", hold, test.counts)
			}
		})
	}
}

// TestRulesOfRounds checks that the rules are asked before a round of evictions, and not for one that only looks
// whether the evicted pods have gone.
func TestRulesOfRounds(t *testing.T) {
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
			a.drain.drained, a.drain.ending = &machine.Drain{At: now.Add(-test.ago), Left: 1}, test.ending
			a.drain.pods.begin = func(context.Context) (cache.Store, func() bool, func()) {
				store := cache.NewStore(cache.MetaNamespaceKeyFunc)
				_ = store.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "ends"}})
				return store, func() bool { return true }, func() {}
			}
			a.drain.pods.start(t.Context())
			r := roundOf(v1alpha1.StepDraining, nil, &corev1.Node{})
			r.Observation = machine.Observation{Now: now, Host: &machine.Host{}}
			hold := a.askRules(t.Context(), r, &openRules{})
			if reads := hold != nil && hold.Holds(); reads != test.reads || r.onlyLooks != test.looks || test.looks != (hold != nil && !hold.Holds()) {
				t.Errorf("the rules say %+v, and the round only looks: %v", hold, r.onlyLooks)
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
			r := &round{Observation: machine.Observation{Now: now, Spec: v1alpha1.NodeUpgradeSpec{Release: v1alpha1.ReleaseNode}}}
			answer := &v1alpha1.NodeUpgrade{Spec: v1alpha1.NodeUpgradeSpec{Release: test.release}}
			if test.release == "" {
				answer.Spec = v1alpha1.NodeUpgradeSpec{Release: v1alpha1.ReleaseNode, Slot: "slot-1"}
			}
			if test.answered {
				r.answer = answer
			}
			var hold clusterstate.Hold
			order, err := a.orderNow(t.Context(), r)
			if err == nil {
				hold = stillReleased(r.Spec, order)
			}
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
			a.drain.drainer = &drain.Drainer{Node: "w1", Account: kubetest.Of(client), Kubelet: kubetest.Of(client)}
			before := &machine.Drain{At: time.Now(), Left: 1}
			a.drain.ending, a.drain.drained = []types.UID{"gone"}, before
			goesOn, err := a.act(t.Context(), machine.Action{Do: machine.DoDrain}, &round{onlyLooks: true})
			if err != nil {
				t.Fatal(err)
			}
			if a.drain.ending != nil || left && a.drain.drained != before || !left && a.drain.drained.Left != 0 || goesOn == left {
				t.Errorf("after the look: %+v, ending %s", a.drain.drained, a.drain.ending)
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
		if a.report.last.took = took; a.report.writesWithin() != want {
			t.Errorf("after a write that took %s: %s, want %s", took, a.report.writesWithin(), want)
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
		a.report.last.sent.Step = test.written
		if got := a.report.mayWriteLater(test.action, roundOf(test.step, nil, nil)); got != test.later {
			t.Errorf("%s: got %v, want %v", name, got, test.later)
		}
	}
}
