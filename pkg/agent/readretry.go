package agent

import (
	"errors"
	"net"
	"net/http"
	"time"
)

// dialRetryPause is the pause before a read is retried.
const dialRetryPause = 500 * time.Millisecond

// retryReads retries reads while the API server is unreachable, until their context ends.
// The pauses of a watch grow to half a minute, and it would notice a control plane that is
// back that much later.
//
// It removes Retry-After from answers to writes: client-go would otherwise repeat a refused
// eviction for minutes, without reading the gate again.
func retryReads(next http.RoundTripper) http.RoundTripper {
	return readRetrier{next: next}
}

type readRetrier struct {
	next http.RoundTripper
}

func (p readRetrier) RoundTrip(r *http.Request) (*http.Response, error) {
	for {
		response, err := p.next.RoundTrip(r)
		if err == nil && r.Method != http.MethodGet {
			response.Header.Del("Retry-After")
		}
		if err == nil || r.Method != http.MethodGet || !notConnected(err) {
			return response, err
		}
		select {
		case <-r.Context().Done():
			return nil, err
		case <-time.After(dialRetryPause):
		}
	}
}

// notConnected reports whether the connection failed, so that no request was sent.
func notConnected(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial"
}
