package drain

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubectl "k8s.io/kubectl/pkg/drain"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/kubetest"
)

// TestSelectsAsKubectl compares the selection with that of kubectl's own package, for a pod
// of every kind that its filters distinguish.
func TestSelectsAsKubectl(t *testing.T) {
	client := fake.NewClientset(everyPod()...)
	helper := &kubectl.Helper{
		Ctx: t.Context(), Client: client, Force: true, DeleteEmptyDirData: true, IgnoreAllDaemonSets: true,
		GracePeriodSeconds: -1, Out: io.Discard, ErrOut: io.Discard,
	}
	list, errs := helper.GetPodsForDeletion("worker")
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	drainer := &Drainer{Node: "worker", Kubelet: kubetest.Of(client), Account: kubetest.Of(client)}
	selected, err := drainer.classifyPods(t.Context(), v1alpha1.Drain{UnmanagedPods: v1alpha1.PodsEvict})
	if err != nil {
		t.Fatal(err)
	}
	selects := slices.DeleteFunc(list.Pods(), ended) // those are not waited for here
	want, got := names(selects), names(selected.evict)
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 || len(want) == len(everyPod())-1 {
		t.Errorf("kubectl selects %d pods, and we %d: %s", len(want), len(got), diff)
	}
	client.PrependReactor("get", "daemonsets", forbidden)
	drainer.Begin(nil)
	_, errs = helper.GetPodsForDeletion("worker")
	if _, err := drainer.classifyPods(t.Context(), v1alpha1.Drain{}); len(errs) == 0 || err == nil {
		t.Errorf("a DaemonSet cannot be read: kubectl says %v, and we %v", errs, err)
	}
}

// everyPod returns pods with every combination of what kubectl's filters read, and a
// DaemonSet.
func everyPod() []runtime.Object {
	none := func(*corev1.Pod) {}
	owners := []func(*corev1.Pod){
		none, ownedBy("", ""), ownedBy("DaemonSet", "daemons"), ownedBy("DaemonSet", "gone"),
		func(p *corev1.Pod) { ownedBy("DaemonSet", "daemons")(p); p.OwnerReferences[0].APIVersion = "other/v1" },
		func(p *corev1.Pod) {
			ownedBy("DaemonSet", "daemons")(p)
			p.OwnerReferences[0].Controller = ptr.To(false)
		},
	}
	failed := func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }
	pending := func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }
	objects := []runtime.Object{&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "daemons"}}}
	for o, owner := range owners {
		for p, phase := range []func(*corev1.Pod){none, finishedPod, failed, pending} {
			for m, mirrored := range []func(*corev1.Pod){none, mirror} {
				for e, volume := range []func(*corev1.Pod){none, emptyDir} {
					for l, deleted := range []func(*corev1.Pod){none, leaving} {
						name := fmt.Sprintf("owner%d-phase%d-mirror%d-volume%d-leaving%d", o, p, m, e, l)
						objects = append(objects, pod(name, owner, phase, mirrored, volume, deleted))
					}
				}
			}
		}
	}
	return objects
}

func names(pods []corev1.Pod) []string {
	var all []string
	for _, p := range pods {
		all = append(all, name(p))
	}
	slices.Sort(all)
	return all
}
