package workload

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Label marks the ClusterUpgrades that this program made.
const (
	Label      = v1alpha1.Group + "/made-by"
	LabelValue = "capi-extension"
)

// Cluster is a workload cluster.
type Cluster struct {
	Name   types.NamespacedName
	Client client.Client
}

// Open returns the cluster.
func (c *Clusters) Open(ctx context.Context, name types.NamespacedName) (Cluster, error) {
	made, err := c.Client(ctx, name)
	return Cluster{name, made}, err
}

// CheckPolicy returns a Problem if not Cluster API decides on versions in the cluster.
func (c Cluster) CheckPolicy(ctx context.Context) error {
	var policy v1alpha1.UpgradePolicy
	if err := c.Client.Get(ctx, client.ObjectKey{Name: v1alpha1.PolicyName}, &policy); err != nil {
		if apierrors.IsNotFound(err) {
			return &Problem{Cluster: c.Name, Err: err, Message: fmt.Sprintf("cluster %s has no UpgradePolicy %s: install kubectl-upgrade there", c.Name, v1alpha1.PolicyName)}
		}
		return problem(c.Name, err)
	}
	if policy.Spec.VersionsFrom != v1alpha1.VersionsFromClusterAPI {
		return &Problem{Cluster: c.Name, Message: fmt.Sprintf("Cluster API does not decide on versions in cluster %s: set spec.versionsFrom to %s in its UpgradePolicy %s",
			c.Name, v1alpha1.VersionsFromClusterAPI, v1alpha1.PolicyName)}
	}
	return nil
}

// Node reads a Node. Nil: there is none.
func (c Cluster) Node(ctx context.Context, name string) (*corev1.Node, error) {
	var node corev1.Node
	if err := c.Client.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, problem(c.Name, err)
	}
	return &node, nil
}

// NodeUpgrade reads a node's NodeUpgrade. Nil: there is none.
func (c Cluster) NodeUpgrade(ctx context.Context, name string) (*v1alpha1.NodeUpgrade, error) {
	var node v1alpha1.NodeUpgrade
	if err := c.Client.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, problem(c.Name, err)
	}
	return &node, nil
}

// OwnAPIServer reports whether a control plane's kubelet talks to the kube-apiserver of its own node, as
// far as its agent has found that out.
func (c Cluster) OwnAPIServer(ctx context.Context, node string) (bool, error) {
	var inventory v1alpha1.NodeInventory
	if err := c.Client.Get(ctx, client.ObjectKey{Name: node}, &inventory); err != nil {
		return false, problem(c.Name, client.IgnoreNotFound(err))
	}
	return inventory.OwnAPIServer, nil
}

// NodeUpgrades lists the NodeUpgrades, by their node.
func (c Cluster) NodeUpgrades(ctx context.Context) (map[string]*v1alpha1.NodeUpgrade, error) {
	var list v1alpha1.NodeUpgradeList
	if err := c.Client.List(ctx, &list); err != nil {
		return nil, problem(c.Name, err)
	}
	byNode := make(map[string]*v1alpha1.NodeUpgrade, len(list.Items))
	for i := range list.Items {
		byNode[list.Items[i].Name] = &list.Items[i]
	}
	return byNode, nil
}

// Upgrades lists the ClusterUpgrades.
func (c Cluster) Upgrades(ctx context.Context) ([]v1alpha1.ClusterUpgrade, error) {
	var list v1alpha1.ClusterUpgradeList
	if err := c.Client.List(ctx, &list); err != nil {
		return nil, problem(c.Name, err)
	}
	return list.Items, nil
}

// Find returns the upgrade to a version that this program made and that has not ended, or the one with
// which a person retries it. Nil: there is none.
func Find(upgrades []v1alpha1.ClusterUpgrade, to version.Version) *v1alpha1.ClusterUpgrade {
	var found *v1alpha1.ClusterUpgrade
	for i := range upgrades {
		u := &upgrades[i]
		if u.Status.Outcome != "" || !u.DeletionTimestamp.IsZero() || u.Spec.Version != to.String() || u.Spec.Type == v1alpha1.TypeRollback || !Ours(upgrades, u) {
			continue
		}
		if found == nil || found.CreationTimestamp.Before(&u.CreationTimestamp) {
			found = u
		}
	}
	return found
}

// Ours reports whether this program made an upgrade, or one that it retries.
func Ours(upgrades []v1alpha1.ClusterUpgrade, u *v1alpha1.ClusterUpgrade) bool {
	for range upgrades { // a chain of retries is no longer
		if u.Labels[Label] == LabelValue {
			return true
		}
		i := slices.IndexFunc(upgrades, func(other v1alpha1.ClusterUpgrade) bool { return u.Spec.Retries(&other) })
		if i < 0 {
			return false
		}
		u = &upgrades[i]
	}
	return false
}

// Ensure returns the upgrade to the version, and makes it if it is missing, so that images are staged
// and checks run before a node is asked for.
func (c Cluster) Ensure(ctx context.Context, to version.Version) (*v1alpha1.ClusterUpgrade, error) {
	upgrades, err := c.Upgrades(ctx)
	if err != nil {
		return nil, err
	}
	if found := Find(upgrades, to); found != nil {
		return found, nil
	}
	if ended := lastEnded(upgrades, to); ended != nil && ended.Status.Outcome != v1alpha1.OutcomeSucceeded {
		_, why := ended.Status.Explain()
		return nil, &Problem{Cluster: c.Name, Message: fmt.Sprintf("ClusterUpgrade %s of cluster %s ended as %s: %s. Delete it to have another one made",
			ended.Name, c.Name, ended.Status.Outcome, why)}
	}
	u := &v1alpha1.ClusterUpgrade{
		ObjectMeta: metav1.ObjectMeta{Name: unusedName(upgrades, "capi-"+to.Name()), Labels: map[string]string{Label: LabelValue}},
		Spec:       v1alpha1.ClusterUpgradeSpec{Version: to.String(), Comment: "Cluster API upgrades " + c.Name.String()},
	}
	switch err := c.Client.Create(ctx, u); {
	case apierrors.IsAlreadyExists(err): // the other replica was asked, too
		return u, problem(c.Name, c.Client.Get(ctx, client.ObjectKeyFromObject(u), u))
	case err != nil:
		return nil, problem(c.Name, err)
	}
	return u, nil
}

// lastEnded returns the upgrade to a version that this program made, or a retry of it, that ended last. Nil:
// there is none.
func lastEnded(upgrades []v1alpha1.ClusterUpgrade, to version.Version) (last *v1alpha1.ClusterUpgrade) {
	for i := range upgrades {
		u := &upgrades[i]
		ours := u.Spec.Version == to.String() && u.Status.EndTime != nil && u.DeletionTimestamp.IsZero() && Ours(upgrades, u)
		if ours && (last == nil || last.Status.EndTime.Before(u.Status.EndTime)) {
			last = u
		}
	}
	return last
}

// unusedName returns the name, or the name with the first number that no upgrade has: the upgrades to
// the same version before have ended.
func unusedName(upgrades []v1alpha1.ClusterUpgrade, base string) string {
	name := base
	for i := 2; slices.ContainsFunc(upgrades, func(u v1alpha1.ClusterUpgrade) bool { return u.Name == name }); i++ {
		name = fmt.Sprintf("%s-%d", base, i)
	}
	return name
}

// Request asks for a node in an upgrade.
func (c Cluster) Request(ctx context.Context, upgrade *v1alpha1.ClusterUpgrade, node *corev1.Node) error {
	there := false
	err := c.change(ctx, node.Name, func(nu *v1alpha1.NodeUpgrade) {
		if there = nu.OwnedBy(node.UID); there {
			metav1.SetMetaDataAnnotation(&nu.ObjectMeta, v1alpha1.RequestedForAnnotation, string(upgrade.UID))
		}
	})
	if err == nil && !there {
		return &Problem{Cluster: c.Name, Message: fmt.Sprintf("node %s of cluster %s has no NodeUpgrade yet: its coordinator creates one", node.Name, c.Name)}
	}
	return err
}

// Withdraw takes back the request for a node, and reports whether there was one.
func (c Cluster) Withdraw(ctx context.Context, node string) (bool, error) {
	requested := false
	err := c.change(ctx, node, func(nu *v1alpha1.NodeUpgrade) {
		requested = nu.Annotations[v1alpha1.RequestedForAnnotation] != ""
		delete(nu.Annotations, v1alpha1.RequestedForAnnotation)
	})
	return requested && err == nil, err
}

// change writes the annotations of a NodeUpgrade, if there is one and they differ. The coordinator and the agent may
// write it at the same time.
func (c Cluster) change(ctx context.Context, name string, to func(*v1alpha1.NodeUpgrade)) error {
	return problem(c.Name, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		nu, err := c.NodeUpgrade(ctx, name)
		if nu == nil {
			return err
		}
		before := nu.DeepCopy()
		if to(nu); maps.Equal(before.Annotations, nu.Annotations) {
			return nil
		}
		err = c.Client.Patch(ctx, nu, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		return client.IgnoreNotFound(err)
	}))
}

// Delete deletes an upgrade as it was read: one that has changed meanwhile stays.
func (c Cluster) Delete(ctx context.Context, u *v1alpha1.ClusterUpgrade) error {
	err := c.Client.Delete(ctx, u, client.Preconditions{UID: &u.UID, ResourceVersion: &u.ResourceVersion})
	return problem(c.Name, client.IgnoreNotFound(err))
}
