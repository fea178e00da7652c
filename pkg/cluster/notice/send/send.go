// Package send sends one notice with the library shoutrrr, in a process of its own.
//
// The library takes no context, and its services have clients of their own, with and without time
// limits. So the coordinator runs a program for each notice: whatever a server or a template
// does, it costs half a minute and a limited amount of memory, and a panic ends only this process.
//
// It promises that nothing of an address leaves the process: what went wrong is a code of package
// wire, and never an error's text. Errors of the library may contain the address.
package send

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/ntfy"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/notice/wire"
)

// maxHeap is from where on garbage is collected without pause.
const maxHeap = 32 << 20

// maxMemory is how much memory a template, or an answer, may need: one arena of Go's heap, which is 64
// MiB, and what is beside it. Four such processes have room in the coordinator's limit.
const maxMemory = 96 << 20

// maxAnswer is how much of a server's answer is read.
const maxAnswer = 64 << 10

// Main is the program: it sends the message that it reads, within limits of time and memory.
func Main(in io.Reader, out io.Writer) error {
	time.AfterFunc(wire.Timeout, func() { os.Exit(1) }) // also if the coordinator is gone
	limit := syscall.Rlimit{Cur: maxMemory, Max: maxMemory}
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &limit); err != nil {
		return errors.New("limiting the memory of this process")
	}
	debug.SetMemoryLimit(maxHeap)
	return Answer(in, out)
}

// Answer sends the message that it reads, and writes what came of it.
func Answer(in io.Reader, out io.Writer) error {
	var o wire.Message
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return errors.New("the message cannot be read")
	}
	return json.NewEncoder(out).Encode(send(o))
}

// send sends one notice.
func send(o wire.Message) (answer wire.Answer) {
	defer func() {
		if recover() != nil { // some services panic if a server cannot be reached
			answer = wire.Answer{Problem: wire.ProblemOther}
		}
	}()
	text, err := Render(o.Template, escaped(o.Data, escapeFor(o.URL)))
	if err != nil {
		return wire.Answer{Problem: wire.ProblemTemplate, Detail: err.Error()}
	}
	if o.CheckOnly { // there is no event, so the text may be empty
		return check(o.URL)
	}
	if strings.TrimSpace(text) == "" {
		return wire.Answer{Problem: wire.ProblemTemplate, Detail: "it gives an empty text"}
	}
	seen := observe()
	service, err := (&router.ServiceRouter{}).Locate(o.URL)
	switch {
	case errors.Is(err, router.ErrUnknownService):
		return wire.Answer{Problem: wire.ProblemService}
	case err != nil && seen.problem == "": // some services log in first
		return wire.Answer{Problem: wire.ProblemAddress}
	case err == nil:
		seen.watch(service)
		err = service.Send(text, &types.Params{})
	}
	return seen.answer(err)
}

// check returns whether an address names a service. It asks no server.
func check(address string) wire.Answer {
	var services router.ServiceRouter
	name, _, err := services.ExtractServiceName(address)
	if err != nil {
		return wire.Answer{Problem: wire.ProblemAddress}
	}
	if _, err := services.NewService(name); err != nil {
		return wire.Answer{Problem: wire.ProblemService}
	}
	return wire.Answer{}
}

// observe has all clients of this process that have no transport of their own observed.
func observe() *observer {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the standard library says so
	transport.MaxResponseHeaderBytes = maxAnswer
	o := &observer{}
	http.DefaultTransport = o.over(transport)
	http.DefaultClient.Timeout = wire.Timeout - 5*time.Second
	return o
}

// watch has the client of a service observed that has a transport of its own.
func (o *observer) watch(service types.Service) {
	switch own := service.(type) {
	case interface{ GetHTTPClient() *http.Client }: // gotify and mattermost
		client := own.GetHTTPClient()
		client.Transport = o.over(client.Transport)
	case *ntfy.Service:
		config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: own.Config.DisableTLSVerification} //nolint:gosec // the address asks for it
		transport := &http.Transport{TLSClientConfig: config}
		own.SetHTTPClient(&http.Client{Timeout: ntfy.HTTPTimeout * time.Second, Transport: o.over(transport)})
	}
}

// observer keeps what went wrong last.
type observer struct {
	mutex   sync.Mutex
	problem wire.Problem
	status  int
}

// over returns a transport that is observed, follows no redirect, and limits what is read.
func (o *observer) over(next http.RoundTripper) http.RoundTripper { return observed{o, next} }

// observed is a transport.
type observed struct {
	*observer
	next http.RoundTripper
}

// errRedirect is the error of an answer with another address: that would get this one, which is a
// secret, in the header Referer.
var errRedirect = errors.New("redirects are not followed")

// RoundTrip implements http.RoundTripper.
func (o observed) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := o.next.RoundTrip(r)
	o.mutex.Lock()
	defer o.mutex.Unlock()
	switch {
	case err != nil && (r.Context().Err() != nil || strings.Contains(err.Error(), "request canceled")): // by the client's time limit
		o.problem, o.status = wire.ProblemTimeout, 0
		return nil, err
	case err != nil:
		o.problem, o.status = classify(err), 0
		return nil, err
	case response.StatusCode >= http.StatusMultipleChoices:
		o.problem, o.status = wire.ProblemStatus, response.StatusCode
	default:
		o.problem, o.status = "", 0
	}
	if response.StatusCode < http.StatusBadRequest && response.Header.Get("Location") != "" {
		_ = response.Body.Close() // nothing of it is read
		return nil, errRedirect
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(response.Body, maxAnswer), response.Body}
	return response, nil
}

// answer returns what came of sending. Some services return no error although their last request
// failed.
func (o *observer) answer(err error) wire.Answer {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	switch {
	case o.problem != "":
		return wire.Answer{Problem: o.problem, Status: o.status}
	case err == nil:
		return wire.Answer{}
	}
	var reply *textproto.Error
	if errors.As(err, &reply) {
		return wire.Answer{Problem: wire.ProblemStatus, Status: reply.Code}
	}
	return wire.Answer{Problem: classify(err)}
}

// classify returns the code of an error of the network.
func classify(err error) wire.Problem {
	var (
		unknownHost *net.DNSError
		timeout     net.Error
		authority   x509.UnknownAuthorityError
		name        x509.HostnameError
		certificate x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &unknownHost) && !unknownHost.IsTimeout:
		return wire.ProblemName
	case errors.As(err, &timeout) && timeout.Timeout():
		return wire.ProblemTimeout
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return wire.ProblemRefused
	case errors.As(err, &authority), errors.As(err, &name), errors.As(err, &certificate):
		return wire.ProblemCertificate
	}
	return wire.ProblemOther
}
