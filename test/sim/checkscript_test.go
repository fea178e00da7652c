package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// ofPrograms are the faults of one program, and ofNodes those of one node. Of a fault that waits for a node to enter a
// step, that is the node.
var (
	ofPrograms = []string{"crash agent", "crash coordinator", "lose reply", "stall", "miss", "interleave"}
	ofNodes    = []string{
		"power cut", "manual reboot", "kubelet dies", "partition", "replace node", "delete node", "delete nodeupgrade", "cordon", "uncordon", "recordon",
		"cordon unseen", "clock", "image vanishes", "kubeadm record lost", "joined later", "odd extension", "containerd fails", "os update", "abandon", "go back", "condition", "hold", "lie",
		"request lost", "lose order", "touch reboot file", "remove reboot file", "verb fails", "drain blocked", "forge mark", "forge snapshot", "odd kubelet", "leave pool", "switch node",
		"request renewal", "renewal hangs", "renewal killed", "late part", "late taint",
	}
)

// problem returns why the fault would do nothing in the script; empty: it does something. A seed with such a fault
// passes, and shows nothing.
func (s script) problem(f fault) string {
	isNode := func(name string) bool { return slices.Contains(s.nodes(), name) }
	isProgram := func(name string) bool {
		node, isAgent := strings.CutPrefix(name, "agent ")
		return name == "coordinator" || name == "second coordinator" || isAgent && isNode(node)
	}
	_, isVerb := verb.Lookup(verb.Verb(f.Other))
	switch {
	case slices.Contains(ofPrograms, f.Kind) && !isProgram(f.Who):
		return fmt.Sprintf("%q is no program", f.Who)
	case f.Kind == "interleave" && !isProgram(f.Other):
		return fmt.Sprintf("%q is no program", f.Other)
	case slices.Contains(ofNodes, f.Kind) && !isNode(f.Who) && (f.Who != "" || f.Step == ""):
		return fmt.Sprintf("%q is no node", f.Who)
	case f.Kind == "power cut" && f.Other != "" && !isNode(f.Other):
		return fmt.Sprintf("%q is no node", f.Other)
	case f.Kind == "verb fails" && !isVerb:
		return fmt.Sprintf("%q is no verb", f.Other)
	}
	return ""
}

// checkScript checks that no fault of the script would be ignored.
func (w *world) checkScript() {
	for _, f := range w.script.Faults {
		if why := w.script.problem(f); why != "" {
			w.broken("script", "the fault %q would do nothing: %s", strings.TrimSpace(f.String()), why)
		}
	}
}

// TestFaultsWithoutTarget checks that a script fails whose fault names nothing that the cluster has.
func TestFaultsWithoutTarget(t *testing.T) {
	for name, f := range map[string]fault{
		"a program":            {Kind: "stall", Who: "w1"},
		"a program at a step":  {Kind: "crash agent", Step: "Locking"},
		"an agent":             {Kind: "miss", Who: "agent w3"},
		"another program":      {Kind: "interleave", Who: "coordinator", Other: "w1"},
		"a node":               {Kind: "hold", Who: "w3"},
		"a node at no step":    {Kind: "hold"},
		"a verb":               {Kind: "verb fails", Who: "w1", Other: "reboot"},
		"a fault":              {Kind: "nothing", Who: "w1"},
		"a fault of a program": {Kind: "nothing", Who: "agent w1"},
	} {
		s := plain()
		s.Faults = []fault{f}
		if got := simulate(t, s, false).failure; !strings.HasPrefix(got, "script: ") {
			t.Errorf("%s: %q, want that the script is wrong", name, got)
		}
	}
}

// TestScripts checks that no fault of a seed would do nothing.
func TestScripts(t *testing.T) {
	for seed := range uint64(5000) {
		s := newScript(seed)
		for _, f := range s.Faults {
			if why := s.problem(f); why != "" {
				t.Errorf("seed %d: %s: %s", seed, f, why)
			}
		}
	}
}
