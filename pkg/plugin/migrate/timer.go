package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Timer is what is known of nodes that update by systemd-sysupdate.timer alone.
type Timer struct {
	// Nodes are the names of all nodes that run Linux.
	Nodes        []string
	NodeUpgrades []v1alpha1.NodeUpgrade
	Inventories  []v1alpha1.NodeInventory
}

// FromTimer returns what changes for these nodes.
func FromTimer(in Timer) Result {
	r := Result{Program: "timer"}
	r.Policy.Automatic = []v1alpha1.AutomaticUpgrade{{Type: v1alpha1.TypePatch}}
	r.Rows = []Row{
		{Setting: "systemd-sysupdate.timer", Value: "downloads patches, moves the symlink", Matters: true, Meaning: Same, Becomes: "automatic: [{type: Patch}]", Note: "leave the timer enabled if it updates other images: on a managed node it activates no image of Kubernetes"},
		{Setting: "the reboot", Value: "whenever a node reboots", Matters: true, Meaning: Nearest, Becomes: "a MaintenanceSchedule", Note: "nodes are drained and rebooted one at a time, in its windows; without one nothing begins"},
		{Setting: "a node that does not come back", Value: "stays as it is", Matters: true, Meaning: Nearest, Becomes: "the guard", Note: "it returns the node to the former version, and no other node begins"},
		{Setting: "kubeadm", Value: "by hand", Matters: true, Meaning: Same, Becomes: "pass 1 and pass 2", Note: "the agents run kubeadm upgrade apply and kubeadm upgrade node"},
		{Setting: "another minor", Value: "another definition, by hand", Matters: true, Meaning: Same, Becomes: "kubectl upgrade apply v1.35", Note: "the agent changes the definition when it activates the image"},
	}
	r.timerNodes(in)
	r.timerInventories(in)
	r.note("the timer knows no window, so there is no MaintenanceSchedule to derive: write one (docs/schedules.md), or nothing begins")
	return r
}

// timerNodes adds what the agents report of their nodes.
func (r *Result) timerNodes(in Timer) {
	reported := map[string]bool{}
	var moved, unsupported []string
	for _, n := range in.NodeUpgrades {
		v := n.Status.Versions
		reported[n.Name] = v.Kubelet != ""
		switch {
		case n.Status.ImageProblem != nil:
			unsupported = append(unsupported, n.Name)
		case v.NextBoot != "" && v.Kubelet != "" && v.NextBoot != v.Kubelet:
			moved = append(moved, fmt.Sprintf("%s (runs %s, next boot %s)", n.Name, v.Kubelet, v.NextBoot))
		}
	}
	silent := slices.DeleteFunc(slices.Clone(in.Nodes), func(name string) bool { return reported[name] })
	r.found("nodes without a report", silent, "what is on them is not known until an agent runs there (docs/install.md)")
	r.found("symlink moved already", moved, "the agent moves it back when it takes the node over; the image is activated when it is the node's turn")
	r.found("nodes without a sysext image", unsupported, "no version is changed there; Reboots are coordinated")
}

// timerInventories adds the drop-ins, and locksmithd.
func (r *Result) timerInventories(in Timer) {
	dropIns := map[string][]string{}
	var locksmiths, unmasked []string
	for _, n := range in.Inventories {
		for _, path := range n.SysupdateTimerDropIns {
			dropIns[path] = append(dropIns[path], n.Name)
		}
		if n.SysupdateTimerUnmasked != "" {
			unmasked = append(unmasked, n.Name)
		}
		if n.Locksmithd != "" && n.Locksmithd != "masked" {
			locksmiths = append(locksmiths, n.Name)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(dropIns)) {
		r.found("drop-in "+path, dropIns[path], "remove its lines about Kubernetes and /run/reboot-required on the nodes, and in the Butane config (docs/migrate.md)")
	}
	r.found("systemd-sysupdate.timer is masked, and systemd-sysupdate-update.timer is not", unmasked, "since systemd 262 the second is the timer's name: systemctl mask --now systemd-sysupdate-update.timer")
	r.found("locksmithd is not masked", locksmiths, "it reboots nodes by itself: systemctl mask --now locksmithd")
}

// found adds a row about these nodes, if there are any.
func (r *Result) found(setting string, nodes []string, note string) {
	if len(nodes) == 0 {
		return
	}
	const most = 5
	value := strings.Join(nodes[:min(most, len(nodes))], ", ")
	if more := len(nodes) - most; more > 0 {
		value += fmt.Sprintf(" and %d more", more)
	}
	r.Rows = append(r.Rows, Row{Setting: setting, Value: value, Set: true, Meaning: None, Note: note})
}
