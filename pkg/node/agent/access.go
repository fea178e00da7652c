package agent

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// access is how the kubelet of a node reaches the API server, as its kubeconfig says. An agent works with it if
// it is that of its own Node, and begins again when it has changed.
type access struct {
	file, node string
	text       []byte // of the file
	config     *rest.Config
	user       *clientcmdapi.AuthInfo
}

// certificateDir is the folder of certificates that the agent's pod mounts.
const certificateDir = "/var/lib/kubelet/pki"

// readAccess reads the kubeconfig of the node's kubelet, and checks whose identity it has.
func readAccess(file, node string) (*access, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the kubelet's kubeconfig: %w", err)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, fmt.Errorf("the kubelet's kubeconfig %s is empty: restore it", file)
	}
	loaded, err := clientcmd.LoadFromFile(file)
	if err == nil {
		err = clientcmd.ResolveLocalPaths(loaded)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the kubelet's kubeconfig %s: %w", file, err)
	}
	a := &access{file: file, node: node, text: text, user: userOf(loaded)}
	if err := a.checkIdentity(); err != nil {
		return nil, err
	}
	a.config, err = clientcmd.NewNonInteractiveClientConfig(*loaded, loaded.CurrentContext, nil, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubelet's kubeconfig %s: %w", file, err)
	}
	return a, nil
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
// an administrator's would let the agent do anything on any node, and kubeadm fails with it. Whose a token is, only
// the API server knows.
func (a *access) checkIdentity() error {
	certificate, err := a.certificate()
	if err != nil || certificate == nil {
		return err
	}
	if found, own := certificate.Subject.CommonName, "system:node:"+a.node; found != own {
		return fmt.Errorf("%s has the identity %q, and not %q of this Node: replace it; "+
			"`kubeadm kubeconfig user --org=system:nodes --client-name=%s` on a control plane writes one", a.file, found, own, own)
	}
	return nil
}

// certificate reads the client certificate. Nil: the kubeconfig has none.
func (a *access) certificate() (*x509.Certificate, error) {
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
func (a *access) dataOr(data []byte, file string) ([]byte, error) {
	if len(data) > 0 {
		return data, nil
	}
	data, err := os.ReadFile(file)
	switch {
	case err != nil && filepath.Dir(file) != certificateDir:
		return nil, fmt.Errorf("reading the kubelet's client certificate, which %s names: %w; of the host's folders with certificates, "+
			"the agent's pod has only %s: mount %s in the DaemonSet node-agent, too", a.file, err, certificateDir, filepath.Dir(file))
	case err != nil:
		return nil, fmt.Errorf("reading the kubelet's client certificate, which %s names: %w; restore it", a.file, err)
	case len(data) == 0:
		return nil, fmt.Errorf("the kubelet's client certificate %s, which %s names, is empty: "+
			"point it to an older one in its folder, or join the node again", file, a.file)
	}
	return data, nil
}

const (
	// accessEvery is how often the files are looked at.
	accessEvery = 30 * time.Second
	// reachedWithin is how long the API server may take to answer, if that decides.
	reachedWithin = 10 * time.Second
)

// watch looks at the files until ctx ends. It returns why the agent cannot go on as it began, once two looks in a
// row have found that: a file may be half written. answers reports whether the API server answers the agent.
func (a *access) watch(ctx context.Context, answers func(context.Context) bool) error {
	for found := 0; ; {
		sleep(ctx, accessEvery)
		err := a.check(ctx, answers)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			found = 0
			continue
		}
		if found++; found == 2 {
			return err
		}
	}
}

// check looks at the files. client-go reads the certificate again by itself when it rotates. A file that was
// replaced by another one of its name remains the former one in a pod that mounts it, so what is in the new one
// is not known before the container begins again. As it may have been deleted, and the container's runtime would
// make a folder there, that is done only when the former one is of no use.
func (a *access) check(ctx context.Context, answers func(context.Context) bool) error {
	now, err := readAccess(a.file, a.node)
	switch {
	case err != nil:
		return err
	case !bytes.Equal(now.text, a.text):
		return fmt.Errorf("%s was changed: the agent begins again with it", a.file)
	case !isReplaced(a.file):
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, reachedWithin)
	defer cancel()
	if answers(ctx) {
		return nil
	}
	return fmt.Errorf("%s was replaced on the host, and the API server does not answer at %s, which the former one named: the agent begins again with the new one",
		a.file, a.config.Host)
}

// isReplaced reports whether the file has no name any more.
func isReplaced(file string) bool {
	info, err := os.Stat(file)
	if err != nil {
		return false
	}
	stat, known := info.Sys().(*syscall.Stat_t)
	return known && stat.Nlink == 0
}
