package rules

import (
	"path"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// KubeadmCertificate is a file of kubeadm's with a certificate (certlist.go in
// cmd/kubeadm/app/phases/certs, manager.go in its folder renewal; 1.34).
type KubeadmCertificate struct {
	// Name is what `kubeadm certs check-expiration` calls it.
	Name string
	// Authority is the file of the authority that signs it. Empty: it is an authority itself.
	Authority string
	// Program is the static pod that uses it. Empty: none does, but people or kubeadm.
	Program string
}

const (
	kubernetesDir = "/etc/kubernetes/"
	pkiDir        = kubernetesDir + "pki/"
	clusterCA     = pkiDir + "ca.crt"
	frontProxyCA  = pkiDir + "front-proxy-ca.crt"
	etcdCA        = pkiDir + "etcd/ca.crt"

	// KubeletConf is the kubelet's kubeconfig.
	KubeletConf = kubernetesDir + "kubelet.conf"
)

// kubeadmCertificates are kubeadm's by their paths. The kubelet's kubeconfig is not among them:
// kubeadm does not renew it.
var kubeadmCertificates = map[string]KubeadmCertificate{
	kubernetesDir + "admin.conf":              {"admin.conf", clusterCA, ""},
	kubernetesDir + "super-admin.conf":        {"super-admin.conf", clusterCA, ""},
	kubernetesDir + "controller-manager.conf": {"controller-manager.conf", clusterCA, "kube-controller-manager"},
	kubernetesDir + "scheduler.conf":          {"scheduler.conf", clusterCA, "kube-scheduler"},
	pkiDir + "apiserver.crt":                  {"apiserver", clusterCA, "kube-apiserver"},
	pkiDir + "apiserver-kubelet-client.crt":   {"apiserver-kubelet-client", clusterCA, "kube-apiserver"},
	pkiDir + "apiserver-etcd-client.crt":      {"apiserver-etcd-client", etcdCA, "kube-apiserver"},
	pkiDir + "front-proxy-client.crt":         {"front-proxy-client", frontProxyCA, "kube-apiserver"},
	pkiDir + "etcd/server.crt":                {"etcd-server", etcdCA, "etcd"},
	pkiDir + "etcd/peer.crt":                  {"etcd-peer", etcdCA, "etcd"},
	pkiDir + "etcd/healthcheck-client.crt":    {"etcd-healthcheck-client", etcdCA, ""},
	clusterCA:                                 {"ca", "", ""},
	frontProxyCA:                              {"front-proxy-ca", "", ""},
	etcdCA:                                    {"etcd-ca", "", ""},
}

// KubeadmCertificateAt returns the certificate of kubeadm's in that file.
func KubeadmCertificateAt(file string) (c KubeadmCertificate, is bool) {
	c, is = kubeadmCertificates[file]
	return c, is
}

// IsAdminCopy reports whether the file is a copy of admin.conf, which nothing renews.
func IsAdminCopy(file string) bool { return strings.HasSuffix(file, "/.kube/config") }

// IsKubeletClient reports whether the file has the certificate with which a kubelet
// authenticates to the API server: in its own folder, in the folder of --cert-dir under the name
// that the kubelet gives it, or in the kubeconfig itself where it was made without a bootstrap
// token. kubeadm renews none of them
// (https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/kubeadm-certs/).
func IsKubeletClient(c v1alpha1.CertificateFacts) bool {
	return !c.KubeletServing && (strings.HasPrefix(c.Path, "/var/lib/kubelet/") || path.Base(c.Path) == "kubelet-client-current.pem" || c.Path == KubeletConf)
}

// The kinds of certificates that are not kubeadm's, as CertificateKind returns them.
const (
	KindKubeletClient  = "kubelet-client"
	KindKubeletServing = "kubelet-serving"
	KindAdminCopy      = "admin-copy"
	KindOther          = "other"
)

// CertificateKind returns the name that kubeadm gives the certificate, or what else it is.
func CertificateKind(c v1alpha1.CertificateFacts) string {
	known, is := KubeadmCertificateAt(c.Path)
	switch {
	case c.KubeletServing:
		return KindKubeletServing
	case is:
		return known.Name
	case IsKubeletClient(c):
		return KindKubeletClient
	case IsAdminCopy(c.Path):
		return KindAdminCopy
	}
	return KindOther
}

// CertificateEnd returns when a certificate of the node ends: with its authority, if that ends
// first.
func CertificateEnd(f *v1alpha1.NodeFacts, c v1alpha1.CertificateFacts) time.Time {
	end := c.NotAfter.Time
	if authority := AuthorityOf(f, c); authority != nil && authority.NotAfter.Time.Before(end) {
		end = authority.NotAfter.Time
	}
	return end
}

// EndsUnnoticed reports whether nothing stops when the certificate ends: it is a copy of admin.conf, or one that a kubelet
// made itself and serves with, which no program verifies.
func EndsUnnoticed(c v1alpha1.CertificateFacts) bool {
	return IsAdminCopy(c.Path) || c.KubeletServing && c.RenewedBy == v1alpha1.RenewedByNone
}

// AuthorityOf returns the authority that signed the certificate, if it is on the node, too.
func AuthorityOf(f *v1alpha1.NodeFacts, c v1alpha1.CertificateFacts) *v1alpha1.CertificateFacts {
	for i := range f.Certificates {
		if c.AuthorityPath != "" && f.Certificates[i].Path == c.AuthorityPath {
			return &f.Certificates[i]
		}
	}
	return nil
}

// How long before its end a certificate, and an authority, is told. A person has to replace an
// authority, on every node and in every kubeconfig.
const (
	Soon   = 30 * 24 * time.Hour
	SoonCA = 180 * 24 * time.Hour
)

// CertificateSoon returns how long before its end a certificate is to be renewed: Soon, or
// SoonCA for an authority, but no more than a third of its life. Its life begins when its file
// was written: kubeadm begins certificates when their authority began. A kubelet rotates its own
// when nine tenths of its life have passed, at the latest.
func CertificateSoon(c v1alpha1.CertificateFacts) time.Duration {
	soon := Soon
	if c.CA {
		soon = SoonCA
	}
	begin, known := certificateBegin(c)
	if !known {
		return soon
	}
	life := c.NotAfter.Sub(begin)
	if c.RenewedBy == v1alpha1.RenewedByKubelet {
		return min(soon, life/12)
	}
	return min(soon, life/3)
}

// certificateBegin returns when the life of a certificate began, if that is known.
func certificateBegin(c v1alpha1.CertificateFacts) (begin time.Time, known bool) {
	if c.NotBefore != nil {
		begin = c.NotBefore.Time
	}
	if c.WrittenTime != nil && c.WrittenTime.After(begin) {
		begin = c.WrittenTime.Time
	}
	return begin, !begin.IsZero() && c.NotAfter.After(begin)
}

// HasOtherAuthority reports whether a certificate in a file of kubeadm's was not signed by
// kubeadm's authority.
func HasOtherAuthority(c v1alpha1.CertificateFacts) bool {
	known, is := KubeadmCertificateAt(c.Path)
	return is && known.Authority != "" && c.RenewedBy == v1alpha1.RenewedElsewhere && c.AuthorityPath != known.Authority
}
