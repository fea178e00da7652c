package preflight

import (
	"fmt"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// Facts are the whole input of the checks.
type Facts struct {
	Now time.Time
	// Upgrade is the one that is to begin, or that goes on.
	Upgrade v1alpha1.ClusterUpgrade

	// Policy is the spec of the UpgradePolicy.
	Policy v1alpha1.UpgradePolicySpec
	// Blocked is why the policy blocks the version. Nil: it does not.
	Blocked *v1alpha1.BlockedVersion

	Nodes        []corev1.Node
	NodeUpgrades []v1alpha1.NodeUpgrade
	Inventories  []v1alpha1.NodeInventory
	// SystemPods are the pods of kube-system, static ones among them. Those of controllers may be left
	// out.
	SystemPods []corev1.Pod
	// Offered are the architectures, as Kubernetes names them, for which the source
	// has an image of the version. Nil: that is not known.
	Offered []string
	// Replaced are images of the version that replaced others in the source.
	Replaced []v1alpha1.OfferedImage
	// RequestedAPIs are deprecated APIs that were called since each apiserver
	// started.
	RequestedAPIs []RequestedAPI

	// KubeletConfig is what kubeadm will configure kubelets with. Nil: it was not
	// read.
	KubeletConfig *KubeletConfig
	// KubeadmConfig is how kubeadm made the cluster. Nil: it was not read.
	KubeadmConfig *KubeadmConfig
	// KubeProxyRemoved and CoreDNSRemoved report whether kubeadm's addon is known not to be on the cluster.
	KubeProxyRemoved, CoreDNSRemoved bool
	// CoreDNS is what kubeadm reads of CoreDNS. Nil: it was not read.
	CoreDNS *CoreDNS
	// HealthJob is how the API server answered a trial of kubeadm's Job. Nil: it was not asked.
	HealthJob *Refusal

	// Schedules are the MaintenanceSchedules.
	Schedules []v1alpha1.MaintenanceSchedule
	// ServingRequests are the requests of kubelets for serving certificates that wait for an approval. Nil: they were not
	// read, as by the coordinator.
	ServingRequests []ServingRequest

	Workloads Workloads
	// RebootManagers are other programs that may reboot nodes.
	RebootManagers []clusterstate.RebootManager

	// GateRights are rights that the coordinator lacks for the policy's gates.
	GateRights []Lack
	// HookRights are what the coordinator lacks to start the policy's hooks.
	HookRights []Lack

	// Unread is what could not be read, one sentence each.
	Unread []string
}

// Lack is something that the coordinator lacks for a gate, which stays closed, or for a hook, which
// cannot be started.
type Lack struct {
	Message string // a sentence
	Advice  string // what to do, such as a command that grants a right
}

// ServingRequest is a CertificateSigningRequest of a kubelet for its serving certificate.
type ServingRequest struct{ Name, Node string }

// Workloads are what runs on the cluster.
type Workloads struct {
	Pods           []Pod
	Budgets        []policyv1.PodDisruptionBudget
	Deployments    []appsv1.Deployment
	EndpointSlices []discoveryv1.EndpointSlice
	Validating     []admissionregistrationv1.ValidatingWebhookConfiguration
	Mutating       []admissionregistrationv1.MutatingWebhookConfiguration
}

// RequestedAPI is a deprecated API that was called, from an apiserver's metric
// apiserver_requested_deprecated_apis.
type RequestedAPI struct {
	APIServer                                     string // the node it runs on
	Group, Version, Resource, Subresource, Remove string // Remove is the release that no longer serves it, such as 1.36
}

var factsChecks = []Entry{
	{
		"facts-missing", either,
		"a node's agent has not reported the facts that checks need, or does not run and reported more than an hour ago: blocks on a control plane, warns on workers",
		"Right after the installation, wait: kubectl -n kubectl-upgrade rollout status daemonset/node-agent. Otherwise look at the agent: kubectl -n kubectl-upgrade get pods -o wide, and its log.",
	},
	{
		"facts-incomplete", warns,
		"a node's agent could not determine a fact that a check needs, or understand a file",
		"Mend or move the file that it names, or read its agent's log: kubectl -n kubectl-upgrade logs.",
	},
	{
		v1alpha1.CheckRehearsal, either,
		"a node's next boot was tried on the node, with the node left as it is: it would not bring the node back as it should, and the node does not begin; or a part could not be tried, which holds nothing",
		"Remove the cause on that node; its agent tries again within a minute. What a rehearsal does and does not see: docs/node.md.",
	},
	{
		"static-pod-changes", warns,
		"a static pod of a control plane is not as kubeadm writes it, and the upgrade would change that: the pod, or ClusterConfiguration, was edited",
		"What is to stay belongs into extraArgs or extraVolumes of ClusterConfiguration: kubectl -n kube-system edit configmap kubeadm-config.",
	},
	{
		"node-clock", warns,
		"a node's clock differs by more than 30 seconds from the API server's: the node does not begin",
		"Set the clock on that node, and check why it was wrong: timedatectl status.",
	},
	{
		"unread", warns,
		"a part of the cluster could not be read, so that checks may have missed a problem",
		"Run the plan again; if a permission is missing, as a user who has it.",
	},
	{
		"ignore-unknown", warns,
		"spec.ignoreChecks names a check that does not exist",
		"Take an id from docs/checks.md.",
	},
}

// stale is the age from which the inventory of a node whose agent does not run no longer
// counts. A running agent writes the inventory only when it changes.
const stale = time.Hour

func (c *checker) checkFacts() {
	silent := map[string][]*node{}
	agents := c.agents()
	lacks, problems := map[string][]*node{}, map[string][]*node{}
	for _, n := range c.nodes {
		if n.isAway() {
			continue
		}
		old := n.facts != nil && c.Now.Sub(n.facts.GatheredTime.Time) > stale && !agents.run(n.name)
		switch {
		case n.facts != nil && !old:
			for _, what := range c.unknown(n) {
				lacks[what] = append(lacks[what], n)
			}
			if ahead := n.facts.ClockAheadSeconds; ahead != 0 {
				c.add(v1alpha1.Finding{ID: "node-clock", Object: n.object(), Message: fmt.Sprintf("The clock of %s is %s the API server's.", n.name, aheadOrBehind(ahead))})
			}
			c.checkRehearsal(n)
			for _, problem := range n.facts.Problems {
				problems[sentence(problem)] = append(problems[sentence(problem)], n)
			}
		case !n.controlPlane:
			silent[agents.state(n.name)] = append(silent[agents.state(n.name)], n)
		case old:
			c.onNode(n, v1alpha1.Finding{ID: "facts-missing",
				Message: fmt.Sprintf("The agent on control-plane node %s does not run, and has not reported since %s%s.",
					n.name, clusterstate.FormatTime(n.facts.GatheredTime.Time), agents.detail(n.name))})
		default:
			c.onNode(n, v1alpha1.Finding{ID: "facts-missing", Message: fmt.Sprintf("The agent on control-plane node %s has not reported%s.", n.name, agents.detail(n.name))})
		}
	}
	for state, nodes := range silent {
		c.warnOfNodes("facts-missing", nodes, "The agents of %[1]s have not reported%[3]s: %[2]s.", state)
	}
	for what, nodes := range lacks {
		c.warnOfNodes("facts-incomplete", nodes, "The agents of %[1]s could not determine %[3]s: %[2]s.", what)
	}
	for problem, nodes := range problems {
		c.warnOfNodes("facts-incomplete", nodes, "The agents of %[1]s reported a problem (%[2]s): %[3]s.", problem)
	}
	for _, what := range c.Unread {
		c.add(v1alpha1.Finding{ID: "unread", Message: what})
	}
	for _, check := range c.Upgrade.Spec.IgnoreChecks {
		if !Known(check.ID) {
			c.add(v1alpha1.Finding{ID: "ignore-unknown", Message: fmt.Sprintf("spec.ignoreChecks names %q, and there is no such check.", check.ID)})
		}
	}
}

// checkRehearsal adds what the trial of the boot that the upgrade brings, if it brings one, has found, and what could not
// be tried.
func (c *checker) checkRehearsal(n *node) {
	version := c.Upgrade.Spec.Version
	if version == "" {
		version = n.Node.Status.NodeInfo.KubeletVersion
	}
	rehearsal := n.facts.Rehearsed(version)
	if rehearsal == nil || !n.moves || c.renews {
		return
	}
	for i := range rehearsal.Problems {
		c.onNode(n, v1alpha1.Finding{ID: v1alpha1.CheckRehearsal, Message: fmt.Sprintf("%s: %s.", n.name, rules.RehearsalProblem(*rehearsal, i))})
	}
	for _, change := range rehearsal.Changes {
		c.add(v1alpha1.Finding{ID: "static-pod-changes", Object: n.object(), Message: fmt.Sprintf("The upgrade would change %s's %s.", n.name, change)})
	}
	for _, part := range rehearsal.Untried {
		c.add(v1alpha1.Finding{ID: v1alpha1.CheckRehearsal, Level: v1alpha1.LevelWarn, Object: n.object(),
			Message: fmt.Sprintf("A part of the next boot of %s could not be tried: %s.", n.name, strings.TrimSuffix(part, ".")),
			Advice:  "Nothing waits for it."})
	}
}

func aheadOrBehind(seconds int32) string {
	if seconds < 0 {
		return fmt.Sprintf("%s behind", time.Duration(-seconds)*time.Second)
	}
	return fmt.Sprintf("%s ahead of", time.Duration(seconds)*time.Second)
}

// agents are the agents' pods by node. Nil: pods could not be read.
type agents map[string]*Pod

// agents returns a Ready pod of each node, or one that is not.
func (c *checker) agents() agents {
	if c.Workloads.Pods == nil {
		return nil
	}
	on := agents{}
	for i := range c.Workloads.Pods {
		pod := &c.Workloads.Pods[i]
		if pod.Namespace == ownNamespace && pod.Labels[agentLabel] == agentComponent && (on[pod.Node] == nil || pod.Ready) {
			on[pod.Node] = pod
		}
	}
	return on
}

// run reports whether an agent runs on a node. If pods could not be read, it assumes that
// one does.
func (a agents) run(node string) bool {
	return a == nil || a[node] != nil && a[node].Ready
}

// state returns what is known of a node's agent, to follow "has not reported".
func (a agents) state(node string) string {
	switch {
	case a == nil:
		return ""
	case a[node] == nil:
		return " (no pod)"
	case a.run(node):
		return " (its pod is Ready)"
	}
	return " (its pod is not Ready)"
}

// detail returns the same with the pod, and since when it is not Ready.
func (a agents) detail(node string) string {
	if a == nil || a[node] == nil || a.run(node) {
		return a.state(node)
	}
	if since := a[node].ReadyChanged; !since.IsZero() {
		return fmt.Sprintf(" (pod %s has not been Ready since %s)", a[node].Name, clusterstate.FormatTime(since))
	}
	return fmt.Sprintf(" (pod %s is not Ready)", a[node].Name)
}

// The label of the agents' pods, as manifests/agent has it.
const (
	agentLabel     = "app.kubernetes.io/component"
	agentComponent = "node-agent"
)

// unknown returns the facts that a check needs and the agent did not report. etcd has a
// check of its own.
func (c *checker) unknown(n *node) []string {
	if !c.kubeadm || !n.moves {
		return nil
	}
	var list []string
	if len(n.facts.Disks) == 0 {
		list = append(list, "the free space on the disks")
	}
	if n.controlPlane && len(n.facts.Certificates) == 0 {
		list = append(list, "when certificates expire")
	}
	if c.to.Minor >= minorWithoutCgroup1 && n.facts.CgroupVersion == 0 {
		list = append(list, "the version of cgroups")
	}
	return list
}
