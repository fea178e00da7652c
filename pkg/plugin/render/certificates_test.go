package render_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// certificates are those of a control plane where what had nearly expired was renewed, and nothing was restarted.
func certificates() view.CertificateList {
	const pki, day = "/etc/kubernetes/pki/", 24 * time.Hour
	at := func(in time.Duration) metav1.Time { return metav1.NewTime(now.Add(in)) }
	written := at(-300 * day)
	cert := func(path string, in time.Duration, by v1alpha1.CertificateRenewer, use v1alpha1.CertificateUse, usedBy ...string) v1alpha1.CertificateFacts {
		return v1alpha1.CertificateFacts{Path: path, NotAfter: at(in), WrittenTime: &written, Issuer: "kubernetes", AuthorityPath: pki + "ca.crt", RenewedBy: by, InUse: use, UsedBy: usedBy}
	}
	ca := cert(pki+"ca.crt", 3000*day, v1alpha1.RenewedByNone, "")
	ca.CA, ca.AuthorityPath, ca.HasKey = true, "", true
	serving := cert("/var/lib/kubelet/pki/kubelet-server-current.pem", 290*day, v1alpha1.RenewedByKubelet, v1alpha1.UsesCurrent, "kubelet")
	serving.KubeletServing = true
	corporate := cert(pki+"etcd/ca.crt", 20*day, v1alpha1.RenewedByNone, "")
	corporate.CA, corporate.AuthorityPath, corporate.Issuer = true, "", "Example Corporation Root"
	etcd := cert(pki+"etcd/server.crt", 300*day, v1alpha1.RenewedElsewhere, v1alpha1.UsesCurrent, "etcd")
	etcd.AuthorityPath = corporate.Path
	inventories := []v1alpha1.NodeInventory{
		{ObjectMeta: metav1.ObjectMeta{Name: "cp-1"}, NodeFacts: v1alpha1.NodeFacts{CertificateRenewalDisabled: true, Certificates: []v1alpha1.CertificateFacts{
			ca, corporate, etcd, serving,
			cert(pki+"apiserver.crt", 10*day, v1alpha1.RenewedByKubeadm, v1alpha1.UsesCurrent, "kube-apiserver"),
			cert("/etc/kubernetes/scheduler.conf", 364*day, v1alpha1.RenewedByKubeadm, v1alpha1.UsesFormer, "kube-scheduler"),
			cert("/etc/kubernetes/super-admin.conf", 200*day, v1alpha1.RenewedByKubeadm, ""),
			cert("/etc/kubernetes/pki/oidc.crt", 700*day, v1alpha1.RenewedElsewhere, ""),
			cert("/root/.kube/config", -2*day, v1alpha1.RenewedByNone, ""),
			cert("/etc/kubernetes/kubelet.conf", 12*day, v1alpha1.RenewedByNone, "", "kubelet"),
		}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "worker-1.a.long.name.example.com"}, NodeFacts: v1alpha1.NodeFacts{Certificates: []v1alpha1.CertificateFacts{
			{Path: "/var/lib/kubelet/pki/kubelet-client-current.pem", NotAfter: at(100 * day)}, // of an agent of a former version
		}}},
	}
	list := view.NewCertificates(inventories, now)
	list.ServingRequests = []view.ServingRequest{{Name: "csr-abcde", Node: "worker-1"}}
	return list
}

func TestCertificates(t *testing.T) {
	o := render.Options{Now: now, Zone: time.UTC, Cluster: "prod"}
	golden(t, "certificates", render.Certificates(certificates(), o))
	golden(t, "certificates-none", render.Certificates(view.NewCertificates(nil, now), o))
	for width, name := range map[int]string{60: "certificates-60", 80: "certificates-80", 140: "certificates-140"} {
		o.Width = width
		golden(t, name, render.Certificates(certificates(), o))
	}
	o.Width, o.Wide = 0, true
	golden(t, "certificates-wide", render.Certificates(certificates(), o))
}
