package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// extraArgsAdvice is what to do about an argument that a component of the control plane does not know.
const extraArgsAdvice = "Remove it from the component's extraArgs in ClusterConfiguration (kubectl -n kube-system edit configmap kubeadm-config), from which kubeadm writes the new pod."

// removedComponentFlags are flags of kube-apiserver, which stand in many templates of Cluster API. cmd/kube-apiserver/app/options
// of v1.34.3 does not have them; 1.33 is the first without.
var removedComponentFlags = map[string][]removal{
	"kube-apiserver": {{"cloud-provider", 33}, {"cloud-config", 33}},
}

// experimentalFlag is how flags begin at each of which etcd 3.7 ends (etcd 3.7.0).
const experimentalFlag = "experimental-"

// args returns the command lines of the pod's containers.
func (p staticPod) args() (all []string) {
	for _, container := range p.Spec.Containers {
		all = slices.Concat(all, container.Command, container.Args)
	}
	return all
}

// checkStaticFlags checks the flags of the control plane's static pods: kubeadm writes the new pods from
// ClusterConfiguration, with the same extraArgs.
func (c *checker) checkStaticFlags() {
	for _, pod := range c.static {
		var gone []string
		for _, arg := range pod.args() {
			name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
			if strings.HasPrefix(arg, "--") && c.isGone(pod, name) && !slices.Contains(gone, "--"+name) {
				gone = append(gone, "--"+name)
			}
		}
		if len(gone) == 0 {
			continue
		}
		c.add(v1alpha1.Finding{
			ID: "component-flag", Object: pod.object(),
			Message: fmt.Sprintf("The %s on %s has %s, which %s does not know: it would not start.", pod.component, pod.node, strings.Join(gone, ", "), c.to.Line()),
			Advice:  extraArgsAdvice,
		})
	}
}

// isGone reports whether the pod's component does not know the flag after the upgrade.
func (c *checker) isGone(pod staticPod, flag string) bool {
	if pod.component == etcdServer {
		return c.to.Minor >= minorWithEtcd37 && strings.HasPrefix(flag, experimentalFlag)
	}
	return pod.versionError == nil && slices.ContainsFunc(removedComponentFlags[pod.component], func(r removal) bool {
		return r.name == flag && c.reaches(r.minor, pod.version)
	})
}

// checkStaticGates checks the feature gates of the control plane's static
// pods: kubeadm writes the new pods from ClusterConfiguration, with the same gates.
func (c *checker) checkStaticGates() {
	for _, pod := range c.static {
		if pod.versionError != nil || pod.component == etcdServer {
			continue
		}
		var gates []string
		for _, arg := range pod.args() {
			if value, is := strings.CutPrefix(arg, "--feature-gates="); is {
				gates = append(gates, gateNames(value)...)
			}
		}
		if gates = c.goneGates(gates, pod.version); gates == nil {
			continue
		}
		c.add(v1alpha1.Finding{
			ID: "feature-gate", Object: pod.object(),
			Message: fmt.Sprintf("The %s on %s sets %s, which %s does not know: it would not start.", pod.component, pod.node, gateList(gates), c.to.Line()),
			Advice:  extraArgsAdvice,
		})
	}
}

// gateNames returns the names in A=true,B=false.
func gateNames(flag string) []string {
	var list []string
	for _, gate := range strings.Split(flag, ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(gate), "=")
		list = append(list, name)
	}
	return list
}
