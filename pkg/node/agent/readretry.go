package agent

import (
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"time"
)

// dialRetryPause is the pause before a read is retried, on average: agents that lost the API
// server at the same moment do not all come back at the same moment.
const dialRetryPause = 500 * time.Millisecond

// retryReads retries reads while the API server is unreachable, until their context ends.
// Without it a watch waits up to half a minute between two attempts, and would see that
// much later that the API server is back.
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
		case <-time.After(dialRetryPause/2 + rand.N(dialRetryPause)): //nolint:gosec // no secret
		}
	}
}

// notConnected reports whether the connection failed, so that no request was sent.
func notConnected(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial"
}
