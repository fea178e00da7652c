package gate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/secret"
)

// The keys of the Secrets that a PrometheusGate names.
const (
	caKey    = "ca.crt"
	tokenKey = "token"
)

func (c Clients) askPrometheus(ctx context.Context, g v1alpha1.PrometheusGate) Answer {
	client, err := c.httpClient(ctx, g)
	if err != nil {
		return unknown("%v", err)
	}
	server, err := api.NewClient(api.Config{Address: g.URL, Client: client})
	if err != nil {
		return unknown("%v", err)
	}
	value, warnings, err := prometheus.NewAPI(server).Query(ctx, g.Query, time.Time{})
	var refused *prometheus.Error
	switch {
	case errors.As(err, &refused):
		return unknown("%s does not answer the query: %s", g.URL, refused.Msg)
	case err != nil:
		return unknown("%v", err) // names the address
	case len(warnings) > 0:
		return unknown("the answer may be incomplete: %s", strings.Join(warnings, "; "))
	}
	return judge(value, g.Expect)
}

// judge returns what the result of a query means.
func judge(value model.Value, expect v1alpha1.Expectation) Answer {
	vector, is := value.(model.Vector)
	if !is {
		return unknown("the query returns a %s: write one that returns a vector, such as a comparison", value.Type())
	}
	for _, sample := range vector {
		if math.IsNaN(float64(sample.Value)) {
			return unknown("the query returns NaN for %s", sample.Metric)
		}
	}
	message := "the query returns nothing"
	if len(vector) > 0 {
		message = "the query returns " + counted(len(vector), "result") + ", such as " + sampleText(vector[0])
	}
	if (len(vector) == 0) == (expect == v1alpha1.ExpectEmpty) {
		return open("%s", message)
	}
	return closed("%s", message)
}

func sampleText(s *model.Sample) string {
	if s.Histogram != nil {
		return s.Metric.String()
	}
	return fmt.Sprintf("%s = %s", s.Metric, s.Value)
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// httpClient returns a client that trusts and sends what the gate's Secrets have. It follows no
// redirect, as the token would go with it.
func (c Clients) httpClient(ctx context.Context, g v1alpha1.PrometheusGate) (*http.Client, error) {
	// Each question has a client of its own, so no connection is kept.
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, DisableKeepAlives: true}
	if g.CASecret != "" {
		text, err := secret.Read(ctx, c.Secrets, g.CASecret, caKey)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(text)) {
			return nil, fmt.Errorf("key %s of Secret %s has no certificate in PEM", caKey, g.CASecret)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	bounded := boundedTransport{base: transport}
	if g.TokenSecret != "" {
		token, err := secret.Read(ctx, c.Secrets, g.TokenSecret, tokenKey)
		if err != nil {
			return nil, err
		}
		bounded.token = token
		if strings.ContainsFunc(bounded.token, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return nil, fmt.Errorf("key %s of Secret %s is not one word of printable letters", tokenKey, g.TokenSecret)
		}
	}
	refuse := func(*http.Request, []*http.Request) error {
		return errors.New("it answers with another address: set that as the url")
	}
	return &http.Client{Transport: bounded, CheckRedirect: refuse}, nil
}

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
	response.Body = &boundedBody{ReadCloser: response.Body, left: maxBytes}
	return response, nil
}

// boundedBody is an answer of which only the first bytes are read.
type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the answer is larger than %d MiB", maxBytes>>20)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err //nolint:wrapcheck // io.EOF must stay as it is
}
