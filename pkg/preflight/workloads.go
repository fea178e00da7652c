package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// ownNamespace is where our own workloads run.
const ownNamespace = v1alpha1.Namespace

var workloadChecks = []Entry{
	{
		"pdb-blocks", warns,
		"a PodDisruptionBudget allows none of its pods to leave now: the drain of their nodes will wait, and be given up at strategy.drain.timeout",
		"Give the workload another replica, let its pods become Ready, or let the budget allow one (maxUnavailable: 1).",
	},
	{
		"pdb-overlap", warns,
		"pods are matched by more than one PodDisruptionBudget: the API server evicts none of them, whatever the budgets allow, and the drain of their nodes is given up at strategy.drain.timeout",
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
		"a pod has no controller that would start it again elsewhere: it stops the drain of its node, and with strategy.drain.force it is lost",
		"Run it in a Deployment, StatefulSet or Job; or delete it before.",
	},
	{
		"empty-dir", warns,
		"pods keep data in emptyDir volumes, which a drain deletes",
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
		"pods may take longer to end than a node's drain may take (strategy.drain.timeout), which is then given up",
		"Lower terminationGracePeriodSeconds, or raise strategy.drain.timeout above it.",
	},
}

// defaultDrainTimeout is strategy.drain.timeout where the API server has not
// filled it in.
const defaultDrainTimeout = 15 * time.Minute

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
	"long-grace":         "a grace period beyond the drain's limit (strategy.drain.timeout): %s.",
	"single-replica":     "one replica only, away while it moves: %s.",
	"one-node":           "all replicas on one node: %s.",
}

// nouns are what they speak of, where it is not any workload.
var nouns = map[string]string{"bare-pod": "pod", "single-replica": "Deployment"}

// checkPods looks at each pod that has to leave.
func (c *checker) checkPods() {
	said := remarks{}
	limit := c.drainTimeout()
	for _, pod := range c.leaving {
		if pod.owner == "" {
			said.note("bare-pod", "Pod/"+pod.Namespace+"/"+pod.Name+" on "+pod.Spec.NodeName)
			continue
		}
		if c.grace(pod.Pod) > limit {
			said.note("long-grace", pod.owner)
		}
		if systemNamespaces[pod.Namespace] {
			continue
		}
		if hasEmptyDir(pod.Pod) {
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
		c.add(v1alpha1.Finding{ID: id, Message: who + fmt.Sprintf(sentences[id], names(list))})
	}
}

func (c *checker) drainTimeout() time.Duration {
	if t := c.Upgrade.Spec.Strategy.Drain.Timeout; t != nil {
		return t.Duration
	}
	return defaultDrainTimeout
}

// grace is how long the pod may take to end.
func (c *checker) grace(pod *corev1.Pod) time.Duration {
	var seconds int64
	if s := pod.Spec.TerminationGracePeriodSeconds; s != nil {
		seconds = *s
	}
	if s := c.Upgrade.Spec.Strategy.Drain.GracePeriodSeconds; s != nil && *s >= 0 {
		seconds = int64(*s)
	}
	return time.Duration(seconds) * time.Second
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
