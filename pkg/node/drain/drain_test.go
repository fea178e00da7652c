package drain

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/kubetest"
)

func pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("uid-" + name),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", Controller: ptr.To(true)}},
		},
		Spec:   corev1.PodSpec{NodeName: "worker"},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

// notReady makes a pod one that runs, and does not work.
func notReady(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }

func ownedBy(kind, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = nil
		if kind != "" {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, Controller: ptr.To(true)}}
		}
	}
}

func emptyDir(p *corev1.Pod) {
	p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
}
func mirror(p *corev1.Pod)      { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }
func finishedPod(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }
func leaving(p *corev1.Pod) {
	p.DeletionTimestamp, p.Finalizers = ptr.To(metav1.Now()), []string{"test/holds"}
}
func annotated(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{key: value} }
}

func labelled(key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		if p.Labels == nil {
			p.Labels = map[string]string{}
		}
		p.Labels[key] = "true"
	}
}

func in(namespace string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Namespace = namespace }
}

func selects(key string) v1alpha1.LabelSelector {
	return v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{key: "true"}}
}

var rules = []v1alpha1.DrainRule{
	{Name: "first", PodSelector: selects("first"), Behavior: v1alpha1.DrainPod},
	{Name: "stay", PodSelector: selects("stay"), Namespaces: []string{"default"}, Behavior: v1alpha1.DrainSkip},
	{Name: "wait", PodSelector: selects("wait"), Behavior: v1alpha1.DrainWaitCompleted},
}

var blocksAll = v1alpha1.Drain{UnmanagedPods: v1alpha1.PodsBlock, EmptyDirPods: v1alpha1.PodsBlock, Rules: rules}

func tolerates(key string, op corev1.TolerationOperator) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: key, Operator: op, Effect: corev1.TaintEffectNoSchedule}}
	}
}

func TestRound(t *testing.T) {
	daemons := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "daemons"}}
	for name, test := range map[string]struct {
		pods    []runtime.Object
		order   v1alpha1.Drain
		means   Means
		refuse  map[string]error // by pod: what eviction answers
		evicted []string
		deleted []string
		want    Progress
	}{
		"an empty node is drained": {want: Progress{Message: "drained"}},
		"pods are evicted, with their emptyDir": {
			pods:    []runtime.Object{pod("a"), pod("b", emptyDir)},
			evicted: []string{"a", "b"},
			want:    Progress{Left: 2, Message: "2 pods are terminating: default/a, default/b"},
		},
		"what stays is left alone": {
			pods: []runtime.Object{
				pod("daemon", ownedBy("DaemonSet", "daemons")), pod("static", mirror),
				pod("anywhere", tolerates("", corev1.TolerationOpExists)),
				pod("unmanaged-anywhere", ownedBy("", ""), tolerates(corev1.TaintNodeUnschedulable, corev1.TolerationOpExists)),
			},
			want: Progress{Message: "drained"},
		},
		"a toleration of something else is none": {
			pods:    []runtime.Object{pod("a", tolerates("dedicated", corev1.TolerationOpExists))},
			evicted: []string{"a"},
			want:    Progress{Left: 1, Message: "1 pod is terminating: default/a"},
		},
		"a pod that is leaving is not asked twice": {
			pods: []runtime.Object{pod("a", leaving)},
			want: Progress{Left: 1, Message: "1 pod is terminating: default/a"},
		},
		"a finalizer keeps a pod that has ended": {
			pods: []runtime.Object{pod("a", leaving, finishedPod), pod("job", labelled("wait"), leaving, finishedPod)},
			want: Progress{Message: "drained"},
		},
		"an unmanaged pod keeps all others": {
			pods:  []runtime.Object{pod("a"), pod("alone", ownedBy("", ""))},
			order: v1alpha1.Drain{UnmanagedPods: v1alpha1.PodsBlock},
			want:  Progress{Left: 2, Blocked: true, Message: "no controller recreates these pods elsewhere, and drain.unmanagedPods is Block: default/alone"},
		},
		"pods that must not be disrupted are spared": {
			pods: []runtime.Object{
				pod("a"), pod("game", annotated("karpenter.sh/do-not-disrupt", "true")), pod("batch", annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "false")),
				pod("cache", annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "true")), pod("ended", finishedPod, annotated("karpenter.sh/do-not-disrupt", "true")),
			},
			evicted: []string{"a", "cache", "ended"},
			want: Progress{Left: 5, Message: "3 pods are terminating: default/a, default/cache, default/ended; " +
				"waiting for 2 pods with an annotation against disruption (drain.doNotDisruptSeconds): default/batch, default/game"},
		},
		"only spared pods do not block": {
			pods: []runtime.Object{pod("game", annotated("karpenter.sh/do-not-disrupt", "true"))},
			want: Progress{Left: 1, Message: "waiting for 1 pod with an annotation against disruption (drain.doNotDisruptSeconds): default/game"},
		},
		"a spared pod that is leaving is terminating": {
			pods: []runtime.Object{pod("game", leaving, annotated("karpenter.sh/do-not-disrupt", "true"))},
			want: Progress{Left: 1, Message: "1 pod is terminating: default/game"},
		},
		"they are evicted once the time is over": {
			pods:    []runtime.Object{pod("game", annotated("karpenter.sh/do-not-disrupt", "true"))},
			means:   Means{Disrupt: true},
			evicted: []string{"game"},
			want:    Progress{Left: 1, Message: "1 pod is terminating: default/game"},
		},
		"they are deleted with the rest": {
			pods:    []runtime.Object{pod("game", annotated("karpenter.sh/do-not-disrupt", "true"))},
			means:   Means{Delete: true},
			deleted: []string{"game"},
			want:    Progress{Left: 1, Message: "1 pod is terminating: default/game"},
		},
		"a rule that selects one goes first": {
			pods:    []runtime.Object{pod("game", labelled("drain"), annotated("karpenter.sh/do-not-disrupt", "true"))},
			order:   v1alpha1.Drain{Rules: []v1alpha1.DrainRule{{Name: "games", PodSelector: selects("drain"), Behavior: v1alpha1.DrainPod}}},
			evicted: []string{"game"},
			want:    Progress{Left: 1, Message: "1 pod is terminating: default/game"},
		},
		"an unmanaged one keeps all others": {
			pods:  []runtime.Object{pod("a"), pod("game", ownedBy("", ""), annotated("karpenter.sh/do-not-disrupt", "true"))},
			order: v1alpha1.Drain{UnmanagedPods: v1alpha1.PodsBlock},
			want:  Progress{Left: 2, Blocked: true, Message: "no controller recreates these pods elsewhere, and drain.unmanagedPods is Block: default/game"},
		},
		"a DaemonSet's pod whose DaemonSet is gone is unmanaged": {
			pods:  []runtime.Object{pod("orphan", ownedBy("DaemonSet", "gone"))},
			order: v1alpha1.Drain{UnmanagedPods: v1alpha1.PodsBlock},
			want:  Progress{Left: 1, Blocked: true, Message: "no controller recreates these pods elsewhere, and drain.unmanagedPods is Block: default/orphan"},
		},
		"it blocks also where the rest is deleted": {
			pods:  []runtime.Object{pod("a"), pod("alone", ownedBy("", ""))},
			order: v1alpha1.Drain{UnmanagedPods: v1alpha1.PodsBlock},
			means: Means{Delete: true},
			want:  Progress{Left: 2, Blocked: true, Message: "no controller recreates these pods elsewhere, and drain.unmanagedPods is Block: default/alone"},
		},
		"it goes where the order says so": {
			pods:    []runtime.Object{pod("alone", ownedBy("", ""))},
			order:   v1alpha1.Drain{UnmanagedPods: v1alpha1.PodsEvict},
			evicted: []string{"alone"},
			want:    Progress{Left: 1, Message: "1 pod is terminating: default/alone"},
		},
		"a finished one goes anyway": {
			pods:    []runtime.Object{pod("done", ownedBy("", ""), emptyDir, finishedPod)},
			order:   blocksAll,
			evicted: []string{"done"},
			want:    Progress{Left: 1, Message: "1 pod is terminating: default/done"},
		},
		"an emptyDir keeps all others where the order says so": {
			pods:  []runtime.Object{pod("a"), pod("b", emptyDir)},
			order: v1alpha1.Drain{EmptyDirPods: v1alpha1.PodsBlock},
			want:  Progress{Left: 2, Blocked: true, Message: "the data in these pods' emptyDir would be lost, and drain.emptyDirPods is Block: default/b"},
		},
		"a pod that a rule skips stays, whatever it is": {
			pods:  []runtime.Object{pod("a", labelled("stay"), emptyDir, ownedBy("", ""))},
			order: v1alpha1.Drain{UnmanagedPods: v1alpha1.PodsBlock, EmptyDirPods: v1alpha1.PodsBlock, Rules: rules},
			want:  Progress{Message: "drained"},
		},
		"a rule is about its namespaces": {
			pods:    []runtime.Object{pod("a", labelled("stay"), in("elsewhere"))},
			order:   v1alpha1.Drain{Rules: rules},
			evicted: []string{"a"},
			want:    Progress{Left: 1, Message: "1 pod is terminating: elsewhere/a"},
		},
		"the first rule that matches counts": {
			pods:    []runtime.Object{pod("a", labelled("stay"), labelled("first"))},
			order:   v1alpha1.Drain{Rules: rules},
			evicted: []string{"a"},
			want:    Progress{Left: 1, Message: "1 pod is terminating: default/a"},
		},
		"a rule that drains lets nothing through that blocks": {
			pods:  []runtime.Object{pod("a", labelled("first"), emptyDir)},
			order: blocksAll,
			want:  Progress{Left: 1, Blocked: true, Message: "the data in these pods' emptyDir would be lost, and drain.emptyDirPods is Block: default/a"},
		},
		"a pod that a rule waits for is not asked": {
			pods:    []runtime.Object{pod("a"), pod("job", labelled("wait"), ownedBy("", ""))},
			order:   v1alpha1.Drain{UnmanagedPods: v1alpha1.PodsBlock, Rules: rules},
			evicted: []string{"a"},
			want:    Progress{Left: 2, Message: "1 pod is terminating: default/a; waiting for 1 pod to complete (drain rule WaitCompleted): default/job"},
		},
		"such a pod blocks where no other is left": {
			pods:  []runtime.Object{pod("job", labelled("wait")), pod("other", labelled("wait"))},
			order: v1alpha1.Drain{Rules: rules},
			want:  Progress{Left: 2, Blocked: true, Message: "waiting for 2 pods to complete (drain rule WaitCompleted): default/job, default/other"},
		},
		"such a pod stays once it has ended": {
			pods:  []runtime.Object{pod("job", labelled("wait"), finishedPod)},
			order: v1alpha1.Drain{Rules: rules},
			want:  Progress{Message: "drained"},
		},
		"such a pod that is leaving is leaving": {
			pods:  []runtime.Object{pod("job", labelled("wait"), leaving)},
			order: v1alpha1.Drain{Rules: rules},
			want:  Progress{Left: 1, Message: "1 pod is terminating: default/job"},
		},
		"a budget is named with the pod": {
			pods:    []runtime.Object{pod("a"), pod("b")},
			refuse:  map[string]error{"b": tooMany("The disruption budget web needs 2 healthy pods and has 2 currently")},
			evicted: []string{"a", "b"},
			want: Progress{Left: 2, Blocked: true,
				Message: "2 pods remain; cannot be evicted now: default/b: The disruption budget web needs 2 healthy pods and has 2 currently"},
		},
		"one pod is one pod": {
			pods:    []runtime.Object{pod("a")},
			refuse:  map[string]error{"a": tooMany("The disruption budget web needs 1 healthy pods and has 1 currently")},
			evicted: []string{"a"},
			want: Progress{Left: 1, Blocked: true,
				Message: "1 pod remains; cannot be evicted now: default/a: The disruption budget web needs 1 healthy pods and has 1 currently"},
		},
		"evictions are refused at large": {
			pods:    []runtime.Object{pod("a"), pod("b")},
			refuse:  map[string]error{"a": errWebhook, "b": errWebhook},
			evicted: []string{"a", "b"},
			want: Progress{Left: 2, Blocked: true,
				Message: "2 pods remain; cannot be evicted now: default/a: Internal error occurred: failed calling webhook, default/b: Internal error occurred: failed calling webhook",
				Refused: errors.New("evicting the pods of node worker: default/a: Internal error occurred: failed calling webhook, default/b: Internal error occurred: failed calling webhook")},
		},
		"one budget answers, so they are not": {
			pods:    []runtime.Object{pod("a"), pod("b")},
			refuse:  map[string]error{"a": errWebhook, "b": tooMany("no")},
			evicted: []string{"a", "b"},
			want: Progress{Left: 2, Blocked: true,
				Message: "2 pods remain; cannot be evicted now: default/a: Internal error occurred: failed calling webhook, default/b: no"},
		},
		"one that went meanwhile is gone": {
			pods:    []runtime.Object{pod("a"), pod("b")},
			refuse:  map[string]error{"a": apierrors.NewNotFound(podResource, "a"), "b": apierrors.NewNotFound(podResource, "b")},
			evicted: []string{"a", "b"},
			want:    Progress{Message: "drained"},
		},
		"a conflict may be the budget's, not the pod's": {
			pods: []runtime.Object{pod("a")},
			refuse: map[string]error{"a": apierrors.NewConflict(policyv1.Resource("poddisruptionbudgets"), "web",
				errors.New("the object has been modified"))},
			evicted: []string{"a"},
			want:    Progress{Left: 1, Message: "1 pod is terminating: default/a"},
		},
		"the rest is deleted where that is asked": {
			pods:    []runtime.Object{pod("a"), pod("job", labelled("wait")), pod("stays", labelled("stay"))},
			order:   v1alpha1.Drain{Rules: rules},
			means:   Means{Delete: true},
			deleted: []string{"a", "job"},
			want:    Progress{Left: 2, Message: "2 pods are terminating: default/a, default/job"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			kubelet := fake.NewClientset(test.pods...)
			// A kubelet reads no DaemonSet, and who does reads no pod.
			kubelet.PrependReactor("*", "daemonsets", forbidden)
			daemonSets := fake.NewClientset(daemons)
			daemonSets.PrependReactor("*", "pods", forbidden)
			var evicted, deleted []string
			kubelet.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
				eviction := action.(clienttesting.CreateAction).GetObject().(*policyv1.Eviction)
				if uid := eviction.DeleteOptions.Preconditions.UID; string(*uid) != "uid-"+eviction.Name {
					t.Errorf("%s is evicted with UID %s", eviction.Name, *uid)
				}
				evicted = append(evicted, eviction.Name)
				return true, nil, test.refuse[eviction.Name]
			})
			kubelet.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
				deleted = append(deleted, action.(clienttesting.DeleteAction).GetName())
				return true, nil, nil
			})
			drainer := &Drainer{Node: "worker", Kubelet: kubetest.Of(kubelet), Account: kubetest.Of(daemonSets)}
			drained, err := drainer.Drained(t.Context(), test.order)
			if err != nil || len(evicted)+len(deleted) > 0 {
				t.Fatalf("looking evicted %s, deleted %s, error %v", evicted, deleted, err)
			}
			got, err := drainer.Round(t.Context(), test.order, test.means)
			if err != nil {
				t.Fatal(err)
			}
			if nothing := got.Left == 0 && len(evicted) == 0; drained != nothing {
				t.Errorf("drained before the round: %v", drained)
			}
			if ends := got.Left > 0 && !got.Blocked && !strings.Contains(got.Message, "waiting"); ends && len(got.Ending) != got.Left || !ends && got.Ending != nil {
				t.Errorf("ending are %s of %d pods that are left", got.Ending, got.Left)
			}
			got.Ending = nil
			slices.Sort(evicted)
			if diff := cmp.Diff([]any{test.want, test.evicted, test.deleted}, []any{got, evicted, deleted}, sameError); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func forbidden(action clienttesting.Action) (bool, runtime.Object, error) {
	return true, nil, apierrors.NewForbidden(action.GetResource().GroupResource(), "", errors.New("not its business"))
}

var errWebhook = apierrors.NewInternalError(errors.New("failed calling webhook"))

var sameError = cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) })

var podResource = corev1.Resource("pods")

func tooMany(cause string) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: cause})
	return err
}

func TestSomeIsShort(t *testing.T) {
	if got := shorten(strings.Split("a b c d e", " ")); got != "a, b, c and 2 more" {
		t.Error(got)
	}
}

// No pod is evicted if a rule has an invalid selector.
func TestWrongRule(t *testing.T) {
	wrong := v1alpha1.Drain{Rules: []v1alpha1.DrainRule{{Name: "wrong", PodSelector: selects("a b"), Behavior: v1alpha1.DrainSkip}}}
	kubelet := fake.NewClientset(pod("a"))
	_, err := (&Drainer{Node: "worker", Kubelet: kubetest.Of(kubelet), Account: kubetest.Of(fake.NewClientset())}).Round(t.Context(), wrong, Means{})
	if err == nil || !strings.Contains(err.Error(), "drain rule wrong") || len(kubelet.Actions()) > 0 {
		t.Errorf("%v, %v", err, kubelet.Actions())
	}
}
