// Package web asks the servers that the UpgradePolicy names, such as a Prometheus.
//
// It promises that a token goes to its address only, that an answer is read as a stream, of which no
// more than a small piece is in memory at a time, and that no error has a Secret.
package web

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/secret"
)

const (
	// maxHeader is how many bytes the header of an answer may have.
	maxHeader = 64 << 10
	// maxUnread is how much of an answer is received before it is read, over HTTP/2.
	maxUnread = 256 << 10
)

// Access names the keys of Secrets for an address. Nil: there is none.
type Access struct{ CA, Token *v1alpha1.SecretKeyReference }

// ClientFor returns a client that trusts and sends what the Secrets have. The error may be a
// *secret.Problem.
func ClientFor(ctx context.Context, secrets typedcorev1.SecretsGetter, access Access) (*http.Client, error) {
	var trusted *tls.Config
	if access.CA != nil {
		ref := access.CA.Or(v1alpha1.CAKey)
		text, err := secret.Read(ctx, secrets, ref)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(text)) {
			return nil, fmt.Errorf("%s has no certificate in PEM", ref)
		}
		trusted = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	token := ""
	if access.Token != nil {
		var err error
		ref := access.Token.Or(v1alpha1.TokenKey)
		if token, err = secret.Read(ctx, secrets, ref); err != nil {
			return nil, err
		}
		if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return nil, fmt.Errorf("%s is not one word of printable letters", ref)
		}
	}
	return NewClient(trusted, http.ProxyFromEnvironment, token), nil
}

// NewClient returns a client for one address, to which it sends the token, if there is one. It follows
// no redirect, as the token would go with it, and keeps no connection.
func NewClient(trusted *tls.Config, proxy func(*http.Request) (*url.URL, error), token string) *http.Client {
	var transport http.RoundTripper = &http.Transport{
		Proxy: proxy, TLSClientConfig: trusted, ForceAttemptHTTP2: true, DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeader,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerConnection: maxUnread, MaxReceiveBufferPerStream: maxUnread},
	}
	if token != "" {
		transport = withToken{transport, token}
	}
	return &http.Client{Transport: transport, CheckRedirect: RefuseRedirect}
}

// RefuseRedirect is an http.Client's CheckRedirect.
func RefuseRedirect(*http.Request, []*http.Request) error {
	return errors.New("it answers with another address, which is not followed: set that one")
}

// withToken sends the token.
type withToken struct {
	next  http.RoundTripper
	token string
}

// RoundTrip implements http.RoundTripper.
func (t withToken) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+t.token)
	return t.next.RoundTrip(request) //nolint:wrapcheck // http.Client adds the address
}
