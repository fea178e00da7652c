// Package staticpod reads the static pods of a control plane that kubeadm set up, as the
// API server shows them.
//
// It promises that a pod that cannot be read has no version, and is not Ready. It is
// pure.
package staticpod

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ControlPlaneLabel is the label that kubeadm gives control-plane nodes
// (cmd/kubeadm/app/constants, LabelNodeRoleControlPlane).
const ControlPlaneLabel = "node-role.kubernetes.io/control-plane"

// OnControlPlane reports whether labels are those of a control-plane node.
func OnControlPlane(labels map[string]string) bool {
	_, there := labels[ControlPlaneLabel]
	return there
}

// Is reports whether the pod may be a static pod. kubeadm's labels alone prove nothing,
// because any user may set them. Unless it has the annotation of a mirror pod, a pod
// that has ended, or that a controller other than a Node owns, is none.
func Is(pod *corev1.Pod) bool {
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return true
	}
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return false
	}
	controller := metav1.GetControllerOfNoCopy(pod)
	return controller == nil || controller.Kind == "Node"
}

// Version returns the version of the pod's first container's image.
func Version(pod *corev1.Pod) string {
	if len(pod.Spec.Containers) == 0 {
		return ""
	}
	return ImageVersion(pod.Spec.Containers[0].Image)
}

// ImageVersion returns the version in an image's tag. A registry's
// port may come before the tag, and a digest after it. It is empty without a tag. kubeadm
// writes "_" in the tag for "+" in the version
// (KubernetesVersionToImageTag in cmd/kubeadm/app/util).
func ImageVersion(image string) string {
	image, _, _ = strings.Cut(image, "@")
	image = image[strings.LastIndex(image, "/")+1:]
	_, tag, _ := strings.Cut(image, ":")
	return strings.ReplaceAll(tag, "_", "+")
}

// Ready reports whether the pod's condition Ready is True.
func Ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
