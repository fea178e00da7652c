package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// checkKubeletFiles finds flags, fields and feature gates on the node with
// which its kubelet would not start.
func (c *checker) checkKubeletFiles(n *node) {
	flags := append(c.gone(removedFlags, n.facts.KubeletFlags, n.kubelet), c.gone(kubeadmRemoves, n.facts.KubeletFlagsElsewhere, n.kubelet)...)
	if flags != nil {
		c.onNode(n, v1alpha1.Finding{ID: "kubelet-flag", Message: fmt.Sprintf("The kubelet on %s has the flag --%s, which %s does not know: it would not start.", n.name, strings.Join(flags, ", --"), c.to.Line())})
	}
	if fields := c.gone(removedFields, c.ownFields(n), n.kubelet); fields != nil {
		c.onNode(n, v1alpha1.Finding{ID: "kubelet-config", Message: fmt.Sprintf("The kubelet's configuration on %s sets %s, which %s refuses: it would not start.", n.name, strings.Join(fields, ", "), c.to.Line()), Advice: "Remove the field " + nodeConfigAdvice + "."})
	}
	if gates := c.goneGates(after(c.ownFields(n), fleet.FeatureGatePrefix), n.kubelet); gates != nil {
		c.onNode(n, v1alpha1.Finding{
			ID:      "feature-gate",
			Message: fmt.Sprintf("The kubelet's configuration on %s sets %s, which %s does not know: it would not start.", n.name, gateList(gates), c.to.Line()),
			Advice:  "Remove it from featureGates " + nodeConfigAdvice + ".",
		})
	}
	if gates := c.goneGates(after(n.facts.KubeletFlags, "feature-gates."), n.kubelet); gates != nil {
		c.onNode(n, v1alpha1.Finding{
			ID:      "feature-gate",
			Message: fmt.Sprintf("The kubelet on %s has %s in a flag, which %s does not know: it would not start.", n.name, gateList(gates), c.to.Line()),
			Advice:  "Remove it from --feature-gates on that node: systemctl cat kubelet names the files, such as /etc/sysconfig/kubelet, /etc/default/kubelet and /var/lib/kubelet/kubeadm-flags.env.",
		})
	}
}

// after returns the strings that have the prefix, without it.
func after(list []string, prefix string) []string {
	var rest []string
	for _, one := range list {
		if tail, is := strings.CutPrefix(one, prefix); is {
			rest = append(rest, tail)
		}
	}
	return rest
}

// gone returns those of the given names that this upgrade removes, sorted.
func (c *checker) gone(removals []removal, given []string, from version.Version) []string {
	var gone []string
	for _, r := range removals {
		if c.reaches(r.minor, from) && slices.Contains(given, r.name) {
			gone = append(gone, r.name)
		}
	}
	return gone
}

func (c *checker) goneGates(gates []string, from version.Version) []string {
	var gone []string
	for _, gate := range gates {
		if minor, removed := removedGates[gate]; removed && c.reaches(minor, from) {
			gone = append(gone, gate)
		}
	}
	slices.Sort(gone)
	return gone
}

func gateList(gates []string) string {
	if len(gates) == 1 {
		return "feature gate " + gates[0]
	}
	return "feature gates " + strings.Join(gates, ", ")
}
