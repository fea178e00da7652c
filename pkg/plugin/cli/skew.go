package cli

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/doctor"
)

// reached are the clusters that a run has asked, by their contexts.
type reached struct {
	mu      sync.Mutex
	readers map[string]*reader
}

func (r *reached) add(context string, one *reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readers[context] = one
}

// noting is an http.RoundTripper. It notes that there was an answer.
type noting struct {
	next     http.RoundTripper
	answered *atomic.Bool
}

// RoundTrip is part of http.RoundTripper.
func (n noting) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := n.next.RoundTrip(request)
	if err == nil {
		n.answered.Store(true)
	}
	return response, err
}

// skewTimeout is how long a cluster may take to say its version: what was asked for is done by then.
const skewTimeout = 2 * time.Second

// skews says of each cluster that does not fit the plugin which of the two to update. It is asked last, so
// that no one waits for it, and says nothing of a cluster that has not answered, or whose version is not known.
func (p *program) skews(ctx context.Context) []string {
	p.reached.mu.Lock()
	readers := maps.Clone(p.reached.readers)
	p.reached.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, skewTimeout)
	defer cancel()
	contexts := slices.Sorted(maps.Keys(readers))
	found := make([]string, len(contexts))
	var group sync.WaitGroup
	for i, name := range contexts {
		group.Go(func() {
			defer utilruntime.HandleCrash()
			if !readers[name].answered.Load() {
				return
			}
			policy, err := readers[name].kinds.UpgradePolicies.Get(ctx, v1alpha1.PolicyName, metav1.GetOptions{})
			if err != nil {
				return
			}
			skew := doctor.Skew(p.version, policy.Status.CoordinatorVersion)
			if skew != "" && len(contexts) > 1 {
				skew = fmt.Sprintf("context %s: %s", name, skew)
			}
			found[i] = skew
		})
	}
	group.Wait()
	return slices.DeleteFunc(found, func(skew string) bool { return skew == "" })
}
