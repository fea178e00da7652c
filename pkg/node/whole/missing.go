package whole

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Missing is what a node had before and has not now. Its drivers and DaemonSets may have been removed meanwhile: see
// WithoutDriver and WithoutDaemonSet.
type Missing struct {
	// Resources and Extensions are texts for people.
	Resources, Extensions []string
	// Drivers are names, and DaemonSets are namespace/name.
	Drivers, DaemonSets []string
}

// Compare returns what the node is missing before it may be uncordoned.
func Compare(before *v1alpha1.NodeParts, now Seen, of v1alpha1.Whole) (m Missing) {
	if waits(of.Resources) {
		for _, r := range before.Resources {
			has := now.Node.Status.Allocatable[corev1.ResourceName(r.Name)]
			if n := has.Value(); n < r.Allocatable {
				m.Resources = append(m.Resources, fmt.Sprintf("%s %s of %s", r.Name, amount(r.Name, n), amount(r.Name, r.Allocatable)))
			}
		}
	}
	if waits(of.Drivers) {
		m.Drivers = bounded(slices.Concat(without(before.Drivers, now.drivers()), without(before.ServingDrivers, now.Plugins)))
	}
	if waits(of.DaemonSets) {
		m.DaemonSets = without(before.DaemonSets, now.ready())
	}
	if waits(of.Extensions) {
		for _, name := range without(before.Extensions, now.Merged) {
			if slices.Contains(now.Unmerged, name) {
				m.Extensions = append(m.Extensions, "extension "+name)
			}
		}
	}
	return m
}

// KeptOut returns what keeps pods from the node and did not before.
func KeptOut(before *v1alpha1.NodeParts, node *corev1.Node, of v1alpha1.Whole) (list []string) {
	if waits(of.Taints) {
		for _, taint := range bounded(without(taintsOf(node), before.Taints)) {
			list = append(list, "taint "+taint)
		}
	}
	if waits(of.Network) && networkUnavailable(node) && !before.NetworkUnavailable {
		list = append(list, "condition "+string(corev1.NodeNetworkUnavailable))
	}
	return list
}

func waits(handling v1alpha1.PartHandling) bool { return handling == v1alpha1.PartWait }

// without returns the items of a list that are not in others.
func without(list, others []string) (left []string) {
	for _, item := range list {
		if !slices.Contains(others, item) {
			left = append(left, item)
		}
	}
	return left
}

// amount returns how much of a resource there is.
func amount(name string, n int64) string {
	if strings.HasPrefix(name, corev1.ResourceHugePagesPrefix) {
		return resource.NewQuantity(n, resource.BinarySI).String()
	}
	return strconv.FormatInt(n, 10)
}

// WithoutDriver returns m without a driver that was removed.
func (m Missing) WithoutDriver(name string) Missing {
	m.Drivers = without(m.Drivers, []string{name})
	return m
}

// WithoutDaemonSet returns m without a DaemonSet that was removed, or no longer wants the node.
func (m Missing) WithoutDaemonSet(set string) Missing {
	m.DaemonSets = without(m.DaemonSets, []string{set})
	return m
}

// Texts returns what is missing, for people.
func (m Missing) Texts() []string {
	list := slices.Clone(m.Resources)
	for _, name := range m.Drivers {
		list = append(list, "driver "+name)
	}
	for _, set := range m.DaemonSets {
		list = append(list, "DaemonSet "+set)
	}
	return append(list, m.Extensions...)
}
