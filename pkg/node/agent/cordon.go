package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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

// cordon returns a patch that cordons the node and annotates it. If a person cordoned the
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

// uncordon returns a patch that removes our cordon and both annotations.
func uncordon(node *corev1.Node) nodePatch {
	var p nodePatch
	p.Metadata.ResourceVersion = node.ResourceVersion
	p.Metadata.Annotations = map[string]*string{v1alpha1.SlotAnnotation: nil, v1alpha1.CordonAnnotation: nil}
	if _, ours := node.Annotations[v1alpha1.CordonAnnotation]; ours && !cordonedByOthers(node) {
		p.Spec = &nodeSpecPatch{}
	}
	p.removeGuardReport(node)
	return p
}

// ancientChanges is the manager in which the API server puts the oldest ones together.
const ancientChanges = "ancient-changes"

// cordonedByOthers reports whether only other clients have set the cordon, according to the
// field managers: while this agent did not run, one may have removed ours, and set its own.
func cordonedByOthers(node *corev1.Node) bool {
	setters := cordonSetters(node)
	return len(setters) > 0 && !slices.ContainsFunc(setters, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == fieldManager || entry.Manager == ancientChanges
	})
}

// cordonSetters returns the managedFields of the clients that have set the cordon.
func cordonSetters(node *corev1.Node) []metav1.ManagedFieldsEntry {
	var setters []metav1.ManagedFieldsEntry
	for _, entry := range node.ManagedFields {
		var fields struct {
			Spec map[string]json.RawMessage `json:"f:spec"`
		}
		if entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		if _, set := fields.Spec["f:unschedulable"]; set {
			setters = append(setters, entry)
		}
	}
	return setters
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
