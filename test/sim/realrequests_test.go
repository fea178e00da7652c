package sim

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// anyRequest returns a random request.
func anyRequest(r *rand.Rand) (name string, do func(context.Context, *side) string) {
	node := fmt.Sprintf("n%d", r.IntN(2))
	stale := r.IntN(4) == 0
	requests := map[string]func() func(context.Context, *side) string{
		"status": func() func(context.Context, *side) string {
			status := anyStatus(r)
			return func(ctx context.Context, s *side) string {
				object, err := s.ours.NodeUpgrades.Apply(ctx, &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: node}, Status: *status.DeepCopy()}, "node-agent", "status")
				return s.result("nu", object, err)
			}
		},
		"admission": func() func(context.Context, *side) string {
			var part v1alpha1.NodeUpgradeStatus
			if r.IntN(3) > 0 {
				part.Conditions = []metav1.Condition{condition(r, v1alpha1.ConditionAdmitted)}
			}
			if r.IntN(2) == 0 {
				part.HoldEndTime = &metav1.Time{Time: time.Unix(int64(r.IntN(3)), 0).UTC()}
			}
			return func(ctx context.Context, s *side) string {
				object, err := s.ours.NodeUpgrades.Apply(ctx, &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: node}, Status: *part.DeepCopy()}, "coordinator", "status")
				return s.result("nu", object, err)
			}
		},
		"spec": func() func(context.Context, *side) string {
			spec := anySpec(r)
			return func(ctx context.Context, s *side) string {
				object := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: node, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node, UID: "owner"}}}, Spec: *spec.DeepCopy()}
				created, err := s.ours.NodeUpgrades.Create(ctx, object, metav1.CreateOptions{})
				if err == nil || !apierrors.IsAlreadyExists(err) {
					return s.result("nu", created, err)
				}
				object.ResourceVersion = s.version("nu/"+node, stale)
				updated, err := s.ours.NodeUpgrades.Update(ctx, object, metav1.UpdateOptions{})
				return s.result("nu", updated, err)
			}
		},
		"delete": func() func(context.Context, *side) string {
			return func(ctx context.Context, s *side) string {
				err := s.ours.NodeUpgrades.Delete(ctx, node, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: ptr.To(s.version("nu/"+node, stale))}})
				if err == nil {
					delete(s.newest, "nu/"+node)
				}
				return fmt.Sprint("deleted ", apierrors.ReasonForError(err))
			}
		},
		"upgrade status": func() func(context.Context, *side) string {
			progress := fmt.Sprint(r.IntN(3))
			return func(ctx context.Context, s *side) string {
				created, err := s.ours.ClusterUpgrades.Create(ctx, &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "u"}, Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.34.4"}}, metav1.CreateOptions{})
				if err == nil {
					s.result("cu", created, nil)
				}
				object := &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "u", ResourceVersion: s.version("cu/u", stale)}, Status: v1alpha1.ClusterUpgradeStatus{Progress: progress}}
				object, err = s.ours.ClusterUpgrades.Apply(ctx, object, "coordinator", "status")
				return s.result("cu", object, err)
			}
		},
		"lease": func() func(context.Context, *side) string {
			holder := fmt.Sprint("holder-", r.IntN(3))
			return func(ctx context.Context, s *side) string {
				leases := s.kube.CoordinationV1().Leases(v1alpha1.Namespace)
				lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "slot-0", Annotations: map[string]string{"a": holder}}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
				created, err := leases.Create(ctx, lease, metav1.CreateOptions{})
				if err == nil {
					return s.result("lease", created, nil)
				}
				if !apierrors.IsAlreadyExists(err) {
					return err.Error()
				}
				lease.ResourceVersion = s.version("lease/slot-0", stale)
				updated, err := leases.Update(ctx, lease, metav1.UpdateOptions{})
				return s.result("lease", updated, err)
			}
		},
		"cordon": func() func(context.Context, *side) string {
			cordons := r.IntN(2) == 0
			return func(ctx context.Context, s *side) string {
				nodes := s.kube.CoreV1().Nodes()
				if created, err := nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, metav1.CreateOptions{}); err == nil {
					s.result("node", created, nil)
				}
				patch := fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"annotations":{"a":null,"b":"1"}},"spec":{"unschedulable":null}}`, s.version("node/"+node, stale))
				if cordons {
					patch = fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"annotations":{"a":"1"}},"spec":{"unschedulable":true}}`, s.version("node/"+node, stale))
				}
				object, err := nodes.Patch(ctx, node, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
				if err == nil {
					s.result("node", object, nil)
					return fmt.Sprint(object.Spec.Unschedulable, object.Annotations["a"], object.Annotations["b"])
				}
				return s.result("node", object, err)
			}
		},
	}
	requests["conditions"] = func() func(context.Context, *side) string { return conditionsOf(r, node, stale) }
	names := slices.Sorted(maps.Keys(requests))
	name = names[r.IntN(len(names))]
	return name, requests[name]()
}

// conditionsOf sets or removes conditions of a Node, as agents do.
func conditionsOf(r *rand.Rand, node string, stale bool) func(context.Context, *side) string {
	var changes []string
	for _, kind := range []string{"Drained", "DrainInProgress", "Ready"} {
		switch r.IntN(3) {
		case 0:
			changes = append(changes, fmt.Sprintf(`{"type":%q,"$patch":"delete"}`, kind))
		case 1:
			changes = append(changes, fmt.Sprintf(`{"type":%q,"status":"True","reason":"R%d"}`, kind, r.IntN(3)))
		}
	}
	return func(ctx context.Context, s *side) string {
		nodes := s.kube.CoreV1().Nodes()
		if created, err := nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, metav1.CreateOptions{}); err == nil {
			s.result("node", created, nil)
		}
		patch := fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"status":{"conditions":[%s]}}`, s.version("node/"+node, stale), strings.Join(changes, ","))
		object, err := nodes.Patch(ctx, node, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
		if err != nil {
			return s.result("node", object, err)
		}
		s.result("node", object, nil)
		var shown []string
		for _, c := range object.Status.Conditions {
			shown = append(shown, fmt.Sprint(c.Type, c.Status, c.Reason))
		}
		slices.Sort(shown) // no program relies on their order
		return fmt.Sprint(object.Spec.Unschedulable, shown)
	}
}

func condition(r *rand.Rand, kind string) metav1.Condition {
	return metav1.Condition{
		Type: kind, Status: metav1.ConditionFalse, Reason: []string{"R0", "R1", "R2", "a_b", "a b"}[r.IntN(5)], Message: fmt.Sprint(r.IntN(3)),
		ObservedGeneration: int64(r.IntN(2)), LastTransitionTime: metav1.NewTime(time.Unix(int64(r.IntN(3)), 0).UTC()),
	}
}

func anyStatus(r *rand.Rand) v1alpha1.NodeUpgradeStatus {
	s := v1alpha1.NodeUpgradeStatus{Step: v1alpha1.StepWaiting, ObservedGeneration: int64(r.IntN(3))}
	if r.IntN(8) == 0 { // they do not fit
		s.Step, s.Method = "a_b", "Hope"
	}
	if r.IntN(2) == 0 {
		s.Upgrade = &v1alpha1.UpgradeReference{Name: "u", UID: fmt.Sprint(r.IntN(2))}
	}
	if r.IntN(2) == 0 {
		s.Slot = "slot-0"
	}
	if r.IntN(2) == 0 {
		s.Retry.Attempts = int32(r.IntN(3))
	}
	if r.IntN(2) == 0 {
		s.Versions.Kubelet, s.Versions.Staged = "v1.34.3", fmt.Sprint("v1.34.", r.IntN(3))
	}
	for range r.IntN(3) {
		s.Steps = append(s.Steps, v1alpha1.StepTime{Step: v1alpha1.StepWaiting, StartTime: metav1.NewMicroTime(time.Unix(int64(r.IntN(9)), 0).UTC())})
	}
	for _, kind := range []string{v1alpha1.ConditionUpToDate, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled} {
		if r.IntN(2) == 0 {
			s.Conditions = append(s.Conditions, condition(r, kind))
		}
	}
	return s
}

func anySpec(r *rand.Rand) v1alpha1.NodeUpgradeSpec {
	var spec v1alpha1.NodeUpgradeSpec
	if r.IntN(3) == 0 {
		return spec
	}
	spec.Upgrade = &v1alpha1.UpgradeReference{Name: "u", UID: fmt.Sprint(r.IntN(2))}
	spec.Version, spec.Release = "v1.34.4", v1alpha1.ReleaseNone
	spec.Image = &v1alpha1.Image{Architecture: "amd64", URL: "https://images.example/x", Digest: v1alpha1.DigestOf(digest(r.IntN(2)))}
	if r.IntN(2) == 0 {
		spec.Release, spec.Slot, spec.ExpectedSeconds = v1alpha1.ReleaseNode, "slot-0", ptr.To(int32(r.IntN(3)))
	}
	return spec
}
