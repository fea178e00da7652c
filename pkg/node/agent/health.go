package agent

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// health returns the health of this node and its control plane. A static pod's Ready
// condition is enough, as the kubelet probes it; etcd's members were asked directly.
func (e *etcdSense) health(ctx context.Context, r *round) *machine.Health {
	if err := e.unhealthy(ctx, r); err != nil {
		return &machine.Health{Message: err.Error()}
	}
	return &machine.Health{OK: true}
}

func (e *etcdSense) unhealthy(ctx context.Context, r *round) error {
	if !r.Node.Ready {
		return fmt.Errorf("the node is not Ready")
	}
	if r.Host.KubeletProblem != "" {
		return errors.New(r.Host.KubeletProblem)
	}
	if !r.Host.ControlPlane {
		return e.membersHealth()
	}
	ctx, cancel := context.WithTimeout(ctx, rulesTimeout)
	defer cancel()
	pods, err := e.Kubelet.Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{
		LabelSelector: "tier=control-plane",
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", e.Node).String(),
	})
	if err != nil {
		return fmt.Errorf("listing this node's static pods: %w", err)
	}
	byComponent := map[string]*corev1.Pod{}
	for i := range pods.Items {
		if pod := &pods.Items[i]; clusterstate.IsStaticPod(pod) {
			byComponent[pod.Labels["component"]] = pod
		}
	}
	for _, component := range host.ControlPlaneComponents {
		pod := byComponent[component]
		switch {
		case pod == nil:
			return fmt.Errorf("found no %s pod", component)
		case r.Spec.Type.HasVersion() && r.state.Follows(r.Spec) && !version.AtLeast(clusterstate.StaticPodVersion(pod), r.Spec.Version):
			return fmt.Errorf("%s is still at %s", component, clusterstate.StaticPodVersion(pod))
		case !clusterstate.PodReady(pod):
			return fmt.Errorf("%s is not Ready", component)
		}
	}
	// etcd's version is not compared, because kubeadm decides when to change it. A member
	// that answers may still wait for its pod's probes, and preflight would find it
	// unready.
	if pod := byComponent["etcd"]; pod != nil && !clusterstate.PodReady(pod) {
		return fmt.Errorf("etcd is not Ready")
	}
	return e.membersHealth()
}

// membersHealth returns an error unless this node's member and a majority are healthy.
func (e *etcdSense) membersHealth() error {
	facts := e.facts
	switch {
	case facts == nil:
		return nil
	case facts.Problem != "":
		return fmt.Errorf("etcd: %s", facts.Problem)
	}
	if own, _ := e.members(); !own.Healthy {
		return fmt.Errorf("this node's member of etcd %s", own.Problem)
	}
	voters, healthy := e.voters(e.Node), 0
	for _, one := range voters {
		if one.Ready {
			healthy++
		}
	}
	if healthy < clusterstate.Majority(len(voters)) {
		return fmt.Errorf("%d of etcd's %d members are healthy%s", healthy, len(voters), describeUnhealthy(facts.Members))
	}
	return nil
}
