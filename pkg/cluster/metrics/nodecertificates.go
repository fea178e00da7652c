package metrics

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// nodeCertificates are the certificates of a node.
type nodeCertificates struct {
	node         string
	controlPlane bool
	labels       map[string]string
	leftAlone    bool // no upgrade renews them
	certificates []v1alpha1.CertificateFacts
}

// certificatesIn keeps the certificates of the inventories of Nodes that are there.
func certificatesIn(s *clusterstate.Snapshot) []nodeCertificates {
	nodes := make(map[string]*clusterstate.Node, len(s.Nodes))
	for i := range s.Nodes {
		nodes[s.Nodes[i].Name] = &s.Nodes[i]
	}
	var kept []nodeCertificates
	for i := range s.Inventories {
		one := &s.Inventories[i]
		if n := nodes[one.Name]; n != nil && len(one.Certificates) > 0 {
			kept = append(kept, nodeCertificates{one.Name, one.OnControlPlane(n.ControlPlane), n.Labels, one.CertificateRenewalDisabled, one.Certificates})
		}
	}
	return kept
}

// ofKind is what the metrics tell of a node's certificates of one kind.
type ofKind struct {
	end                 time.Time // of the first of them
	expiring, notLoaded bool
}

// certificates adds when the certificates of control planes end, and which of all nodes' a person should look at. Workers
// have no series for others: there may be thousands.
func (s *scrape) certificates() {
	for _, n := range s.nodeCertificates {
		facts, kinds := v1alpha1.NodeFacts{Certificates: n.certificates}, map[string]ofKind{}
		for _, c := range n.certificates {
			if c.CA && !n.controlPlane {
				continue // a copy of the control planes'
			}
			kind := rules.CertificateKind(c)
			told, known := kinds[kind]
			end := rules.CertificateEnd(&facts, c)
			if !known || end.Before(told.end) {
				told.end = end
			}
			told.expiring = told.expiring || !rules.EndsUnnoticed(c) && end.Sub(s.now) <= rules.CertificateSoon(c)
			told.notLoaded = told.notLoaded || c.InUse == v1alpha1.UsesFormer
			kinds[kind] = told
		}
		for kind, told := range kinds {
			if n.controlPlane || told.expiring {
				s.at(certificateEnd, &told.end, n.node, kind)
			}
			if told.expiring {
				s.set(certificateExpiring, 1, n.node, kind)
			}
			if told.notLoaded {
				s.set(certificateNotLoaded, 1, n.node, kind)
			}
		}
	}
	s.frozenCertificates()
}

// frozenCertificates adds which certificates of control planes no upgrade may renew in time.
func (s *scrape) frozenCertificates() {
	var planes []preflight.ControlPlane
	for _, n := range s.nodeCertificates {
		if n.controlPlane {
			facts := &v1alpha1.NodeFacts{Certificates: n.certificates, CertificateRenewalDisabled: n.leftAlone}
			planes = append(planes, preflight.ControlPlane{Name: n.node, Labels: n.labels, Facts: facts})
		}
	}
	var automatic []v1alpha1.AutomaticUpgrade
	if s.Snapshot.Policy != nil {
		automatic = s.Snapshot.Policy.Spec.Automatic
	}
	for _, held := range preflight.Frozen(planes, s.Snapshot.Schedules, automatic, s.now) {
		s.set(certificateFrozen, 1, held.Node, rules.CertificateKind(held.Certificate))
	}
}
