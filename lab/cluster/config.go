package cluster

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"embed"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/network"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/node"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
)

// apiEndpoint is the address of the apiservers for every kubelet and kubeconfig.
const apiEndpoint = network.Host + ":6443"

// ignored are the preflight errors of kubeadm that a container causes: it has no
// kernel modules, and perhaps no version 2 control groups. One processor makes a slow
// lab, not a broken one. Old kubeadms write IPv4 addresses in brackets into a URL, which
// the Go that compiles them here refuses (HTTPProxyCIDR).
var ignored = []string{"SystemVerification", "NumCPU", "HTTPProxyCIDR"}

// timeouts are kubeadm's own, and those of the static pods that it writes.
var timeouts = map[string]time.Duration{
	"controlPlaneComponentHealthCheck": 4 * time.Minute,
	"kubeletHealthCheck":               4 * time.Minute,
	"kubernetesAPICall":                time.Minute,
	"etcdAPICall":                      2 * time.Minute,
	"tlsBootstrap":                     5 * time.Minute,
	"discovery":                        5 * time.Minute,
	"upgradeManifests":                 5 * time.Minute,
}

// scaledTimeouts returns kubeadm's timeouts for this machine.
func scaledTimeouts() map[string]string {
	scaled := map[string]string{}
	for name, limit := range timeouts {
		scaled[name] = timelimit.Scale(limit).String()
	}
	return scaled
}

//go:embed kubeadm
var kubeadmFiles embed.FS

var kubeadmTemplates = template.Must(template.ParseFS(kubeadmFiles, "kubeadm/*.yaml"))

// nodeConfig is what kubeadm has to know about a node.
type nodeConfig struct {
	network.Endpoint
	ControlPlane          bool
	Version               string // with v
	Token, CertificateKey string
	CAHash                string // of the certificate that a joining node trusts
	Changes               string // documents that change these
}

// render fills in init.yaml, join.yaml or upgrade.yaml.
func (n nodeConfig) render(name string) (string, error) {
	var b strings.Builder
	err := kubeadmTemplates.ExecuteTemplate(&b, name, struct {
		nodeConfig
		// Endpoint and Pods shadow those of the node: they are the cluster's.
		Endpoint, Pods, FlexVolumes string
		Ignored                     []string
		Timeouts                    map[string]string
	}{n, apiEndpoint, network.Pods, node.FlexVolumes + "/", ignored, scaledTimeouts()})
	if err != nil {
		return "", fmt.Errorf("writing kubeadm's configuration: %w", err)
	}
	return merge(b.String(), n.Changes)
}

func (c *Cluster) config(endpoint network.Endpoint, controlPlane bool, caHash string) nodeConfig {
	return nodeConfig{
		Endpoint:       endpoint,
		ControlPlane:   controlPlane,
		Version:        c.state.Spec.Version,
		Token:          c.state.Token,
		CertificateKey: c.state.CertificateKey,
		CAHash:         caHash,
		Changes:        c.state.Spec.Kubeadm,
	}
}

// caHash returns the hash of a certificate authority as kubeadm writes it: of the
// public key, so that a renewed certificate has the same one.
func caHash(certificate []byte) (string, error) {
	block, _ := pem.Decode(certificate)
	if block == nil {
		return "", errors.New("reading the cluster's certificate authority: no PEM block")
	}
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "", fmt.Errorf("reading the cluster's certificate authority: %w", err)
	}
	sum := sha256.Sum256(ca.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// newToken returns a bootstrap token, and newCertificateKey the key with which
// kubeadm encrypts the control plane's certificates for the nodes that join.
func newToken() string          { h := randomHex(11); return h[:6] + "." + h[6:22] }
func newCertificateKey() string { return randomHex(32) }

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	// It never fails: crypto/rand ends the program first.
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}
