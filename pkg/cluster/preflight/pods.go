package preflight

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// checkPods checks each pod that has to be evicted.
func (c *checker) checkPods() {
	found := remarks{}
	for _, pod := range c.evicted {
		if pod.owner == "" {
			found.note("bare-pod", "Pod/"+pod.Namespace+"/"+pod.Name+" on "+pod.Spec.NodeName)
			continue
		}
		if pod.takesTooLong() {
			found.note("long-grace", pod.owner)
		}
		if systemNamespaces[pod.Namespace] {
			continue
		}
		if pod.hasEmptyDir() && pod.node.drain.EmptyDirPods == v1alpha1.PodsEvict {
			found.note("empty-dir", pod.owner)
		}
		if pod.kind == "Job" {
			continue
		}
		if !anyContainer(pod.Pod, func(c corev1.Container) bool { return c.LivenessProbe != nil }) {
			found.note("no-liveness-probe", pod.owner)
		}
		if !anyContainer(pod.Pod, func(c corev1.Container) bool { return c.ReadinessProbe != nil }) {
			found.note("no-readiness-probe", pod.owner)
		}
		if requestsNothing(pod.Pod) {
			found.note("no-requests", pod.owner)
		}
	}
	c.warnOfWorkloads(found)
}

// checkEmptyDirs finds pods whose emptyDir volumes block the drain of their node, in any
// namespace.
func (c *checker) checkEmptyDirs() {
	blocking := map[*node][]string{}
	for _, pod := range c.evicted {
		if pod.hasEmptyDir() && pod.node.drain.EmptyDirPods == v1alpha1.PodsBlock {
			blocking[pod.node] = append(blocking[pod.node], pod.Namespace+"/"+pod.Name)
		}
	}
	for n, pods := range blocking {
		c.onNode(n, v1alpha1.Finding{
			ID: "empty-dir", Level: v1alpha1.LevelBlock,
			Message: fmt.Sprintf("Node %s cannot be drained: strategy.drain.emptyDirPods is Block, and pods with emptyDir volumes run there: %s.", n.name, names(pods)),
			Advice:  "Exempt them with a drain rule (behavior Skip or WaitCompleted), delete them, or set strategy.drain.emptyDirPods: Evict.",
		})
	}
}

// takesTooLong reports whether the pod may take longer to terminate than the drain of its
// node may take.
func (p evictedPod) takesTooLong() bool {
	grace := int64(*p.node.drain.GracePeriodSeconds)
	if grace < 0 {
		grace = ptr.Deref(p.Spec.TerminationGracePeriodSeconds, 0)
	}
	return grace > int64(*p.node.drain.TimeoutSeconds)
}

func (p evictedPod) hasEmptyDir() bool {
	return slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil })
}

func anyContainer(pod *corev1.Pod, is func(corev1.Container) bool) bool {
	return slices.ContainsFunc(pod.Spec.Containers, is)
}

func requestsNothing(pod *corev1.Pod) bool {
	if r := pod.Spec.Resources; r != nil && len(r.Requests) > 0 {
		return false
	}
	return anyContainer(pod, func(c corev1.Container) bool {
		return c.Resources.Requests.Cpu().IsZero() && c.Resources.Requests.Memory().IsZero()
	})
}
