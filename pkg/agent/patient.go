package agent

import (
	"errors"
	"net"
	"net/http"
	"time"
)

// patientPause is how long to wait for an API server that does not answer.
const patientPause = 500 * time.Millisecond

// patience makes reads wait for an API server that is away, for as long as
// their context allows. A watch's own retries grow to half a minute, and the
// control plane that was just upgraded would be noticed that much later.
//
// A write is tried once. client-go would repeat an eviction that is refused for now, for
// minutes, without that the gate is asked again.
func patience(next http.RoundTripper) http.RoundTripper {
	return patient{next: next}
}

type patient struct {
	next http.RoundTripper
}

func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	for {
		response, err := p.next.RoundTrip(r)
		if err == nil && r.Method != http.MethodGet {
			response.Header.Del("Retry-After")
		}
		if err == nil || r.Method != http.MethodGet || !unreached(err) {
			return response, err
		}
		select {
		case <-r.Context().Done():
			return nil, err
		case <-time.After(patientPause):
		}
	}
}

// unreached reports whether no connection came about: nothing was asked yet.
func unreached(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial"
}
