package facts

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         string
}

func newAuthority(t *testing.T, name string) authority {
	a := authority{}
	a.pem, a.certificate, a.key = signed(t, name, nil)
	return a
}

// signed returns a certificate of the authority, or a new authority.
func signed(t *testing.T, name string, by *authority) (text string, made *x509.Certificate, key *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62))
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(1, 0, 0),
		IsCA: by == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, DNSNames: []string{name},
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.certificate, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	made, err = x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), made, key
}

func (a authority) signs(t *testing.T, name string) string {
	text, _, _ := signed(t, name, &a)
	return text
}

func embedded(certificate string) string {
	return kubeconfig("{client-certificate-data: " + base64.StdEncoding.EncodeToString([]byte(certificate)) + "}")
}

// component is a static pod of kubeadm's with these flags.
func component(name string, flags ...string) string {
	return strings.Replace(manifest(name, "registry.k8s.io/"+name+":v1.34.3"), "command: ["+name+"]", "command: ["+strings.Join(append([]string{name}, flags...), ", ")+"]", 1)
}

const pki = "/etc/kubernetes/pki/"

// kubeadmNode is a control plane with all certificates of kubeadm's.
func kubeadmNode(t *testing.T) (files tree, cluster authority) {
	cluster, etcd, proxy := newAuthority(t, "kubernetes"), newAuthority(t, "etcd-ca"), newAuthority(t, "front-proxy-ca")
	files = tree{
		pki + "ca.crt": cluster.pem, pki + "etcd/ca.crt": etcd.pem, pki + "front-proxy-ca.crt": proxy.pem,
		pki + "etcd/ca.key": "key", pki + "front-proxy-ca.key": "key",
		pki + "apiserver.crt": cluster.signs(t, "kube-apiserver"), pki + "apiserver-kubelet-client.crt": cluster.signs(t, "a"),
		pki + "apiserver-etcd-client.crt": etcd.signs(t, "a"), pki + "front-proxy-client.crt": proxy.signs(t, "a"),
		pki + "etcd/server.crt": etcd.signs(t, "a"), pki + "etcd/peer.crt": etcd.signs(t, "a"), pki + "etcd/healthcheck-client.crt": etcd.signs(t, "a"),
		"/etc/kubernetes/admin.conf": embedded(cluster.signs(t, "a")), "/etc/kubernetes/super-admin.conf": embedded(cluster.signs(t, "a")),
		"/etc/kubernetes/controller-manager.conf": embedded(cluster.signs(t, "a")), "/etc/kubernetes/scheduler.conf": embedded(cluster.signs(t, "a")),
		"/root/.kube/config":      embedded(cluster.signs(t, "a")),
		"/home/core/.kube/config": embedded(newAuthority(t, "kubernetes").signs(t, "of another cluster")),

		host.KubeletConfig:                                "rotateCertificates: true\n",
		"/etc/kubernetes/kubelet.conf":                    kubeconfig("{client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem}"),
		"/var/lib/kubelet/pki/kubelet-client-current.pem": cluster.signs(t, "a"), "/var/lib/kubelet/pki/kubelet.crt": newAuthority(t, "node").signs(t, "node"),

		host.ManifestsDir + "/kube-apiserver.yaml": component("kube-apiserver", "--tls-cert-file="+pki+"apiserver.crt", "--kubelet-client-certificate="+pki+"apiserver-kubelet-client.crt",
			"--etcd-certfile="+pki+"apiserver-etcd-client.crt", "--proxy-client-cert-file="+pki+"front-proxy-client.crt", "--client-ca-file="+pki+"ca.crt", "--secure-port=6443"),
		host.ManifestsDir + "/etcd.yaml": component("etcd", "--cert-file="+pki+"etcd/server.crt", "--peer-cert-file="+pki+"etcd/peer.crt",
			"'--listen-client-urls=https://127.0.0.1:2379,https://10.0.0.1:2379'", "'--listen-peer-urls=https://10.0.0.1:2380'"),
		host.ManifestsDir + "/kube-controller-manager.yaml": component("kube-controller-manager", "--kubeconfig=/etc/kubernetes/controller-manager.conf", "--authentication-kubeconfig=/etc/kubernetes/controller-manager.conf"),
		host.ManifestsDir + "/kube-scheduler.yaml":          component("kube-scheduler", "--kubeconfig=/etc/kubernetes/scheduler.conf"),
		host.ManifestsDir + "/kube-vip.yaml": "kind: Pod\nmetadata: {name: kube-vip, namespace: kube-system}\nspec:\n  containers: [{name: kube-vip}]\n" +
			"  volumes: [{name: a, hostPath: {path: /etc/kubernetes/admin.conf}}, {name: b, hostPath: {path: /}}]\n",

		"/proc/uptime": "1000.50 3000.00\n",
	}
	return files, cluster
}

// runs adds a process that was started that long ago.
func (files tree) runs(id int, name string, ago time.Duration) {
	at := fmt.Sprintf("/proc/%d/", id)
	files[at+"cmdline"], files[at+"cgroup"] = name+"\x00", ""
	files[at+"stat"] = fmt.Sprintf("%d (%s) S 1%s %d 0", id, name, strings.Repeat(" 0", 17), int((1000*time.Second+500*time.Millisecond-ago)/(10*time.Millisecond)))
}

// uses gathers from a node whose certificates were written that long ago.
func uses(t *testing.T, files tree, written map[string]time.Duration, served map[string]string) map[string]v1alpha1.CertificateFacts {
	t.Helper()
	l := with(files).on(t)
	for path := range files {
		ago := time.Hour
		if at, is := written[path]; is {
			ago = at
		}
		if err := os.Chtimes(l.At(path), now, now.Add(-ago)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	g := newGatherer(l, services{kubeletUnit: kubelet()}.ask)
	g.handshake = func(address, _ string) ([]byte, error) {
		block, _ := pem.Decode([]byte(served[address]))
		if block == nil {
			return nil, errors.New("connection refused")
		}
		return block.Bytes, nil
	}
	found := map[string]v1alpha1.CertificateFacts{}
	facts := g.forChecks(now)
	for _, c := range facts.Certificates {
		found[c.Path] = c
	}
	if len(facts.Problems) > 0 {
		t.Errorf("problems: %q", facts.Problems)
	}
	return found
}

// TestWhoRenewsWhatIsUsed checks each certificate of a kubeadm control plane.
func TestWhoRenewsWhatIsUsed(t *testing.T) {
	files, cluster := kubeadmNode(t)
	line := func(c v1alpha1.CertificateFacts) string {
		key := ""
		if c.HasKey {
			key = " key"
		}
		return fmt.Sprintf("%s by %s, %s %s%s", c.RenewedBy, strings.TrimPrefix(c.AuthorityPath, pki), strings.Join(c.UsedBy, "+"), c.InUse, key)
	}
	got := map[string]string{}
	for path, c := range uses(t, files, nil, nil) {
		got[path] = line(c)
	}
	want := map[string]string{
		pki + "ca.crt": "None by ,   key", pki + "etcd/ca.crt": "None by ,   key", pki + "front-proxy-ca.crt": "None by ,   key",
		pki + "apiserver.crt": "Kubeadm by ca.crt, kube-apiserver ", pki + "apiserver-kubelet-client.crt": "Kubeadm by ca.crt, kube-apiserver Current",
		pki + "apiserver-etcd-client.crt": "Kubeadm by etcd/ca.crt, kube-apiserver Current", pki + "front-proxy-client.crt": "Kubeadm by front-proxy-ca.crt, kube-apiserver Current",
		pki + "etcd/server.crt": "Kubeadm by etcd/ca.crt, etcd ", pki + "etcd/peer.crt": "Kubeadm by etcd/ca.crt, etcd ", pki + "etcd/healthcheck-client.crt": "Kubeadm by etcd/ca.crt,  ",
		"/etc/kubernetes/admin.conf": "Kubeadm by ca.crt, kube-vip ", "/etc/kubernetes/super-admin.conf": "Kubeadm by ca.crt,  ",
		"/etc/kubernetes/controller-manager.conf": "Kubeadm by ca.crt, kube-controller-manager ", "/etc/kubernetes/scheduler.conf": "Kubeadm by ca.crt, kube-scheduler ",
		"/root/.kube/config":                              "None by ca.crt,  ",
		"/var/lib/kubelet/pki/kubelet-client-current.pem": "Kubelet by ca.crt, kubelet ", "/var/lib/kubelet/pki/kubelet.crt": "None by , kubelet ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	for name, test := range map[string]struct {
		path, want string
		change     func(tree)
	}{
		"no key of the authority":    {pki + "apiserver.crt", "Elsewhere by ca.crt, kube-apiserver ", func(f tree) { f[pki+"ca.key"] = "" }},
		"of another maker":           {pki + "apiserver.crt", "Elsewhere by , kube-apiserver ", func(f tree) { f[pki+"apiserver.crt"] = newAuthority(t, "corporate").signs(t, "a") }},
		"of an authority's namesake": {pki + "apiserver.crt", "Elsewhere by , kube-apiserver ", func(f tree) { f[pki+"apiserver.crt"] = newAuthority(t, "kubernetes").signs(t, "a") }},
		"by another authority here":  {pki + "apiserver.crt", "Elsewhere by etcd/ca.crt, kube-apiserver ", func(f tree) { f[pki+"apiserver.crt"] = f[pki+"etcd/server.crt"] }},
		"by the second of a bundle":  {pki + "apiserver.crt", "Kubeadm by ca.crt, kube-apiserver ", func(f tree) { f[pki+"ca.crt"] = newAuthority(t, "kubernetes").pem + cluster.pem }},
		"inside kubelet.conf":        {host.KubeletAccess, "None by ca.crt, kubelet ", func(f tree) { f[host.KubeletAccess] = embedded(cluster.signs(t, "a")) }},
		"a certificate of one's own": {pki + "own.crt", "Elsewhere by , kube-apiserver ", func(f tree) {
			f[pki+"own.crt"] = newAuthority(t, "corporate").signs(t, "a")
			f[host.ManifestsDir+"/kube-apiserver.yaml"] = component("kube-apiserver", "--tls-cert-file="+pki+"own.crt")
		}},
	} {
		changed := tree{}
		for path, text := range files {
			changed[path] = text
		}
		test.change(changed)
		if got := line(uses(t, changed, nil, nil)[test.path]); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestUseOfCertificates renews a file and looks for whether its program has it.
func TestUseOfCertificates(t *testing.T) {
	const server, scheduler, kubeletServing = pki + "apiserver.crt", "/etc/kubernetes/scheduler.conf", "/var/lib/kubelet/pki/kubelet.crt"
	files, cluster := kubeadmNode(t)
	former := cluster.signs(t, "kube-apiserver")
	files.runs(7, "kube-scheduler", 10*time.Minute)
	for name, test := range map[string]struct {
		path    string
		written time.Duration // ago
		served  map[string]string
		want    v1alpha1.CertificateUse
	}{
		"apiserver serves it":             {server, time.Hour, map[string]string{"127.0.0.1:6443": files[server]}, v1alpha1.UsesCurrent},
		"apiserver serves the former":     {server, 2 * time.Minute, map[string]string{"127.0.0.1:6443": former}, v1alpha1.UsesFormer},
		"apiserver is about to load it":   {server, 30 * time.Second, map[string]string{"127.0.0.1:6443": former}, ""},
		"apiserver does not run":          {server, time.Hour, nil, ""},
		"etcd":                            {pki + "etcd/server.crt", time.Hour, map[string]string{"127.0.0.1:2379": files[pki+"etcd/server.crt"]}, v1alpha1.UsesCurrent},
		"etcd's peers":                    {pki + "etcd/peer.crt", time.Hour, map[string]string{"10.0.0.1:2380": former}, v1alpha1.UsesFormer},
		"apiserver is a client":           {pki + "apiserver-etcd-client.crt", time.Second, nil, v1alpha1.UsesCurrent}, // it reads the files for each connection
		"scheduler, started after":        {scheduler, 11 * time.Minute, nil, v1alpha1.UsesCurrent},
		"scheduler, started before":       {scheduler, 9 * time.Minute, nil, v1alpha1.UsesFormer},
		"controller manager does not run": {"/etc/kubernetes/controller-manager.conf", time.Minute, nil, ""},
		"kubelet":                         {kubeletServing, time.Hour, map[string]string{"127.0.0.1:10250": files[kubeletServing]}, v1alpha1.UsesCurrent},
		"kubelet serves the former":       {kubeletServing, time.Hour, map[string]string{"127.0.0.1:10250": former}, v1alpha1.UsesFormer},
	} {
		found := uses(t, files, map[string]time.Duration{test.path: test.written}, test.served)
		if got := found[test.path]; got.InUse != test.want {
			t.Errorf("%s: %q, want %q", name, got.InUse, test.want)
		}
	}
}

func TestCertificateRenewalDisabled(t *testing.T) {
	const config = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: UpgradeConfiguration\n"
	for text, want := range map[string]bool{
		config: false, config + "apply: {certificateRenewal: true}\n": false, config + "apply: {certificateRenewal: false}\n": true,
		"kind: Other\n---\n" + config + "node: {certificateRenewal: false}\n": true, "kind: Other\nnode: {certificateRenewal: false}\n": false,
	} {
		if got := gather(t, tree{"/etc/kubernetes/kubeadm-upgrade.yaml": text}).CertificateRenewalDisabled; got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}

// TestServedAt makes a handshake with a server that requires a certificate of its clients, as etcd does, and has the
// server's also where it has none to show.
func TestServedAt(t *testing.T) {
	a := newAuthority(t, "etcd-ca")
	text, leaf, key := signed(t, "localhost", &a)
	l := tree{"/pki/client.crt": text, "/pki/client.key": string(pemKey(t, key))}.on(t)
	clients := x509.NewCertPool()
	clients.AddCert(a.certificate)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{leaf.Raw}, PrivateKey: key}}, ClientAuth: tls.RequireAnyClientCert,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	shown := make(chan int, 10)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			secure := conn.(*tls.Conn)
			_ = secure.HandshakeContext(t.Context())
			shown <- len(secure.ConnectionState().PeerCertificates)
			_ = conn.Close()
		}
	}()
	for _, test := range []struct {
		client string
		shows  int
	}{{"/pki/client", 1}, {"/pki/absent", 0}, {"", 0}} {
		served, err := servedAt(t.Context(), l, listener.Addr().String(), test.client)
		if err != nil || string(served) != string(leaf.Raw) {
			t.Errorf("client %q: %v", test.client, err)
		}
		if got := <-shown; got != test.shows {
			t.Errorf("client %q: it showed %d certificates, want %d", test.client, got, test.shows)
		}
	}

	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := silent.Addr().String()
	_ = silent.Close()
	if served, err := servedAt(t.Context(), l, address, ""); err == nil || served != nil {
		t.Errorf("nothing listens: %v", err)
	}
}

func pemKey(t *testing.T, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

// TestPrivateKeysStay checks that nothing of a key is in the facts.
func TestPrivateKeysStay(t *testing.T) {
	files, cluster := kubeadmNode(t)
	secret := string(pemKey(t, cluster.key))
	files[pki+"ca.key"] = secret
	files["/var/lib/kubelet/pki/kubelet-client-current.pem"] += secret
	for path, c := range uses(t, files, nil, nil) {
		if text := fmt.Sprintf("%+v", c); strings.Contains(text, strings.Split(secret, "\n")[1]) || filepath.Ext(path) == ".key" {
			t.Errorf("%s", text)
		}
	}
}
