//go:build fleet

package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
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
func (f *manyNodes) probe(ctx context.Context) {
	number := min(len(f.nodes), probedNodes)
	for i := range number {
		n := f.nodes[i*len(f.nodes)/number]
		config := rest.CopyConfig(f.config)
		config.UserAgent, config.Impersonate = "kubelet", rest.ImpersonationConfig{UserName: "system:node:" + n.name, Groups: []string{"system:nodes", "system:authenticated"}}
		leases := kubernetes.NewForConfigOrDie(config).CoordinationV1().Leases("kube-node-lease")
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: n.name}}
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = &n.name, ptr.To[int32](40)
		f.create(func() error {
			_, err := leases.Create(ctx, lease, metav1.CreateOptions{})
			return err
		})
		go func() {
			for ; ctx.Err() == nil; sleep(ctx, probeEvery) {
				began := time.Now()
				call, cancel := context.WithTimeout(ctx, probeLimit)
				patch := fmt.Sprintf(`{"spec":{"renewTime":%q}}`, began.UTC().Format(metav1.RFC3339Micro))
				_, err := leases.Patch(call, n.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
				cancel()
				f.probes.add(time.Since(began), err)
			}
		}()
	}
}
