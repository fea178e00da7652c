package gate

import (
	"context"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/secret"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/web"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
)

// leaderLimit is how old the renewal of the other coordinator's Lease may be. Its status may be old
// otherwise.
const leaderLimit = time.Minute

// leaderLease is the Lease of the coordinator that leads.
const leaderLease = "coordinator"

// askCluster asks another cluster what it has run. It is open if that can be read: whether it is for
// a version is decided by package plan.
func (c Clients) askCluster(ctx context.Context, g v1alpha1.ClusterGate) Answer {
	text, err := secret.Read(ctx, c.Secrets, g.KubeconfigSecret, secret.KubeconfigKey)
	if err != nil {
		return unknown("%v", err)
	}
	access, err := secret.ReadKubeconfig(text)
	if err != nil {
		return unknown("key %s of Secret %s: %v", secret.KubeconfigKey, g.KubeconfigSecret, err)
	}
	clock := kube.NewClock(time.Now)
	access.Wrap(func(base http.RoundTripper) http.RoundTripper { return clock.Wrap(web.Bounded(base)) })
	kinds, err := kube.NewKinds(access)
	if err != nil {
		return unknown("%v", err)
	}
	leases, err := typedcoordinationv1.NewForConfig(access)
	if err != nil {
		return unknown("%v", err)
	}
	policy, err := kinds.UpgradePolicies.Get(ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	if err != nil {
		return unknown("%s: %v", access.Host, err)
	}
	lease, err := leases.Leases(v1alpha1.Namespace).Get(ctx, leaderLease, metav1.GetOptions{})
	if err != nil {
		return unknown("%s: %v", access.Host, err)
	}
	switch {
	case clock.Ahead() != 0:
		return unknown("%s: its clock and this one differ by %s", access.Host, clock.Ahead().Abs().Round(time.Second))
	case lease.Spec.RenewTime == nil || time.Since(lease.Spec.RenewTime.Time) > leaderLimit:
		return unknown("%s: no coordinator leads there, so that what it says may be old", access.Host)
	}
	runs := "has run nothing"
	if ran := policy.Status.Ran; len(ran) > 0 {
		runs = "runs " + ran[0].Version
	}
	answer := open("%s %s%s", access.Host, runs, expiryNotice(secret.ExpiryOf(access), time.Now()))
	answer.Ran = policy.Status.Ran
	return answer
}

// expiryNoticed is how long before the credentials of a followed cluster expire the answer says so.
const expiryNoticed = 30 * 24 * time.Hour

// expiryNotice returns what the answer says about credentials that expire soon. An upgrade waits once
// they have expired.
func expiryNotice(expiry, now time.Time) string {
	if expiry.IsZero() || expiry.Sub(now) > expiryNoticed {
		return ""
	}
	return fmt.Sprintf("; the Secret's credentials expire on %s: run `kubectl upgrade follow` again", expiry.UTC().Format(time.DateOnly))
}
