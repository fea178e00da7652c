package changeover

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// FLUO's annotations on Nodes.
// https://github.com/flatcar/flatcar-linux-update-operator/blob/main/doc/labels-and-annotations.md
const (
	fluoPrefix = "flatcar-linux-update.v1.flatcar-linux.net/"
	FLUOPaused = fluoPrefix + "reboot-paused"
)

// FLUO returns FLUO with the DaemonSet of its agents. Beside pausing that, each Node is annotated as paused: a
// Node that asks FLUO for a reboot keeps saying so when its agent is gone.
func FLUO(kube kubernetes.Interface, namespace, daemonSet string) Other {
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
