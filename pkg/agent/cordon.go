package agent

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// nodePatch is a merge patch of a Node. It carries the resourceVersion that it
// was made for: between our look and our write a person may cordon the node, and
// that cordon would then be taken for ours.
type nodePatch struct {
	Metadata struct {
		ResourceVersion string             `json:"resourceVersion"`
		Annotations     map[string]*string `json:"annotations,omitempty"`
	} `json:"metadata"`
	Spec *nodeSpecPatch `json:"spec,omitempty"`
}

// nodeSpecPatch with nil takes the field away.
type nodeSpecPatch struct {
	Unschedulable *bool `json:"unschedulable"`
}

// cordon marks the node and cordons it, in one update. Where a person cordoned
// it before, only the slot is marked: the cordon stays theirs.
func cordon(node *corev1.Node, upgrade, slot string) nodePatch {
	var p nodePatch
	p.Metadata.ResourceVersion = node.ResourceVersion
	p.Metadata.Annotations = map[string]*string{v1alpha1.SlotAnnotation: &slot}
	if !node.Spec.Unschedulable {
		yes := true
		p.Spec = &nodeSpecPatch{Unschedulable: &yes}
		p.Metadata.Annotations[v1alpha1.CordonAnnotation] = &upgrade
	}
	return p
}

// uncordon lifts our own cordon and clears both marks, in one update.
func uncordon(node *corev1.Node) nodePatch {
	var p nodePatch
	p.Metadata.ResourceVersion = node.ResourceVersion
	p.Metadata.Annotations = map[string]*string{v1alpha1.SlotAnnotation: nil, v1alpha1.CordonAnnotation: nil}
	if _, ours := node.Annotations[v1alpha1.CordonAnnotation]; ours {
		p.Spec = &nodeSpecPatch{}
	}
	return p
}

// patch writes as the kubelet, which may write no other Node.
func (a *Agent) patch(ctx context.Context, p nodePatch) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	_, err = a.Kubelet.CoreV1().Nodes().Patch(ctx, a.Node, types.MergePatchType, data, metav1.PatchOptions{FieldManager: fieldManager})
	if err != nil {
		return fmt.Errorf("writing node %s as its kubelet: %w", a.Node, err)
	}
	return nil
}

// free gives up the slot, provided that the Node bears no mark of ours: it reads
// live, as a watch that lags may not show the cordon that we have just made, and
// the next node would begin beside this one.
func (a *Agent) free(ctx context.Context, node *corev1.Node) error {
	now, err := a.Kubelet.CoreV1().Nodes().Get(ctx, a.Node, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("reading node %s before its slot is freed: %w", a.Node, err)
	case nodeOf(now).Marked():
		return fmt.Errorf("node %s still bears our mark, which the watch does not show yet: its slot is not freed", a.Node)
	}
	return a.slots.Free(ctx, ownerOf(node))
}
