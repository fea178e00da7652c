package doctor

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Level of a line.
type Level string

// The levels.
const (
	OK      Level = "ok"
	Unknown Level = "unknown" // it cannot be known without a right, or before the installation
	Warn    Level = "warn"    // it works, and a person should know
	Fail    Level = "fail"    // no node can be upgraded
)

// Line is the answer to one question.
type Line struct {
	Check   string `json:"check"`
	Level   Level  `json:"level"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

// Diagnosis is what `kubectl upgrade doctor -o yaml` prints.
type Diagnosis struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Time       time.Time `json:"time"`
	// Verdict is the worst level: ok, warn or fail.
	Verdict Level     `json:"verdict"`
	Cluster Cluster   `json:"cluster"`
	Checks  []Line    `json:"checks"`
	Nodes   []Machine `json:"nodes"`
}

// Cluster is which versions run where.
type Cluster struct {
	Plugin      string         `json:"plugin"`
	APIServer   string         `json:"apiServer,omitempty"`
	Coordinator string         `json:"coordinator,omitempty"`
	Agents      map[string]int `json:"agents,omitempty"` // nodes by the version of their agents
	Mode        string         `json:"mode,omitempty"`
	Source      string         `json:"source,omitempty"`
}

// Machine counts nodes that are alike.
type Machine struct {
	Count            int    `json:"count"`
	Role             string `json:"role"`
	Kubelet          string `json:"kubelet"`
	OS               string `json:"os"`
	Kernel           string `json:"kernel"`
	Architecture     string `json:"architecture"`
	ContainerRuntime string `json:"containerRuntime"`
}

// Check returns the diagnosis.
func Check(f Facts) Diagnosis {
	d := Diagnosis{APIVersion: v1alpha1.OutputVersion, Kind: "UpgradeDiagnosis",
		Time: f.Now.UTC().Truncate(time.Second), Verdict: OK, Cluster: f.cluster(), Nodes: f.machines()}
	for _, check := range []func(Facts) []Line{
		apiServer, installation, kinds, coordinator, agents, versions, timeZones, objects, policy, clusterAPI, upgrade, windows, imageSource, rights, admission, nodes, clocks, findings, certificates, unread,
	} {
		for _, line := range check(f) {
			line.Message, line.Fix = redact(sentence(line.Message)), redact(sentence(line.Fix))
			d.Checks = append(d.Checks, line)
		}
	}
	for _, line := range d.Checks {
		if rank(line.Level) > rank(d.Verdict) && line.Level != Unknown {
			d.Verdict = line.Level
		}
	}
	return d
}

func rank(l Level) int { return slices.Index([]Level{OK, Unknown, Warn, Fail}, l) }

// sentence returns the text with a capital first letter and no stop at the end.
func sentence(text string) string {
	text = strings.TrimSuffix(text, ".")
	first, _, _ := strings.Cut(text, " ")
	if text == "" || strings.ContainsAny(first, "-./") || first == "kured" {
		return text
	}
	return string(unicode.ToUpper(rune(text[0]))) + text[1:]
}

func (f Facts) cluster() Cluster {
	c := Cluster{Plugin: f.Plugin, APIServer: f.Server, Coordinator: f.coordinatorVersion()}
	for _, n := range f.NodeUpgrades {
		if v := n.Status.AgentVersion; v != "" {
			if c.Agents == nil {
				c.Agents = map[string]int{}
			}
			c.Agents[v]++
		}
	}
	if f.Policy != nil {
		c.Mode, c.Source = string(f.Policy.Spec.Mode), redact(f.Policy.Spec.Source.URL)
	}
	return c
}

// machines counts the nodes, the most frequent first.
func (f Facts) machines() []Machine {
	counts := map[Machine]int{}
	for _, n := range f.Nodes {
		info, role := n.Status.NodeInfo, "worker"
		if _, is := n.Labels["node-role.kubernetes.io/control-plane"]; is {
			role = "control-plane"
		}
		counts[Machine{0, role, info.KubeletVersion, info.OSImage, info.KernelVersion, info.Architecture, info.ContainerRuntimeVersion}]++
	}
	machines := []Machine{}
	for m, count := range counts {
		m.Count = count
		machines = append(machines, m)
	}
	slices.SortFunc(machines, func(a, b Machine) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Role, b.Role), cmp.Compare(a.Kubelet, b.Kubelet), cmp.Compare(a.OS, b.OS),
			cmp.Compare(a.Kernel, b.Kernel), cmp.Compare(a.Architecture, b.Architecture), cmp.Compare(a.ContainerRuntime, b.ContainerRuntime))
	})
	return machines
}

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
	// Writes are what the API server was asked to take, by dry runs. Nil: nothing was tried.
	Writes []Write
	// Kinds are the project's, as the cluster knows them. Nil: not known.
	Kinds []Kind
	// Coordinator and Agents are the project's workloads. Nil: there is none, or it may not be read.
	Coordinator, Agents *Workload
	// CoordinatorProblem is why no coordinator leads. Empty: one does, or that is not known.
	CoordinatorProblem string
	// AgentProblems are why no agent runs on a node, by node.
	AgentProblems map[string]string
	Policy        *v1alpha1.UpgradePolicy
	// Schedules are those in the cluster. Nil: they may not be read.
	Schedules []v1alpha1.MaintenanceSchedule
	// Upgrades are those that have not ended, and LastUpgrade the one that ended last. Nil: none has.
	Upgrades     []v1alpha1.ClusterUpgrade
	LastUpgrade  *v1alpha1.ClusterUpgrade
	Nodes        []corev1.Node
	NodeUpgrades []v1alpha1.NodeUpgrade
	Inventories  []v1alpha1.NodeInventory
	// SourceProblem is why the index of images could not be read from this machine.
	SourceProblem string
	// Findings are those of pkg/cluster/preflight for the upgrade that is being carried out, or for
	// one of type Reboot of every node. Without agents, those that need an agent's facts are left out.
	Findings []v1alpha1.Finding
	// CheckedVersion is the version of that upgrade. Empty: the checks that depend on one were not made.
	CheckedVersion string
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

// Write is something that the coordinator, the agents or the controllers of their pods write.
type Write struct {
	What string // such as "cordons"
	// Refusal is what admission said. Empty: it would be taken.
	Refusal string
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

var (
	// userInfo is the user and password of an address.
	userInfo = regexp.MustCompile(`://[^/\s@"']+@`)
	// query is what follows the path of an address: a token, often.
	query = regexp.MustCompile(`(://[^\s"'?#]+)[?#][^\s"']+`)
	// bearer is a token in a header, or an assignment to a name that says so.
	bearer = regexp.MustCompile(`(?i)((?:bearer|basic|token|password|passwd|secret|api-?key)["']?\s*[ =:]\s*["']?)[^\s"',;]{6,}`)
)

// redact removes what may be a password or a token.
func redact(text string) string {
	text = userInfo.ReplaceAllString(text, "://(removed)@")
	text = query.ReplaceAllString(text, "$1?(removed)")
	return bearer.ReplaceAllString(text, "$1(removed)")
}
