package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// partSwitches are the fields of strategy.whole by how the text of a part begins. All others are resources.
var partSwitches = [][2]string{
	{"driver ", "drivers"}, {"DaemonSet ", "daemonSets"}, {"extension ", "extensions"}, {"taint ", "taints"}, {"condition ", "network"},
}

// WithoutParts returns the command with which a node goes on without what it lacks. Empty: it lacks nothing.
func (n Node) WithoutParts(upgrade string) string {
	if n.Reason != v1alpha1.ReasonNotWhole {
		return ""
	}
	_, parts, found := strings.Cut(n.Message, ": ")
	if !found {
		parts = n.Message
	}
	var switches []string
	for part := range strings.SplitSeq(parts, "; ") {
		field := "resources"
		for _, one := range partSwitches {
			if strings.HasPrefix(part, one[0]) {
				field = one[1]
			}
		}
		if text := fmt.Sprintf("%q:%q", field, v1alpha1.PartIgnore); !slices.Contains(switches, text) {
			switches = append(switches, text)
		}
	}
	return fmt.Sprintf(`kubectl patch clusterupgrade %s --type merge -p '{"spec":{"strategy":{"whole":{%s}}}}'`, upgrade, strings.Join(switches, ","))
}
