package secret

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
)

// maxKubeconfig is how many bytes a kubeconfig may have.
const maxKubeconfig = 64 << 10

// decoding lets one kubeconfig at a time be decoded: YAML may take a thousand times its own memory.
var decoding sync.Mutex

func decode(text string) (*clientcmdapi.Config, error) {
	if len(text) > maxKubeconfig {
		return nil, fmt.Errorf("it is larger than %d KiB: write only the context that is needed, with `kubectl config view --raw --flatten --minify`", maxKubeconfig>>10)
	}
	decoding.Lock()
	defer decoding.Unlock()
	file, err := clientcmd.Load([]byte(text))
	if err != nil {
		return nil, errors.New("it is no kubeconfig") // the error may have some of it
	}
	return file, nil
}

// ReadKubeconfig returns the access of a kubeconfig's current context. It refuses what would be code
// or trust from a Secret, or from a file: programs, plugins, proxies, and TLS that is not verified.
func ReadKubeconfig(text string) (*rest.Config, error) {
	file, err := decode(text)
	if err != nil {
		return nil, err
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

// ExpiryOf returns when the token or the client certificate of the access expires. Zero: it does not,
// or does not say so. The API server verifies them, this only reads them.
func ExpiryOf(access *rest.Config) time.Time {
	if access.BearerToken != "" {
		return tokenExpiry(access.BearerToken)
	}
	certificates, err := cert.ParseCertsPEM(access.CertData)
	if err != nil {
		return time.Time{}
	}
	return certificates[0].NotAfter
}

// tokenExpiry returns the claim exp of a JSON Web Token (RFC 7519, section 4.1.4).
func tokenExpiry(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}
	}
	var claims struct {
		Expiry float64 `json:"exp"`
	}
	if err := json.Unmarshal(text, &claims); err != nil || claims.Expiry <= 0 {
		return time.Time{}
	}
	return time.Unix(int64(claims.Expiry), 0).UTC()
}
