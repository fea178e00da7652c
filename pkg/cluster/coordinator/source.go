package coordinator

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/metrics"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/source"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// offers keeps what the source of images offers up to date.
type offers struct {
	wanted atomic.Pointer[v1alpha1.ImageSource] // where to read, as the policy says; nil: not known yet
	newest atomic.Pointer[v1alpha1.IndexSignature]
	last   atomic.Pointer[reading] // nil before the first one
	wake   chan struct{}           // signals that the index must be read now
	onNews func()
	log    *slog.Logger
	counts *metrics.Metrics

	// Only one goroutine at a time reads.
	poller *source.Poller
	polled v1alpha1.ImageSource
}

// reading is the content of an index, and the source that it was read from.
type reading struct {
	source v1alpha1.ImageSource
	said   clusterstate.Source
}

// forever is the pause while the source is not known.
const forever = time.Duration(math.MaxInt64)

func newOffers(log *slog.Logger, counts *metrics.Metrics, onNews func()) *offers {
	return &offers{wake: make(chan struct{}, 1), onNews: onNews, log: log, counts: counts}
}

// start sets the source and reads its index.
func (o *offers) start(ctx context.Context, policy *v1alpha1.UpgradePolicy) {
	o.wanted.Store(&policy.Spec.Source)
	o.newest.Store(policy.Status.IndexSigned)
	o.read(ctx, policy.Spec.Source)
}

// follow returns what the source offers. If the policy's source changed, it has the new
// index read.
func (o *offers) follow(policy *v1alpha1.UpgradePolicy) clusterstate.Source {
	wanted := policy.Spec.Source
	o.newest.Store(policy.Status.IndexSigned)
	if before := o.wanted.Swap(&wanted); before == nil || *before != wanted {
		o.readSoon()
	}
	last := o.last.Load()
	same := wanted
	if last != nil {
		same.IntervalSeconds = last.source.IntervalSeconds // what the source offers does not depend on it
	}
	if last == nil || last.source != same {
		return clusterstate.Source{Problem: clusterstate.Hold{
			Reason:  v1alpha1.ReasonSourceUnavailable,
			Message: fmt.Sprintf("the index of %s has not been read yet", wanted.URL),
		}}
	}
	return last.said
}

// readSoon has the index read again now.
func (o *offers) readSoon() {
	select {
	case o.wake <- struct{}{}:
	default: // already signalled
	}
}

// poll reads the index repeatedly until ctx ends.
func (o *offers) poll(ctx context.Context) {
	for {
		pause := forever
		if wanted := o.wanted.Load(); wanted != nil {
			pause = time.Duration(wanted.IntervalSeconds) * time.Second
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		case <-o.wake:
		}
		o.read(ctx, *o.wanted.Load())
	}
}

// read reads the index, and reports changes.
func (o *offers) read(ctx context.Context, from v1alpha1.ImageSource) {
	if o.poller == nil || o.polled != from {
		o.poller, o.polled = source.NewPoller(from), from
	}
	var newest time.Time
	if signed := o.newest.Load(); signed != nil && signed.Source == source.Identity(from) {
		newest = signed.Time.Time
	}
	found := reading{source: from, said: o.poller.ReadSince(ctx, newest)}
	if ctx.Err() != nil {
		return
	}
	o.counts.SourceRead(found.said.Problem.Reason)
	if before := o.last.Swap(&found); before == nil || !reflect.DeepEqual(*before, found) {
		o.report(found)
		o.onNews()
	}
}

func (o *offers) report(r reading) {
	versions := map[string]bool{}
	for _, offer := range r.said.Offers {
		versions[offer.Version] = true
	}
	if problem := r.said.Problem; problem.Reason != "" {
		o.log.Warn("the source has a problem", "url", r.source.URL, "reason", problem.Reason, "message", problem.Message, "versions", len(versions))
		return
	}
	o.log.Info("the source was read", "url", r.source.URL, "versions", len(versions), "images", len(r.said.Offers))
}
