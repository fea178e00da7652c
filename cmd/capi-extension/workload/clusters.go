package workload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/secret"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
)

// Account is the ServiceAccount of the workload cluster in whose name every request is made.
const Account = "system:serviceaccount:" + v1alpha1.Namespace + ":capi-extension"

// Clusters has a client for each workload cluster.
type Clusters struct {
	// Management reads Secrets of the management cluster.
	Management client.Reader
	// Timeout is how long a request to a workload cluster may take.
	Timeout time.Duration

	mutex sync.Mutex
	known map[types.NamespacedName]access
}

// access is a client, and the Secret that it was made from.
type access struct {
	client   client.Client
	uid      types.UID
	revision string
}

// Client returns a client for the cluster. It reads the Secret each time, and makes a new client when
// that has changed.
func (c *Clusters) Client(ctx context.Context, cluster types.NamespacedName) (client.Client, error) {
	var stored corev1.Secret
	name := types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name + "-kubeconfig"}
	if err := c.Management.Get(ctx, name, &stored); err != nil {
		if apierrors.IsNotFound(err) {
			c.forget(cluster)
		}
		return nil, secretProblem(cluster, name, err)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if known, ok := c.known[cluster]; ok && known.uid == stored.UID && known.revision == stored.ResourceVersion {
		return known.client, nil
	}
	made, err := newClient(stored.Data["value"], c.Timeout)
	if err != nil {
		return nil, &Problem{Cluster: cluster, Message: fmt.Sprintf("the kubeconfig in the key value of Secret %s cannot be used: %v", name, err), Err: err}
	}
	if c.known == nil {
		c.known = map[types.NamespacedName]access{}
	}
	c.known[cluster] = access{made, stored.UID, stored.ResourceVersion}
	return made, nil
}

// Used lists the clusters that have a client.
func (c *Clusters) Used() []types.NamespacedName {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.Collect(maps.Keys(c.known))
}

func (c *Clusters) forget(cluster types.NamespacedName) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.known, cluster)
}

// newClient returns a client that acts as Account.
func newClient(kubeconfig []byte, timeout time.Duration) (client.Client, error) {
	config, err := secret.ReadKubeconfig(string(kubeconfig))
	if err != nil {
		return nil, err
	}
	config.Impersonate = rest.ImpersonationConfig{
		UserName: Account,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + v1alpha1.Namespace, "system:authenticated"},
	}
	config.UserAgent = "kubectl-upgrade-capi-extension"
	config.Timeout = timeout
	kube.RefuseRedirects(config)
	scheme := Scheme()
	over, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return client.New(config, client.Options{HTTPClient: over, Scheme: scheme, Mapper: mapper()})
}

// Scheme has the kinds that are read and written in workload clusters.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // a kind is there twice
		}
	}
	return scheme
}

// mapper knows the kinds without asking each API server for them.
func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	for _, kind := range []string{"ClusterUpgrade", "NodeUpgrade"} {
		m.Add(v1alpha1.GroupVersion.WithKind(kind), meta.RESTScopeRoot)
	}
	m.AddSpecific(v1alpha1.GroupVersion.WithKind("NodeInventory"), v1alpha1.GroupVersion.WithResource("nodeinventories"),
		v1alpha1.GroupVersion.WithResource("nodeinventory"), meta.RESTScopeRoot)
	m.AddSpecific(v1alpha1.GroupVersion.WithKind("UpgradePolicy"), v1alpha1.GroupVersion.WithResource("upgradepolicies"),
		v1alpha1.GroupVersion.WithResource("upgradepolicy"), meta.RESTScopeRoot)
	return m
}

// Problem is why a workload cluster cannot be used. Its message is the same as long as the problem is,
// and says what to do; the error behind it is for the log.
type Problem struct {
	Cluster types.NamespacedName
	Message string
	Err     error
}

func (p *Problem) Error() string { return p.Message }
func (p *Problem) Unwrap() error { return p.Err }

func secretProblem(cluster, name types.NamespacedName, err error) error {
	message := fmt.Sprintf("Secret %s cannot be read", name)
	switch {
	case apierrors.IsNotFound(err):
		message = fmt.Sprintf("there is no Secret %s yet", name)
	case apierrors.IsForbidden(err):
		message = fmt.Sprintf("the extension may not read Secret %s: bind the ClusterRole kubectl-upgrade-capi-kubeconfigs in namespace %s", name, name.Namespace)
	}
	return &Problem{Cluster: cluster, Message: message, Err: err}
}

// problem returns the Problem behind an error of a request to the cluster.
func problem(cluster types.NamespacedName, err error) error {
	var known *Problem
	if err == nil || errors.As(err, &known) {
		return err
	}
	var status apierrors.APIStatus
	message := fmt.Sprintf("the API server of cluster %s does not answer", cluster)
	switch {
	case apierrors.IsForbidden(err):
		message = fmt.Sprintf("the extension has not its rights in cluster %s: apply manifests/clusterapi/workload there", cluster)
	case apierrors.IsUnauthorized(err):
		message = fmt.Sprintf("the API server of cluster %s does not accept the credentials of Secret %s-kubeconfig", cluster, cluster.Name)
	case apierrors.IsNotFound(err):
		message = fmt.Sprintf("kubectl-upgrade is not installed in cluster %s", cluster)
	case apierrors.IsInvalid(err):
		message = fmt.Sprintf("the API server of cluster %s refuses what the extension writes: are the CRDs of kubectl-upgrade there older than the extension?", cluster)
	case errors.As(err, &status) && status.Status().Code < http.StatusInternalServerError && status.Status().Code != http.StatusTooManyRequests:
		message = fmt.Sprintf("the API server of cluster %s refuses a request of the extension: %s", cluster, status.Status().Reason)
	}
	return &Problem{Cluster: cluster, Message: message, Err: err}
}
