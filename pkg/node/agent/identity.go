package agent

import (
	"fmt"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
)

// AccountDir is where a pod finds its ServiceAccount.
const AccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// Clients are the two identities of an agent.
type Clients struct {
	Account, Kubelet kube.Interface
	Upgrades         *kube.Kinds
	// Clock compares the node's clock with the API server's.
	Clock *kube.Clock
}

// Connect makes clients for the API server that the kubelet's own kubeconfig
// names: it can be reached without cluster DNS, CNI and kube-proxy. Certificate
// and token are named as files, which client-go reads again when they rotate.
func Connect(kubeletConfig, accountDir string) (*Clients, error) {
	kubelet, err := clientcmd.BuildConfigFromFlags("", kubeletConfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubelet's kubeconfig %s: %w", kubeletConfig, err)
	}
	if kubelet.CAFile != "" {
		// A file of the host that the pod does not mount; it holds the same.
		kubelet.CAFile = filepath.Join(accountDir, "ca.crt")
	}
	kubelet.UserAgent = "kubectl-upgrade-agent/kubelet"
	// A full node has a few hundred pods, each asked about in a round.
	kubelet.QPS, kubelet.Burst = 50, 200
	kubelet.Wrap(retryReads)
	account := &rest.Config{
		Host:            kubelet.Host,
		APIPath:         kubelet.APIPath,
		BearerTokenFile: filepath.Join(accountDir, "token"),
		TLSClientConfig: rest.TLSClientConfig{
			CAData: kubelet.CAData, CAFile: kubelet.CAFile, ServerName: kubelet.ServerName, Insecure: kubelet.Insecure,
		},
		UserAgent: "kubectl-upgrade-agent",
		QPS:       kubelet.QPS, Burst: kubelet.Burst,
	}
	account.Wrap(retryReads)
	c := Clients{Clock: &kube.Clock{}}
	account.Wrap(c.Clock.Wrap)
	if c.Kubelet, err = kube.NewForConfig(kubelet); err != nil {
		return nil, fmt.Errorf("making a client with the kubelet's identity: %w", err)
	}
	if c.Account, err = kube.NewForConfig(account); err != nil {
		return nil, fmt.Errorf("making a client with the ServiceAccount's identity: %w", err)
	}
	if c.Upgrades, err = kube.NewKinds(account); err != nil {
		return nil, err
	}
	return &c, nil
}
