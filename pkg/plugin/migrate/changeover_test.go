package migrate

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules/rebootmanager"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// fixture is a cluster with kured and one node. The test does what controllers and agents
// would.
type fixture struct {
	*Changeover
	t      *testing.T
	ctx    context.Context
	out    *bytes.Buffer
	result Result
}

const lock = "weave.works/kured-node-lock"

func newFixture(t *testing.T) *fixture {
	t.Helper()
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	ours, err := kube.NewKinds(config)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, ctx: context.Background(), out: &bytes.Buffer{}}
	kube := kubernetes.NewForConfigOrDie(config)
	f.Changeover = &Changeover{Kube: kube, Ours: ours, Out: f.out, Every: 10 * time.Millisecond, Other: Other{
		Name: "kured", Namespace: "kube-system", DaemonSet: "kured",
		Busy: func(_ context.Context, d *appsv1.DaemonSet) (string, error) {
			by, _ := rebootmanager.KuredHolder([]*appsv1.DaemonSet{d}, []v1alpha1.DaemonSetReference{{Namespace: d.Namespace, Name: d.Name}})
			return by, nil
		},
	}}
	f.result = FromKured(Kured{
		Container:    Container{Args: []string{"--start-time=22:00", "--end-time=06:00", "--concurrency=2", "--drain-timeout=10m", "--blocking-pod-selector=app=batch"}},
		Placement:    Placement{NodeSelector: map[string]string{"pool": "web"}, ControlPlane: true},
		ScheduleName: "kured", Now: time.Now(),
	})
	f.clean()
	t.Cleanup(f.clean)
	f.create()
	return f
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) clean() {
	f.t.Helper()
	now, all := *metav1.NewDeleteOptions(0), metav1.ListOptions{}
	f.must(f.Ours.UpgradePolicies.DeleteCollection(f.ctx, now, all))
	f.must(f.Ours.MaintenanceSchedules.DeleteCollection(f.ctx, now, all))
	f.must(f.Ours.NodeUpgrades.DeleteCollection(f.ctx, now, all))
	f.must(f.Kube.CoreV1().Pods("kube-system").DeleteCollection(f.ctx, now, all))
	f.must(f.Kube.AppsV1().DaemonSets("kube-system").DeleteCollection(f.ctx, now, all))
}

// create creates kured, the policy and a node.
func (f *fixture) create() {
	f.t.Helper()
	labels := map[string]string{"name": "kured"}
	d := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "kured"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				NodeSelector: map[string]string{"pool": "web"}, Containers: []corev1.Container{{Name: "kured", Image: "kured"}},
			}},
		},
	}
	_, err := f.Kube.AppsV1().DaemonSets("kube-system").Create(f.ctx, d, metav1.CreateOptions{})
	f.must(err)
	policy := &v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	policy.Spec.Strategy.SettleSeconds = ptr.To[int32](60)
	policy.Spec.Automatic = []v1alpha1.AutomaticUpgrade{{Type: v1alpha1.TypePatch}}
	_, err = f.Ours.UpgradePolicies.Create(f.ctx, policy, metav1.CreateOptions{})
	f.must(err)
	_, err = f.Ours.NodeUpgrades.Create(f.ctx, &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "w1"}}, metav1.CreateOptions{})
	f.must(err)
}

// setManaged sets the condition Managed of the node, as its agent does.
func (f *fixture) setManaged(status metav1.ConditionStatus) {
	f.t.Helper()
	n, err := f.Ours.NodeUpgrades.Get(f.ctx, "w1", metav1.GetOptions{})
	f.must(err)
	meta.SetStatusCondition(&n.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionManaged, Status: status, Reason: "Test"})
	n.Status.Step = v1alpha1.StepIdle
	_, err = f.Ours.NodeUpgrades.UpdateStatus(f.ctx, n, metav1.UpdateOptions{})
	f.must(err)
}

func (f *fixture) annotate(value string) {
	f.t.Helper()
	d, err := f.daemonSet(f.ctx)
	f.must(err)
	d.Annotations = map[string]string{lock: value}
	_, err = f.Kube.AppsV1().DaemonSets("kube-system").Update(f.ctx, d, metav1.UpdateOptions{})
	f.must(err)
}

// addPod creates a pod of kured.
func (f *fixture) addPod() {
	f.t.Helper()
	d, err := f.daemonSet(f.ctx)
	f.must(err)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "kured-1", Labels: map[string]string{"name": "kured"}, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}}, Spec: d.Spec.Template.Spec}
	pod.Spec.AutomountServiceAccountToken = ptr.To(false)
	_, err = f.Kube.CoreV1().Pods("kube-system").Create(f.ctx, pod, metav1.CreateOptions{})
	f.must(err)
}

// state is what a changeover changes.
func (f *fixture) state() string {
	f.t.Helper()
	d, err := f.daemonSet(f.ctx)
	f.must(err)
	policy, err := f.Ours.UpgradePolicies.Get(f.ctx, "cluster", metav1.GetOptions{})
	f.must(err)
	schedules, err := f.Ours.MaintenanceSchedules.List(f.ctx, metav1.ListOptions{})
	f.must(err)
	delete(d.Annotations, appsv1.DeprecatedTemplateGeneration) // the API server's own
	text, err := json.MarshalIndent([]any{d.Annotations, d.Labels, d.Spec, policy.Annotations, policy.Spec, len(schedules.Items)}, "", " ")
	f.must(err)
	return string(text)
}

func (f *fixture) policy() *v1alpha1.UpgradePolicy {
	f.t.Helper()
	policy, err := f.Ours.UpgradePolicies.Get(f.ctx, "cluster", metav1.GetOptions{})
	f.must(err)
	return policy
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want %q", err, want)
	}
}

// TestThereAndBack changes over and back, and finds everything as it was.
func TestThereAndBack(t *testing.T) {
	f := newFixture(t)
	before := f.state()
	f.must(f.Prepare(f.ctx, f.result))
	if p := f.policy(); p.Spec.Mode != v1alpha1.ModeObserve || len(p.Spec.Automatic) != 1 || p.Spec.Strategy.MaxUnavailable.IntValue() != 2 || *p.Spec.Strategy.SettleSeconds != 60 {
		t.Errorf("after Prepare: %+v", p.Spec)
	}
	f.must(f.Prepare(f.ctx, f.result)) // can be repeated
	f.addPod()
	ended := make(chan error)
	go func() { ended <- f.Start(f.ctx, f.result) }()
	time.Sleep(300 * time.Millisecond)
	if p := f.policy(); p.Spec.Mode != v1alpha1.ModeObserve {
		t.Error("the mode is Manage while a pod of kured is left")
	}
	f.must(f.Kube.CoreV1().Pods("kube-system").Delete(f.ctx, "kured-1", *metav1.NewDeleteOptions(0)))
	f.must(<-ended)
	d, err := f.daemonSet(f.ctx)
	f.must(err)
	if got := d.Spec.Template.Spec.NodeSelector; len(got) != 1 || got[v1alpha1.PausedAnnotation] != "never" {
		t.Errorf("the nodeSelector of kured is %v", got)
	}
	p := f.policy()
	if p.Spec.Mode != v1alpha1.ModeManage || len(p.Spec.Automatic) != 2 || p.Spec.NodeSelector.MatchLabels["pool"] != "web" {
		t.Errorf("after Start: %+v", p.Spec)
	}
	for range 2 { // can be repeated
		f.must(f.Prepare(f.ctx, f.result))
		f.must(f.Start(f.ctx, f.result))
	}

	f.setManaged(metav1.ConditionTrue)
	go func() { ended <- f.Undo(f.ctx) }()
	time.Sleep(300 * time.Millisecond)
	if d, err := f.daemonSet(f.ctx); err != nil || !Paused(d) {
		t.Errorf("kured was resumed while a node is managed (%v)", err)
	}
	f.setManaged(metav1.ConditionFalse)
	f.must(<-ended)
	if diff := cmp.Diff(before, f.state()); diff != "" {
		t.Errorf("it is not as it was (-before +after):\n%s", diff)
	}
	for _, want := range []string{"paused: its nodeSelector", "waiting for 1 pods of kured", "mode: Manage", "waiting for 1 nodes to be given back, such as w1", "resumed"} {
		if !strings.Contains(f.out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, f.out)
		}
	}
	wantError(t, f.Undo(f.ctx), "there is nothing to undo")
}

// TestLock checks that kured is not paused while it holds its lock, and that kubectl-upgrade does
// not start if kured took its lock in the last moment.
func TestLock(t *testing.T) {
	f := newFixture(t)
	before := f.state()
	f.must(f.Prepare(f.ctx, f.result))
	f.annotate(`{"nodeID":"w1"}`)
	wantError(t, f.Start(f.ctx, f.result), "node w1: wait until that is over")
	if d, _ := f.daemonSet(f.ctx); Paused(d) {
		t.Error("kured was paused")
	}
	f.annotate(`{"maxOwners":2,"locks":[]}`)
	f.addPod()
	ended := make(chan error)
	go func() { ended <- f.Start(f.ctx, f.result) }()
	time.Sleep(300 * time.Millisecond)
	d, err := f.daemonSet(f.ctx)
	f.must(err)
	d.Annotations[lock] = `{"nodeID":"w1"}`
	_, err = f.Kube.AppsV1().DaemonSets("kube-system").Update(f.ctx, d, metav1.UpdateOptions{})
	f.must(err)
	f.must(f.Kube.CoreV1().Pods("kube-system").Delete(f.ctx, "kured-1", *metav1.NewDeleteOptions(0)))
	wantError(t, <-ended, "it began while it was paused")
	if p := f.policy(); p.Spec.Mode != v1alpha1.ModeObserve {
		t.Error("the mode is Manage")
	}
	f.must(f.Undo(f.ctx))
	d, err = f.daemonSet(f.ctx)
	f.must(err)
	if d.Annotations[lock] != `{"nodeID":"w1"}` {
		t.Error("the lock was changed")
	}
	delete(d.Annotations, lock)
	_, err = f.Kube.AppsV1().DaemonSets("kube-system").Update(f.ctx, d, metav1.UpdateOptions{})
	f.must(err)
	if diff := cmp.Diff(before, f.state()); diff != "" {
		t.Errorf("it is not as it was (-before +after):\n%s", diff)
	}
}

// TestPausesOnlyWhatWasRead checks that a lock that is taken between the read and the write keeps kured from being paused.
func TestPausesOnlyWhatWasRead(t *testing.T) {
	f := newFixture(t)
	f.must(f.Prepare(f.ctx, f.result))
	busy := f.Other.Busy
	f.Other.Busy = func(ctx context.Context, d *appsv1.DaemonSet) (string, error) {
		answer, err := busy(ctx, d)
		f.annotate(`{"nodeID":"w1"}`)
		return answer, err
	}
	wantError(t, f.Start(f.ctx, f.result), "wait until that is over")
	if d, _ := f.daemonSet(f.ctx); Paused(d) {
		t.Error("kured was paused while it holds its lock")
	}
}

// TestChangedMeanwhile checks that going back leaves alone what a person has changed since.
func TestChangedMeanwhile(t *testing.T) {
	f := newFixture(t)
	f.must(f.Prepare(f.ctx, f.result))
	f.must(f.Start(f.ctx, f.result))
	p := f.policy()
	p.Spec.Strategy.MaxFailures = ptr.To[int32](3)
	_, err := f.Ours.UpgradePolicies.Update(f.ctx, p, metav1.UpdateOptions{})
	f.must(err)
	f.must(f.Undo(f.ctx))
	p = f.policy()
	if *p.Spec.Strategy.MaxFailures != 3 || p.Spec.Mode != v1alpha1.ModeObserve || len(p.Spec.Automatic) != 1 || p.Spec.NodeSelector != nil {
		t.Errorf("after Undo: %+v", p.Spec)
	}
	if !strings.Contains(f.out.String(), "changed since: strategy") {
		t.Errorf("output:\n%s", f.out)
	}
}

// TestAfterPilot changes over a cluster that manages one pool already: nothing of it changes before
// kured is paused, and it stays managed when the changeover is undone.
func TestAfterPilot(t *testing.T) {
	f := newFixture(t)
	nodes := f.Kube.CoreV1().Nodes()
	_, err := nodes.Create(f.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "pilot", Labels: map[string]string{"pool": "pilot"}}}, metav1.CreateOptions{})
	f.must(err)
	t.Cleanup(func() { f.must(nodes.Delete(f.ctx, "pilot", metav1.DeleteOptions{})) })
	n, err := f.Ours.NodeUpgrades.Create(f.ctx, &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "pilot"}}, metav1.CreateOptions{})
	f.must(err)
	n.Status.Step = v1alpha1.StepIdle
	meta.SetStatusCondition(&n.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionManaged, Status: metav1.ConditionTrue, Reason: "Test"})
	_, err = f.Ours.NodeUpgrades.UpdateStatus(f.ctx, n, metav1.UpdateOptions{})
	f.must(err)
	p := f.policy()
	p.Spec.Mode, p.Spec.NodeSelector = v1alpha1.ModeManage, &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"pool": "pilot"}}
	_, err = f.Ours.UpgradePolicies.Update(f.ctx, p, metav1.UpdateOptions{})
	f.must(err)
	before, spec := f.state(), f.policy().Spec
	f.result.NodesChosen, f.result.Policy.NodeSelector = true, nil
	f.must(f.Prepare(f.ctx, f.result))
	schedules, err := f.Ours.MaintenanceSchedules.List(f.ctx, metav1.ListOptions{})
	f.must(err)
	if diff := cmp.Diff(spec, f.policy().Spec); diff != "" || len(schedules.Items) > 0 {
		t.Errorf("Prepare changed something (%d schedules):\n%s", len(schedules.Items), diff)
	}
	f.must(f.Start(f.ctx, f.result))
	if p := f.policy(); p.Spec.NodeSelector != nil || p.Spec.Strategy.MaxUnavailable.IntValue() != 2 {
		t.Errorf("after Start: %+v", p.Spec)
	}
	f.must(f.Prepare(f.ctx, f.result)) // can be repeated
	f.must(f.Start(f.ctx, f.result))
	f.setManaged(metav1.ConditionTrue)
	ended := make(chan error)
	go func() { ended <- f.Undo(f.ctx) }()
	time.Sleep(300 * time.Millisecond)
	if p := f.policy(); p.Spec.Mode != v1alpha1.ModeManage || p.Spec.NodeSelector == nil {
		t.Errorf("while nodes are given back: %+v", p.Spec)
	}
	if d, err := f.daemonSet(f.ctx); err != nil || !Paused(d) {
		t.Errorf("kured was resumed while w1 is managed (%v)", err)
	}
	f.setManaged(metav1.ConditionFalse)
	f.must(<-ended)
	if diff := cmp.Diff(before, f.state()); diff != "" {
		t.Errorf("it is not as it was (-before +after):\n%s", diff)
	}
}

// TestUndoAfterRemoval checks that kured is resumed when kubectl-upgrade is gone already.
func TestUndoAfterRemoval(t *testing.T) {
	f := newFixture(t)
	f.must(f.Prepare(f.ctx, f.result))
	f.must(f.Start(f.ctx, f.result))
	f.must(f.Ours.UpgradePolicies.Delete(f.ctx, "cluster", metav1.DeleteOptions{}))
	f.must(f.Undo(f.ctx))
	d, err := f.daemonSet(f.ctx)
	f.must(err)
	if Paused(d) || d.Spec.Template.Spec.NodeSelector["pool"] != "web" {
		t.Errorf("kured is still paused: %v", d.Spec.Template.Spec.NodeSelector)
	}
}

// TestRefusals checks what cannot be changed over.
func TestRefusals(t *testing.T) {
	f := newFixture(t)
	before := f.state()
	noWindow := f.result
	noWindow.Schedule = nil
	wantError(t, f.Prepare(f.ctx, noWindow), "the window of kured is not known")
	other := f.result.Schedule.DeepCopy()
	other.Spec.TimeZone = "Asia/Tokyo"
	_, err := f.Ours.MaintenanceSchedules.Create(f.ctx, other, metav1.CreateOptions{})
	f.must(err)
	wantError(t, f.Prepare(f.ctx, f.result), "choose a name with --schedule")
	f.must(f.Ours.MaintenanceSchedules.Delete(f.ctx, "kured", metav1.DeleteOptions{}))
	f.must(f.Ours.NodeUpgrades.Delete(f.ctx, "w1", metav1.DeleteOptions{}))
	wantError(t, f.Prepare(f.ctx, f.result), "no agent has reported")
	_, err = f.Ours.NodeUpgrades.Create(f.ctx, &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "w1"}}, metav1.CreateOptions{})
	f.must(err)
	wantError(t, f.Start(f.ctx, f.result), "no record of the changeover")
	wantError(t, f.Undo(f.ctx), "there is nothing to undo")
	d, err := f.daemonSet(f.ctx)
	f.must(err)
	d.Labels = map[string]string{"kustomize.toolkit.fluxcd.io/name": "infra", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
	_, err = f.Kube.AppsV1().DaemonSets("kube-system").Update(f.ctx, d, metav1.UpdateOptions{})
	f.must(err)
	wantError(t, f.Prepare(f.ctx, f.result), "Flux Kustomization flux-system/infra owns DaemonSet kube-system/kured and would resume it")
	d, err = f.daemonSet(f.ctx)
	f.must(err)
	d.Labels = nil
	_, err = f.Kube.AppsV1().DaemonSets("kube-system").Update(f.ctx, d, metav1.UpdateOptions{})
	f.must(err)
	p := f.policy()
	p.Spec.Mode = v1alpha1.ModeManage
	_, err = f.Ours.UpgradePolicies.Update(f.ctx, p, metav1.UpdateOptions{})
	f.must(err)
	wantError(t, f.Prepare(f.ctx, f.result), "some nodes are managed already: say with -l")
	p = f.policy()
	p.Spec.Mode = v1alpha1.ModeObserve
	_, err = f.Ours.UpgradePolicies.Update(f.ctx, p, metav1.UpdateOptions{})
	f.must(err)
	if diff := cmp.Diff(before, f.state()); diff != "" {
		t.Errorf("something was changed (-before +after):\n%s", diff)
	}
}

// TestDryRun checks that a server dry run changes nothing.
func TestDryRun(t *testing.T) {
	f := newFixture(t)
	before := f.state()
	f.DryRun = []string{metav1.DryRunAll}
	f.must(f.Prepare(f.ctx, f.result))
	f.must(f.Start(f.ctx, f.result))
	if diff := cmp.Diff(before, f.state()); diff != "" {
		t.Errorf("something was changed (-before +after):\n%s", diff)
	}
	if !strings.Contains(f.out.String(), "(server dry run)") {
		t.Errorf("output:\n%s", f.out)
	}
}

// TestFLUO changes over from FLUO and back: Nodes that a person has paused stay so.
func TestFLUO(t *testing.T) {
	f := newFixture(t)
	nodes := f.Kube.CoreV1().Nodes()
	for name, annotations := range map[string]map[string]string{"a": {fluoPrefix + "reboot-needed": "true"}, "b": {FLUOPaused: "true"}} {
		_, err := nodes.Create(f.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}, metav1.CreateOptions{})
		f.must(err)
		t.Cleanup(func() { f.must(nodes.Delete(f.ctx, name, metav1.DeleteOptions{})) })
	}
	marks := func() string {
		list, err := nodes.List(f.ctx, metav1.ListOptions{})
		f.must(err)
		all := map[string]any{}
		for _, n := range list.Items {
			all[n.Name] = n.Annotations
		}
		text, err := json.Marshal(all)
		f.must(err)
		return string(text)
	}
	before, nodesBefore := f.state(), marks()
	f.Other = FLUODaemonSet(f.Kube, "kube-system", "kured")
	f.result = FromFLUO(FLUO{Placement: Placement{ControlPlane: true}, ScheduleName: "fluo", Now: time.Now()})
	f.must(f.Prepare(f.ctx, f.result))
	f.must(f.Start(f.ctx, f.result))
	if got := marks(); strings.Count(got, FLUOPaused) != 2 || strings.Count(got, v1alpha1.PausedAnnotation) != 1 {
		t.Errorf("after Start: %s", got)
	}
	list, err := nodes.List(f.ctx, metav1.ListOptions{})
	f.must(err)
	var pointers []*corev1.Node
	for i := range list.Items {
		pointers = append(pointers, &list.Items[i])
	}
	if found := rebootmanager.Active(pointers, nil, nil); len(found) > 0 {
		t.Errorf("it may still reboot nodes: %v", found)
	}
	f.must(f.Undo(f.ctx))
	if diff := cmp.Diff(nodesBefore, marks()); diff != "" {
		t.Errorf("Nodes are not as they were (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(before, f.state()); diff != "" {
		t.Errorf("it is not as it was (-before +after):\n%s", diff)
	}

	n, err := nodes.Get(f.ctx, "a", metav1.GetOptions{})
	f.must(err)
	n.Annotations[fluoPrefix+"reboot-in-progress"] = "true"
	_, err = nodes.Update(f.ctx, n, metav1.UpdateOptions{})
	f.must(err)
	f.must(f.Prepare(f.ctx, f.result))
	wantError(t, f.Start(f.ctx, f.result), "FLUO reboots node a: wait until that is over")
	f.must(f.Undo(f.ctx))
}
