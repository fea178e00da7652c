package facts

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/kubeadm"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// certificates collects those in kubeadm's folders, in its kubeconfigs, those that its
// kubeconfigs name, such as the kubelet's, wherever it is, the one with which the kubelet serves,
// and on a control plane copies of admin.conf.
func (g *gatherer) certificates() {
	if path := g.own.rotatedCertificate(); path != "" && g.exists(path) {
		g.certificateFile(path)
	}
	for _, path := range g.certificateFiles() {
		g.certificateFile(path)
	}
	for _, name := range g.list(kubernetesDir) {
		if strings.HasSuffix(name, ".conf") {
			g.kubeconfig(filepath.Join(kubernetesDir, name))
		}
	}
	if path := g.own.servingCertificate(); g.own.address() != "" && g.exists(path) {
		g.certificateFile(path)
	}
	if g.isControlPlane() {
		g.copies()
	}
	slices.SortFunc(g.facts.Certificates, func(a, b v1alpha1.CertificateFacts) int { return strings.Compare(a.Path, b.Path) })
	g.authorities()
	g.certificateUse()
	g.facts.CertificateRenewalDisabled = g.isControlPlane() && g.renewalDisabled()
}

// Certificates returns the node's certificates, and which programs use them now, without its other facts.
func Certificates(ctx context.Context, l host.Layout) v1alpha1.NodeFacts {
	g := newGatherer(l, func(name string) (service, error) { return askSystemd(ctx, name) })
	g.handshake = func(address, client string) ([]byte, error) { return servedAt(ctx, l, address, client) }
	g.now = time.Now()
	for _, collect := range []func(){g.kubelet, g.staticPods, g.certificates} {
		g.protect(collect)
	}
	return g.facts
}

func (g *gatherer) exists(path string) bool {
	_, err := os.Stat(g.At(path))
	return err == nil
}

// certificateFiles returns the certificates in kubeadm's folders. It does not descend
// further, because people keep copies of old certificates there.
func (g *gatherer) certificateFiles() []string {
	const dir = kubernetesDir + "/pki"
	var paths []string
	for _, dir := range []string{dir, dir + "/etcd"} {
		for _, name := range g.list(dir) {
			if strings.HasSuffix(name, ".crt") {
				paths = append(paths, filepath.Join(dir, name))
			}
		}
	}
	return paths
}

// certificateFile adds the certificate in a file. A .pem with only a key has none. An empty file
// is what a full disk leaves.
func (g *gatherer) certificateFile(path string) {
	data, err := g.read(path)
	if err != nil {
		g.problem("%v", err)
		return
	}
	if len(data) == 0 || strings.HasSuffix(path, ".crt") || bytes.Contains(data, []byte("BEGIN CERTIFICATE")) {
		g.certificate(path, data)
	}
}

// certificate adds the first certificate in data. Those after it are its issuers or, in a
// bundle of CAs, older ones.
func (g *gatherer) certificate(path string, data []byte) {
	if g.chains[path] != nil {
		return
	}
	chain, err := parseCertificates(data)
	switch {
	case len(chain) > 0:
		g.addCertificate(path, chain)
	case err != nil:
		g.problem("decoding the certificate in %s: %v", path, err)
	default:
		g.problem("%s has no certificate", path)
	}
}

// parseCertificates returns the certificates in data, up to one that cannot be decoded.
func parseCertificates(data []byte) (chain []*x509.Certificate, err error) {
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			return chain, nil
		}
		if data = rest; block.Type != "CERTIFICATE" {
			continue
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return chain, err
		}
		chain = append(chain, one)
	}
}

func (g *gatherer) addCertificate(path string, chain []*x509.Certificate) {
	first := chain[0]
	begin := metav1.NewTime(first.NotBefore.UTC())
	found := v1alpha1.CertificateFacts{
		Path: path, NotAfter: metav1.NewTime(first.NotAfter.UTC()), NotBefore: &begin, CA: first.IsCA, Issuer: first.Issuer.CommonName,
		KubeletServing: path == g.own.servingCertificate(),
	}
	if info, err := os.Stat(g.At(path)); err == nil {
		written := metav1.NewTime(info.ModTime().UTC().Truncate(time.Second))
		found.WrittenTime = &written
	}
	if key, is := strings.CutSuffix(path, ".crt"); is && first.IsCA {
		found.HasKey = g.exists(key + ".key")
	}
	g.chains[path] = chain
	g.facts.Certificates = append(g.facts.Certificates, found)
}

// kubeconfig adds the certificate in the kubeconfig, or in the file that it names. It
// ignores a .conf that is not a kubeconfig.
func (g *gatherer) kubeconfig(path string) {
	data, err := g.read(path)
	if err != nil {
		g.problem("%v", err)
		return
	}
	users, err := usersOf(data)
	if err != nil && bytes.Contains(data, []byte("client-certificate")) {
		g.problem("decoding %s: %v", path, err)
	}
	for _, u := range users {
		switch file := u.User.File; {
		case len(u.User.Data) > 0:
			g.certificate(path, u.User.Data)
		case file != "" && !filepath.IsAbs(file):
			g.certificateFile(filepath.Join(filepath.Dir(path), file))
		case file != "":
			g.certificateFile(file)
		}
	}
}

// kubeconfigUser is a user in a kubeconfig.
type kubeconfigUser struct {
	User struct {
		Data []byte `json:"client-certificate-data"`
		File string `json:"client-certificate"`
	}
}

func usersOf(data []byte) ([]kubeconfigUser, error) {
	var config struct{ Users []kubeconfigUser }
	err := yaml.Unmarshal(data, &config)
	return config.Users, err
}

// maxCopies is how many copies of admin.conf are reported.
const maxCopies = 8

// copies adds kubeconfigs of people on the node whose certificate the cluster's authority signed: copies of admin.conf,
// as `kubeadm init` tells people to make. Others are none of this program's business.
func (g *gatherer) copies() {
	authority, _ := rules.KubeadmCertificateAt(kubernetesDir + "/admin.conf")
	homes, _ := filepath.Glob(g.At("/home/*"))
	for i, home := range homes {
		homes[i] = filepath.Join("/home", filepath.Base(home))
	}
	count := 0
	for _, home := range append([]string{"/root"}, homes...) {
		path := filepath.Join(home, ".kube/config")
		data, err := g.read(path)
		if err != nil || count == maxCopies {
			continue
		}
		users, _ := usersOf(data)
		for _, u := range users {
			chain, _ := parseCertificates(u.User.Data)
			if len(chain) > 0 && g.chains[path] == nil && g.signed(authority.Authority, chain[0]) {
				g.addCertificate(path, chain[:1])
				count++
			}
		}
	}
}

// signed reports whether an authority in the file has signed the certificate.
func (g *gatherer) signed(file string, certificate *x509.Certificate) bool {
	return slices.ContainsFunc(g.chains[file], func(authority *x509.Certificate) bool {
		return authority.IsCA && bytes.Equal(authority.RawSubject, certificate.RawIssuer) && certificate.CheckSignatureFrom(authority) == nil
	})
}

// authorities finds out which of the authorities signed which certificates, and who renews them.
func (g *gatherer) authorities() {
	for i := range g.facts.Certificates {
		c := &g.facts.Certificates[i]
		if own, _ := rules.KubeadmCertificateAt(c.Path); own.Authority != "" && g.signed(own.Authority, g.chains[c.Path][0]) {
			c.AuthorityPath = own.Authority
		}
		for _, authority := range g.facts.Certificates {
			if c.AuthorityPath == "" && authority.CA && authority.Path != c.Path && g.signed(authority.Path, g.chains[c.Path][0]) {
				c.AuthorityPath = authority.Path
			}
		}
	}
	for i := range g.facts.Certificates {
		c := &g.facts.Certificates[i]
		c.RenewedBy = g.renewer(*c)
	}
}

// renewer returns who renews a certificate.
func (g *gatherer) renewer(c v1alpha1.CertificateFacts) v1alpha1.CertificateRenewer {
	own, kubeadms := rules.KubeadmCertificateAt(c.Path)
	switch authority := rules.AuthorityOf(&g.facts, c); {
	case c.KubeletServing:
		return g.own.servingRenewer()
	case c.Path == g.own.rotatedCertificate():
		return v1alpha1.RenewedByKubelet
	case kubeadms && own.Authority == "" || rules.IsAdminCopy(c.Path) || rules.IsKubeletClient(c):
		return v1alpha1.RenewedByNone
	case kubeadms && authority != nil && authority.Path == own.Authority && authority.HasKey:
		return v1alpha1.RenewedByKubeadm
	}
	return v1alpha1.RenewedElsewhere
}

// renewalDisabled reports whether the administrators' UpgradeConfiguration disables the renewal of certificates.
func (g *gatherer) renewalDisabled() bool {
	type command struct{ CertificateRenewal *bool }
	for document := range strings.SplitSeq(string(g.readIfThere(kubeadm.UserConfig)), "\n---") {
		var config struct {
			Kind        string
			Apply, Node command
		}
		if yaml.Unmarshal([]byte(document), &config) != nil || config.Kind != "UpgradeConfiguration" {
			continue
		}
		for _, one := range []command{config.Apply, config.Node} {
			if one.CertificateRenewal != nil && !*one.CertificateRenewal {
				return true
			}
		}
	}
	return false
}
