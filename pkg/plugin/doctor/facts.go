package doctor

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Facts are what a user can read of a cluster.
type Facts struct {
	Now time.Time
	// Plugin is the plugin's version, and Server the API server's.
	Plugin, Server string
	// Clock is by how much the API server's clock is ahead of this machine's. Nil: not known.
	Clock *time.Duration
	// NodeClocks are by how much the nodes' clocks are ahead of the API server's, by node. Nil:
	// not known.
	NodeClocks map[string]time.Duration
	// Rights are what the user may do.
	Rights []Right
	// Kinds are the project's, as the cluster knows them. Nil: not known.
	Kinds []Kind
	// Coordinator and Agents are the project's workloads. Nil: there is none, or it may not be read.
	Coordinator, Agents *Workload
	// CoordinatorProblem is why no coordinator leads. Empty: one does, or that is not known.
	CoordinatorProblem string
	// AgentProblems are why no agent runs on a node, by node.
	AgentProblems map[string]string
	Policy        *v1alpha1.UpgradePolicy
	Nodes         []corev1.Node
	NodeUpgrades  []v1alpha1.NodeUpgrade
	// SourceProblem is why the index of images could not be read from this machine.
	SourceProblem string
	// Findings are those of pkg/cluster/preflight for the upgrade that is being carried out, or for
	// one of type Reboot. Without agents, those
	// that need an agent's facts are left out.
	Findings []v1alpha1.Finding
	// Unread is what could not be read, one sentence each.
	Unread []string
}

// Installed reports whether the cluster has one of the project's kinds.
func (f Facts) Installed() bool {
	for _, k := range f.Kinds {
		if !k.Missing {
			return true
		}
	}
	return false
}

// Right is something that a user may want to do.
type Right struct {
	// What it is for, such as "request upgrades".
	For string
	// Needs is the verb and the resource, such as "create clusterupgrades".
	Needs   string
	Allowed bool
	// Needed reports whether the commands that only show need it.
	Needed bool
}

// Kind is one of the project's kinds.
type Kind struct {
	Name    string
	Missing bool
	// Unread reports whether the definition may not be read, so that Lacks is not known.
	Unread bool
	// Lacks are fields that this plugin knows, and the cluster's definition does not.
	Lacks []string
}

// Workload is a Deployment or DaemonSet of the project.
type Workload struct {
	Name           string
	Image          string
	Desired, Ready int32
}

// coordinatorVersion returns the version that the coordinator has reported. Empty: none has.
func (f Facts) coordinatorVersion() string {
	if f.Policy == nil {
		return ""
	}
	return f.Policy.Status.CoordinatorVersion
}
