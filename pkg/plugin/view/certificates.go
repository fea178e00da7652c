package view

import (
	"cmp"
	"path"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// CertificateList is what `kubectl upgrade certificates -o json` prints, what expires first comes first. Its shape is one
// that scripts may rely on; times are in UTC, to the second.
type CertificateList struct {
	APIVersion string        `json:"apiVersion"`
	Kind       string        `json:"kind"`
	Items      []Certificate `json:"items"`
	// RenewalDisabled are nodes whose UpgradeConfiguration has certificateRenewal: false.
	RenewalDisabled []string `json:"renewalDisabled,omitempty"`
	// ServingRequests are requests of kubelets for serving certificates that wait for an approval. Absent: none waits, or
	// they may not be listed.
	ServingRequests []ServingRequest `json:"servingRequests,omitempty"`
}

// Certificate is a certificate of a node.
type Certificate struct {
	Node string `json:"node"`
	// Name is what kubeadm calls it, kubelet-client, kubelet-serving, admin-copy, or other.
	Name string `json:"name"`
	Path string `json:"path"`
	CA   bool   `json:"ca,omitempty"`
	// Authority is what kubeadm calls the authority that signed it, or that one's common name.
	Authority string `json:"authority,omitempty"`
	// End is when it expires: with its authority, if AuthorityEndsFirst.
	End                time.Time        `json:"end"`
	AuthorityEndsFirst bool             `json:"authorityEndsFirst,omitempty"`
	Written            *time.Time       `json:"written,omitempty"`
	State              CertificateState `json:"state"`
	// RenewedBy, UsedBy and InUse are absent where that is not known.
	RenewedBy v1alpha1.CertificateRenewer `json:"renewedBy,omitempty"`
	UsedBy    []string                    `json:"usedBy,omitempty"`
	InUse     v1alpha1.CertificateUse     `json:"inUse,omitempty"`
}

// CertificateState is how near the end of a certificate is.
type CertificateState string

// The states of a certificate.
const (
	CertificateValid    CertificateState = "Valid"
	CertificateExpiring CertificateState = "Expiring" // within 30 days, 180 of an authority, or a third of its life
	CertificateExpired  CertificateState = "Expired"
)

// ServingRequest is a CertificateSigningRequest.
type ServingRequest struct {
	Name string `json:"name"`
	Node string `json:"node"`
}

// NewCertificates returns the certificates of the nodes, what expires first comes first.
func NewCertificates(inventories []v1alpha1.NodeInventory, now time.Time) CertificateList {
	list := CertificateList{APIVersion: v1alpha1.OutputVersion, Kind: "CertificateList", Items: []Certificate{}}
	for i := range inventories {
		n := &inventories[i]
		for _, c := range n.Certificates {
			list.Items = append(list.Items, newCertificate(n, c, now))
		}
		if n.CertificateRenewalDisabled {
			list.RenewalDisabled = append(list.RenewalDisabled, n.Name)
		}
	}
	slices.Sort(list.RenewalDisabled)
	slices.SortFunc(list.Items, func(a, b Certificate) int {
		return cmp.Or(a.End.Compare(b.End), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Path, b.Path))
	})
	return list
}

func newCertificate(n *v1alpha1.NodeInventory, c v1alpha1.CertificateFacts, now time.Time) Certificate {
	end := rules.CertificateEnd(&n.NodeFacts, c)
	made := Certificate{
		Node: n.Name, Name: rules.CertificateKind(c), Path: c.Path, CA: c.CA, Authority: c.Issuer,
		End: end.UTC(), AuthorityEndsFirst: end.Before(c.NotAfter.Time),
		State: CertificateValid, RenewedBy: c.RenewedBy, UsedBy: c.UsedBy, InUse: c.InUse,
	}
	if authority := rules.AuthorityOf(&n.NodeFacts, c); authority != nil {
		if made.Authority = rules.CertificateKind(*authority); made.Authority == rules.KindOther {
			made.Authority = path.Base(authority.Path)
		}
	}
	if c.WrittenTime != nil {
		written := c.WrittenTime.UTC()
		made.Written = &written
	}
	switch left := end.Sub(now); {
	case left <= 0:
		made.State = CertificateExpired
	case left <= rules.CertificateSoon(c):
		made.State = CertificateExpiring
	}
	return made
}
