package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// gateWithin limits the gate's reads: an API server that does not answer keeps
// the gate closed, and somebody has to be told soon.
const gateWithin = 15 * time.Second

// gate says whether something may begin on the node now. It reads live: a watch
// that was cut may show a window that closed long ago.
func (a *Agent) gate(ctx context.Context, node *corev1.Node, o machine.Observation) machine.Gate {
	ctx, cancel := context.WithTimeout(ctx, gateWithin)
	defer cancel()
	reason, message, until, err := a.askGate(ctx, node, o)
	switch {
	case err != nil:
		return machine.Gate{Reason: v1alpha1.ReasonGateClosed, Message: err.Error()}
	case reason != "":
		closed := machine.Gate{Reason: reason, Message: message}
		if until != nil {
			closed.Until = *until
		}
		return closed
	}
	return machine.Gate{Open: true}
}

func (a *Agent) askGate(ctx context.Context, node *corev1.Node, o machine.Observation) (v1alpha1.Reason, string, *time.Time, error) {
	upgrade, err := a.Upgrades.ClusterUpgrades.Get(ctx, o.Spec.Upgrade, metav1.GetOptions{})
	if err != nil {
		return "", "", nil, fmt.Errorf("reading upgrade %q: %w", o.Spec.Upgrade, err)
	}
	schedules, err := a.Upgrades.MaintenanceSchedules.List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", "", nil, fmt.Errorf("listing maintenance schedules: %w", err)
	}
	if reason, message, until := plan.Gate(upgrade, schedules.Items, node.Labels, o.Now); reason != "" {
		return reason, message, until, nil
	}
	if err := a.stillReleased(ctx, o); err != nil {
		return "", "", nil, err
	}
	if err := a.stillHeld(ctx, node, o); err != nil {
		return "", "", nil, err
	}
	if err := a.skew(ctx, o); err != nil {
		return v1alpha1.ReasonSkew, err.Error(), nil, nil
	}
	hold := a.etcdHold(o)
	return hold.Reason, hold.Message, nil, nil
}

// stillReleased looks past the watch at what the coordinator wants now.
func (a *Agent) stillReleased(ctx context.Context, o machine.Observation) error {
	now, err := a.Upgrades.NodeUpgrades.Get(ctx, a.Node, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading this node's NodeUpgrade: %w", err)
	}
	if now.Spec.Upgrade != o.Spec.Upgrade || now.Spec.Release != o.Spec.Release {
		return fmt.Errorf("the release was changed to %q for upgrade %q", now.Spec.Release, now.Spec.Upgrade)
	}
	return nil
}

// stillHeld looks past the watch at a slot that it shows as ours.
func (a *Agent) stillHeld(ctx context.Context, node *corev1.Node, o machine.Observation) error {
	if o.Slot.Held == "" {
		return nil
	}
	lease, err := a.Account.CoordinationV1().Leases(v1alpha1.Namespace).Get(ctx, o.Slot.Held, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading slot %s: %w", o.Slot.Held, err)
	}
	s, err := slot.FromLease(lease)
	if err != nil {
		return err
	}
	if s.Holder != ownerOf(node) {
		return fmt.Errorf("slot %s is held by %q", s.Name, s.Holder.Node)
	}
	return nil
}

// skew keeps this node's step within Kubernetes' rules: no skipped minor, no way
// back, and no kubelet newer than an apiserver that runs.
func (a *Agent) skew(ctx context.Context, o machine.Observation) error {
	if o.Spec.Type == v1alpha1.TypeReboot {
		return nil
	}
	target, err := version.Parse(o.Spec.Version)
	if err != nil {
		return err
	}
	kubelet, err := version.Parse(o.Node.KubeletVersion)
	if err != nil {
		return fmt.Errorf("the kubelet's version: %w", err)
	}
	if err := version.CheckStep(kubelet, target); err != nil {
		return err
	}
	servers, err := a.apiServers(ctx)
	if err != nil {
		return err
	}
	if o.Spec.Release == v1alpha1.ReleaseControlPlane {
		return version.CheckAPIServers(append(servers, target)...)
	}
	for _, server := range servers {
		if err := version.CheckKubelet(target, server); err != nil {
			return err
		}
	}
	return nil
}

// apiServers are the versions of those that run, by their images' tags.
func (a *Agent) apiServers(ctx context.Context) ([]version.Version, error) {
	pods, err := a.Account.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: "component=kube-apiserver"})
	if err != nil {
		return nil, fmt.Errorf("listing the apiservers: %w", err)
	}
	var versions []version.Version
	for i := range pods.Items {
		v, err := version.Parse(imageTag(&pods.Items[i]))
		if err != nil {
			return nil, fmt.Errorf("apiserver %s: %w", pods.Items[i].Name, err)
		}
		versions = append(versions, v)
	}
	if len(versions) == 0 {
		return nil, fmt.Errorf("no kube-apiserver pod is there to compare versions with")
	}
	return versions, nil
}

// imageTag is the tag of a pod's first container's image, which may bear a
// digest after it and a registry's port before it.
func imageTag(pod *corev1.Pod) string {
	if len(pod.Spec.Containers) == 0 {
		return ""
	}
	image, _, _ := strings.Cut(pod.Spec.Containers[0].Image, "@")
	image = image[strings.LastIndex(image, "/")+1:]
	_, tag, _ := strings.Cut(image, ":")
	return tag
}
