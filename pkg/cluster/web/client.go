// Package web makes clients for the addresses in the UpgradePolicy, such as that of a Prometheus.
//
// It promises that a token goes to its address only, that no more than MaxBytes are read of an
// answer, and that no error has a Secret.
package web

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/secret"
)

// The keys of the Secrets.
const (
	caKey    = "ca.crt"
	tokenKey = "token"
)

// MaxBytes is the most that is read of an answer.
const MaxBytes = 4 << 20

// Access names the Secrets for an address. Empty: there is none.
type Access struct{ CASecret, TokenSecret string }

// NewClient returns a client that trusts and sends what the Secrets have. It follows no redirect, as
// the token would go with it, and keeps no connection. The error may be a *secret.Problem.
func NewClient(ctx context.Context, secrets typedcorev1.SecretsGetter, access Access) (*http.Client, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, DisableKeepAlives: true}
	if access.CASecret != "" {
		text, err := secret.Read(ctx, secrets, access.CASecret, caKey)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(text)) {
			return nil, fmt.Errorf("key %s of Secret %s has no certificate in PEM", caKey, access.CASecret)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	bounded := boundedTransport{base: transport}
	if access.TokenSecret != "" {
		token, err := secret.Read(ctx, secrets, access.TokenSecret, tokenKey)
		if err != nil {
			return nil, err
		}
		bounded.token = token
		if strings.ContainsFunc(bounded.token, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return nil, fmt.Errorf("key %s of Secret %s is not one word of printable letters", tokenKey, access.TokenSecret)
		}
	}
	refuse := func(*http.Request, []*http.Request) error {
		return errors.New("it answers with another address: set that as the url")
	}
	return &http.Client{Transport: bounded, CheckRedirect: refuse}, nil
}

// Bounded returns a transport that cuts answers.
func Bounded(base http.RoundTripper) http.RoundTripper { return boundedTransport{base: base} }

// boundedTransport sends the token, and cuts answers.
type boundedTransport struct {
	base  http.RoundTripper
	token string
}

func (t boundedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if t.token != "" {
		request = request.Clone(request.Context())
		request.Header.Set("Authorization", "Bearer "+t.token)
	}
	response, err := t.base.RoundTrip(request)
	if err != nil {
		return nil, err //nolint:wrapcheck // http.Client adds the address
	}
	response.Body = &boundedBody{ReadCloser: response.Body, left: MaxBytes}
	return response, nil
}

// boundedBody is an answer of which only the first bytes are read.
type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the answer is larger than %d MiB", MaxBytes>>20)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err //nolint:wrapcheck // io.EOF must stay as it is
}
