//go:build fleet

package agent

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// makeObjects makes the Nodes, of which the first is a control plane, with their pods.
func (f *manyNodes) makeObjects(ctx context.Context, size int) {
	(&cluster{t: f.T, config: f.config}).createKubeadmConfig()
	f.nodes = make([]*fleetNode, size)
	parallel(ctx, size, func(ctx context.Context, i int) {
		name := fmt.Sprintf("w%04d", i)
		if i == 0 {
			name = "cp0000"
		}
		n := f.newNode(name, i == 0)
		n.renew()
		f.nodes[i] = n
		n.makeNode(ctx, i)
		n.makePods(ctx)
	})
}

func (n *fleetNode) makeNode(ctx context.Context, i int) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name, Labels: map[string]string{
		corev1.LabelHostname: n.name, corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
		corev1.LabelTopologyZone: "zone-" + strconv.Itoa(i%3),
	}}}
	if i == 0 {
		node.Labels["node-role.kubernetes.io/control-plane"] = ""
	}
	n.create(func() error {
		_, err := n.admin.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		return err
	})
	status := `{"status":{"nodeInfo":{"architecture":"amd64","operatingSystem":"linux","osImage":"Flatcar Container Linux by Kinvolk 4593.0.0","kernelVersion":"6.12.58-flatcar","containerRuntimeVersion":"containerd://2.1.5"}}}`
	n.untilDone(func() error {
		_, err := n.admin.CoreV1().Nodes().Patch(ctx, n.name, types.StrategicMergePatchType, []byte(status), metav1.PatchOptions{}, "status")
		return err
	})
	n.report("boot-0", corev1.ConditionTrue)
}

// create creates an object, unless it exists.
func (f *manyNodes) create(do func() error) {
	f.untilDone(func() error {
		if err := do(); !apierrors.IsAlreadyExists(err) {
			return err
		}
		return nil
	})
}

// makePods makes the pods that are evicted, the agent's, and the static ones of a control
// plane.
func (n *fleetNode) makePods(ctx context.Context) {
	for i := range fleetPods {
		n.makePod(ctx, "default", fmt.Sprintf("web-%s-%d", n.name, i), "ReplicaSet", nil, "registry.example/web:1")
	}
	n.makePod(ctx, v1alpha1.Namespace, "node-agent-"+n.name, "DaemonSet",
		map[string]string{"app.kubernetes.io/name": "kubectl-upgrade", "app.kubernetes.io/component": "node-agent"}, "node-agent:fleet")
	for component, version := range n.host.facts.StaticPods {
		n.makePod(ctx, metav1.NamespaceSystem, component+"-"+n.name, "Node", map[string]string{"component": component, "tier": "control-plane"}, image(component, version))
	}
	if n.host.facts.ControlPlane {
		n.makePod(ctx, metav1.NamespaceSystem, "etcd-"+n.name, "Node", map[string]string{"component": "etcd", "tier": "control-plane"}, image("etcd", "3.6.5-0"))
	}
}

func image(component, version string) string { return "registry.k8s.io/" + component + ":" + version }

func (n *fleetNode) makePod(ctx context.Context, namespace, name, owner string, labels map[string]string, image string) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: owner, Name: "node-agent", UID: "0", Controller: ptr.To(true)}, // a drain asks whether this DaemonSet exists
		}},
		Spec: corev1.PodSpec{NodeName: n.name, Containers: []corev1.Container{{Name: "c", Image: image}}},
	}
	if owner == "Node" {
		pod.OwnerReferences, pod.Annotations = nil, map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	}
	n.create(func() error {
		_, err := n.admin.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
	status := []byte(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`)
	n.untilDone(func() error {
		_, err := n.admin.CoreV1().Pods(namespace).Patch(ctx, name, types.StrategicMergePatchType, status, metav1.PatchOptions{}, "status")
		return err
	})
}

// mirror shows the versions of a control plane's static pods, as its kubelet does.
func (n *fleetNode) mirror(ctx context.Context) {
	n.host.mu.Lock()
	versions := maps.Clone(n.host.facts.StaticPods)
	n.host.mu.Unlock()
	if maps.Equal(versions, n.mirrored) {
		return
	}
	n.mirrored = versions
	for component, version := range versions {
		patch := fmt.Sprintf(`{"spec":{"containers":[{"name":"c","image":%q}]}}`, image(component, version))
		_, _ = n.admin.CoreV1().Pods(metav1.NamespaceSystem).Patch(ctx, component+"-"+n.name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	}
}

// endPods deletes each evicted pod for good a moment later, as its kubelet does.
func (f *manyNodes) endPods(ctx context.Context) {
	informer := informers.NewSharedInformerFactoryWithOptions(f.admin, 0, informers.WithNamespace("default")).Core().V1().Pods().Informer()
	_ = informer.SetTransform(func(object any) (any, error) {
		if pod, ok := object.(*corev1.Pod); ok {
			return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion, DeletionTimestamp: pod.DeletionTimestamp}}, nil
		}
		return object, nil
	})
	end := func(object any) {
		pod, ok := object.(*corev1.Pod)
		if !ok || pod.DeletionTimestamp == nil {
			return
		}
		time.AfterFunc(fleetPod, func() {
			f.untilDone(func() error {
				err := f.admin.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))})
				if apierrors.IsNotFound(err) {
					return nil
				}
				return err
			})
		})
	}
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: end, UpdateFunc: func(_, now any) { end(now) }})
	informer.RunWithContext(ctx)
}
