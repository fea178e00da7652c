package nodes

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// create creates an object, unless it exists.
func (n *node) create(ctx context.Context, do func() error) error {
	return n.untilDone(ctx, n.name, func() error {
		if err := do(); !apierrors.IsAlreadyExists(err) {
			return err
		}
		return nil
	})
}

// makeObjects makes the Node and its pods.
func (n *node) makeObjects(ctx context.Context, i int) error {
	if err := n.renew(ctx); err != nil {
		return err
	}
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name, Labels: map[string]string{
		corev1.LabelHostname: n.name, corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
		corev1.LabelTopologyZone: "zone-" + strconv.Itoa(i%3),
	}}}
	if n.host.Facts.ControlPlane {
		object.Labels["node-role.kubernetes.io/control-plane"] = ""
	}
	err := n.create(ctx, func() error {
		_, err := n.admin.CoreV1().Nodes().Create(ctx, object, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	n.patchStatus(ctx, `{"status":{"nodeInfo":{"architecture":"amd64","operatingSystem":"linux","osImage":"Flatcar Container Linux by Kinvolk 4593.0.0",`+
		`"kernelVersion":"6.12.58-flatcar","containerRuntimeVersion":"containerd://2.1.5"}}}`)
	n.report(ctx, "boot-0")
	return n.makePods(ctx)
}

// makePods makes the pods that are evicted, the agent's, and the static ones of a control
// plane.
func (n *node) makePods(ctx context.Context) error {
	for i := range n.Pods {
		if err := n.makePod(ctx, evicted(fmt.Sprintf("web-%s-%d", n.name, i))); err != nil {
			return err
		}
	}
	labels := map[string]string{"app.kubernetes.io/name": "kubectl-upgrade", "app.kubernetes.io/component": "node-agent"}
	if err := n.makePod(ctx, pod{v1alpha1.Namespace, "node-agent-" + n.name, "DaemonSet", "node-agent", labels, "node-agent:pretended"}); err != nil {
		return err
	}
	static := maps.Clone(n.host.Facts.StaticPods)
	if n.host.Facts.ControlPlane {
		static["etcd"] = "3.6.5-0"
	}
	for component, version := range static {
		labels := map[string]string{"component": component, "tier": "control-plane"}
		if err := n.makePod(ctx, pod{metav1.NamespaceSystem, component + "-" + n.name, "Node", n.name, labels, image(component, version)}); err != nil {
			return err
		}
	}
	return nil
}

func image(component, version string) string { return "registry.k8s.io/" + component + ":" + version }

// pod is what differs between pods.
type pod struct {
	namespace, name, owner, ownerName string
	labels                            map[string]string
	image                             string
}

// container has what the checks expect of workloads.
func container(image string) corev1.Container {
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(8080)}}}
	return corev1.Container{
		Name: "c", Image: image, LivenessProbe: probe, ReadinessProbe: probe,
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi")}},
	}
}

// evicted is a pod that drains evict.
func evicted(name string) pod {
	return pod{metav1.NamespaceDefault, name, "ReplicaSet", "web", map[string]string{"app": "web"}, "registry.example/web:1"}
}

func (n *node) makePod(ctx context.Context, p pod) error {
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: p.name, Labels: p.labels, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: p.owner, Name: p.ownerName, UID: "0", Controller: ptr.To(true)}, // a drain asks whether this DaemonSet exists
		}},
		Spec: corev1.PodSpec{NodeName: n.name, Containers: []corev1.Container{container(p.image)}},
	}
	if p.owner == "Node" {
		object.OwnerReferences, object.Annotations = nil, map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	}
	err := n.create(ctx, func() error {
		_, err := n.admin.CoreV1().Pods(p.namespace).Create(ctx, object, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	status := []byte(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],` +
		`"containerStatuses":[{"name":"c","ready":true,"image":"","imageID":"","restartCount":0,"state":{"running":{}}}]}}`)
	return n.untilDone(ctx, n.name, func() error {
		_, err := n.admin.CoreV1().Pods(p.namespace).Patch(ctx, p.name, types.StrategicMergePatchType, status, metav1.PatchOptions{}, "status")
		return err
	})
}

// mirror shows the versions of a control plane's static pods, as its kubelet does.
func (n *node) mirror(ctx context.Context) {
	n.host.Lock()
	versions := maps.Clone(n.host.Facts.StaticPods)
	n.host.Unlock()
	if maps.Equal(versions, n.mirrored) {
		return
	}
	n.mirrored = versions
	for component, version := range versions {
		patch := fmt.Sprintf(`{"spec":{"containers":[{"name":"c","image":%q}]}}`, image(component, version))
		_, _ = n.admin.CoreV1().Pods(metav1.NamespaceSystem).Patch(ctx, component+"-"+n.name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	}
}
