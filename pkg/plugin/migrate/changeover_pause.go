package migrate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// pausedSelector matches no node.
var pausedSelector = map[string]string{v1alpha1.PausedAnnotation: "never"}

// Paused reports whether the DaemonSet is paused.
func Paused(d *appsv1.DaemonSet) bool {
	_, paused := d.Annotations[v1alpha1.PausedAnnotation]
	return paused
}

// OriginalSelector returns the nodeSelector of a DaemonSet that is paused.
func OriginalSelector(d *appsv1.DaemonSet) (original map[string]string, paused bool) {
	err := json.Unmarshal([]byte(d.Annotations[v1alpha1.PausedAnnotation]), &original)
	return original, Paused(d) && err == nil
}

// operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

const (
	selectorPath    = "/spec/template/spec/nodeSelector"
	annotationsPath = "/metadata/annotations"
)

var annotationPath = annotationsPath + "/" + strings.ReplaceAll(v1alpha1.PausedAnnotation, "/", "~1")

// patch changes the DaemonSet if it is still as it was read. kured's lock is one of its
// annotations, so the lock is still as it was read, too.
func (c *Changeover) patch(ctx context.Context, d *appsv1.DaemonSet, operations ...operation) error {
	operations = append([]operation{{"test", "/metadata/resourceVersion", d.ResourceVersion}}, operations...)
	text, err := json.Marshal(operations)
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{FieldManager: manager, DryRun: c.DryRun}
	_, err = c.Kube.AppsV1().DaemonSets(d.Namespace).Patch(ctx, d.Name, types.JSONPatchType, text, options)
	if err != nil {
		return fmt.Errorf("changing DaemonSet %s/%s: %w", d.Namespace, d.Name, err)
	}
	return nil
}

// changedMeanwhile reports whether a patch was refused because the object is not any more as it
// was read.
func changedMeanwhile(err error) bool { return apierrors.IsConflict(err) || apierrors.IsInvalid(err) }

// pause keeps the pods of the DaemonSet off every node, and remembers its nodeSelector.
func (c *Changeover) pause(ctx context.Context, d *appsv1.DaemonSet) error {
	original, err := json.Marshal(d.Spec.Template.Spec.NodeSelector)
	if err != nil {
		return err
	}
	remember := operation{"add", annotationPath, string(original)}
	if d.Annotations == nil {
		remember = operation{"add", annotationsPath, map[string]string{v1alpha1.PausedAnnotation: string(original)}}
	}
	return c.patch(ctx, d, remember, operation{"add", selectorPath, pausedSelector})
}

// resume restores the nodeSelector.
func (c *Changeover) resume(ctx context.Context, d *appsv1.DaemonSet) error {
	var original map[string]string
	if err := json.Unmarshal([]byte(d.Annotations[v1alpha1.PausedAnnotation]), &original); err != nil {
		return fmt.Errorf("the annotation %s of DaemonSet %s/%s cannot be read: %w; write the DaemonSet's nodeSelector by hand, and remove the annotation",
			v1alpha1.PausedAnnotation, d.Namespace, d.Name, err)
	}
	restore := operation{Op: "remove", Path: selectorPath}
	if len(original) > 0 {
		restore = operation{"add", selectorPath, original}
	}
	return c.patch(ctx, d, restore, operation{Op: "remove", Path: annotationPath})
}

// pods returns the pods of the DaemonSet that still exist.
func (c *Changeover) pods(ctx context.Context, d *appsv1.DaemonSet) ([]corev1.Pod, error) {
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return nil, err
	}
	list, err := c.Kube.CoreV1().Pods(d.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return nil, fmt.Errorf("reading the pods of DaemonSet %s/%s: %w", d.Namespace, d.Name, err)
	}
	var own []corev1.Pod
	for _, pod := range list.Items {
		if metav1.IsControlledBy(&pod, d) {
			own = append(own, pod)
		}
	}
	return own, nil
}

// FLUO's annotations on Nodes.
// https://github.com/flatcar/flatcar-linux-update-operator/blob/main/doc/labels-and-annotations.md
const (
	fluoPrefix = "flatcar-linux-update.v1.flatcar-linux.net/"
	FLUOPaused = fluoPrefix + "reboot-paused"
)

// FLUODaemonSet returns FLUO with the DaemonSet of its agents. Beside pausing that, each Node is annotated as paused: a
// Node that asks FLUO for a reboot keeps saying so when its agent is gone.
func FLUODaemonSet(kube kubernetes.Interface, namespace, daemonSet string) Other {
	return Other{
		Name: "FLUO", Namespace: namespace, DaemonSet: daemonSet,
		Busy: func(ctx context.Context, _ *appsv1.DaemonSet) (string, error) {
			return fluoBusy(ctx, kube)
		},
		Pause: func(ctx context.Context, dryRun []string) error {
			return eachNode(ctx, kube, dryRun, map[string]any{FLUOPaused: "true", v1alpha1.PausedAnnotation: "fluo"}, func(n corev1.Node) bool {
				return n.Annotations[FLUOPaused] != "true"
			})
		},
		Resume: func(ctx context.Context, dryRun []string) error {
			return eachNode(ctx, kube, dryRun, map[string]any{FLUOPaused: nil, v1alpha1.PausedAnnotation: nil}, func(n corev1.Node) bool {
				_, ours := n.Annotations[v1alpha1.PausedAnnotation]
				return ours
			})
		},
	}
}

// fluoBusy returns the nodes that FLUO reboots, or has allowed to reboot.
func fluoBusy(ctx context.Context, kube kubernetes.Interface) (string, error) {
	list, err := kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", fmt.Errorf("reading Nodes: %w", err)
	}
	var busy []string
	for _, n := range list.Items {
		if n.Annotations[fluoPrefix+"reboot-ok"] == "true" || n.Annotations[fluoPrefix+"reboot-in-progress"] == "true" {
			busy = append(busy, n.Name)
		}
	}
	if len(busy) == 0 {
		return "", nil
	}
	return "FLUO reboots node " + strings.Join(busy, ", "), nil
}

// eachNode sets annotations of the Nodes that matter.
func eachNode(ctx context.Context, kube kubernetes.Interface, dryRun []string, annotations map[string]any, matters func(corev1.Node) bool) error {
	list, err := kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("reading Nodes: %w", err)
	}
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return err
	}
	for _, n := range list.Items {
		if !matters(n) {
			continue
		}
		if _, err := kube.CoreV1().Nodes().Patch(ctx, n.Name, types.MergePatchType, text, metav1.PatchOptions{FieldManager: manager, DryRun: dryRun}); err != nil {
			return fmt.Errorf("changing Node %s: %w", n.Name, err)
		}
	}
	return nil
}
