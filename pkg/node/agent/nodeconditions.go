package agent

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
)

const (
	// conditionsTimeout limits a write of the Node's conditions, which nothing waits for.
	conditionsTimeout = 5 * time.Second
	// conditionsPause is the pause before a failed write of them is repeated.
	conditionsPause = 10 * time.Second
	// drainedWithin is how long a drain that is not shown takes at most.
	drainedWithin = 5 * time.Second
)

// conditionsView is the last write of the Node's conditions.
type conditionsView struct {
	// from is the resourceVersion of the Node that a write changed. As long as the watch shows
	// that one, it does not show the write.
	from string
	// retryAt is when a write that failed is repeated.
	retryAt time.Time
	// plannedAt is since when only conditions of a node that is not drained yet are to be written; zero:
	// they are not.
	plannedAt time.Time
}

// pauses reports whether a write that failed is not repeated yet. A time far in the future is
// one of a clock that was ahead.
func (v conditionsView) pauses(now time.Time) bool {
	left := v.retryAt.Sub(now)
	return left > 0 && left <= conditionsPause
}

// later reports whether a change to these conditions is to be written later: a node that is drained within
// drainedWithin never shows that. What is no longer true is removed at once.
func (v *conditionsView) later(shows []corev1.NodeConditionType, patch statusPatch, now time.Time) bool {
	if !slices.Contains(shows, corev1.NodeMaintenancePlanned) || patch.removes() {
		v.plannedAt = time.Time{}
		return false
	}
	if v.plannedAt.IsZero() || v.plannedAt.After(now) {
		v.plannedAt = now
	}
	return now.Sub(v.plannedAt) < drainedWithin
}

// statusPatch is a strategic merge patch of a Node's status, which merges conditions by their
// type. It has a resourceVersion, so that no condition is changed that another client has just
// made its own.
type statusPatch struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
	Status struct {
		Conditions []any `json:"conditions"`
	} `json:"status"`
}

// removes reports whether the patch removes a condition.
func (p statusPatch) removes() bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c any) bool {
		_, removed := c.(removedCondition)
		return removed
	})
}

// removedCondition removes the condition of that type.
type removedCondition struct {
	Patch string                   `json:"$patch"`
	Type  corev1.NodeConditionType `json:"type"`
}

// show makes the Node show the conditions of the node's step. It compares with what
// the Node shows, so that an agent that starts, or whose write failed, mends what it finds.
// The upgrade does not depend on it: an error is logged, and the write is repeated.
func (k *kubeletSense) show(ctx context.Context, r *round) {
	node := k.node()
	shows, known := machine.NodeConditions(r.state, r.Observation)
	if node == nil || !known || r.state.Step == "" || k.shown.from == node.ResourceVersion || k.shown.pauses(r.Now) {
		return
	}
	message := machine.ConditionMessage(r.state, r.Spec, k.Node)
	patch, changes := patchConditions(node, shows, message, metav1.NewTime(r.Now.UTC().Truncate(time.Second)))
	if !changes {
		k.shown.plannedAt = time.Time{}
		return
	}
	if k.shown.later(shows, patch, r.Now) {
		return
	}
	data, err := json.Marshal(patch)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, conditionsTimeout)
		defer cancel()
		err = k.write(func() (*corev1.Node, error) {
			return k.Kubelet.Nodes().Patch(ctx, k.Node, types.StrategicMergePatchType, data, metav1.PatchOptions{FieldManager: fieldManager}, "status")
		})
	}
	switch {
	case err == nil:
		k.shown = conditionsView{from: node.ResourceVersion}
	case apierrors.IsConflict(err): // the watch shows soon what another client has written
	case ctx.Err() == nil:
		k.shown.retryAt = r.Now.Add(conditionsPause)
		k.Log.WarnContext(ctx, "writing the conditions of the Node as its kubelet", "node", k.Node, "step", r.state.Step, "error", err, "retryAfter", conditionsPause)
	}
}

// patchConditions returns a patch that makes the Node show these conditions and no other of
// ours, and whether there is something to change. A condition that another client has set
// stays, unless it is False: then it says nothing that ours would hide.
func patchConditions(node *corev1.Node, shows []corev1.NodeConditionType, message string, now metav1.Time) (patch statusPatch, changes bool) {
	patch.Metadata.ResourceVersion = node.ResourceVersion
	for _, kind := range machine.NodeConditionTypes {
		i := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == kind })
		wanted, there := slices.Contains(shows, kind), i >= 0
		var is corev1.NodeCondition
		if there {
			is = node.Status.Conditions[i]
		}
		ours := there && is.Reason == v1alpha1.NodeConditionReason
		switch {
		case wanted && (!there || is.Status == corev1.ConditionFalse || ours && is.Status != corev1.ConditionTrue):
			patch.Status.Conditions = append(patch.Status.Conditions, corev1.NodeCondition{
				Type: kind, Status: corev1.ConditionTrue, LastHeartbeatTime: now, LastTransitionTime: now,
				Reason: v1alpha1.NodeConditionReason, Message: message,
			})
		case !wanted && ours:
			patch.Status.Conditions = append(patch.Status.Conditions, removedCondition{Patch: "delete", Type: kind})
		}
	}
	return patch, len(patch.Status.Conditions) > 0
}
