package clusterstate

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// ControlPlaneLabel is the label that kubeadm gives control-plane nodes
// (cmd/kubeadm/app/constants, LabelNodeRoleControlPlane).
const ControlPlaneLabel = "node-role.kubernetes.io/control-plane"

// HasControlPlaneLabel reports whether labels are those of a control-plane node.
func HasControlPlaneLabel(labels map[string]string) bool {
	_, there := labels[ControlPlaneLabel]
	return there
}

// IsStaticPod reports whether the pod may be a static pod. kubeadm's labels alone prove nothing,
// because any user may set them. Unless it has the annotation of a mirror pod, a pod
// that has ended, or that a controller other than a Node owns, is none.
func IsStaticPod(pod *corev1.Pod) bool {
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return true
	}
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return false
	}
	controller := metav1.GetControllerOfNoCopy(pod)
	return controller == nil || controller.Kind == "Node"
}

// StaticPodVersion returns the version of the pod's first container's image.
func StaticPodVersion(pod *corev1.Pod) string {
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

// PodReady reports whether the pod's condition Ready is True.
func PodReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// ToleratesUnschedulable reports whether a pod with these tolerations can be scheduled to a
// cordoned node. A drain skips such a pod, as it would come straight back.
// https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
func ToleratesUnschedulable(tolerations []corev1.Toleration) bool {
	return slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
		everything := t.Key == "" && t.Operator == corev1.TolerationOpExists
		this := t.Key == corev1.TaintNodeUnschedulable && (t.Operator == corev1.TolerationOpExists || t.Value == "")
		return (everything || this) && (t.Effect == "" || t.Effect == corev1.TaintEffectNoSchedule)
	})
}

// DrainRules is a compiled list of drain rules.
type DrainRules []drainRule

type drainRule struct {
	selector   labels.Selector
	namespaces []string
	behavior   v1alpha1.DrainBehavior
}

// CompileDrainRules compiles the rules. Its error names a rule with an invalid podSelector.
func CompileDrainRules(list []v1alpha1.DrainRule) (DrainRules, error) {
	var rules DrainRules
	for _, r := range list {
		selector, err := r.PodSelector.AsSelector()
		if err != nil {
			return nil, fmt.Errorf("drain rule %s: podSelector: %w", r.Name, err)
		}
		rules = append(rules, drainRule{selector, r.Namespaces, r.Behavior})
	}
	return rules, nil
}

// Behavior returns what a drain does with a pod of that namespace that has these labels, and whether a rule selects it.
func (rules DrainRules) Behavior(namespace string, of labels.Set) (behavior v1alpha1.DrainBehavior, selected bool) {
	for _, r := range rules {
		if (len(r.namespaces) == 0 || slices.Contains(r.namespaces, namespace)) && r.selector.Matches(of) {
			return r.behavior, true
		}
	}
	return v1alpha1.DrainPod, false
}
