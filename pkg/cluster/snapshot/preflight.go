package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules/rebootmanager"
)

// ReadPreflight reads the facts of the checks by listing, page after page, and several kinds
// at once, except what c.Lists has already. If a kind cannot be read (it is forbidden, or the API server does not answer), it
// adds a sentence to Unread, which is sorted, and reads the others. It returns an error only
// if Nodes, our own objects or the control plane's pods cannot be read.
//
// offered are the architectures for which the source has an image of the target;
// nil if that is not known.
func ReadPreflight(ctx context.Context, c Clients, upgrade v1alpha1.ClusterUpgrade, offered []string) (preflight.Facts, error) {
	r := &factsReader{ctx: ctx, clients: c}
	r.facts = preflight.Facts{Now: time.Now(), Upgrade: upgrade, Offered: offered}
	if err := r.readRequired(); err != nil {
		return r.facts, err
	}
	var others sync.WaitGroup
	for _, read := range []func(){
		r.readDaemonSets, r.readKubeletConfig, r.readKubeadmConfig, r.readPods, r.readBudgets, r.readDeployments, r.readWebhooks, r.readRequestedAPIs, r.readGateRights, r.readHookRights,
	} {
		others.Go(func() {
			defer utilruntime.HandleCrashWithContext(ctx)
			read()
		})
	}
	others.Wait()
	slices.Sort(r.facts.Unread)
	return r.facts, ctx.Err()
}

// factsReader reads facts, several at once: each reader has fields of its own, and all of
// them add to Unread.
type factsReader struct {
	ctx     context.Context
	clients Clients
	facts   preflight.Facts
	unread  sync.Mutex // for facts.Unread
}

// notControlled leaves out the pods of DaemonSets, StatefulSets and ReplicaSets, by the labels that their
// controllers add: in kube-system there are several for each node, and no static one among them.
const notControlled = "!" + appsv1.ControllerRevisionHashLabelKey + ",!" + appsv1.DefaultDeploymentUniqueLabelKey

// readRequired reads the Nodes, the pods of their control planes, and our own kinds.
func (r *factsReader) readRequired() error {
	k := &kinds{}
	k.Go(func() error { return r.clients.readNodes(r.ctx, &r.facts.Nodes) })
	read(r.ctx, k, &r.facts.SystemPods, "Pods in namespace "+systemNamespace, r.clients.Kube.CoreV1().Pods(systemNamespace).List, notControlled)
	r.takePolicy(r.clients.Policy)
	if r.clients.Ours != nil {
		k.Go(func() error { return r.clients.readNodeUpgrades(r.ctx, &r.facts.NodeUpgrades) })
		k.Go(func() error { return r.clients.readInventories(r.ctx, &r.facts.Inventories) })
		if r.clients.Policy == nil {
			k.Go(r.readPolicy)
		}
	}
	return k.Wait()
}

func (r *factsReader) readPolicy() error {
	policy, err := readPolicy(r.ctx, r.clients.Ours)
	r.takePolicy(policy)
	return err
}

// takePolicy takes what the checks need from the policy, which may be nil.
func (r *factsReader) takePolicy(policy *v1alpha1.UpgradePolicy) {
	if policy == nil {
		return
	}
	r.facts.Policy, r.facts.Blocked = policy.Spec, policy.Blocked(r.facts.Upgrade.Spec.Version)
	for _, offered := range policy.Status.Offered {
		for _, image := range offered.Images {
			if offered.Version == r.facts.Upgrade.Spec.Version && image.Replaced {
				r.facts.Replaced = append(r.facts.Replaced, image)
			}
		}
	}
}

func (r *factsReader) readDaemonSets() {
	sets := r.clients.Kube.AppsV1().DaemonSets(metav1.NamespaceAll)
	daemonSets, err := tryList(r, "DaemonSets", "whether another program may reboot nodes, or kube-proxy was removed,", sets.List, metav1.ListOptions{}, trimDaemonSet)
	r.facts.RebootManagers = rebootmanager.Installed(pointers(r.facts.Nodes), pointers(daemonSets), r.facts.Policy.RebootManagers)
	r.facts.KubeProxyRemoved = err == nil && !slices.ContainsFunc(daemonSets, func(d appsv1.DaemonSet) bool {
		return d.Namespace == clusterstate.KubeadmNamespace && d.Name == clusterstate.KubeProxyName
	})
}

// readKubeletConfig reads what kubeadm writes to every node. Only an upgrade to a
// version runs kubeadm.
func (r *factsReader) readKubeletConfig() {
	if r.facts.Upgrade.Spec.Version == "" {
		return
	}
	config := &preflight.KubeletConfig{}
	r.facts.KubeletConfig = config
	text, missing, err := r.readConfigMap(clusterstate.KubeletConfigMapName, clusterstate.KubeletConfigMapKey)
	if err == nil {
		config.KubeletConfig, err = clusterstate.ParseKubeletConfig(text)
	}
	if err != nil {
		config.Problem, config.Missing = problemOf(err), missing
	}
}

// readKubeadmConfig reads how kubeadm made the cluster.
func (r *factsReader) readKubeadmConfig() {
	if r.facts.Upgrade.Spec.Version == "" {
		return
	}
	config := &preflight.KubeadmConfig{}
	r.facts.KubeadmConfig = config
	text, missing, err := r.readConfigMap(clusterstate.KubeadmConfigMapName, clusterstate.KubeadmConfigMapKey)
	if err == nil {
		config.ClusterConfiguration, err = preflight.ParseClusterConfiguration(text)
	}
	if err != nil {
		config.Problem, config.Missing = problemOf(err), missing
	}
}

// readConfigMap returns what one of kubeadm's ConfigMaps has under the key, and with an error whether that is
// missing.
func (r *factsReader) readConfigMap(name, key string) (text []byte, missing bool, err error) {
	stored, err := r.clients.Kube.CoreV1().ConfigMaps(clusterstate.KubeadmNamespace).Get(r.ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, true, errors.New("it does not exist")
	}
	if err != nil {
		return nil, false, err
	}
	if stored.Data[key] == "" {
		return nil, true, fmt.Errorf("it has no key %s", key)
	}
	return []byte(stored.Data[key]), false, nil
}

func (r *factsReader) readPods() {
	pods, err := r.clients.readPods(r.ctx)
	if err != nil {
		r.addUnreadKind("Pods", "what a drain would do to them", err)
	}
	r.facts.Workloads.Pods = pods
}

func (r *factsReader) readBudgets() {
	r.facts.Workloads.Budgets, _ = tryList(r, "PodDisruptionBudgets", "which of them would stop a drain",
		r.clients.Kube.PolicyV1().PodDisruptionBudgets(metav1.NamespaceAll).List, metav1.ListOptions{},
		func(b *policyv1.PodDisruptionBudget) policyv1.PodDisruptionBudget {
			return policyv1.PodDisruptionBudget{ObjectMeta: named(b), Spec: b.Spec, Status: b.Status}
		})
}

func (r *factsReader) readDeployments() {
	dns := &preflight.CoreDNS{}
	deployments, err := tryList(r, "Deployments", "which of them have one replica, and whether CoreDNS was removed,",
		r.clients.Kube.AppsV1().Deployments(metav1.NamespaceAll).List, metav1.ListOptions{},
		func(d *appsv1.Deployment) appsv1.Deployment {
			if containers := d.Spec.Template.Spec.Containers; isDNSAddon(d) && len(containers) > 0 {
				dns.Images = append(dns.Images, containers[0].Image)
			}
			return appsv1.Deployment{ObjectMeta: named(d), Spec: appsv1.DeploymentSpec{Replicas: d.Spec.Replicas, Selector: d.Spec.Selector}}
		})
	r.facts.Workloads.Deployments = deployments
	r.facts.CoreDNSRemoved = err == nil && !slices.ContainsFunc(deployments, func(d appsv1.Deployment) bool {
		return d.Namespace == clusterstate.KubeadmNamespace && d.Name == clusterstate.CoreDNSName
	})
	if err == nil && r.facts.Upgrade.Spec.Version != "" {
		r.readCorefile(dns)
	}
}

// isDNSAddon reports whether kubeadm takes the Deployment for its DNS addon.
func isDNSAddon(d *appsv1.Deployment) bool {
	return d.Namespace == clusterstate.KubeadmNamespace && d.Labels[clusterstate.CoreDNSLabelKey] == clusterstate.CoreDNSLabelValue
}

// readCorefile completes what kubeadm reads of CoreDNS.
func (r *factsReader) readCorefile(dns *preflight.CoreDNS) {
	config, err := r.clients.Kube.CoreV1().ConfigMaps(clusterstate.KubeadmNamespace).Get(r.ctx, clusterstate.CoreDNSName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		dns.ConfigMissing = true
	case err != nil:
		r.addUnreadKind("ConfigMap kube-system/coredns", "whether kubeadm could migrate the Corefile", err)
		return
	default:
		if corefile, has := config.Data[clusterstate.CoreDNSConfigKey]; has {
			dns.Corefile = &corefile
		}
	}
	r.facts.CoreDNS = dns
}

func (r *factsReader) readWebhooks() {
	w := &r.facts.Workloads
	admission := r.clients.Kube.AdmissionregistrationV1()
	const why = "which of them would lose their last backend"
	w.Validating, _ = tryList(r, "ValidatingWebhookConfigurations", why, admission.ValidatingWebhookConfigurations().List, metav1.ListOptions{}, trimValidating)
	w.Mutating, _ = tryList(r, "MutatingWebhookConfigurations", why, admission.MutatingWebhookConfigurations().List, metav1.ListOptions{}, trimMutating)
	if len(w.Validating)+len(w.Mutating) == 0 {
		return
	}
	w.EndpointSlices, _ = tryList(r, "EndpointSlices", "which webhooks would lose their last backend",
		r.clients.Kube.DiscoveryV1().EndpointSlices(metav1.NamespaceAll).List, metav1.ListOptions{}, trimSlice)
}

func (r *factsReader) readRequestedAPIs() {
	var unread []string
	r.facts.RequestedAPIs, unread = requestedAPIs(r.ctx, r.clients.Access, r.facts.SystemPods)
	r.addUnread(unread...)
}

func (r *factsReader) addUnread(sentences ...string) {
	r.unread.Lock()
	defer r.unread.Unlock()
	r.facts.Unread = append(r.facts.Unread, sentences...)
}

// tryList lists objects that the checks do not require; it adds an error to Unread, and returns none then.
func tryList[T any, L runtime.Object](r *factsReader, what, why string,
	page func(context.Context, metav1.ListOptions) (L, error), options metav1.ListOptions, keep func(*T) T) ([]T, error) {
	all, err := listed(r.ctx, page, options, keep)
	if err != nil {
		r.addUnreadKind(what, why, err)
		return nil, err
	}
	return all, nil
}

func (r *factsReader) addUnreadKind(what, why string, err error) {
	r.addUnread(fmt.Sprintf("%s could not be read (%s): %s is not known.", what, problemOf(err), why))
}

// problemOf returns why something could not be read, as a part of a sentence.
func problemOf(err error) string {
	if apierrors.IsForbidden(err) {
		return "that is forbidden"
	}
	return strings.TrimSuffix(err.Error(), ".")
}
