package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// arch is the architecture of the nodes: that of this machine, as agents name their images
// by it.
var arch = host.Architecture()

// script is a cluster, an upgrade, and what happens to them. It is made from a seed, and
// shrunk by leaving things out.
type script struct {
	Seed                   uint64
	NoNoise                bool // every delay is the shortest
	ControlPlanes, Workers int
	Budget, MaxFailures    int
	Pods                   int
	From, To               string
	Restart, SoftReboot    bool // the method
	Snapshot               bool
	Reboot                 bool // the upgrade is of type Reboot
	Always                 bool // it reboots nodes whether they ask or not, and none asks
	Settle, MinReady       int  // in seconds
	Guard, Drain           int
	Groups                 bool
	GroupLimit             int               // of group a; 0: none
	Approvals              bool              // the upgrade and its group a need one
	Gates                  bool              // the UpgradePolicy has gates
	Hooks                  bool              // the UpgradePolicy has hooks
	NodeHooks              bool              // those of nodes alone
	ClusterAPIDecides      bool              // Cluster API decides on versions
	HooksContinue          int               // those of newHooks that hold no node after they have failed, a bit for each
	Automatic              bool              // the UpgradePolicy has automatic patches and Reboots
	Broken                 map[string]string // node to what is wrong with the new image on it
	Soft                   map[string]string // node to what is wrong with its soft reboots
	Certificates           certificatesOf    // of control planes
	Packages               []string          // nodes whose Kubernetes comes from packages, not from an image
	Unmanaged              []string          // workers that the UpgradePolicy does not select
	Opens, Closes          time.Duration     // the window
	Lasts                  time.Duration     // until the faults are over
	Lag                    time.Duration     // how old lists are at least that may be old
	Faults                 []fault
	Follows                *follows // in a chain; without a leader in the first cluster
}

// fault is one thing that happens.
type fault struct {
	At     time.Duration
	Kind   string
	Who    string        // a node, an agent, or a coordinator
	For    time.Duration // how long it lasts
	Number int           // how many requests or writes pass before
	After  bool          // the request still has its effect
	// Step delays the fault until a node enters that step after At. A fault of a node or an
	// agent is then one of that node.
	Step  v1alpha1.Step
	Other string
}

// clusterWide are the faults that concern neither one node nor one program.
var clusterWide = []string{
	"stop coordinator", "second coordinator", "api down", "delete lease", "clear lease", "garble lease", "unlabel lease",
	"delete upgrade", "recreate upgrade", "close window", "freeze", "invalid schedule", "suspend", "republish", "finding", "observe",
	"publish", "request patch", "request reboot", "retry", "approve", "join", "budget", "edit strategy", "edit source", "delete policy", "remove gates", "remove hooks", "lose jobs", "delete cron job",
	"odd jobs", "set coordinators' clock", "delete renewals", "freeze versions", "freeze certificates", "meet renewal",
}

func (f fault) String() string {
	text := fmt.Sprintf("%9s  %s", f.At.Round(10*time.Millisecond), f.Kind)
	if f.Kind == "crash agent" {
		text += strings.TrimPrefix(f.Who, "agent")
	} else if !slices.Contains(clusterWide, f.Kind) && f.Kind != "crash coordinator" {
		text += " " + f.Who
	}
	if f.Kind == "interleave" || f.Kind == "verb fails" || f.Kind == "edit lease" || f.Kind == "lie" || f.Kind == "request lost" || f.Kind == "meet renewal" {
		text += " " + f.Other
	}
	if f.For > 0 {
		text += fmt.Sprintf(" for %s", f.For)
	}
	if f.Number > 0 {
		text += fmt.Sprintf(" after %d", f.Number)
	}
	if f.After {
		text += " (with effect)"
	}
	if f.Step != "" {
		text += fmt.Sprintf(" (when a node enters %s)", f.Step)
	}
	return text
}

func (s script) has(kind string) bool {
	return slices.ContainsFunc(s.Faults, func(f fault) bool { return f.Kind == kind || f.Kind == "meet renewal" && f.Other == kind })
}

func (s script) String() string {
	lines := []string{fmt.Sprintf("seed %d: %d control planes, %d workers, %s to %s, budget %d, maxFailures %d, restart %t, soft reboot %t %v, snapshot %t, reboot %t (always %t), settle %ds, minReady %ds, guard %ds, groups %t, group limit %d, approvals %t, automatic %t, gates %t, hooks %t (continue %05b, of nodes alone %t), by request %t, window from %s to %s, broken images %v, certificates %v, packages on %v, unmanaged %v, no noise %t",
		s.Seed, s.ControlPlanes, s.Workers, s.From, s.To, s.Budget, s.MaxFailures, s.Restart, s.SoftReboot, s.Soft, s.Snapshot, s.Reboot, s.Always, s.Settle, s.MinReady, s.Guard, s.Groups, s.GroupLimit, s.Approvals, s.Automatic, s.Gates, s.Hooks, s.HooksContinue, s.NodeHooks, s.ClusterAPIDecides, s.Opens, s.Closes, s.Broken, s.Certificates, s.Packages, s.Unmanaged, s.NoNoise)}
	for _, f := range s.Faults {
		lines = append(lines, f.String())
	}
	return strings.Join(lines, "\n")
}

func (s script) nodes() []string {
	var names []string
	for i := range s.ControlPlanes {
		names = append(names, fmt.Sprintf("cp%d", i+1))
	}
	for i := range s.Workers {
		names = append(names, fmt.Sprintf("w%d", i+1))
	}
	return names
}
