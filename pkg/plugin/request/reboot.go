package request

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// reboot makes a Reboot of u. Its name is not that of an automatic one, of which there is one a day.
func (r Upgrade) reboot(s clusterstate.Snapshot, u *v1alpha1.ClusterUpgrade, at time.Time) (err error) {
	u.Name = unusedName(s.Upgrades, "reboot-"+at.UTC().Format("20060102-1504"))
	u.Spec.Type = v1alpha1.TypeReboot
	if r.Force {
		u.Spec.RebootPolicy = v1alpha1.RebootAlways
	}
	u.Spec.NodeSelector, err = r.selector(s)
	return err
}

// asking returns a note that says which of the named nodes ask for a reboot. It refuses names that no
// Reboot can reboot.
func (r Upgrade) asking(s clusterstate.Snapshot) (note string, err error) {
	if _, err := r.selector(s); err != nil {
		return "", err
	}
	var asking, silent, problems []string
	for _, name := range slices.Compact(slices.Sorted(slices.Values(r.Nodes))) {
		n := s.Nodes[slices.IndexFunc(s.Nodes, func(n clusterstate.Node) bool { return n.Name == name })]
		problem := notManaged(s, n)
		switch {
		case problem != "":
			problems = append(problems, problem)
		case !asksForReboot(s, name):
			silent = append(silent, name)
		default:
			asking = append(asking, name)
		}
	}
	if len(problems) > 0 {
		return "", errors.New(strings.Join(problems, "; "))
	}
	return r.askingNote(asking, silent), nil
}

// askingNote returns a sentence about the nodes that ask for a reboot, and one about those that do not. If none asks,
// and none is rebooted all the same, idleReboot says so.
func (r Upgrade) askingNote(asking, silent []string) string {
	var notes []string
	switch len(asking) {
	case 0:
	case 1:
		notes = append(notes, "Node "+asking[0]+" asks for a reboot.")
	default:
		notes = append(notes, "Nodes "+strings.Join(asking, ", ")+" ask for a reboot.")
	}
	what, outcome := "one", "rebooted all the same"
	if len(asking) == 0 {
		what = "a reboot"
	}
	if !r.Force {
		outcome = "rebooted only if that has changed when agents look again, or with --force"
	}
	switch {
	case len(silent) == 0, len(asking) == 0 && !r.Force:
	case len(silent) == 1:
		notes = append(notes, "Node "+silent[0]+" does not ask for "+what+", and is "+outcome+".")
	default:
		notes = append(notes, "Nodes "+strings.Join(silent, ", ")+" do not ask for "+what+", and are "+outcome+".")
	}
	return strings.Join(notes, " ")
}

// asksForReboot reports whether the node's operating system asked for a reboot when its agent last looked.
func asksForReboot(s clusterstate.Snapshot, name string) bool {
	return slices.ContainsFunc(s.NodeUpgrades, func(u v1alpha1.NodeUpgrade) bool { return u.Name == name && u.Status.Reboot.Required })
}

// idleReboot returns why a Reboot has nothing to do, and what reboots nodes all the same.
func idleReboot(decided plan.Plan, u *v1alpha1.ClusterUpgrade) string {
	var names []string
	for _, n := range decided.Nodes {
		if n.Reason != v1alpha1.ReasonNotSelected && n.Reason != v1alpha1.ReasonUnmanaged {
			names = append(names, n.Name)
		}
	}
	switch {
	case u.Spec.NodeSelector == nil:
		return "no node asks for a reboot; `kubectl upgrade reboot NODE --force` reboots one all the same"
	case len(names) == 1:
		return fmt.Sprintf("node %s does not ask for a reboot; --force reboots it all the same", names[0])
	}
	return fmt.Sprintf("none of %s asks for a reboot; --force reboots them all the same", strings.Join(names, ", "))
}
