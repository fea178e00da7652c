// Package access reads how the kubelet of a node reaches the API server, as its kubeconfig says. An agent works with
// that if it is the identity of its own Node.
//
// It promises: what an agent could not begin with is an error of one line, which names the file and says what to do.
package access

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// CertificateDir is the folder of certificates that the agent's pod mounts.
const CertificateDir = "/var/lib/kubelet/pki"

// Access is what a kubeconfig of a kubelet says.
type Access struct {
	// Text is the file's.
	Text   []byte
	Config *rest.Config

	file string
	user *clientcmdapi.AuthInfo
}

// anyNode is the beginning of the identities of kubelets.
const anyNode = "system:node:"

// Read reads the kubeconfig of a kubelet, and checks whose identity it has: that of the Node, or if node is empty that of
// any kubelet.
func Read(l host.Layout, file, node string) (*Access, error) {
	text, err := os.ReadFile(l.At(file))
	if err != nil {
		return nil, fmt.Errorf("reading the kubelet's kubeconfig: %w", err)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, fmt.Errorf("the kubelet's kubeconfig %s is empty: restore it", file)
	}
	loaded, err := clientcmd.Load(text)
	if err == nil {
		err = resolve(loaded, l, file)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the kubelet's kubeconfig %s: %w", file, err)
	}
	a := &Access{Text: text, file: file, user: userOf(loaded)}
	if err := a.checkIdentity(node); err != nil {
		return nil, err
	}
	a.Config, err = clientcmd.NewNonInteractiveClientConfig(*loaded, loaded.CurrentContext, nil, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubelet's kubeconfig %s: %w", file, err)
	}
	return a, nil
}

// resolve makes the paths that the kubeconfig names relative to its own folder absolute.
func resolve(loaded *clientcmdapi.Config, l host.Layout, file string) error {
	for _, cluster := range loaded.Clusters {
		cluster.LocationOfOrigin = file
	}
	for _, user := range loaded.AuthInfos {
		user.LocationOfOrigin = file
	}
	if err := clientcmd.ResolveLocalPaths(loaded); err != nil {
		return err
	}
	at := func(path *string) {
		if *path != "" {
			*path = l.At(*path)
		}
	}
	for _, cluster := range loaded.Clusters {
		at(&cluster.CertificateAuthority)
	}
	for _, user := range loaded.AuthInfos {
		at(&user.ClientCertificate)
		at(&user.ClientKey)
	}
	return nil
}

// CertificateDir returns the folder of the file with the client certificate; empty: it is in the kubeconfig, or there is none.
func (a *Access) CertificateDir() string {
	if a.user.ClientCertificate == "" || len(a.user.ClientCertificateData) > 0 {
		return ""
	}
	return filepath.Dir(a.user.ClientCertificate)
}

// NotMounted returns the error of an agent whose pod has no such folder of certificates.
func NotMounted(dir string) error {
	return fmt.Errorf("of the host's folders with certificates, the agent's pod has only %s: mount %s in the DaemonSet node-agent, too", CertificateDir, dir)
}

// AddProblem adds to each rehearsal of a boot why an agent could not begin after it, whatever the version.
func AddProblem(rehearsals []v1alpha1.Rehearsal, err error) {
	problem := v1alpha1.Problem{Reason: v1alpha1.AgentCannotBegin, Message: fmt.Sprintf("the agent could not begin after it: %v", err)}
	for i := range rehearsals {
		rehearsals[i].Problems = append(rehearsals[i].Problems, v1alpha1.RehearsalProblem{Problem: problem, Cause: v1alpha1.CauseNode})
	}
}

// CheckUser asks the API server who the kubeconfig's user is, if that is in no certificate: a token, or what a program
// prints. API servers before 1.28 cannot be asked.
func (a *Access) CheckUser(ctx context.Context, config *rest.Config, node string) error {
	if a.user.ClientCertificate != "" || len(a.user.ClientCertificateData) > 0 {
		return nil
	}
	name, err := kube.UserName(ctx, config)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("asking the API server whose identity %s has: %w", a.file, err)
	}
	return a.checkName(name, node)
}

// userOf returns the user of the current context. It has no field if there is no such user.
func userOf(c *clientcmdapi.Config) *clientcmdapi.AuthInfo {
	user := clientcmdapi.NewAuthInfo()
	if current := c.Contexts[c.CurrentContext]; current != nil {
		user = cmp.Or(c.AuthInfos[current.AuthInfo], user)
	}
	return user
}

// checkIdentity returns an error if the client certificate cannot be read, or is not that of this Node's kubelet:
// an administrator's would let the agent do anything on any node, and kubeadm fails with it.
func (a *Access) checkIdentity(node string) error {
	certificate, err := a.certificate()
	if err != nil || certificate == nil {
		return err
	}
	return a.checkName(certificate.Subject.CommonName, node)
}

func (a *Access) checkName(found, node string) error {
	own := anyNode + node
	if node == "" && strings.HasPrefix(found, anyNode) {
		return nil
	}
	if found != own {
		return fmt.Errorf("%s has the identity %q, and not %q of this Node: replace it; "+
			"`kubeadm kubeconfig user --org=system:nodes --client-name=%s` on a control plane writes one", a.file, found, own, own)
	}
	return nil
}

// certificate reads the client certificate. Nil: the kubeconfig has none.
func (a *Access) certificate() (*x509.Certificate, error) {
	u := a.user
	if u.ClientCertificate == "" && len(u.ClientCertificateData) == 0 {
		return nil, nil
	}
	certificate, err := a.dataOr(u.ClientCertificateData, u.ClientCertificate)
	if err != nil {
		return nil, err
	}
	key, err := a.dataOr(u.ClientKeyData, u.ClientKey)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("the kubelet's client certificate %s, which %s names, cannot be used: %w", u.ClientCertificate, a.file, err)
	}
	return pair.Leaf, nil
}

// dataOr returns data that the kubeconfig has, or what is in the file that it names instead.
func (a *Access) dataOr(data []byte, file string) ([]byte, error) {
	if len(data) > 0 {
		return data, nil
	}
	data, err := os.ReadFile(file)
	switch {
	case err != nil && filepath.Dir(file) != CertificateDir:
		return nil, fmt.Errorf("reading the kubelet's client certificate, which %s names: %w; %w", a.file, err, NotMounted(filepath.Dir(file)))
	case err != nil:
		return nil, fmt.Errorf("reading the kubelet's client certificate, which %s names: %w; restore it", a.file, err)
	case len(data) == 0:
		return nil, fmt.Errorf("the kubelet's client certificate %s, which %s names, is empty: "+
			"point it to an older one in its folder, or join the node again", file, a.file)
	}
	return data, nil
}
