package kube

import (
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"
)

// RefuseRedirects has clients of config follow no redirect to another server, nor one that leaves TLS: client-go sends
// the token with each request, wherever a redirect leads.
func RefuseRedirects(config *rest.Config) { config.Wrap(refuseRedirects) }

func refuseRedirects(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err != nil || response.StatusCode/100 != 3 || response.Header.Get("Location") == "" {
			return response, err
		}
		to, err := request.URL.Parse(response.Header.Get("Location"))
		if err == nil && to.Scheme == request.URL.Scheme && to.Host == request.URL.Host {
			return response, nil
		}
		_ = response.Body.Close()
		where := "an address that cannot be read"
		if err == nil {
			where = to.Scheme + "://" + to.Host
		}
		return nil, fmt.Errorf("%s://%s redirects to %s, which is not followed: no API server does that; something between it and this client answers",
			request.URL.Scheme, request.URL.Host, where)
	})
}
