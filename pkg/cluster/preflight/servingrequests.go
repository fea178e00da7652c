package preflight

import (
	"fmt"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// checkServingRequests adds a warning about the requests that wait.
func (c *checker) checkServingRequests() {
	if len(c.ServingRequests) == 0 {
		return
	}
	var requests, nodes []string
	for _, r := range c.ServingRequests {
		requests, nodes = append(requests, r.Name), append(nodes, r.Node)
	}
	c.add(v1alpha1.Finding{
		ID:      "kubelet-serving-waits",
		Message: fmt.Sprintf("%s for kubelets' serving certificates for an approval: %s.", waiting(len(requests)), names(nodes)),
		Advice:  fmt.Sprintf("Look at each, then: kubectl certificate approve %s", slices.Min(requests)),
	})
}

func waiting(n int) string {
	if n == 1 {
		return "1 request waits"
	}
	return fmt.Sprintf("%d requests wait", n)
}
