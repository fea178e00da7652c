package agent

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"
)

// answers is a transport that fails with errors first.
type answers struct {
	errors []error
	asked  int
}

func (a *answers) RoundTrip(*http.Request) (*http.Response, error) {
	a.asked++
	if a.asked <= len(a.errors) {
		return nil, a.errors[a.asked-1]
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Retry-After": {"10"}}}, nil
}

// TestRetryReads checks which requests are repeated while the API server is down.
func TestRetryReads(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	cut := &net.OpError{Op: "read", Err: errors.New("connection reset")}
	for name, test := range map[string]struct {
		method string
		errors []error
		asked  int
		fails  bool
	}{
		"a read is repeated":         {http.MethodGet, []error{refused}, 2, false},
		"a read that was cut is not": {http.MethodGet, []error{cut}, 1, true},
		"a write is not":             {http.MethodPatch, []error{refused}, 1, true},
		"a write that succeeds":      {http.MethodPost, nil, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			next := &answers{errors: test.errors}
			request, err := http.NewRequestWithContext(t.Context(), test.method, "https://api", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := retryReads(next).RoundTrip(request)
			if (err != nil) != test.fails || next.asked != test.asked {
				t.Errorf("got %d requests and error %v, want %d requests, error %t", next.asked, err, test.asked, test.fails)
			}
			if err == nil && (response.Header.Get("Retry-After") != "") != (test.method == http.MethodGet) {
				t.Errorf("Retry-After %q: client-go would repeat the request", response.Header.Get("Retry-After"))
			}
		})
	}
	t.Run("until the context ends", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := retryReads(&answers{errors: []error{refused, refused, refused}}).RoundTrip(request); err == nil {
			t.Error("got no error")
		}
	})
}
