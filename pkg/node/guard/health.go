package guard

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/facts"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// answerWithin is how long the API server may take to answer.
const answerWithin = 5 * time.Second

// checker finds out what is wrong with a node that has merged an activated version.
type checker struct {
	host.Layout
	activation host.Guard
	// ran has the components whose processes ran since the guard began. One that ends
	// later may have lost etcd's majority, or its API server: the kubelet started it.
	ran map[string]bool
}

func newChecker(l host.Layout, activation host.Guard) *checker {
	return &checker{Layout: l, activation: activation, ran: map[string]bool{}}
}

// check finds out what is wrong with the node without asking the API server, and reports whether one runs
// on the node itself.
func (c *checker) check(ctx context.Context) (h Health, hosts bool) {
	kubelet := facts.FindKubelet(ctx, c.Layout)
	h, hosts = Health{Kubelet: kubelet.Problem(ctx), StaticPods: c.checkStaticPods(kubelet)}, kubelet.HasManifest("kube-apiserver")
	if config, err := c.access(); err == nil {
		h.Network = checkNetwork(ctx, c.Layout, c.activation.DefaultRoute, firstHop(config))
	}
	return h, hosts
}

// access returns the kubelet's access to the API server.
func (c *checker) access() (*rest.Config, error) {
	return clientcmd.BuildConfigFromFlags("", c.At(host.KubeletAccess))
}

// checkStaticPods looks for the processes of the components that the kubelet runs from a
// manifest, or has to, as the former one did. Their own health is not asked: it depends on other
// nodes. No version is to blame for a manifest that cannot be understood.
func (c *checker) checkStaticPods(kubelet *facts.Kubelet) string {
	var missing []string
	for _, component := range append(slices.Clone(host.ControlPlaneComponents), "etcd") {
		if kubelet.RunsStaticPod(component) {
			c.ran[component] = true
		}
		if !c.ran[component] && c.hasToRun(kubelet, component) {
			missing = append(missing, component)
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return "these static pods do not run: " + strings.Join(missing, ", ")
}

// hasToRun reports whether there is a manifest of the component where the kubelet looks, or where the former one did.
func (c *checker) hasToRun(kubelet *facts.Kubelet, component string) bool {
	for _, dir := range []string{kubelet.ManifestsDir(), cmp.Or(c.activation.StaticPods, kubelet.ManifestsDir())} {
		if pod, err := kubelet.StaticPodIn(dir, component); err == nil && pod != nil {
			return true
		}
	}
	return false
}

// ask asks the API server whether the node is Ready at the activated version. An API server
// that refuses to answer does not answer: that is no reason for a rollback.
func (c *checker) ask(ctx context.Context) answer {
	config, err := c.access()
	if err != nil {
		return answer{}
	}
	node, err := readNode(ctx, config)
	if err != nil {
		return answer{}
	}
	boot, err := c.BootID()
	if err != nil {
		return answer{}
	}
	return answer{given: true, problem: notReady(node, boot, c.activation.To)}
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

// UserAgent is what the guard calls itself to the API server.
const UserAgent = "kubectl-upgrade-guard"

// readNode reads the kubelet's own Node with the kubelet's identity.
func readNode(ctx context.Context, config *rest.Config) (*corev1.Node, error) {
	nodes, name, err := ownNode(config)
	if err != nil {
		return nil, err
	}
	return nodes.Get(ctx, name, metav1.GetOptions{})
}

// ownNode returns a client for Nodes with the kubelet's identity, and the name of its own.
func ownNode(config *rest.Config) (nodes kube.Nodes, name string, err error) {
	if name, err = nodeName(config); err != nil {
		return nodes, "", err
	}
	config.Timeout, config.UserAgent = answerWithin, UserAgent
	kube.RefuseRedirects(config)
	client, err := kube.NewForConfig(config)
	if err != nil {
		return nodes, "", err
	}
	return client.Nodes(), name, nil
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

// firstHop returns where a connection to the API server leads: to the proxy that the
// kubelet's kubeconfig names (proxy-url), or to the API server itself.
func firstHop(config *rest.Config) string {
	server, err := url.Parse(config.Host)
	if err != nil || config.Proxy == nil {
		return config.Host
	}
	if proxy, err := config.Proxy(&http.Request{URL: server}); err == nil && proxy != nil {
		return proxy.String()
	}
	return config.Host
}

// checkNetwork returns a sentence if the node has lost its default route, or has no route
// to the API server. It sends nothing: connecting a UDP socket only looks up the route
// (udp(7)). A server that is named, and not an address, shows nothing.
func checkNetwork(ctx context.Context, l host.Layout, hadDefaultRoute bool, server string) string {
	if hadDefaultRoute && !l.HasDefaultRoute() {
		return "the node has no network: its default route is gone"
	}
	address, err := url.Parse(server)
	if err != nil || net.ParseIP(address.Hostname()) == nil {
		return ""
	}
	conn, err := new(net.Dialer).DialContext(ctx, "udp", net.JoinHostPort(address.Hostname(), "443"))
	if err == nil {
		_ = conn.Close()
		return ""
	}
	if errors.Is(err, unix.ENETUNREACH) || errors.Is(err, unix.EHOSTUNREACH) || errors.Is(err, unix.EADDRNOTAVAIL) {
		return "the node has no network: there is no route to the API server at " + address.Hostname()
	}
	return ""
}
