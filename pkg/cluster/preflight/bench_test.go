package preflight_test

import (
	"fmt"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
)

// fleet has ten pods on each node, in Deployments of five without probes, and a PodDisruptionBudget for each Deployment that allows nothing.
func manyNodes(nodes int) preflight.Facts {
	f := cluster(5, nodes-5)
	for i := range 2 * nodes {
		name := fmt.Sprintf("app-%d", i)
		places := make([]string, 5)
		for j := range places {
			places[j] = fmt.Sprintf("worker-%d", (i+j*7)%(nodes-5)+1)
		}
		deployment(f, name, places...)
		namespace := fmt.Sprintf("team-%d", i%(nodes/10))
		f.Workloads.Deployments[i].Namespace = namespace
		for j := range places {
			p := &f.Workloads.Pods[5*i+j]
			p.Namespace, p.Owner = namespace, "Deployment/"+namespace+"/"+name
			p.LivenessProbe, p.ReadinessProbe = false, false
		}
		b := budget(name, name, 0)
		b.Namespace = namespace
		f.Workloads.Budgets = append(f.Workloads.Budgets, b)
	}
	for i := range f.Inventories {
		f.Inventories[i].CgroupVersion = 1
	}
	return *f
}

// BenchmarkCheck measures that the time is proportional to the size of the cluster: the largest
// has 5,000 nodes and 50,000 pods.
func BenchmarkCheck(b *testing.B) {
	for _, nodes := range []int{1250, 2500, 5000} {
		f := manyNodes(nodes)
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if len(preflight.Check(f)) < nodes {
					b.Fatal("there are too few findings")
				}
			}
		})
	}
}
