package cli

import (
	"context"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
)

// checksTimeout is how long reading the cluster for the checks may take.
const checksTimeout = time.Minute

// runPreflight makes the checks that the coordinator makes, with the rights of the user,
// and puts the findings into the snapshot. What may not be read is a finding.
func (p *program) runPreflight(ctx context.Context, s *fleet.Snapshot, at time.Time) error {
	decided := plan.Decide(*s, at)
	upgrade := request.Planned(*s, decided)
	if upgrade == nil || decided.PreflightKey == "" {
		return nil // there is no upgrade to check
	}
	access, err := p.cluster.ToRESTConfig()
	if err != nil {
		return err
	}
	kube, err := kubernetes.NewForConfig(access)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, checksTimeout)
	defer cancel()
	clients := snapshot.PreflightClients{Kube: kube, Access: access}
	facts, err := snapshot.ReadPreflight(limited, clients, *upgrade, s.Source.Architectures(upgrade.Spec.Version))
	if err != nil {
		return explain("reading the cluster for the checks", err)
	}
	request.CompleteFacts(&facts, *s)
	w := facts.Workloads
	s.Webhooks = preflight.Webhooks(w.Validating, w.Mutating, w.EndpointSlices)
	s.Preflight = &fleet.Preflight{Upgrade: upgrade.Reference(), Key: decided.PreflightKey, At: at, Findings: preflight.Check(facts)}
	return nil
}
