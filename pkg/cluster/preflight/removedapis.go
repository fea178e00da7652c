package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// checkStaticGates checks the feature gates of the control plane's static
// pods: kubeadm writes the new pods from ClusterConfiguration, with the same gates.
func (c *checker) checkStaticGates() {
	for _, pod := range c.static {
		if pod.versionError != nil || pod.component == etcdServer {
			continue
		}
		var gates []string
		for _, container := range pod.Spec.Containers {
			for _, arg := range slices.Concat(container.Command, container.Args) {
				if value, is := strings.CutPrefix(arg, "--feature-gates="); is {
					gates = append(gates, gateNames(value)...)
				}
			}
		}
		if gates = c.goneGates(gates, pod.version); gates == nil {
			continue
		}
		c.add(v1alpha1.Finding{
			ID: "feature-gate", Object: pod.object(),
			Message: fmt.Sprintf("The %s on %s sets %s, which %s does not know: it would not start.", pod.component, pod.node, gateList(gates), c.to.Line()),
			Advice:  "Remove it from the component's extraArgs in ClusterConfiguration (kubectl -n kube-system edit configmap kubeadm-config), from which kubeadm writes the new pod.",
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

// checkAPIs names each API that is called and that the version no longer serves.
func (c *checker) checkAPIs() {
	callers := map[string][]string{}
	removed := map[string]string{}
	for _, api := range c.RequestedAPIs {
		gone, err := version.Parse(api.Remove + ".0")
		if err != nil || c.to.Less(gone) {
			continue
		}
		name := apiName(api)
		callers[name] = append(callers[name], api.APIServer)
		removed[name] = api.Remove
	}
	for _, name := range slices.Sorted(maps.Keys(callers)) {
		c.add(v1alpha1.Finding{
			ID: "api-removed", Object: v1alpha1.ObjectReference{Kind: "API", Name: name},
			Message: fmt.Sprintf("%s is removed in v%s, and clients have called it since the apiserver started (metric apiserver_requested_deprecated_apis), on %s.", name, strings.TrimPrefix(removed[name], "v"), names(callers[name])),
		})
	}
}

// apiName returns a name such as flowcontrol.apiserver.k8s.io/v1beta3
// flowschemas/status.
func apiName(api RequestedAPI) string {
	name := api.Version
	if api.Group != "" {
		name = api.Group + "/" + name
	}
	name += " " + api.Resource
	if api.Subresource != "" {
		name += "/" + api.Subresource
	}
	return name
}
