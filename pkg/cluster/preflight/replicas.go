package preflight

import "strings"

// checkReplicas finds workloads of which all pods are evicted at the same time.
func (c *checker) checkReplicas() {
	found := remarks{}
	places := c.places()
	evicted := map[string]bool{}
	for _, pod := range c.evicted {
		evicted[pod.owner] = true
	}
	for _, d := range c.Workloads.Deployments {
		owner := "Deployment/" + d.Namespace + "/" + d.Name
		if (d.Spec.Replicas == nil || *d.Spec.Replicas == 1) && evicted[owner] && !systemNamespaces[d.Namespace] {
			found.note("single-replica", owner)
		}
	}
	if len(c.all) > 1 {
		for owner, p := range places {
			namespace, _, _ := strings.Cut(owner[strings.Index(owner, "/")+1:], "/")
			if p.pods > 1 && !p.spread && evicted[owner] && !systemNamespaces[namespace] && !strings.HasPrefix(owner, "Job/") {
				found.note("one-node", owner+" on "+p.node)
			}
		}
	}
	c.warnOfWorkloads(found)
}

// place is where a workload's pods run.
type place struct {
	node   string
	pods   int
	spread bool // over more than one node
}

// places returns where the pods of all workloads run, on any node.
func (c *checker) places() map[string]*place {
	places := map[string]*place{}
	for i := range c.Workloads.Pods {
		pod := &c.Workloads.Pods[i]
		_, owner := ownerOf(pod)
		if owner == "" || pod.Spec.NodeName == "" || ended(pod) {
			continue
		}
		p := places[owner]
		if p == nil {
			p = &place{node: pod.Spec.NodeName}
			places[owner] = p
		}
		p.pods++
		p.spread = p.spread || p.node != pod.Spec.NodeName
	}
	return places
}
