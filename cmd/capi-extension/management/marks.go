package management

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Marked is the value by which cluster.x-k8s.io/skip-remediation on a Machine is this program's. Cluster
// API reads no value.
const Marked = v1alpha1.Group + "/upgrade-in-place"

// AskedAgainAnnotation on a KubeadmControlPlane or MachineDeployment is when this program touched it,
// so that Cluster API asks again at once. Its retries are up to 1,000 seconds apart.
const AskedAgainAnnotation = v1alpha1.Group + "/asked-again"

// HasMark reports whether health checks leave a Machine alone because of this program.
func HasMark(machine *clusterv1.Machine) bool {
	return machine.Annotations[clusterv1.MachineSkipRemediationAnnotation] == Marked
}

// Mark has health checks leave a Machine alone. A mark of someone else stays. machine becomes what the
// API server has now.
func Mark(ctx context.Context, c client.Client, machine *clusterv1.Machine) error {
	value := Marked
	return mark(ctx, c, machine, &value, func() bool {
		_, marked := machine.Annotations[clusterv1.MachineSkipRemediationAnnotation]
		return !marked
	})
}

// Unmark removes this program's mark from a Machine. One that is gone needs none.
func Unmark(ctx context.Context, c client.Client, machine *clusterv1.Machine) error {
	return client.IgnoreNotFound(mark(ctx, c, machine, nil, func() bool { return HasMark(machine) }))
}

// mark sets or removes the mark while it is needed. The Machine must not change meanwhile, or someone
// else's mark could be lost: then it is read again.
func mark(ctx context.Context, c client.Client, machine *clusterv1.Machine, value *string, needed func() bool) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if !needed() {
			return nil
		}
		err := annotate(ctx, c, machine, clusterv1.MachineSkipRemediationAnnotation, value, machine.ResourceVersion)
		if apierrors.IsConflict(err) {
			if err := c.Get(ctx, client.ObjectKeyFromObject(machine), machine); err != nil {
				return err
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("annotating Machine %s/%s with %s: %w", machine.Namespace, machine.Name, clusterv1.MachineSkipRemediationAnnotation, err)
	}
	return nil
}

// Touch has the owner's controller ask again now.
func Touch(ctx context.Context, c client.Client, owner Owner, at time.Time) error {
	value := at.UTC().Format(time.RFC3339)
	if err := annotate(ctx, c, owner.Object, AskedAgainAnnotation, &value, ""); err != nil {
		return fmt.Errorf("annotating %s with %s: %w", owner, AskedAgainAnnotation, err)
	}
	return nil
}

// annotate sets or removes one annotation of an object, which has to be of that revision if it is not
// empty.
func annotate(ctx context.Context, c client.Client, object client.Object, key string, value *string, revision string) error {
	metadata := map[string]any{"annotations": map[string]*string{key: value}}
	if revision != "" {
		metadata["resourceVersion"] = revision
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	return c.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
}
