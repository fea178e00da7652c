package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// ownNamespace is where our own workloads run.
const ownNamespace = v1alpha1.Namespace

var workloadChecks = []Entry{
	{
		"pdb-blocks", warns,
		"a PodDisruptionBudget allows no eviction now: the drain waits, and is aborted after strategy.drain.timeoutSeconds",
		"Give the workload another replica, or let the budget allow one (maxUnavailable: 1). Where its pods are not Ready, neither helps: repair them, or set the budget's unhealthyPodEvictionPolicy: AlwaysAllow.",
	},
	{
		"pdb-overlap", warns,
		"pods have more than one PodDisruptionBudget: the API server never evicts them, and the drain is aborted",
		"Leave one of the budgets, or narrow their selectors until each pod has one.",
	},
	{
		"single-replica", warns,
		"a Deployment has one replica: it is away while its pod moves",
		"Give it a second one: kubectl scale --replicas=2.",
	},
	{
		"one-node", warns,
		"all replicas of a workload run on one node, and are evicted together",
		"Spread them with topologySpreadConstraints on kubernetes.io/hostname, or with pod anti-affinity.",
	},
	{
		"bare-pod", warns,
		"a pod has no controller that would start it elsewhere: the drain waits for it, or with strategy.drain.unmanagedPods: Evict deletes it for good",
		"Run it in a Deployment, StatefulSet or Job; or delete it before the upgrade.",
	},
	{
		"not-drained", warns,
		"pods tolerate a cordoned node, so a drain leaves them there and asks no PodDisruptionBudget: the reboot ends them",
		"Remove the toleration (one without a key tolerates everything), unless they are to stay until then.",
	},
	{
		"empty-dir", either,
		"pods keep data in emptyDir volumes, which a drain deletes; with strategy.drain.emptyDirPods: Block their node waits",
		"Move data that has to stay to a PersistentVolumeClaim. Caches and scratch space need nothing.",
	},
	{
		"no-liveness-probe", warns,
		"no container of a pod has a liveness probe: one that hangs after it moved is not restarted",
		"Add a livenessProbe to the pod's template.",
	},
	{
		"no-readiness-probe", warns,
		"no container of a pod has a readiness probe: it gets requests, and counts for its budget, before it can answer",
		"Add a readinessProbe to the pod's template.",
	},
	{
		"no-requests", warns,
		"a container requests neither CPU nor memory: when pods move, the scheduler may put too many on one node",
		"Add resources.requests to the pod's template.",
	},
	{
		"long-grace", warns,
		"pods may take longer to terminate than strategy.drain.timeoutSeconds: the drain is then aborted",
		"Lower terminationGracePeriodSeconds, or raise strategy.drain.timeoutSeconds above it.",
	},
}

func (c *checker) checkWorkloads() {
	c.checkBudgets()
	c.checkReplicas()
	c.checkPods()
	c.checkEmptyDirs()
}

// remarks are workloads, by the check that has the same finding about them.
type remarks map[string]map[string]bool

func (r remarks) note(id, workload string) {
	if r[id] == nil {
		r[id] = map[string]bool{}
	}
	r[id][workload] = true
}

// sentences complete "3 workloads have …", by check.
var sentences = map[string]string{
	"bare-pod":           "no controller to start a new one elsewhere: %s.",
	"not-drained":        "pods that tolerate a cordoned node and are not drained: %s.",
	"empty-dir":          "emptyDir volumes, whose data a drain deletes: %s.",
	"no-liveness-probe":  "no liveness probe: %s.",
	"no-readiness-probe": "no readiness probe: %s.",
	"no-requests":        "containers that request neither CPU nor memory: %s.",
	"long-grace":         "a terminationGracePeriodSeconds longer than strategy.drain.timeoutSeconds: %s.",
	"single-replica":     "one replica only, unavailable while it moves: %s.",
	"one-node":           "all replicas on one node: %s.",
}

// nouns are the kinds of workload that a check is about, where it is not about all.
var nouns = map[string]string{"bare-pod": "pod", "single-replica": "Deployment"}

// warnOfWorkloads adds one warning for each check that found workloads.
func (c *checker) warnOfWorkloads(found remarks) {
	for _, id := range slices.Sorted(maps.Keys(found)) {
		list := slices.Collect(maps.Keys(found[id]))
		who := plural(len(list), cmp.Or(nouns[id], "workload")) + " have "
		if len(list) == 1 {
			who = strings.Replace(who, "have", "has", 1)
		}
		c.add(v1alpha1.Finding{ID: id, Level: v1alpha1.LevelWarn, Message: who + fmt.Sprintf(sentences[id], names(list))})
	}
}

// checkPods checks each pod that has to be evicted.
func (c *checker) checkPods() {
	found := remarks{}
	for _, pod := range c.left {
		if !systemNamespaces[pod.Namespace] {
			found.note("not-drained", cmp.Or(pod.Owner, "Pod/"+pod.Namespace+"/"+pod.Name))
		}
	}
	for _, pod := range c.evicted {
		if pod.Owner == "" {
			found.note("bare-pod", "Pod/"+pod.Namespace+"/"+pod.Name+" on "+pod.Node)
			continue
		}
		if pod.takesTooLong() {
			found.note("long-grace", pod.Owner)
		}
		if systemNamespaces[pod.Namespace] {
			continue
		}
		if pod.EmptyDir && pod.from.drain.EmptyDirPods == v1alpha1.PodsEvict {
			found.note("empty-dir", pod.Owner)
		}
		if pod.Kind == "Job" {
			continue
		}
		if !pod.LivenessProbe {
			found.note("no-liveness-probe", pod.Owner)
		}
		if !pod.ReadinessProbe {
			found.note("no-readiness-probe", pod.Owner)
		}
		if pod.RequestsNothing {
			found.note("no-requests", pod.Owner)
		}
	}
	c.warnOfWorkloads(found)
}

// checkEmptyDirs finds pods whose emptyDir volumes block the drain of their node, in any
// namespace.
func (c *checker) checkEmptyDirs() {
	blocking := map[*node][]string{}
	for _, pod := range c.evicted {
		if pod.EmptyDir && pod.from.drain.EmptyDirPods == v1alpha1.PodsBlock {
			blocking[pod.from] = append(blocking[pod.from], pod.Namespace+"/"+pod.Name)
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
	grace := int64(*p.from.drain.GracePeriodSeconds)
	if grace < 0 {
		grace = p.GracePeriodSeconds
	}
	return grace > int64(*p.from.drain.TimeoutSeconds)
}

// checkReplicas finds workloads of which all pods are evicted at the same time.
func (c *checker) checkReplicas() {
	found := remarks{}
	places := c.places()
	evicted := map[string]bool{}
	for _, pod := range c.evicted {
		evicted[pod.Owner] = true
	}
	for _, d := range c.Workloads.Deployments {
		owner := "Deployment/" + d.Namespace + "/" + d.Name
		if (d.Spec.Replicas == nil || *d.Spec.Replicas == 1) && evicted[owner] && !systemNamespaces[d.Namespace] {
			found.note("single-replica", owner)
		}
	}
	if len(c.all) > 1 {
		for owner, p := range places {
			namespace, _, _ := strings.Cut(owner[strings.Index(owner, "/")+1:], "/")
			if p.pods > 1 && !p.spread && evicted[owner] && !systemNamespaces[namespace] && !strings.HasPrefix(owner, "Job/") {
				found.note("one-node", owner+" on "+p.node)
			}
		}
	}
	c.warnOfWorkloads(found)
}

// place is where a workload's pods run.
type place struct {
	node   string
	pods   int
	spread bool // over more than one node
}

// places returns where the pods of all workloads run, on any node.
func (c *checker) places() map[string]*place {
	places := map[string]*place{}
	for i := range c.Workloads.Pods {
		pod := &c.Workloads.Pods[i]
		if pod.Owner == "" || pod.Node == "" || pod.Ended {
			continue
		}
		p := places[pod.Owner]
		if p == nil {
			p = &place{node: pod.Node}
			places[pod.Owner] = p
		}
		p.pods++
		p.spread = p.spread || p.node != pod.Node
	}
	return places
}

// evictedPod is a pod that the upgrade evicts from a node. pkg/node/drain selects the same
// pods.
type evictedPod struct {
	*Pod
	from *node
}

// findEvicted selects the pods that drains will evict, and those that they leave as they tolerate a cordoned node. Pods
// that a rule skips, or waits for until they end, are not among them.
func (c *checker) findEvicted() {
	drained := make(map[string]*node, len(c.nodes))
	for _, n := range c.nodes {
		if n.drains {
			drained[n.name] = n
		}
	}
	for i := range c.Workloads.Pods {
		pod := &c.Workloads.Pods[i]
		n := drained[pod.Node]
		if n == nil || pod.Mirror || pod.Ended || pod.Kind == "DaemonSet" {
			continue
		}
		if behavior, _ := n.drain.rules.Behavior(pod.Namespace, pod.Labels); behavior != v1alpha1.DrainPod {
			continue
		}
		if pod.ToleratesUnschedulable {
			c.left = append(c.left, evictedPod{pod, n})
		} else {
			c.evicted = append(c.evicted, evictedPod{pod, n})
		}
	}
}

// systemNamespaces are the namespaces of Kubernetes itself, and our own. Users cannot
// follow the advice about their workloads.
var systemNamespaces = map[string]bool{
	metav1.NamespaceSystem: true, metav1.NamespacePublic: true, corev1.NamespaceNodeLease: true, ownNamespace: true,
}
