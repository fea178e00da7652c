package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Of so many nodes the kubelet renews its Lease, as often as a real one. The times that this
// takes are measured.
const (
	probedNodes = 100
	probeEvery  = 10 * time.Second
	probeLimit  = 10 * time.Second
)

// probeStats are the renewals since the last question.
type probeStats struct {
	Answered, Failed int
	Median, Slowest  time.Duration
	LastFailure      string
}

type fleetProbes struct {
	mu    sync.Mutex
	took  []time.Duration
	last  string
	fails int
}

// take returns what was measured since the last call.
func (p *fleetProbes) take() probeStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := probeStats{Answered: len(p.took), Failed: p.fails, LastFailure: p.last}
	if len(p.took) > 0 {
		slices.Sort(p.took)
		s.Median, s.Slowest = p.took[len(p.took)/2], p.took[len(p.took)-1]
	}
	p.took, p.fails, p.last = nil, 0, ""
	return s
}

func (p *fleetProbes) add(took time.Duration, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.fails, p.last = p.fails+1, err.Error()
		return
	}
	p.took = append(p.took, took)
}

// probe renews the Leases of some nodes as their kubelets do.
func (f *fleet) probe(ctx context.Context) {
	number := min(f.cluster.Number, probedNodes)
	for i := range number {
		name := f.cluster.Name(i * f.cluster.Number / number)
		config := rest.CopyConfig(f.cluster.API)
		config.UserAgent, config.Impersonate = "kubelet", rest.ImpersonationConfig{UserName: "system:node:" + name, Groups: []string{"system:nodes", "system:authenticated"}}
		leases := kubernetes.NewForConfigOrDie(config).CoordinationV1().Leases("kube-node-lease")
		go func() {
			for ; ctx.Err() == nil; time.Sleep(probeEvery) {
				began := time.Now()
				call, cancel := context.WithTimeout(ctx, probeLimit)
				patch := fmt.Sprintf(`{"spec":{"renewTime":%q}}`, began.UTC().Format(metav1.RFC3339Micro))
				_, err := leases.Patch(call, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
				cancel()
				f.probes.add(time.Since(began), err)
			}
		}()
	}
}
