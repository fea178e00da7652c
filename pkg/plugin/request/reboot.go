package request

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// reboot makes a Reboot of u. Its name is not that of an automatic one, of which there is one a day.
func (r Upgrade) reboot(s clusterstate.Snapshot, u *v1alpha1.ClusterUpgrade, at time.Time) (err error) {
	u.Name = unusedName(s.Upgrades, "reboot-"+at.UTC().Format("20060102-1504"))
	u.Spec.Type = v1alpha1.TypeReboot
	u.Spec.NodeSelector, err = r.selector(s)
	return err
}

// asking returns a note about the named nodes that do not ask for a reboot. It refuses names that no
// Reboot can reboot.
func (r Upgrade) asking(s clusterstate.Snapshot) (note string, err error) {
	if _, err := r.selector(s); err != nil {
		return "", err
	}
	var silent, problems []string
	for _, name := range slices.Compact(slices.Sorted(slices.Values(r.Nodes))) {
		n := s.Nodes[slices.IndexFunc(s.Nodes, func(n clusterstate.Node) bool { return n.Name == name })]
		_, held := n.Labels[v1alpha1.HoldLabel]
		switch {
		case !policySelector(s).Matches(labels.Set(n.Labels)):
			problems = append(problems, "node "+name+" is not managed: the UpgradePolicy's nodeSelector does not match it")
		case held:
			problems = append(problems, fmt.Sprintf("node %s is on hold: `kubectl label node %s %s-` first", name, name, v1alpha1.HoldLabel))
		case !asksForReboot(s, name):
			silent = append(silent, name)
		}
	}
	if len(problems) > 0 {
		return "", errors.New(strings.Join(problems, "; "))
	}
	if len(silent) == 0 {
		return "", nil
	}
	nodes := "Node " + silent[0]
	if len(silent) > 1 {
		nodes = "Each of " + strings.Join(silent, ", ")
	}
	return nodes + " did not ask for a reboot when its agent last looked. It is rebooted only if it asks now: `touch /run/reboot-required` on it makes it ask.", nil
}

// asksForReboot reports whether the node's operating system asked for a reboot when its agent last looked.
func asksForReboot(s clusterstate.Snapshot, name string) bool {
	return slices.ContainsFunc(s.NodeUpgrades, func(u v1alpha1.NodeUpgrade) bool { return u.Name == name && u.Status.Reboot.Required })
}

// LooksAgain reports whether u is a Reboot of named nodes: it has work also where none of them asks for
// a reboot yet, as their agents look again at once.
func LooksAgain(u *v1alpha1.ClusterUpgrade) bool { return isReboot(u) && u.Spec.NodeSelector != nil }
