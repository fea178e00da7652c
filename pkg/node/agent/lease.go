package agent

import (
	"cmp"
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
)

const (
	// leaseAge is how long an answer about the kubelet's Lease counts: a kubelet renews it as
	// often.
	leaseAge = 10 * time.Second
	// leaseLasts is how long a renewal counts, unless the Lease says so: the default of
	// KubeletConfiguration's nodeLeaseDurationSeconds.
	leaseLasts = 40 * time.Second
)

// leaseView is what was last read of the kubelet's Lease.
type leaseView struct {
	machine.Lease
	readAt time.Time // the last attempt; zero: there was none
}

// readLease reads the Lease that the kubelet renews, while machine needs it. A kubelet may get its
// own Lease, and may not watch it (authorizeLease in plugin/pkg/auth/authorizer/node, v1.34.3).
func (a *Agent) readLease(ctx context.Context, o *machine.Observation) {
	if !machine.NeedsLease(a.state, *o) {
		a.lease = leaseView{}
		return
	}
	seen := &a.lease
	if age := o.Now.Sub(seen.readAt); age >= leaseAge || age < 0 || o.Now.Sub(seen.RenewedAt) > seen.Lasts {
		a.askForLease(ctx, o.Now)
	}
	o.Lease = &seen.Lease
}

func (a *Agent) askForLease(ctx context.Context, now time.Time) {
	seen := &a.lease
	ctx, cancel := context.WithTimeout(ctx, gateTimeout)
	defer cancel()
	lease, err := a.Kubelet.Leases(corev1.NamespaceNodeLease).Get(ctx, a.Node, metav1.GetOptions{})
	if seen.readAt = now; err != nil && !apierrors.IsNotFound(err) {
		seen.ReadSince = time.Time{}
		a.Log.DebugContext(ctx, "reading the kubelet's Lease", "node", a.Node, "error", err)
		return
	}
	if seen.ReadSince.IsZero() {
		seen.ReadSince = now
	}
	if err != nil {
		return // a kubelet that works creates it again
	}
	seen.Lasts = cmp.Or(time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0))*time.Second, leaseLasts)
	if renewed := lease.Spec.RenewTime; renewed != nil {
		seen.RenewedAt = renewed.Time
	}
}
