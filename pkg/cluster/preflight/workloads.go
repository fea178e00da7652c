package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// ownNamespace is where our own workloads run.
const ownNamespace = v1alpha1.Namespace

var workloadChecks = []Entry{
	{
		"pdb-blocks", warns,
		"a PodDisruptionBudget allows no eviction now: the drain of its pods' nodes waits, and is aborted after strategy.drain.timeoutSeconds",
		"Give the workload another replica, let its pods become Ready, or let the budget allow one (maxUnavailable: 1).",
	},
	{
		"pdb-overlap", warns,
		"pods are matched by more than one PodDisruptionBudget: the API server evicts none of them, even if the budgets allow it, and the drain of their nodes is aborted after strategy.drain.timeoutSeconds",
		"Leave one of the budgets, or narrow their selectors until each pod has one.",
	},
	{
		"single-replica", warns,
		"a Deployment has one replica: it is unavailable while its pod moves",
		"Give it a second one: kubectl scale --replicas=2.",
	},
	{
		"one-node", warns,
		"all replicas of a workload run on one node, and are evicted together",
		"Spread them with topologySpreadConstraints on kubernetes.io/hostname, or with pod anti-affinity.",
	},
	{
		"bare-pod", warns,
		"a pod has no controller that would start it again elsewhere: the drain of its node waits for it; with strategy.drain.unmanagedPods: Evict it is deleted and not created again",
		"Run it in a Deployment, StatefulSet or Job; or delete it before the upgrade.",
	},
	{
		"empty-dir", either,
		"pods keep data in emptyDir volumes, which a drain deletes; where strategy.drain.emptyDirPods is Block, they block the drain of their node, and that node waits",
		"Move data that has to stay to a PersistentVolumeClaim. Caches and scratch space need nothing.",
	},
	{
		"no-liveness-probe", warns,
		"no container of a pod has a liveness probe: one that hangs after it moved is not restarted",
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
		"pods may take longer to terminate than a node's drain may take (strategy.drain.timeoutSeconds); the drain is then aborted",
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
