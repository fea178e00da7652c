package agent

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// skew holds an upgrade that violates Kubernetes' version skew policy: no skipped minor, no
// downgrade, and no kubelet newer than a running apiserver.
func (a *Agent) skew(ctx context.Context, o machine.Observation) (fleet.Hold, error) {
	if o.Spec.Type == v1alpha1.TypeReboot {
		return fleet.Hold{}, nil
	}
	pods, err := a.Account.Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: "component=kube-apiserver"})
	if err != nil {
		return fleet.Hold{}, fmt.Errorf("listing the apiservers: %w", err)
	}
	if err := checkSkew(pods.Items, o); err != nil {
		return fleet.Hold{Reason: v1alpha1.ReasonSkew, Message: err.Error()}, nil
	}
	return fleet.Hold{}, nil
}

func checkSkew(apiServers []corev1.Pod, o machine.Observation) error {
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
	servers, err := versionsOf(apiServers)
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

// versionsOf returns the apiservers' versions, by their images' tags.
func versionsOf(apiServers []corev1.Pod) ([]version.Version, error) {
	var versions []version.Version
	for i := range apiServers {
		if !fleet.IsStaticPod(&apiServers[i]) {
			continue
		}
		v, err := version.Parse(fleet.StaticPodVersion(&apiServers[i]))
		if err != nil {
			return nil, fmt.Errorf("apiserver %s: %w", apiServers[i].Name, err)
		}
		versions = append(versions, v)
	}
	if len(versions) == 0 {
		return nil, fmt.Errorf("found no kube-apiserver pod to compare versions with")
	}
	return versions, nil
}
