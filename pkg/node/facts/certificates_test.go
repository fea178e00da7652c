package facts

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

func pemOf(name string, notAfter time.Time, ca bool) string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: now.AddDate(-1, 0, 0), NotAfter: notAfter, IsCA: ca, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func kubeconfig(user string) string {
	return "kind: Config\nusers:\n- name: me\n  user: " + user + "\n"
}

func TestCertificates(t *testing.T) {
	soon, later := now.AddDate(0, 0, 20), now.AddDate(1, 0, 0)
	leaf := pemOf("leaf", soon, false)
	const ca = "/etc/kubernetes/pki/ca.crt"
	const key = "-----BEGIN EC PRIVATE KEY-----\n-----END EC PRIVATE KEY-----\n"
	data := "{client-certificate-data: " + base64.StdEncoding.EncodeToString([]byte(leaf)) + "}"
	const rotates, certDir = "rotateCertificates: true\n", "KUBELET_KUBEADM_ARGS=--cert-dir=/srv/pki"
	tests := map[string]struct {
		files   tree
		want    map[string]time.Time
		problem string
	}{
		"below pki":           {tree{"/etc/kubernetes/pki/etcd/server.crt": leaf}, map[string]time.Time{"/etc/kubernetes/pki/etcd/server.crt": soon}, ""},
		"with its key":        {tree{"/etc/kubernetes/pki/both.crt": key + leaf}, map[string]time.Time{"/etc/kubernetes/pki/both.crt": soon}, ""},
		"a key":               {tree{"/etc/kubernetes/pki/x.key": key}, nil, ""},
		"another kind":        {tree{"/etc/kubernetes/pki/x.pem": leaf}, nil, ""},
		"a copy of old ones":  {tree{"/etc/kubernetes/pki/backup-2024/apiserver.crt": leaf, "/etc/kubernetes/pki/etcd/old/server.crt": leaf}, nil, ""},
		"a folder":            {tree{"/etc/kubernetes/pki/old.crt/x": leaf}, nil, "reading /etc/kubernetes/pki/old.crt: it is not a regular file"},
		"a named key alone":   {tree{"/etc/kubernetes/kubelet.conf": kubeconfig("{client-certificate: k.pem}"), "/etc/kubernetes/k.pem": key}, nil, ""},
		"a chain":             {tree{"/etc/kubernetes/pki/chain.crt": leaf + pemOf("ca", later, true)}, map[string]time.Time{"/etc/kubernetes/pki/chain.crt": soon}, ""},
		"kubeconfig":          {tree{"/etc/kubernetes/admin.conf": kubeconfig(data)}, map[string]time.Time{"/etc/kubernetes/admin.conf": soon}, ""},
		"token":               {tree{"/etc/kubernetes/bootstrap-kubelet.conf": kubeconfig("{token: a.b}")}, nil, ""},
		"the kubelet's":       {tree{"/etc/kubernetes/kubelet.conf": kubeconfig("{client-certificate: /var/lib/kubelet/pki/current.pem}"), "/var/lib/kubelet/pki/current.pem": "-> 2026.pem", "/var/lib/kubelet/pki/2026.pem": leaf + key}, map[string]time.Time{"/var/lib/kubelet/pki/current.pem": soon}, ""},
		"relative":            {tree{"/etc/kubernetes/kubelet.conf": kubeconfig("{client-certificate: k.pem}"), "/etc/kubernetes/k.pem": leaf}, map[string]time.Time{"/etc/kubernetes/k.pem": soon}, ""},
		"named twice":         {tree{"/etc/kubernetes/a.conf": kubeconfig("{client-certificate: pki/x.crt}"), "/etc/kubernetes/pki/x.crt": leaf}, map[string]time.Time{"/etc/kubernetes/pki/x.crt": soon}, ""},
		"elsewhere":           {tree{"/etc/kubernetes/kubelet.conf": kubeconfig("{client-certificate: /srv/k.pem}"), "/srv/k.pem": leaf}, map[string]time.Time{"/srv/k.pem": soon}, ""},
		"by --cert-dir":       {tree{host.KubeletConfig: rotates, host.KubeletFlags: certDir, "/srv/pki/kubelet-client-current.pem": leaf, "/var/lib/kubelet/pki/kubelet-client-current.pem": leaf}, map[string]time.Time{"/srv/pki/kubelet-client-current.pem": soon}, ""},
		"made by rotation":    {tree{host.KubeletConfig: rotates, "/var/lib/kubelet/pki/kubelet-client-current.pem": leaf}, map[string]time.Time{"/var/lib/kubelet/pki/kubelet-client-current.pem": soon}, ""},
		"not rotated":         {tree{"/var/lib/kubelet/pki/kubelet-client-current.pem": leaf}, nil, ""},
		"not, by a flag":      {tree{host.KubeletConfig: rotates, host.KubeletFlags: certDir + " --rotate-certificates=false", "/srv/pki/kubelet-client-current.pem": leaf}, nil, ""},
		"rotated, by a flag":  {tree{host.KubeletFlags: certDir + " --rotate-certificates", "/srv/pki/kubelet-client-current.pem": leaf}, map[string]time.Time{"/srv/pki/kubelet-client-current.pem": soon}, ""},
		"named, not there":    {tree{"/etc/kubernetes/kubelet.conf": kubeconfig("{client-certificate: /var/lib/kubelet/pki/current.pem}")}, nil, "reading /var/lib/kubelet/pki/current.pem: no such file"},
		"another .conf":       {tree{"/etc/kubernetes/azure.conf": "[global\n"}, nil, ""},
		"a broken kubeconfig": {tree{"/etc/kubernetes/admin.conf": "users: [{user: {client-certificate-data: 'x\n"}, nil, "decoding /etc/kubernetes/admin.conf"},
		"garbage":             {tree{"/etc/kubernetes/pki/x.crt": "garbage"}, nil, "/etc/kubernetes/pki/x.crt has no certificate"},
		"a broken one":        {tree{"/etc/kubernetes/pki/x.crt": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}, nil, "decoding the certificate in /etc/kubernetes/pki/x.crt"},
		"what it serves with": {tree{"/var/lib/kubelet/pki/kubelet.crt": leaf}, map[string]time.Time{"/var/lib/kubelet/pki/kubelet.crt": soon}, ""},
		"serves, requested":   {tree{host.KubeletConfig: "serverTLSBootstrap: true\n", "/var/lib/kubelet/pki/kubelet.crt": leaf, "/var/lib/kubelet/pki/kubelet-server-current.pem": leaf}, map[string]time.Time{"/var/lib/kubelet/pki/kubelet-server-current.pem": soon}, ""},
		"serves, its own":     {tree{host.KubeletConfig: "serverTLSBootstrap: true\ntlsCertFile: /srv/tls.crt\n", "/srv/tls.crt": leaf}, map[string]time.Time{"/srv/tls.crt": soon}, ""},
		"serves nothing":      {tree{host.KubeletConfig: "enableServer: false\n", "/var/lib/kubelet/pki/kubelet.crt": leaf}, nil, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			facts := gather(t, test.files)
			got := map[string]time.Time{}
			for _, c := range facts.Certificates {
				if c.CA != (c.Path == ca) {
					t.Errorf("%+v", c)
				}
				got[c.Path] = c.NotAfter.Time
			}
			want := map[string]time.Time{ca: now.AddDate(10, 0, 0).Truncate(time.Second)}
			for path, end := range test.want {
				want[path] = end.Truncate(time.Second)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			wantProblem(t, facts, test.problem)
		})
	}
}

// TestEmptyCertificate has what a full disk leaves of the kubelet's certificate.
func TestEmptyCertificate(t *testing.T) {
	const path = "/srv/pki/kubelet-client-current.pem"
	files := with(tree{"/etc/kubernetes/kubelet.conf": kubeconfig("{client-certificate: " + path + "}")})
	files[path] = ""
	wantProblem(t, newGatherer(files.on(t), services{kubeletUnit: kubelet()}.ask).forChecks(now), path+" has no certificate")
}
