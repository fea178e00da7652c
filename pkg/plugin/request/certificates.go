package request

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// renew makes of u an upgrade of type Certificates.
func (r Upgrade) renew(s clusterstate.Snapshot, u *v1alpha1.ClusterUpgrade, at time.Time) (err error) {
	u.Name = unusedName(s.Upgrades, "certificates-"+at.UTC().Format("20060102-1504"))
	u.Spec.Type = v1alpha1.TypeCertificates
	u.Spec.NodeSelector, err = r.selector(s)
	return err
}

// checkRenewed refuses names of nodes on which kubeadm has no certificate to renew; without names it refuses if there is
// no other control plane.
func (r Upgrade) checkRenewed(s clusterstate.Snapshot) error {
	if _, err := r.selector(s); err != nil {
		return err
	}
	var problems, left []string
	some := false
	for _, n := range s.Nodes {
		named, problem := slices.Contains(r.Nodes, n.Name), notManaged(s, n)
		facts := inventoryOf(s, n.Name)
		isPlane, why := facts.OnControlPlane(n.ControlPlane), whyNotRenewed(n.Name, facts)
		switch {
		case len(r.Nodes) > 0 && !named:
		case named && !isPlane:
			problems = append(problems, fmt.Sprintf("node %s is no control plane, and kubeadm issues certificates for control planes alone: its kubelet renews its own", n.Name))
		case named && problem != "":
			problems = append(problems, problem)
		case !isPlane || problem != "":
		case why != "":
			left = append(left, why)
		default:
			some = true
		}
	}
	if len(r.Nodes) > 0 || !some {
		problems = append(problems, left...)
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}

// whyNotRenewed returns why no upgrade renews a certificate of a control plane. Empty: one may, or its agent has not
// told who renews them.
func whyNotRenewed(node string, facts *v1alpha1.NodeFacts) string {
	known := func(c v1alpha1.CertificateFacts) bool { return c.RenewedBy != "" }
	switch {
	case facts == nil || len(rules.Renewable(facts)) > 0 || !slices.ContainsFunc(facts.Certificates, known):
		return ""
	case facts.CertificateRenewalDisabled:
		return fmt.Sprintf("certificates of %s are left alone, as kubeadm-upgrade.yaml on it says certificateRenewal: false", node)
	}
	return fmt.Sprintf("kubeadm renews no certificate of %s, as the keys of their authorities are elsewhere: `kubectl upgrade certificates` lists them", node)
}

// notManaged returns why no upgrade may change a node; empty: one may.
func notManaged(s clusterstate.Snapshot, n clusterstate.Node) string {
	switch _, held := n.Labels[v1alpha1.HoldLabel]; {
	case !policySelector(s).Matches(labels.Set(n.Labels)):
		return "node " + n.Name + " is not managed: the UpgradePolicy's nodeSelector does not match it"
	case held:
		return fmt.Sprintf("node %s is on hold: `kubectl label node %s %s-` first", n.Name, n.Name, v1alpha1.HoldLabel)
	}
	return ""
}

// inventoryOf returns what the node's agent has reported. Nil: nothing.
func inventoryOf(s clusterstate.Snapshot, name string) *v1alpha1.NodeFacts {
	i := slices.IndexFunc(s.Inventories, func(one v1alpha1.NodeInventory) bool { return one.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Inventories[i].NodeFacts
}

// idleRenewal returns why an upgrade of type Certificates has nothing to do.
func idleRenewal(decided plan.Plan) string {
	var out []string
	for _, n := range decided.Nodes {
		if n.Reason != v1alpha1.ReasonNotSelected && n.Reason != v1alpha1.ReasonUnmanaged && n.Reason != v1alpha1.ReasonUpToDate {
			out = append(out, fmt.Sprintf("%s (%s)", n.Name, n.Reason))
		}
	}
	why := "no managed control plane has certificates to renew"
	if more := len(out) - mostNamed; more > 0 {
		out = append(out[:mostNamed], fmt.Sprintf("%d more", more))
	}
	if len(out) > 0 {
		why += "; left out: " + strings.Join(out, ", ")
	}
	return why
}
