package preflight

import (
	"fmt"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

var otherChecks = []Entry{
	{
		"kured", warns,
		"kured is on the cluster: it would reboot the same nodes, under other windows",
		"Remove kured where every node gets Kubernetes as a sysext image: our coordinator reboots those that need it, if the UpgradePolicy allows that (type Reboot in spec.automatic). It never reboots other nodes: restrict kured to those (its DaemonSet's nodeSelector).",
	},
	{
		"kured-lock", blocks,
		"kured holds its lock: a node is being rebooted, or about to be",
		"Wait until kured has released its lock; then remove kured from nodes that get Kubernetes as a sysext image, as two programs would reboot the same ones.",
	},
	{
		"fluo", either,
		"FLUO (Flatcar Linux Update Operator) is on the cluster; while it runs it may reboot a node at any moment",
		"Remove FLUO, or pause it: kubectl annotate nodes --all flatcar-linux-update.v1.flatcar-linux.net/reboot-paused=true.",
	},
	{
		"reboot-manager", either,
		"another program may reboot nodes; this blocks while it may reboot one now",
		"Remove it, or pause it during the upgrade.",
	},
	{
		"sysupdate-timer", warns,
		"systemd-sysupdate's timer or service has a drop-in that is not ours: it may activate an image or ask for a reboot by itself",
		"Remove the drop-in on that node (systemctl cat systemd-sysupdate.service shows it), then systemctl daemon-reload.",
	},
	{
		"locksmithd", warns,
		"locksmithd is not masked: it may reboot a node whenever Flatcar was updated",
		"Mask it on that node: systemctl mask --now locksmithd.",
	},
	{
		"cluster-api", warns,
		"nodes are Machines of Cluster API, which knows nothing of this upgrade",
		"Pause their MachineHealthChecks for as long as the upgrade runs, and set the versions of KubeadmControlPlane and MachineDeployments as docs/capi.md says.",
	},
	{
		"unsupported", warns,
		"Kubernetes does not come to a node as a sysext image: it is not upgraded, and not counted",
		"Upgrade it in the way it was installed; within three minors of the apiservers it may wait.",
	},
}

// machineAnnotation is on the Node of a Machine of Cluster API.
// https://cluster-api.sigs.k8s.io/reference/labels_and_annotations
const machineAnnotation = "cluster.x-k8s.io/machine"

func (c *checker) checkOthers() {
	for _, m := range c.RebootManagers {
		c.checkManager(m)
	}
	var timers, locksmiths, machines []*node
	for _, n := range c.nodes {
		if _, is := n.Annotations[machineAnnotation]; is {
			machines = append(machines, n)
		}
		if n.facts == nil {
			continue
		}
		if len(n.facts.SysupdateTimerDropIns) > 0 {
			timers = append(timers, n)
		}
		if state := n.facts.Locksmithd; state != "" && state != "masked" {
			locksmiths = append(locksmiths, n)
		}
	}
	c.warnOfNodes("sysupdate-timer", timers, "systemd-sysupdate has drop-ins of its own on %[1]s: %[2]s.")
	c.warnOfNodes("locksmithd", locksmiths, "locksmithd is not masked on %[1]s: %[2]s.")
	c.warnOfNodes("cluster-api", machines, "Cluster API has Machines for %[1]s (%[2]s): KubeadmControlPlane and MachineDeployments keep their old version, and a MachineHealthCheck may replace a node that reboots.")
	c.warnOfNodes("unsupported", c.unsupported, "Kubernetes does not come as a sysext image to %[1]s, which are not upgraded: %[2]s.")
}

// ManagerCheck returns the id of the check that blocks while the program of that
// name may reboot nodes.
func ManagerCheck(name string) string {
	switch strings.ToLower(name) {
	case "kured":
		return "kured-lock"
	case "fluo":
		return "fluo"
	}
	return "reboot-manager"
}

// checkManager blocks while the program may reboot a node now, and warns otherwise.
func (c *checker) checkManager(m RebootManager) {
	level := v1alpha1.LevelWarn
	if m.Active {
		level = v1alpha1.LevelBlock
	}
	id := ManagerCheck(m.Name)
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
