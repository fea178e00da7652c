package preflight

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

var otherChecks = []Entry{
	{
		"kured", warns,
		"kured is on the cluster: it would reboot the same nodes, in its own window",
		"Change over: kubectl upgrade migrate kured shows what its settings become, and does it with --apply. Or by hand: add {type: Reboot} to spec.automatic of the UpgradePolicy, so that the coordinator reboots nodes whose operating system asks for it; then remove kured.",
	},
	{
		"kured-lock", blocks,
		"kured holds its lock: a node is being rebooted, or about to be",
		"Wait until kured frees its lock (the annotation weave.works/kured-node-lock of its DaemonSet); then remove kured.",
	},
	{
		"fluo", either,
		"FLUO (Flatcar Linux Update Operator) is on the cluster; while it runs it may reboot a node at any moment",
		"Change over with kubectl upgrade migrate fluo, remove FLUO, or pause it: kubectl annotate nodes --all flatcar-linux-update.v1.flatcar-linux.net/reboot-paused=true.",
	},
	{
		"reboot-manager", either,
		"another program may reboot nodes; this blocks while it may reboot one now",
		"Remove it, or pause it during the upgrade.",
	},
	{
		"sysupdate-timer", warns,
		"a unit of systemd-sysupdate has a drop-in, runs although its former name is masked, or merges system extensions anew: it may activate or merge an image, or request a reboot",
		"On that node, remove the drop-in (systemctl cat systemd-sysupdate.service shows it), then systemctl daemon-reload; mask both names: systemctl mask --now systemd-sysupdate.timer systemd-sysupdate-update.timer; disable the socket: systemctl disable --now systemd-sysupdate-notify-sysext.socket.",
	},
	{
		"sysupdate-conflict", either,
		"the transfer definitions in /etc/sysupdate.kubernetes.d are for more than one minor, or invalid: nothing is staged, and systemd-sysupdate may activate another minor, which the agent reverts afterwards. For a Reboot this warns",
		"Leave the one for the minor that runs on that node (docs/images.md has one).",
	},
	{
		"locksmithd", warns,
		"locksmithd is not masked: it may reboot a node after an update of Flatcar",
		"Mask it on that node: systemctl mask --now locksmithd.",
	},
	{
		"cluster-api", warns,
		"nodes are Machines of Cluster API, which does not know about this upgrade; or it decides on versions, and has no Machine for a node",
		"Where Cluster API decides (versionsFrom of the UpgradePolicy), it never asks for a node without a Machine. Elsewhere pause the MachineHealthChecks during the upgrade, and set the versions of KubeadmControlPlane and MachineDeployments as docs/capi.md says.",
	},
	{
		"gate-rights", warns,
		"the coordinator may not read what a gate of the UpgradePolicy asks: the gate stays closed",
		"Grant the right as docs/gates.md shows.",
	},
	{
		"hook-rights", warns,
		"a hook of the UpgradePolicy cannot be started: its CronJob is missing or not suspended, or the coordinator may not start it",
		"See the section Hooks of docs/gates.md.",
	},
	{
		"soft-reboot", warns,
		"the method is SoftReboot, and a node reboots instead: it cannot soft-reboot, or its operating system asks for a reboot",
		"Nothing has to be done, but such a node takes as long as its firmware and kernel do. A soft reboot takes systemd 256 or later.",
	},
	{
		"unsupported", warns,
		"Kubernetes does not come to a node as a sysext image: no upgrade changes its version or counts it",
		"Upgrade Kubernetes there as it was installed, before its kubelet is more than three minors older than the apiservers. Upgrades of type Reboot reboot the node like any other.",
	},
}

// MachineAnnotation is on the Node of a Machine of Cluster API.
// https://cluster-api.sigs.k8s.io/reference/labels_and_annotations
const MachineAnnotation = "cluster.x-k8s.io/machine"

func (c *checker) checkOthers() {
	for _, m := range c.RebootManagers {
		c.checkManager(m)
	}
	for id, lacks := range map[string][]Lack{"gate-rights": c.GateRights, "hook-rights": c.HookRights} {
		for _, lack := range lacks {
			c.add(v1alpha1.Finding{ID: id, Object: v1alpha1.ObjectReference{Kind: "UpgradePolicy", Name: v1alpha1.PolicyName}, Message: lack.Message, Advice: lack.Advice})
		}
	}
	var locksmiths, machines, others, refreshed []*node
	unmasked := map[string][]*node{}
	dropIns := map[string][]*node{}
	for _, n := range c.nodes {
		if _, is := n.Annotations[MachineAnnotation]; is {
			machines = append(machines, n)
		} else {
			others = append(others, n)
		}
		if n.facts == nil {
			continue
		}
		if paths := strings.Join(n.facts.SysupdateTimerDropIns, ", "); paths != "" && !n.status.LacksImage() {
			dropIns[paths] = append(dropIns[paths], n)
		}
		if timer := n.facts.SysupdateTimerUnmasked; timer != "" {
			unmasked[timer] = append(unmasked[timer], n)
		}
		if n.facts.SysextRefreshSocket == "enabled" && !n.status.LacksImage() {
			refreshed = append(refreshed, n)
		}
		c.checkDefinitions(n)
		if state := n.facts.Locksmithd; state != "" && state != "masked" {
			locksmiths = append(locksmiths, n)
		}
	}
	for why, nodes := range c.rebootInsteadOfSoft() {
		c.warnOfNodes("soft-reboot", nodes, "%[1]s will reboot instead of soft-rebooting (%[2]s): %[3]s.", why)
	}
	for paths, nodes := range dropIns {
		c.warnOfNodes("sysupdate-timer", nodes, "systemd-sysupdate.service or .timer has drop-ins that kubectl-upgrade did not write, on %[1]s (%[2]s): %[3]s.", paths)
	}
	for timer, nodes := range unmasked {
		c.warnOfNodes("sysupdate-timer", nodes, "systemd-sysupdate.timer is masked on %[1]s, and its present name, %[3]s, is not: it runs there: %[2]s.", timer)
	}
	c.warnOfNodes("sysupdate-timer", refreshed, "systemd-sysupdate-notify-sysext.socket is enabled on %[1]s: each run of systemd-sysupdate merges all system extensions anew, also in the middle of an upgrade: %[2]s.")
	c.warnOfNodes("locksmithd", locksmiths, "locksmithd is not masked on %[1]s: %[2]s.")
	if c.Policy.VersionsFrom == v1alpha1.VersionsFromClusterAPI && c.kubeadm {
		c.warnOfNodes("cluster-api", others, "Cluster API decides on versions, and never asks for %[1]s without a Machine (%[2]s).")
	} else {
		c.warnOfNodes("cluster-api", machines, "Cluster API has Machines for %[1]s (%[2]s): KubeadmControlPlane and MachineDeployments keep their old version, and a MachineHealthCheck may replace a node that reboots.")
	}
	if c.kubeadm {
		c.warnOfNodes("unsupported", c.unsupported, "Kubernetes is not installed as a sysext image on %[1]s, and is not upgraded there: %[2]s.")
	}
}

// checkDefinitions checks that the node's definitions are clear. A Reboot stages nothing.
func (c *checker) checkDefinitions(n *node) {
	if n.facts.DefinitionsProblem == "" || n.status.LacksImage() {
		return
	}
	f := v1alpha1.Finding{
		ID: "sysupdate-conflict", Level: v1alpha1.LevelWarn, Object: n.object(),
		Message: fmt.Sprintf("Node %s: %s.", n.name, strings.TrimSuffix(n.facts.DefinitionsProblem, ".")),
	}
	if !c.kubeadm {
		c.add(f)
		return
	}
	f.Level = v1alpha1.LevelBlock
	c.onNode(n, f)
}

// rebootInsteadOfSoft returns the nodes that will reboot although the method is SoftReboot,
// by why.
func (c *checker) rebootInsteadOfSoft() map[string][]*node {
	if c.strategy.Method != v1alpha1.MethodSoftReboot || !c.kubeadm && !c.back {
		return nil
	}
	nodes := map[string][]*node{}
	for _, n := range c.nodes {
		next := n.status.Versions.NextBoot
		h := clusterstate.MethodHost{
			RebootRequired: n.status.Reboot.Required && (next == "" || next == n.status.Versions.Kubelet),
			RebootReason:   n.status.Reboot.Message,
		}
		if n.facts != nil {
			h.SoftRebootBlocker = n.facts.SoftRebootBlocker.Text()
		}
		_, why := clusterstate.MethodOf(c.strategy.Method, v1alpha1.TypePatch, n.kubelet.String(), c.to.String(), h)
		if n.moves && why != "" {
			nodes[why] = append(nodes[why], n)
		}
	}
	return nodes
}

// rebootsManaged reports whether the program runs on a managed node, or may do so.
func (c *checker) rebootsManaged(m clusterstate.RebootManager) bool {
	var runs []string
	for _, pod := range c.Workloads.Pods {
		if pod.Owner == "DaemonSet/"+m.DaemonSet && pod.Node != "" {
			runs = append(runs, pod.Node)
		}
	}
	return c.anyManaged(runs)
}

// anyManaged reports whether one of the nodes is managed, or none is known.
func (c *checker) anyManaged(names []string) bool {
	return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool {
		i := slices.IndexFunc(c.all, func(n *node) bool { return n.name == name })
		return i < 0 || c.managed.Matches(labels.Set(c.all[i].Labels))
	})
}

// checkManager blocks while the program may reboot a managed node now, and warns if it may
// do so later.
func (c *checker) checkManager(m clusterstate.RebootManager) {
	if m.Active = m.Active && c.anyManaged(m.Nodes); !m.Active && !c.rebootsManaged(m) {
		return
	}
	level := v1alpha1.LevelWarn
	if m.Active {
		level = v1alpha1.LevelBlock
	}
	id := rules.ManagerCheck(m.Name)
	if id == "kured-lock" && !m.Active {
		id = "kured"
	}
	f := v1alpha1.Finding{ID: id, Level: level, Object: v1alpha1.ObjectReference{Kind: "RebootManager", Name: m.Name}, Message: capital(sentence(m.Message)) + "."}
	if m.Message == "" {
		f.Message = fmt.Sprintf("%s is on the cluster, and reboots nodes.", m.Name)
	}
	c.add(f)
}

// capital returns the sentence with a capital first letter, except where it begins
// with kured's name.
func capital(s string) string {
	if strings.HasPrefix(s, "kured") || s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
