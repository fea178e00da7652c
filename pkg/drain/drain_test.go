package drain

import (
	"errors"
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
)

func pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("uid-" + name),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", Controller: ptr.To(true)}},
		},
		Spec:   corev1.PodSpec{NodeName: "worker"},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

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
func tolerates(key string, op corev1.TolerationOperator) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: key, Operator: op, Effect: corev1.TaintEffectNoSchedule}}
	}
}

func TestRound(t *testing.T) {
	daemons := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "daemons"}}
	for name, test := range map[string]struct {
		pods    []runtime.Object
		options Options
		refuse  map[string]error // by pod: what eviction answers
		evicted []string
		deleted []string
		want    Progress
	}{
		"an empty node is drained": {want: Progress{Message: "drained"}},
		"pods are evicted, with their emptyDir": {
			pods:    []runtime.Object{pod("a"), pod("b", emptyDir)},
			evicted: []string{"a", "b"},
			want:    Progress{Left: 2, Message: "2 pods are leaving: default/a, default/b"},
		},
		"what stays is left alone": {
			pods: []runtime.Object{
				daemons, pod("daemon", ownedBy("DaemonSet", "daemons")), pod("static", mirror),
				pod("anywhere", tolerates("", corev1.TolerationOpExists)),
				pod("unmanaged-anywhere", ownedBy("", ""), tolerates(corev1.TaintNodeUnschedulable, corev1.TolerationOpExists)),
			},
			want: Progress{Message: "drained"},
		},
		"a toleration of something else is none": {
			pods:    []runtime.Object{pod("a", tolerates("dedicated", corev1.TolerationOpExists))},
			evicted: []string{"a"},
			want:    Progress{Left: 1, Message: "1 pod is leaving: default/a"},
		},
		"a pod that is leaving is not asked twice": {
			pods: []runtime.Object{pod("a", leaving)},
			want: Progress{Left: 1, Message: "1 pod is leaving: default/a"},
		},
		"an unmanaged pod keeps all others": {
			pods: []runtime.Object{pod("a"), pod("alone", ownedBy("", ""))},
			want: Progress{Left: 2, Blocked: true, Message: "nobody starts these pods again elsewhere, and drain.force is not set: default/alone"},
		},
		"a DaemonSet's pod whose DaemonSet is gone is unmanaged": {
			pods: []runtime.Object{pod("orphan", ownedBy("DaemonSet", "gone"))},
			want: Progress{Left: 1, Blocked: true, Message: "nobody starts these pods again elsewhere, and drain.force is not set: default/orphan"},
		},
		"with force it goes": {
			pods:    []runtime.Object{pod("alone", ownedBy("", ""))},
			options: Options{Force: true},
			evicted: []string{"alone"},
			want:    Progress{Left: 1, Message: "1 pod is leaving: default/alone"},
		},
		"a finished one goes anyway": {
			pods:    []runtime.Object{pod("done", ownedBy("", ""), finishedPod)},
			evicted: []string{"done"},
			want:    Progress{Left: 1, Message: "1 pod is leaving: default/done"},
		},
		"a budget is named with the pod": {
			pods:    []runtime.Object{pod("a"), pod("b")},
			refuse:  map[string]error{"b": tooMany("The disruption budget web needs 2 healthy pods and has 2 currently")},
			evicted: []string{"a", "b"},
			want: Progress{Left: 2, Blocked: true,
				Message: "2 pods left; cannot be evicted now: default/b: The disruption budget web needs 2 healthy pods and has 2 currently"},
		},
		"one pod is one pod": {
			pods:    []runtime.Object{pod("a")},
			refuse:  map[string]error{"a": tooMany("The disruption budget web needs 1 healthy pods and has 1 currently")},
			evicted: []string{"a"},
			want: Progress{Left: 1, Blocked: true,
				Message: "1 pod left; cannot be evicted now: default/a: The disruption budget web needs 1 healthy pods and has 1 currently"},
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
			want:    Progress{Left: 1, Message: "1 pod is leaving: default/a"},
		},
		"the rest is deleted where that is asked": {
			pods:    []runtime.Object{pod("a")},
			options: Options{Delete: true},
			deleted: []string{"a"},
			want:    Progress{Left: 1, Message: "1 pod is leaving: default/a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			reads, kubelet := fake.NewClientset(test.pods...), fake.NewClientset()
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
			got, err := (&Drainer{Node: "worker", Reads: reads, Evicts: kubelet}).Round(t.Context(), test.options)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(evicted)
			if diff := cmp.Diff([]any{test.want, test.evicted, test.deleted}, []any{got, evicted, deleted}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

var podResource = corev1.Resource("pods")

func tooMany(cause string) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: cause})
	return err
}

func TestSomeIsShort(t *testing.T) {
	if got := some(strings.Split("a b c d e", " ")); got != "a, b, c and 2 more" {
		t.Error(got)
	}
}
