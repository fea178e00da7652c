package agent

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// The first and the longest pause before a failed start of a verb is retried.
const (
	firstStartPause = 5 * time.Second
	lastStartPause  = time.Minute
)

// startFailure is why a verb could not be started, and the pause before the retry.
type startFailure struct {
	machine.StartFailure
	pause time.Duration
}

// start starts a verb on the host. compared says that the rules have just compared the order with its upgrade.
func (h *hostSense) start(ctx context.Context, v verb.Verb, key string, in verb.Input, compared bool) error {
	entry, ok := verb.Lookup(v)
	if !ok {
		return fmt.Errorf("there is no host verb %q", v)
	}
	return h.startEnded(v, key, entry.Failed, h.startVerb(ctx, entry, key, in, compared))
}

// startEnded records why a verb could not be started, for the status, and returns that. The pauses between
// retries grow.
func (h *hostSense) startEnded(v verb.Verb, key string, otherwise v1alpha1.Reason, err error) error {
	if err == nil {
		delete(h.startFailures, v)
		h.stageAgain = h.stageAgain && v != verb.Stage
		return nil
	}
	now, last := h.Now(), h.startFailures[v]
	if last.Key != key {
		last = startFailure{}
	}
	pause := min(max(2*last.pause, firstStartPause), lastStartPause)
	h.startFailures[v] = startFailure{pause: pause, StartFailure: machine.StartFailure{
		Key: key, Reason: host.ReasonOf(err, otherwise), Message: err.Error(), RetryAt: now.Add(pause),
	}}
	return err
}

func (h *hostSense) startVerb(ctx context.Context, entry verb.Entry, key string, in verb.Input, compared bool) error {
	policy, err := h.checkPolicy(ctx, entry)
	if err != nil {
		return err
	}
	if policy != nil {
		in.Keyring = policy.Spec.Source.Keyring
	}
	if !compared {
		if err := h.checkSpec(ctx, entry, in); err != nil {
			return err
		}
	}
	if err := h.checkKubeadmTarget(ctx, entry, in); err != nil {
		return err
	}
	request, err := entry.Request(key, in)
	if err != nil {
		return err
	}
	return h.Host.Start(ctx, request, entry.Options(in))
}

// clusterConfiguration returns kubeadm's ClusterConfiguration.
func (c *Config) clusterConfiguration(ctx context.Context) (string, error) {
	config, err := c.kubeadmConfig(ctx)
	if err != nil {
		return "", fmt.Errorf("reading which container images the cluster uses: %w", err)
	}
	return config.Data[clusterstate.KubeadmConfigMapKey], nil
}

// kubeadmConfig returns the ConfigMap kubeadm-config. Every kubelet may read it: kubeadm's Role kubeadm:nodes-kubeadm-config
// allows it to the group system:nodes (kubeadm 1.34, phases/uploadconfig).
func (c *Config) kubeadmConfig(ctx context.Context) (*corev1.ConfigMap, error) {
	config, err := c.Kubelet.ConfigMaps(metav1.NamespaceSystem).Get(ctx, clusterstate.KubeadmConfigMapName, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("the ConfigMap kube-system/kubeadm-config, as this node's kubelet: %w", err)
	}
	return config, nil
}

// kubeProxyConfig returns the configuration of kube-proxy; empty: there is none, or the kubelet may not read it. It may read
// the ConfigMaps of pods on its node, of which kube-proxy's is one where kube-proxy runs (the Node authorizer).
func (c *Config) kubeProxyConfig(ctx context.Context) (string, error) {
	config, err := c.Kubelet.ConfigMaps(metav1.NamespaceSystem).Get(ctx, clusterstate.KubeProxyName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("reading kube-proxy's configuration: %w", err)
	}
	return config.Data["config.conf"], nil
}

// checkPolicy returns the UpgradePolicy, read live, so that a key that was removed from it is no
// longer trusted; nil for a verb that does not ask for it. It returns an error if the policy does not
// allow the verb now.
func (h *hostSense) checkPolicy(ctx context.Context, entry verb.Entry) (*v1alpha1.UpgradePolicy, error) {
	if entry.Policy == verb.PolicyNotAsked {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, rulesTimeout)
	defer cancel()
	policy, err := h.livePolicy(ctx)
	if err != nil {
		return nil, host.Fail(v1alpha1.ReasonRulesUnknown, "%w", err)
	}
	hold := rules.Policy(policy)
	if hold.Holds() && (hold.Reason != v1alpha1.ReasonObserved || entry.Policy != verb.PolicyExists) {
		return nil, host.Fail(hold.Reason, "%s", hold.Message)
	}
	return policy, nil
}

// checkSpec returns an error unless the NodeUpgrade's spec matches what its upgrade fixed
// at the trigger: the spec chooses what runs as root on the node. It reads the upgrade
// live. An image that is active already was checked before its activation.
func (h *hostSense) checkSpec(ctx context.Context, entry verb.Entry, in verb.Input) error {
	alreadyActive := entry.Verb == verb.Activate && in.Active == in.Spec.Version
	if !entry.ChecksSpec || alreadyActive {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rulesTimeout)
	defer cancel()
	upgrade, err := h.upgradeOf(ctx, in.Spec.Upgrade)
	if err != nil {
		return host.Fail(v1alpha1.ReasonRulesUnknown, "comparing the NodeUpgrade with what its upgrade fixed: %w", err)
	}
	if hold := specHold(h.Node, in.Spec, upgrade); hold.Holds() {
		return host.Fail(hold.Reason, "%s", hold.Message)
	}
	return nil
}
