package cli

import (
	"context"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/snapshot"
)

// checksPatience is how long reading the cluster for the checks may take.
const checksPatience = time.Minute

// runPreflight makes the checks that the coordinator makes, read as the user, and
// puts what they find into the snapshot. What may not be read is a finding.
func (p *program) runPreflight(ctx context.Context, s *fleet.Snapshot, at time.Time) error {
	decided := plan.Decide(*s, at)
	upgrade := planned(*s, decided)
	if upgrade == nil || decided.PreflightKey == "" {
		return nil // nothing is asked for, so nothing speaks against it
	}
	reader, err := p.reader()
	if err != nil {
		return err
	}
	access, err := p.cluster.ToRESTConfig()
	if err != nil {
		return err
	}
	kube, err := kubernetes.NewForConfig(access)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, checksPatience)
	defer cancel()
	clients := snapshot.PreflightClients{Kube: kube, Ours: reader.kinds, Access: access}
	facts, err := snapshot.ReadPreflight(limited, clients, *upgrade, s.Source.Architectures(upgrade.Spec.Version))
	if err != nil {
		return explain("reading the cluster for the checks", err)
	}
	asPlanned(&facts, *s)
	w := facts.Workloads
	s.Webhooks = preflight.Webhooks(w.Validating, w.Mutating, w.EndpointSlices)
	s.Preflight = &fleet.Preflight{Upgrade: upgrade.Reference(), Key: decided.PreflightKey, At: at, Findings: preflight.Check(facts)}
	return nil
}

// recallPreflight takes the findings of a saved snapshot to be those of that
// moment. False: they are about another upgrade, and left out.
func recallPreflight(s *fleet.Snapshot, at time.Time) bool {
	report := s.Preflight
	s.Preflight = nil
	decided := plan.Decide(*s, at)
	if decided.PreflightKey == "" {
		return true // nothing is asked for
	}
	now := fleet.Preflight{Key: decided.PreflightKey, At: at}
	if upgrade := planned(*s, decided); upgrade != nil {
		now.Upgrade = upgrade.Reference()
	}
	known := report != nil && report.Key == now.Key
	if known {
		now.Findings = report.Findings
	}
	s.Preflight = &now
	return known
}

// planned is the upgrade that the plan is for, as it will say about itself; nil
// where it is for none, or for one that is over.
func planned(s fleet.Snapshot, decided plan.Plan) *v1alpha1.ClusterUpgrade {
	status := statusOf(decided)
	for i := range s.Upgrades {
		if u := &s.Upgrades[i]; u.Name == decided.Upgrade && status != nil && u.Status.Outcome == "" {
			u = u.DeepCopy()
			u.Status = *status
			return u
		}
	}
	return nil
}
