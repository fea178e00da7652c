package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// nodePatch is a merge patch of a Node. It has a resourceVersion: a person may cordon the
// node between our read and our write, and we would take that cordon for ours.
type nodePatch struct {
	Metadata struct {
		ResourceVersion string             `json:"resourceVersion"`
		Annotations     map[string]*string `json:"annotations,omitempty"`
		Labels          map[string]string  `json:"labels,omitempty"`
	} `json:"metadata"`
	Spec *nodeSpecPatch `json:"spec,omitempty"`
}

// nodeSpecPatch removes the field if it is nil.
type nodeSpecPatch struct {
	Unschedulable *bool `json:"unschedulable"`
}

// cordon returns a patch that cordons the node and annotates it, also for the cluster autoscaler. If a person cordoned the
// node before, it only annotates the slot: the cordon stays theirs.
func cordon(node *corev1.Node, upgrade, slot string) nodePatch {
	var p nodePatch
	p.Metadata.ResourceVersion = node.ResourceVersion
	p.Metadata.Annotations = map[string]*string{v1alpha1.SlotAnnotation: &slot}
	if !node.Spec.Unschedulable {
		yes := true
		p.Spec = &nodeSpecPatch{Unschedulable: &yes}
		p.Metadata.Annotations[v1alpha1.CordonAnnotation] = &upgrade
	}
	if _, set := node.Annotations[v1alpha1.AutoscalerAnnotation]; !set {
		p.Metadata.Annotations[v1alpha1.AutoscalerAnnotation], p.Metadata.Annotations[v1alpha1.ScaleDownAnnotation] = ptr.To("true"), &upgrade
	}
	p.removeGuardReport(node)
	return p
}

// removeGuardReport removes what the guard has written: the agent reports again.
func (p *nodePatch) removeGuardReport(node *corev1.Node) {
	if _, there := node.Annotations[v1alpha1.GuardAnnotation]; there {
		p.Metadata.Annotations[v1alpha1.GuardAnnotation] = nil
	}
}

// hold returns a patch that gives the node the hold label.
func hold(node *corev1.Node) nodePatch {
	var p nodePatch
	p.Metadata.ResourceVersion = node.ResourceVersion
	p.Metadata.Labels = map[string]string{v1alpha1.HoldLabel: ""}
	return p
}

// disown returns a patch that removes the annotation which says that the cordon is ours.
func disown(node *corev1.Node) nodePatch {
	var p nodePatch
	p.Metadata.ResourceVersion = node.ResourceVersion
	p.Metadata.Annotations = map[string]*string{v1alpha1.CordonAnnotation: nil}
	return p
}

// uncordon returns a patch that removes our cordon and our annotations.
func uncordon(node *corev1.Node) nodePatch {
	var p nodePatch
	p.Metadata.ResourceVersion = node.ResourceVersion
	p.Metadata.Annotations = map[string]*string{v1alpha1.SlotAnnotation: nil, v1alpha1.CordonAnnotation: nil}
	if _, ours := node.Annotations[v1alpha1.CordonAnnotation]; ours && !setByOthers(node, cordonField) {
		p.Spec = &nodeSpecPatch{}
	}
	if _, ours := node.Annotations[v1alpha1.ScaleDownAnnotation]; ours {
		p.Metadata.Annotations[v1alpha1.ScaleDownAnnotation] = nil
		if !setByOthers(node, autoscalerField) {
			p.Metadata.Annotations[v1alpha1.AutoscalerAnnotation] = nil
		}
	}
	p.removeGuardReport(node)
	return p
}

// ancientChanges is the manager in which the API server puts the oldest ones together.
const ancientChanges = "ancient-changes"

// The paths in managedFields of what this agent removes if it set it.
var (
	cordonField     = []string{"f:spec", "f:unschedulable"}
	autoscalerField = []string{"f:metadata", "f:annotations", "f:" + v1alpha1.AutoscalerAnnotation}
)

// setByOthers reports whether only other clients have set a field, according to the field managers: while this agent did
// not run, one may have removed ours, and set its own.
func setByOthers(node *corev1.Node, field []string) (others bool) {
	for _, entry := range node.ManagedFields {
		switch {
		case !sets(entry, field):
		case entry.Manager == fieldManager || entry.Manager == ancientChanges:
			return false
		default:
			others = true
		}
	}
	return others
}

// sets reports whether a client has set a field, or one of several.
func sets(entry metav1.ManagedFieldsEntry, fields ...[]string) bool {
	var set map[string]any
	if entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &set) != nil {
		return false
	}
	return slices.ContainsFunc(fields, func(field []string) bool {
		_, found, err := unstructured.NestedFieldNoCopy(set, field...)
		return found && err == nil
	})
}

// patch writes the Node as its kubelet, which may write no other Node.
func (k *kubeletSense) patch(ctx context.Context, p nodePatch) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	err = k.write(func() (*corev1.Node, error) {
		return k.Kubelet.Nodes().Patch(ctx, k.Node, types.MergePatchType, data, metav1.PatchOptions{FieldManager: fieldManager})
	})
	if err != nil {
		return fmt.Errorf("writing node %s as its kubelet: %w", k.Node, err)
	}
	return nil
}
