package facts

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// loadedWithin is how soon kube-apiserver, etcd and the kubelet use a certificate that they load anew by themselves.
const loadedWithin = time.Minute

// certificateUse finds out which programs use which certificates, and whether they have what is in the file now.
func (g *gatherer) certificateUse() {
	for _, component := range append(slices.Clone(host.ControlPlaneComponents), "etcd") {
		pod, err := g.own.StaticPod(component)
		if err != nil || pod == nil {
			continue // g.staticPods has said why
		}
		for i := range g.facts.Certificates {
			c := &g.facts.Certificates[i]
			if flag := pod.flagFor(c.Path); flag != "" && !c.CA {
				c.UsedBy = append(c.UsedBy, component)
				c.InUse = g.componentHas(*c, pod, component, flag)
			}
		}
	}
	for i := range g.facts.Certificates {
		c := &g.facts.Certificates[i]
		g.ofKubelet(c)
		for _, pod := range g.others {
			if !c.CA && sharesFile(pod, c.Path) && len(c.UsedBy) < maxUsers {
				c.UsedBy = append(c.UsedBy, pod.Name)
			}
		}
	}
}

// maxUsers is how many programs a certificate is reported to be used by.
const maxUsers = 4

// flagFor returns the flag by which the component is told to use a file of the node; empty: none.
func (p *StaticPod) flagFor(path string) string {
	for _, name := range p.flags.names() {
		if value := p.Flag(name); filepath.IsAbs(value) && p.OnNode(value) == path {
			return name
		}
	}
	return ""
}

// sharesFile reports whether a static pod of another maker has the file, or a folder of kubeadm's that it is in.
func sharesFile(pod corev1.Pod, path string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		if v.HostPath == nil {
			return false
		}
		from := filepath.Clean(v.HostPath.Path)
		return from == path || strings.HasPrefix(from+"/", kubernetesDir+"/") && strings.HasPrefix(path, from+"/")
	})
}

// componentHas reports whether a component has the certificate that a flag names. A handshake tells which one it serves
// with. As a client, kube-apiserver and etcd read files anew for each connection (client-go 1.34, transport.Config.ReloadTLSFiles; etcd
// 3.5, TLSInfo.GetClientCertificate). What is inside a kubeconfig is read at the start.
func (g *gatherer) componentHas(c v1alpha1.CertificateFacts, pod *StaticPod, component, flag string) v1alpha1.CertificateUse {
	const etcdPKI = kubernetesDir + "/pki/etcd"
	switch component + " " + flag {
	case "kube-apiserver tls-cert-file":
		port := pod.Flag("secure-port")
		if port == "" {
			port = "6443"
		}
		return g.serves(c, onNode(pod.Flag("bind-address"), port), "")
	case "etcd cert-file":
		return g.serves(c, addressOf(pod.Listens("listen-client-urls")), etcdPKI+"/healthcheck-client")
	case "etcd peer-cert-file":
		return g.serves(c, addressOf(pod.Listens("listen-peer-urls")), etcdPKI+"/peer")
	}
	if strings.HasSuffix(c.Path, ".crt") && (component == "kube-apiserver" || component == "etcd") {
		return v1alpha1.UsesCurrent
	}
	return g.startedWith(c, g.own.processOf(component))
}

// addressOf returns the host and port of a URL of https; empty: it is none.
func addressOf(text string) string {
	if address, err := url.Parse(text); err == nil && address.Scheme == "https" {
		return address.Host
	}
	return ""
}

// isFresh reports whether the file was written so shortly before that a program which loads it anew need not have done so.
func (g *gatherer) isFresh(c v1alpha1.CertificateFacts) bool {
	return c.WrittenTime == nil || g.now.Sub(c.WrittenTime.Time) < loadedWithin
}

// serves makes a handshake and reports whether the program serves with the certificate. client is where a client's
// certificate and key are, without their extensions.
func (g *gatherer) serves(c v1alpha1.CertificateFacts, address, client string) v1alpha1.CertificateUse {
	if g.handshake == nil || address == "" {
		return ""
	}
	served, err := g.handshake(address, client)
	switch {
	case err != nil:
		return ""
	case bytes.Equal(served, g.chains[c.Path][0].Raw):
		return v1alpha1.UsesCurrent
	case g.isFresh(c):
		return ""
	}
	return v1alpha1.UsesFormer
}

// startedWith reports whether the process was started after the file was written.
func (g *gatherer) startedWith(c v1alpha1.CertificateFacts, p *process) v1alpha1.CertificateUse {
	up := sinceBoot(g.Layout)
	if p == nil || p.started == 0 || up == 0 || c.WrittenTime == nil {
		return ""
	}
	started := g.now.Add(p.started - up)
	if c.WrittenTime.Time.After(started) { // which is cut to the second
		return v1alpha1.UsesFormer
	}
	return v1alpha1.UsesCurrent
}

// ofKubelet adds whether the kubelet uses the certificate. It has what it rotates itself.
func (g *gatherer) ofKubelet(c *v1alpha1.CertificateFacts) {
	rotated := g.own.rotatedCertificate()
	switch {
	case c.KubeletServing:
		c.UsedBy, c.InUse = append(c.UsedBy, "kubelet"), g.serves(*c, g.own.address(), "")
	case c.Path == rotated || c.Path == host.KubeletAccess && rotated != "":
		c.UsedBy = append(c.UsedBy, "kubelet")
	case c.Path == host.KubeletAccess:
		c.UsedBy, c.InUse = append(c.UsedBy, "kubelet"), g.startedWith(*c, g.own.process)
	}
}

// servedAt returns the certificate that a program on the node serves with. It is not verified, and nothing is sent to the
// program but, where it asks for one, the certificate of a client: without it, etcd logs a warning each time.
func servedAt(ctx context.Context, l host.Layout, address, client string) (served []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	config := &tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // what the program serves is to be known, also if it cannot be trusted
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) > 0 {
				served = s.PeerCertificates[0].Raw
			}
			return nil
		},
	}
	if client != "" {
		if pair, err := tls.LoadX509KeyPair(l.At(client+".crt"), l.At(client+".key")); err == nil {
			config.Certificates = []tls.Certificate{pair}
		}
	}
	conn, err := (&tls.Dialer{NetDialer: &net.Dialer{}, Config: config}).DialContext(ctx, "tcp", address)
	if err == nil {
		_ = conn.Close()
	}
	if served == nil {
		return nil, errors.Join(errors.New("no certificate was served"), err)
	}
	return served, nil
}
