package gate

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

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
	ref := g.KubeconfigSecretRef.Or(v1alpha1.KubeconfigKey)
	text, err := secret.Read(ctx, c.Secrets, ref)
	if err != nil {
		return unknown("%v", err)
	}
	access, err := secret.ReadKubeconfig(text)
	if err != nil {
		return unknown("%s: %v", ref, err)
	}
	trusted, err := rest.TLSConfigFor(access)
	if err != nil {
		return unknown("%s: %v", ref, err)
	}
	client, clock := web.NewClient(trusted, access.Proxy, access.BearerToken), kube.NewClock(time.Now)
	client.Transport = clock.Wrap(client.Transport)
	server, err := url.Parse(access.Host)
	if err != nil {
		return unknown("%v", err)
	}
	ran, err := readRan(ctx, client, server)
	if err != nil {
		return unknown("%v", err)
	}
	renewed, err := readRenewal(ctx, client, server)
	switch {
	case err != nil:
		return unknown("%v", err)
	case clock.Ahead() != 0:
		return unknown("%s: its clock and this one differ by %s", access.Host, clock.Ahead().Abs().Round(time.Second))
	case renewed == nil || time.Since(renewed.Time) > leaderLimit:
		return unknown("%s: no coordinator leads there, so that what it says may be old", access.Host)
	}
	runs := "has run nothing"
	if len(ran) > 0 {
		runs = "runs " + ran[0].Version
	}
	answer := open("%s %s%s", access.Host, runs, expiryNotice(secret.ExpiryOf(access), time.Now()))
	answer.Ran = v1alpha1.FittingRan(ran)
	return answer
}

// maxRan is how many versions a cluster says that it has run.
const maxRan = 8

// readRan reads what another cluster has run.
func readRan(ctx context.Context, client *http.Client, server *url.URL) (ran []v1alpha1.RanVersion, err error) {
	policy := server.JoinPath("apis", v1alpha1.GroupVersion.String(), "upgradepolicies", v1alpha1.PolicyName)
	err = get(ctx, client, policy, func(answer *web.Answer) error {
		readStatus := func(name string) error {
			if name != "ran" {
				return answer.Skip()
			}
			return answer.Array(func() error {
				if len(ran) == maxRan {
					return fmt.Errorf("it lists more than %d versions", maxRan)
				}
				ran = append(ran, v1alpha1.RanVersion{})
				return answer.Value(&ran[len(ran)-1])
			})
		}
		return answer.Object(func(name string) error {
			if name != "status" {
				return answer.Skip()
			}
			return answer.Object(readStatus)
		})
	})
	return ran, err
}

// readRenewal reads when the leader of another cluster renewed its Lease last; nil: never.
func readRenewal(ctx context.Context, client *http.Client, server *url.URL) (*metav1.MicroTime, error) {
	var lease struct {
		RenewTime *metav1.MicroTime `json:"renewTime"`
	}
	address := server.JoinPath("apis/coordination.k8s.io/v1/namespaces", v1alpha1.Namespace, "leases", leaderLease)
	err := get(ctx, client, address, func(answer *web.Answer) error {
		return answer.Object(func(name string) error {
			if name != "spec" {
				return answer.Skip()
			}
			return answer.Value(&lease)
		})
	})
	return lease.RenewTime, err
}

// get asks an API server for what is at an address.
func get(ctx context.Context, client *http.Client, address *url.URL, read func(*web.Answer) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return fmt.Errorf("preparing a request: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	return web.Ask(client, request, "an API server", read)
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
