package apitest

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// Lists are the first lists that informers ask for, each as its resource with "listed" or "streamed".
type Lists struct {
	t       testing.TB
	streams bool
	mutex   sync.Mutex
	first   map[string]bool
}

// RecordLists records the lists that clients of config ask for from now on. A list that may be as old as the API
// server's cache is an error of the test. Without streams, API servers answer as those that stream no lists.
func RecordLists(t testing.TB, config *rest.Config, streams bool) *Lists {
	l := &Lists{t: t, streams: streams, first: map[string]bool{}}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return recorded{l, next} })
	return l
}

// Has reports whether an informer has asked for a first list of the resource.
func (l *Lists) Has(resource string) bool {
	how := " listed"
	if l.streams {
		how = " streamed"
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.first[resource+how]
}

type recorded struct {
	lists *Lists
	next  http.RoundTripper
}

// RoundTrip is part of http.RoundTripper.
func (r recorded) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	path := strings.Split(request.URL.Path, "/")
	resource := path[len(path)-1]
	streamed := query.Get("sendInitialEvents") == "true"
	if request.Method == http.MethodGet && query.Get("resourceVersion") == "0" {
		r.lists.t.Errorf("%s asks for a list that may be old", request.URL)
	}
	if streamed && !r.lists.streams {
		const answer = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid",` +
			`"message":"sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled","code":422}`
		return &http.Response{
			StatusCode: http.StatusUnprocessableEntity, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(answer)),
		}, nil
	}
	how := ""
	switch {
	case streamed && query.Get("resourceVersion") == "":
		how = " streamed"
	case request.Method == http.MethodGet && query.Get("watch") == "" && query.Get("resourceVersion") == "" && query.Get("limit") == "":
		how = " listed"
	}
	r.lists.mutex.Lock()
	r.lists.first[resource+how] = true
	r.lists.mutex.Unlock()
	return r.next.RoundTrip(request)
}
