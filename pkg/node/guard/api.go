package guard

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
)

// checkNode returns what the API server answers of the node unless it is Ready at the
// activated version. An API server that refuses to answer does not answer: that is no reason
// for a rollback.
func (c *checker) checkNode(ctx context.Context, config *rest.Config) (problem string, answered bool) {
	node, err := readNode(ctx, config)
	if err != nil {
		return "", false
	}
	boot, err := c.BootID()
	if err != nil {
		return "", false
	}
	return notReady(node, boot, c.activation.To), true
}

// notReady returns why the Node does not show a Ready kubelet of this boot at a version.
func notReady(node *corev1.Node, boot, to string) string {
	const answers = "the API server answers that "
	info := node.Status.NodeInfo
	switch {
	case info.BootID != boot:
		return answers + "the kubelet of this boot has not reported"
	case info.KubeletVersion != to:
		return fmt.Sprintf("%skubelet %s reported last, and not %s", answers, info.KubeletVersion, to)
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return ""
		} else if c.Type == corev1.NodeReady {
			return fmt.Sprintf("%sthe node is not Ready: %s", answers, c.Message)
		}
	}
	return answers + "the node is not Ready"
}

// readNode reads the kubelet's own Node with the kubelet's identity.
func readNode(ctx context.Context, config *rest.Config) (*corev1.Node, error) {
	name, err := nodeName(config)
	if err != nil {
		return nil, err
	}
	config.Timeout, config.UserAgent = answerWithin, "kubectl-upgrade-guard"
	client, err := kube.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return client.Nodes().Get(ctx, name, metav1.GetOptions{})
}

// nodeName returns the node's name, which the kubelet's client certificate has as
// system:node:NAME (Kubernetes, "Using Node Authorization").
func nodeName(config *rest.Config) (string, error) {
	data := config.CertData
	if config.CertFile != "" {
		var err error
		if data, err = os.ReadFile(config.CertFile); err != nil {
			return "", err
		}
	}
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return "", err
		}
		if name, found := strings.CutPrefix(certificate.Subject.CommonName, "system:node:"); found {
			return name, nil
		}
	}
	return "", errors.New("the kubelet's client certificate names no node")
}
