package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// ownNamespace is where our own workloads run.
const ownNamespace = v1alpha1.Namespace

var workloadChecks = []Entry{
	{
		"pdb-blocks", warns,
		"a PodDisruptionBudget allows none of its pods to leave now: the drain of their nodes will wait, and be given up at strategy.drain.timeoutSeconds",
		"Give the workload another replica, let its pods become Ready, or let the budget allow one (maxUnavailable: 1).",
	},
	{
		"pdb-overlap", warns,
		"pods are matched by more than one PodDisruptionBudget: the API server evicts none of them, whatever the budgets allow, and the drain of their nodes is given up at strategy.drain.timeoutSeconds",
		"Leave one of the budgets, or narrow their selectors until each pod has one.",
	},
	{
		"single-replica", warns,
		"a Deployment has one replica: it is away while its pod moves",
		"Give it a second one: kubectl scale --replicas=2.",
	},
	{
		"one-node", warns,
		"all replicas of a workload run on one node, and leave it together",
		"Spread them with topologySpreadConstraints on kubernetes.io/hostname, or with pod anti-affinity.",
	},
	{
		"bare-pod", warns,
		"a pod has no controller that would start it again elsewhere: it stops the drain of its node, and with strategy.drain.unmanagedPods: Evict it is lost",
		"Run it in a Deployment, StatefulSet or Job; or delete it before.",
	},
	{
		"empty-dir", either,
		"pods keep data in emptyDir volumes, which a drain deletes; where strategy.drain.emptyDirPods is Block, they block the drain of their node, and that node is held",
		"Move what has to stay to a PersistentVolumeClaim. Caches and scratch space need nothing.",
	},
	{
		"no-liveness-probe", warns,
		"no container of a pod has a liveness probe: nobody restarts one that hangs after it moved",
		"Add a livenessProbe to the pod's template.",
	},
	{
		"no-readiness-probe", warns,
		"no container of a pod has a readiness probe: it gets requests, and counts for its PodDisruptionBudget, before it can answer",
		"Add a readinessProbe to the pod's template.",
	},
	{
		"no-requests", warns,
		"a container requests neither CPU nor memory: when pods move, the scheduler may put too many on one node",
		"Add resources.requests to the pod's template.",
	},
	{
		"long-grace", warns,
		"pods may take longer to end than a node's drain may take (strategy.drain.timeoutSeconds), which is then given up",
		"Lower terminationGracePeriodSeconds, or raise strategy.drain.timeoutSeconds above it.",
	},
}

func (c *checker) checkWorkloads() {
	c.checkBudgets()
	c.checkReplicas()
	c.checkPods()
}

// remarks are workloads about which the same is to be said.
type remarks map[string]map[string]bool

func (r remarks) note(id, workload string) {
	if r[id] == nil {
		r[id] = map[string]bool{}
	}
	r[id][workload] = true
}

// sentences go on from "3 workloads have".
var sentences = map[string]string{
	"bare-pod":           "no controller to start a new one elsewhere: %s.",
	"empty-dir":          "emptyDir volumes, whose data a drain deletes: %s.",
	"no-liveness-probe":  "no liveness probe: %s.",
	"no-readiness-probe": "no readiness probe: %s.",
	"no-requests":        "containers that request neither CPU nor memory: %s.",
	"long-grace":         "a grace period beyond the drain's limit (strategy.drain.timeoutSeconds): %s.",
	"single-replica":     "one replica only, away while it moves: %s.",
	"one-node":           "all replicas on one node: %s.",
}

// nouns are what they speak of, where it is not any workload.
var nouns = map[string]string{"bare-pod": "pod", "single-replica": "Deployment"}

// checkPods looks at each pod that has to leave.
func (c *checker) checkPods() {
	said := remarks{}
	kept := map[*node][]string{} // pods whose emptyDir volumes block the drain
	for _, pod := range c.leaving {
		keeps := hasEmptyDir(pod.Pod) && pod.node.drain.EmptyDirPods == v1alpha1.PodsBlock
		if keeps {
			kept[pod.node] = append(kept[pod.node], pod.Namespace+"/"+pod.Name)
		}
		if pod.owner == "" {
			said.note("bare-pod", "Pod/"+pod.Namespace+"/"+pod.Name+" on "+pod.Spec.NodeName)
			continue
		}
		if pod.takesTooLong() {
			said.note("long-grace", pod.owner)
		}
		if systemNamespaces[pod.Namespace] {
			continue
		}
		if hasEmptyDir(pod.Pod) && !keeps {
			said.note("empty-dir", pod.owner)
		}
		if pod.kind == "Job" {
			continue
		}
		if !anyContainer(pod.Pod, func(c corev1.Container) bool { return c.LivenessProbe != nil }) {
			said.note("no-liveness-probe", pod.owner)
		}
		if !anyContainer(pod.Pod, func(c corev1.Container) bool { return c.ReadinessProbe != nil }) {
			said.note("no-readiness-probe", pod.owner)
		}
		if requestsNothing(pod.Pod) {
			said.note("no-requests", pod.owner)
		}
	}
	for n, pods := range kept {
		c.onNode(n, v1alpha1.Finding{
			ID: "empty-dir", Level: v1alpha1.LevelBlock,
			Message: fmt.Sprintf("Node %s cannot be drained: strategy.drain.emptyDirPods is Block, and pods with emptyDir volumes run there: %s.", n.name, names(pods)),
			Advice:  "Exempt them with a drain rule (behavior Skip or WaitCompleted), delete them, or set strategy.drain.emptyDirPods: Evict.",
		})
	}
	c.say(said)
}

// say makes one warning of each kind of remark.
func (c *checker) say(said remarks) {
	for _, id := range slices.Sorted(maps.Keys(said)) {
		list := slices.Collect(maps.Keys(said[id]))
		who := plural(len(list), cmp.Or(nouns[id], "workload")) + " have "
		if len(list) == 1 {
			who = strings.Replace(who, "have", "has", 1)
		}
		c.add(v1alpha1.Finding{ID: id, Level: v1alpha1.LevelWarn, Message: who + fmt.Sprintf(sentences[id], names(list))})
	}
}

// takesTooLong reports whether the pod may take longer to end than its node's
// drain may.
func (l leaver) takesTooLong() bool {
	grace := int64(*l.node.drain.GracePeriodSeconds)
	if grace < 0 {
		grace = ptr.Deref(l.Spec.TerminationGracePeriodSeconds, 0)
	}
	return grace > int64(*l.node.drain.TimeoutSeconds)
}

func hasEmptyDir(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil })
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
