package nodefacts

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// certificates collects those in kubeadm's folders, in its kubeconfigs, and those that its
// kubeconfigs name, such as the kubelet's. It omits the kubelet's serving certificate,
// which no program has to trust.
func (g *gatherer) certificates() {
	for _, path := range g.certificateFiles() {
		g.certificateFile(path)
	}
	for _, name := range g.list(kubernetesDir) {
		if strings.HasSuffix(name, ".conf") {
			g.kubeconfig(filepath.Join(kubernetesDir, name))
		}
	}
	slices.SortFunc(g.facts.Certificates, func(a, b v1alpha1.CertificateFacts) int { return strings.Compare(a.Path, b.Path) })
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

// certificateFile adds the certificate in a file. A .pem with only a key has none.
func (g *gatherer) certificateFile(path string) {
	data, err := g.read(path)
	if err != nil {
		g.problem("%v", err)
		return
	}
	if strings.HasSuffix(path, ".crt") || bytes.Contains(data, []byte("BEGIN CERTIFICATE")) {
		g.certificate(path, data)
	}
}

// certificate adds the first certificate in data. Those after it are its issuers or, in a
// bundle of CAs, older ones.
func (g *gatherer) certificate(path string, data []byte) {
	if slices.ContainsFunc(g.facts.Certificates, func(c v1alpha1.CertificateFacts) bool { return c.Path == path }) {
		return
	}
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			g.problem("%s has no certificate", path)
			return
		}
		if data = rest; block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			g.problem("decoding the certificate in %s: %v", path, err)
			return
		}
		g.facts.Certificates = append(g.facts.Certificates, v1alpha1.CertificateFacts{
			Path: path, NotAfter: metav1.NewTime(certificate.NotAfter.UTC()), CA: certificate.IsCA,
		})
		return
	}
}

// kubeconfig adds the certificate in the kubeconfig, or in the file that it names. It
// ignores a .conf that is not a kubeconfig.
func (g *gatherer) kubeconfig(path string) {
	data, err := g.read(path)
	if err != nil {
		g.problem("%v", err)
		return
	}
	var config struct {
		Users []struct {
			User struct {
				Data []byte `json:"client-certificate-data"`
				File string `json:"client-certificate"`
			}
		}
	}
	if err := yaml.Unmarshal(data, &config); err != nil {
		if bytes.Contains(data, []byte("client-certificate")) {
			g.problem("decoding %s: %v", path, err)
		}
		return
	}
	for _, u := range config.Users {
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
