package agent

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// health returns the health of this node and its control plane. A static pod's Ready
// condition is enough, as the kubelet probes it; etcd's members were asked directly.
func (a *Agent) health(ctx context.Context, o machine.Observation) *machine.Health {
	if err := a.unhealthy(ctx, o); err != nil {
		return &machine.Health{Message: err.Error()}
	}
	return &machine.Health{OK: true}
}

func (a *Agent) unhealthy(ctx context.Context, o machine.Observation) error {
	if !o.Node.Ready {
		return fmt.Errorf("the node is not Ready")
	}
	if o.Host.KubeletProblem != "" {
		return errors.New(o.Host.KubeletProblem)
	}
	if !o.Host.ControlPlane {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, gateTimeout)
	defer cancel()
	pods, err := a.Kubelet.Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{
		LabelSelector: "tier=control-plane",
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", a.Node).String(),
	})
	if err != nil {
		return fmt.Errorf("listing this node's static pods: %w", err)
	}
	byComponent := map[string]*corev1.Pod{}
	for i := range pods.Items {
		if pod := &pods.Items[i]; fleet.IsStaticPod(pod) {
			byComponent[pod.Labels["component"]] = pod
		}
	}
	for _, component := range host.ControlPlaneComponents {
		pod := byComponent[component]
		switch {
		case pod == nil:
			return fmt.Errorf("found no %s pod", component)
		case o.Spec.Type != v1alpha1.TypeReboot && a.state.Follows(o.Spec) && !reached(pod, o.Spec.Version):
			return fmt.Errorf("%s is still at %s", component, fleet.StaticPodVersion(pod))
		case !fleet.PodReady(pod):
			return fmt.Errorf("%s is not Ready", component)
		}
	}
	// etcd's version is not compared, because kubeadm decides when to change it. A member
	// that answers may still wait for its pod's probes, and preflight would find it
	// unready.
	if pod := byComponent["etcd"]; pod != nil && !fleet.PodReady(pod) {
		return fmt.Errorf("etcd is not Ready")
	}
	return a.etcdHealth()
}

// reached reports whether the pod runs version want or a newer one.
func reached(pod *corev1.Pod, want string) bool {
	v, err := version.Parse(want)
	return err == nil && version.Reached(fleet.StaticPodVersion(pod), v)
}
