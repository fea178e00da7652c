package guard

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/facts"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// answerWithin is how long the API server may take to answer.
const answerWithin = 5 * time.Second

// checker finds out what is wrong with a node that has merged an activated version.
type checker struct {
	host.Layout
	activation host.Guard
	// ran has the components whose processes ran since the guard began. One that ends
	// later may have lost etcd's majority, or its API server: the kubelet started it.
	ran map[string]bool
}

func newChecker(l host.Layout, activation host.Guard) *checker {
	return &checker{Layout: l, activation: activation, ran: map[string]bool{}}
}

// check finds out what is wrong with the node, and reports whether the API server answered.
func (c *checker) check(ctx context.Context) (h Health, answered bool) {
	processes := facts.Processes(c.Layout)
	h = Health{Kubelet: facts.KubeletProblem(ctx, c.Layout, processes), StaticPods: c.checkStaticPods(processes)}
	config, err := clientcmd.BuildConfigFromFlags("", c.At(host.KubeletAccess))
	if err != nil {
		return h, false // a node that cannot ask the API server
	}
	h.Network = checkNetwork(ctx, c.Layout, c.activation.DefaultRoute, config.Host)
	h.API, answered = c.checkNode(ctx, config)
	ready := answered && h.API == ""
	if _, err := os.Stat(c.At(host.ManifestsDir, "kube-apiserver.yaml")); ready && err != nil {
		h.Network = "" // the API server is on another node, and shows this one as Ready
	}
	return h, answered
}

// checkStaticPods looks for the processes of the components that have a manifest. Their
// own health is not asked: it depends on other nodes.
func (c *checker) checkStaticPods(processes []facts.Process) string {
	var missing []string
	for _, component := range append(slices.Clone(host.ControlPlaneComponents), "etcd") {
		if slices.ContainsFunc(processes, func(p facts.Process) bool { return p.Name == component }) {
			c.ran[component] = true
		}
		if _, err := os.Stat(c.At(host.ManifestsDir, component+".yaml")); err == nil && !c.ran[component] {
			missing = append(missing, component)
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return "these static pods do not run: " + strings.Join(missing, ", ")
}
