package leader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/secret"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/doctor"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
)

// manager is the field manager of what is written.
const manager = "kubectl-upgrade"

// Cluster is one of the two clusters, with the rights of the person who links them.
type Cluster struct {
	Name   string // of its context
	UID    string // of its namespace kube-system
	Access *rest.Config
	Kube   kubernetes.Interface
	Kinds  *kube.Kinds
}

// Link is one cluster that follows another one.
type Link struct {
	Follower, Leader Cluster
	Name             string        // of the gate and the Secret in the follower
	Soak             time.Duration // how long the leader has to have run a version
	AnyDigests       bool          // other images of the same version count, too
	TokenFor         time.Duration // how long the token is asked for

	// Server, Authority and ServerName say how the follower's coordinator reaches the leader.
	Server     string
	Authority  []byte
	ServerName string

	DryRun []string // for requests that write
	Out    io.Writer
}

// Identify sets the UID of a cluster.
func (c *Cluster) Identify(ctx context.Context) error {
	namespace, err := c.Kube.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return c.problem("reading namespace "+metav1.NamespaceSystem, err)
	}
	c.UID = string(namespace.UID)
	return nil
}

// problem returns an error that names the cluster.
func (c *Cluster) problem(doing string, err error) error {
	return fmt.Errorf("context %s: %s: %w", c.Name, doing, doctor.Undeclared(err))
}

// Check returns why the follower cannot follow the leader. Nothing is written.
func (l *Link) Check(ctx context.Context) error {
	if l.Follower.UID == l.Leader.UID {
		return fmt.Errorf("%s and %s are the same cluster: a cluster does not follow itself", l.Follower.Name, l.Leader.Name)
	}
	for _, c := range []*Cluster{&l.Follower, &l.Leader} {
		if _, err := c.Kinds.UpgradePolicies.Get(ctx, v1alpha1.PolicyName, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			return fmt.Errorf("context %s: there is no UpgradePolicy %s: install kubectl-upgrade there first", c.Name, v1alpha1.PolicyName)
		} else if err != nil {
			return c.problem("reading UpgradePolicy "+v1alpha1.PolicyName, err)
		}
	}
	if _, err := l.Leader.Kube.RbacV1().ClusterRoles().Get(ctx, "kubectl-upgrade-follow", metav1.GetOptions{}); apierrors.IsNotFound(err) {
		return fmt.Errorf("context %s: there is no ClusterRole kubectl-upgrade-follow: install this version of kubectl-upgrade there first", l.Leader.Name)
	} else if err != nil {
		return l.Leader.problem("reading ClusterRole kubectl-upgrade-follow", err)
	}
	// The leader is a follower of this cluster if it has an account here.
	reverse := Link{Follower: l.Leader}
	if _, err := l.Follower.Kube.CoreV1().ServiceAccounts(v1alpha1.Namespace).Get(ctx, reverse.account(), metav1.GetOptions{}); err == nil {
		return fmt.Errorf("%s follows %s already, and neither would begin before the other: end that first with `kubectl upgrade follow --undo --context %s --leader-context %s`",
			l.Leader.Name, l.Follower.Name, l.Leader.Name, l.Follower.Name)
	} else if !apierrors.IsNotFound(err) {
		return l.Follower.problem("reading ServiceAccount "+reverse.account(), err)
	}
	return l.checkSecret(ctx)
}

// checkSecret returns an error if the Secret exists and is not that of this link.
func (l *Link) checkSecret(ctx context.Context) error {
	found, err := l.Follower.Kube.CoreV1().Secrets(v1alpha1.Namespace).Get(ctx, l.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return l.Follower.problem("reading Secret "+l.Name, err)
	case found.Labels[leaderLabel] == l.Leader.UID || l.Leader.UID == "" && found.Labels[leaderLabel] != "":
		return nil
	case found.Labels[leaderLabel] != "":
		return fmt.Errorf("context %s: Secret %s is for another cluster, which has or had the context %s: give this one another --name, or end that with --undo first",
			l.Follower.Name, l.Name, found.Annotations[nameAnnotation])
	}
	return fmt.Errorf("context %s: there is a Secret %s/%s which this command did not make: give another --name", l.Follower.Name, v1alpha1.Namespace, l.Name)
}

// Set makes the follower follow the leader, or renews the token if it does. It returns when the token
// expires, and who would undo the gate's change, if anybody.
func (l *Link) Set(ctx context.Context) (expires time.Time, owner string, err error) {
	fmt.Fprintf(l.Out, "In %s:\n", l.Leader.Name)
	for _, object := range l.inLeader() {
		if err := l.apply(ctx, &l.Leader, object); err != nil {
			return expires, owner, err
		}
	}
	token, expires, err := l.token(ctx)
	if err != nil {
		return expires, owner, err
	}
	fmt.Fprintf(l.Out, "In %s:\n", l.Follower.Name)
	object, err := l.secretWith(token, expires)
	if err != nil {
		return expires, owner, err
	}
	for _, object := range append(l.grants(), object) {
		if err := l.apply(ctx, &l.Follower, object); err != nil {
			return expires, owner, err
		}
	}
	owner, err = l.setGate(ctx)
	return expires, owner, err
}

// token asks the leader for a token of the account. The API server may shorten its time.
func (l *Link) token(ctx context.Context) (token string, expires time.Time, err error) {
	length := int64(l.TokenFor.Seconds())
	if len(l.DryRun) > 0 {
		return "none-in-a-dry-run", time.Now().Add(l.TokenFor), nil
	}
	answer, err := l.Leader.Kube.CoreV1().ServiceAccounts(v1alpha1.Namespace).CreateToken(ctx, l.account(), &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &length},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", expires, l.Leader.problem("creating a token of ServiceAccount "+l.account(), err)
	}
	return answer.Status.Token, answer.Status.ExpirationTimestamp.Time, nil
}

// Try reads what the leader has run as the follower's coordinator will. An address that does not answer
// may still answer there.
func (l *Link) Try(ctx context.Context) (ran []v1alpha1.RanVersion, err error) {
	stored, err := l.Follower.Kube.CoreV1().Secrets(v1alpha1.Namespace).Get(ctx, l.Name, metav1.GetOptions{})
	if err != nil {
		return nil, l.Follower.problem("reading Secret "+l.Name, err)
	}
	access, err := secret.ReadKubeconfig(string(stored.Data[v1alpha1.KubeconfigKey]))
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig in Secret %s: %w", l.Name, err)
	}
	access.Proxy = l.Leader.Access.Proxy
	access.Timeout = 10 * time.Second
	kinds, err := kube.NewKinds(access)
	if err != nil {
		return nil, err
	}
	policy, err := kinds.UpgradePolicies.Get(ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return policy.Status.Ran, nil
}

// setGate adds the gate to the follower's policy, or changes it.
func (l *Link) setGate(ctx context.Context) (owner string, err error) {
	return l.changeGates(ctx, func(gates []v1alpha1.Gate) (change map[string]any, done string, err error) {
		gate := l.gate()
		i := slices.IndexFunc(gates, func(g v1alpha1.Gate) bool { return g.Name == l.Name })
		switch {
		case len(gates) == 0:
			return map[string]any{"op": "add", "path": "/spec/gates", "value": []v1alpha1.Gate{gate}}, "added", nil
		case i < 0:
			return map[string]any{"op": "add", "path": "/spec/gates/-", "value": gate}, "added", nil
		case gates[i].Cluster == nil:
			return nil, "", fmt.Errorf("context %s: the gate %s of UpgradePolicy %s asks something else: give another --name", l.Follower.Name, l.Name, v1alpha1.PolicyName)
		case equal(gates[i].Cluster, gate.Cluster):
			return nil, "unchanged", nil
		}
		return map[string]any{"op": "replace", "path": fmt.Sprintf("/spec/gates/%d/cluster", i), "value": gate.Cluster}, "changed", nil
	})
}

// equal reports whether both ask the same. sameDigests is true where it is absent.
func equal(a, b *v1alpha1.ClusterGate) bool {
	same := func(g *v1alpha1.ClusterGate) bool { return g.SameDigests == nil || *g.SameDigests }
	return a.KubeconfigSecretRef.Or(v1alpha1.KubeconfigKey) == b.KubeconfigSecretRef.Or(v1alpha1.KubeconfigKey) && a.SoakSeconds == b.SoakSeconds && same(a) == same(b)
}

// changeGates changes the gates of the follower's policy by an operation of JSON Patch. Nil: there is
// nothing to change. It returns who owns the policy in Git, if it was changed and anybody does.
func (l *Link) changeGates(ctx context.Context, decide func([]v1alpha1.Gate) (change map[string]any, done string, err error)) (owner string, err error) {
	policy, err := l.Follower.Kinds.UpgradePolicies.Get(ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	if err != nil {
		return "", l.Follower.problem("reading UpgradePolicy "+v1alpha1.PolicyName, err)
	}
	change, done, err := decide(policy.Spec.Gates)
	if err != nil {
		return "", err
	}
	if change != nil {
		owner = request.GitOwner(policy)
		patch, err := json.Marshal([]map[string]any{{"op": "test", "path": "/metadata/resourceVersion", "value": policy.ResourceVersion}, change})
		if err != nil {
			return "", err
		}
		options := metav1.PatchOptions{FieldManager: manager, DryRun: l.DryRun, FieldValidation: metav1.FieldValidationStrict}
		if _, err := l.Follower.Kinds.UpgradePolicies.Patch(ctx, v1alpha1.PolicyName, types.JSONPatchType, patch, options); err != nil {
			return "", l.Follower.problem("changing UpgradePolicy "+v1alpha1.PolicyName, err)
		}
	}
	fmt.Fprintf(l.Out, "  upgradepolicy.%s/%s: gate %s %s\n", v1alpha1.Group, v1alpha1.PolicyName, l.Name, done)
	return owner, nil
}

// Undo ends that the follower follows the leader. Without a leader only the follower is changed.
func (l *Link) Undo(ctx context.Context) (owner string, err error) {
	if err := l.checkSecret(ctx); err != nil {
		return "", err
	}
	fmt.Fprintf(l.Out, "In %s:\n", l.Follower.Name)
	owner, err = l.changeGates(ctx, func(gates []v1alpha1.Gate) (map[string]any, string, error) {
		i := slices.IndexFunc(gates, func(g v1alpha1.Gate) bool { return g.Name == l.Name && g.Cluster != nil })
		if i < 0 {
			return nil, "is not there", nil
		}
		if len(gates) == 1 { // as before the first one
			return map[string]any{"op": "remove", "path": "/spec/gates"}, "removed", nil
		}
		return map[string]any{"op": "remove", "path": fmt.Sprintf("/spec/gates/%d", i)}, "removed", nil
	})
	if err != nil {
		return owner, err
	}
	object, err := l.secretWith("", time.Time{})
	if err != nil {
		return owner, err
	}
	errs := []error{l.remove(ctx, &l.Follower, append(l.grants(), object))}
	if l.Leader.Kube != nil {
		fmt.Fprintf(l.Out, "In %s:\n", l.Leader.Name)
		errs = append(errs, l.remove(ctx, &l.Leader, l.inLeader()))
	}
	return owner, errors.Join(errs...)
}

// resources are those of the objects that are made.
var resources = map[string]schema.GroupVersionResource{
	"ServiceAccount":     {Version: "v1", Resource: "serviceaccounts"},
	"Secret":             {Version: "v1", Resource: "secrets"},
	"Role":               {Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
	"RoleBinding":        {Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
	"ClusterRoleBinding": {Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"},
}

// in returns a client for the object's kind in a cluster, and the object as it is shown.
func (l *Link) in(c *Cluster, object *unstructured.Unstructured) (client dynamic.ResourceInterface, shown string, err error) {
	all, err := dynamic.NewForConfig(c.Access)
	if err != nil {
		return nil, "", err
	}
	resource := resources[object.GetKind()]
	shown = strings.ToLower(object.GetKind())
	if resource.Group != "" {
		shown += "." + resource.Group
	}
	return all.Resource(resource).Namespace(object.GetNamespace()), shown + "/" + object.GetName(), nil
}

func (l *Link) apply(ctx context.Context, c *Cluster, object *unstructured.Unstructured) error {
	client, shown, err := l.in(c, object)
	if err != nil {
		return err
	}
	if _, err := client.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: manager, Force: true, DryRun: l.DryRun}); err != nil {
		return c.problem("applying "+shown, err)
	}
	fmt.Fprintf(l.Out, "  %s applied\n", shown)
	return nil
}

// remove deletes the objects. It goes on after an error.
func (l *Link) remove(ctx context.Context, c *Cluster, all []*unstructured.Unstructured) error {
	var errs []error
	for _, object := range slices.Backward(all) {
		client, shown, err := l.in(c, object)
		if err != nil {
			return err
		}
		switch err := client.Delete(ctx, object.GetName(), metav1.DeleteOptions{DryRun: l.DryRun}); {
		case apierrors.IsNotFound(err):
		case err != nil:
			errs = append(errs, c.problem("deleting "+shown, err))
		default:
			fmt.Fprintf(l.Out, "  %s deleted\n", shown)
		}
	}
	return errors.Join(errs...)
}
