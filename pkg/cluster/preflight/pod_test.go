package preflight_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
)

// TestNewPod checks those parts of a Pod that no scene of TestCheck takes from the API's.
func TestNewPod(t *testing.T) {
	since := now.Add(-time.Minute)
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   func(*preflight.Pod)
	}{
		"as it is":         {func(*corev1.Pod) {}, func(*preflight.Pod) {}},
		"is being deleted": {func(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.NewTime(since)) }, func(p *preflight.Pod) { p.Ended = true }},
		"has failed":       {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, func(p *preflight.Pod) { p.Ended = true }},
		"is Pending":       {func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }, func(p *preflight.Pod) { p.Pending = true }},
		"is not Ready": {func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now)},
				{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(since)},
			}
		}, func(p *preflight.Pod) { p.Ready, p.ReadyChanged = false, since }},
		"of a ReplicaSet without a Deployment": {func(p *corev1.Pod) { delete(p.Labels, "pod-template-hash") }, func(p *preflight.Pod) {
			p.Labels, p.Kind, p.Owner = map[string]string{"app": "web"}, "ReplicaSet", "ReplicaSet/shop/web-5d4f"
		}},
		"of an owner that does not control it": {func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil }, func(p *preflight.Pod) { p.Kind, p.Owner = "", "" }},
	} {
		t.Run(name, func(t *testing.T) {
			given := pod("web", "web-1", "worker-1")
			test.change(given)
			want := preflight.Pod{
				Namespace: "shop", Name: "web-1", Labels: map[string]string{"app": "web", "pod-template-hash": "5d4f"}, Node: "worker-1",
				Kind: "Deployment", Owner: "Deployment/shop/web", Ready: true, GracePeriodSeconds: 30, LivenessProbe: true, ReadinessProbe: true,
			}
			test.want(&want)
			if diff := cmp.Diff(want, preflight.NewPod(given)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
