package nodes

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

// endPods deletes each evicted pod for good a moment later, as its kubelet does.
func (c *Cluster) endPods(ctx context.Context) {
	informer := informers.NewSharedInformerFactoryWithOptions(c.admin, 0, informers.WithNamespace(metav1.NamespaceDefault)).Core().V1().Pods().Informer()
	_ = informer.SetTransform(func(object any) (any, error) {
		if pod, ok := object.(*corev1.Pod); ok {
			kept := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
				ResourceVersion: pod.ResourceVersion, DeletionTimestamp: pod.DeletionTimestamp}}
			kept.Spec.NodeName = pod.Spec.NodeName
			return kept, nil
		}
		return object, nil
	})
	end := func(object any) {
		pod, ok := object.(*corev1.Pod)
		if !ok || pod.DeletionTimestamp == nil {
			return
		}
		go c.endPod(ctx, pod)
	}
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: end, UpdateFunc: func(_, now any) { end(now) }})
	informer.RunWithContext(ctx)
}

func (c *Cluster) endPod(ctx context.Context, pod *corev1.Pod) {
	sleep(ctx, c.Pod)
	ended := false
	_ = c.untilDone(ctx, pod.Name, func() error {
		err := c.admin.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0)), Preconditions: &metav1.Preconditions{UID: &pod.UID}})
		if ended = err == nil; apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil // another call was first
		}
		return err
	})
	if ended && c.Reschedule {
		c.reschedule(ctx)
	}
}

// reschedule makes a pod on the node with the fewest, as soon as one takes pods.
func (c *Cluster) reschedule(ctx context.Context) {
	for ; ctx.Err() == nil; sleep(ctx, time.Second) {
		nodes, err := c.admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			continue
		}
		pods, err := c.admin.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			continue
		}
		number := map[string]int{}
		for _, pod := range pods.Items {
			number[pod.Spec.NodeName]++
		}
		free := slices.DeleteFunc(slices.Clone(c.nodes), func(n *node) bool {
			i := slices.IndexFunc(nodes.Items, func(one corev1.Node) bool { return one.Name == n.name })
			return i < 0 || !takesPods(nodes.Items[i])
		})
		if len(free) > 0 {
			to := slices.MinFunc(free, func(a, b *node) int { return number[a.name] - number[b.name] })
			_ = to.makePod(ctx, evicted("web-"+rand.String(5)))
			return
		}
	}
}

func takesPods(n corev1.Node) bool {
	ready := slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	return ready && !n.Spec.Unschedulable
}
