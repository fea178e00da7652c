package gate

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/secret"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/web"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
)

// kubeconfigKey is the key of the Secret that a ClusterGate names.
const kubeconfigKey = "kubeconfig"

// leaderLimit is how old the renewal of the other coordinator's Lease may be. Its status may be old
// otherwise.
const leaderLimit = time.Minute

// leaderLease is the Lease of the coordinator that leads.
const leaderLease = "coordinator"

// askCluster asks another cluster what it has run. It is open if that can be read: whether it is for
// a version is decided by package plan.
func (c Clients) askCluster(ctx context.Context, g v1alpha1.ClusterGate) Answer {
	text, err := secret.Read(ctx, c.Secrets, g.KubeconfigSecret, kubeconfigKey)
	if err != nil {
		return unknown("%v", err)
	}
	access, err := readKubeconfig(text)
	if err != nil {
		return unknown("key %s of Secret %s: %v", kubeconfigKey, g.KubeconfigSecret, err)
	}
	clock := kube.NewClock(time.Now)
	access.Wrap(func(base http.RoundTripper) http.RoundTripper { return clock.Wrap(web.Bounded(base)) })
	kinds, err := kube.NewKinds(access)
	if err != nil {
		return unknown("%v", err)
	}
	leases, err := typedcoordinationv1.NewForConfig(access)
	if err != nil {
		return unknown("%v", err)
	}
	policy, err := kinds.UpgradePolicies.Get(ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	if err != nil {
		return unknown("%s: %v", access.Host, err)
	}
	lease, err := leases.Leases(v1alpha1.Namespace).Get(ctx, leaderLease, metav1.GetOptions{})
	if err != nil {
		return unknown("%s: %v", access.Host, err)
	}
	switch {
	case clock.Ahead() != 0:
		return unknown("%s: its clock and this one differ by %s", access.Host, clock.Ahead().Abs().Round(time.Second))
	case lease.Spec.RenewTime == nil || time.Since(lease.Spec.RenewTime.Time) > leaderLimit:
		return unknown("%s: no coordinator leads there, so that what it says may be old", access.Host)
	}
	answer := open("%s has run nothing", access.Host)
	if ran := policy.Status.Ran; len(ran) > 0 {
		answer = open("%s runs %s", access.Host, ran[0].Version)
		answer.Ran = ran
	}
	return answer
}

// readKubeconfig returns the access of a kubeconfig's current context. It refuses what would be code
// or trust from a Secret, or from a file: programs, plugins, proxies, and TLS that is not verified.
func readKubeconfig(text string) (*rest.Config, error) {
	file, err := clientcmd.Load([]byte(text))
	if err != nil {
		return nil, errors.New("it is no kubeconfig") // the error may have some of it
	}
	current := file.Contexts[file.CurrentContext]
	if current == nil {
		return nil, errors.New("it has no current context")
	}
	cluster, user := file.Clusters[current.Cluster], file.AuthInfos[current.AuthInfo]
	if cluster == nil || user == nil {
		return nil, errors.New("its current context names a cluster or a user that it has not")
	}
	if err := checkInline(cluster, user); err != nil {
		return nil, err
	}
	return &rest.Config{
		Host: cluster.Server, BearerToken: user.Token, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{
			CAData: cluster.CertificateAuthorityData, ServerName: cluster.TLSServerName,
			CertData: user.ClientCertificateData, KeyData: user.ClientKeyData,
		},
		Proxy: func(*http.Request) (*url.URL, error) { return nil, nil },
	}, nil
}

func checkInline(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) error {
	server, err := url.Parse(cluster.Server)
	switch {
	case err != nil || server.Scheme != "https" || server.Host == "":
		return errors.New("its server is no https address")
	case cluster.InsecureSkipTLSVerify:
		return errors.New("insecure-skip-tls-verify is refused: set certificate-authority-data")
	case cluster.ProxyURL != "":
		return errors.New("proxy-url is refused")
	case cluster.CertificateAuthority != "" || user.ClientCertificate != "" || user.ClientKey != "" || user.TokenFile != "":
		return errors.New("it names a file: everything has to be inline, as `kubectl config view --raw --flatten` writes it")
	case len(cluster.CertificateAuthorityData) == 0:
		return errors.New("it has no certificate-authority-data")
	case user.Exec != nil || user.AuthProvider != nil:
		return errors.New("it names a program or a plugin that fetches credentials, which is refused: use a token or a client certificate")
	case user.Username != "" || user.Password != "" || user.Impersonate != "":
		return errors.New("user names and impersonation are refused: use a token or a client certificate")
	case user.Token == "" && len(user.ClientCertificateData) == 0:
		return errors.New("it has neither a token nor a client certificate")
	}
	return nil
}
