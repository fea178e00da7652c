// Package send sends one notice with the library shoutrrr, in a process of its own.
//
// The library takes no context, and its services have clients of their own, with and without time
// limits. So the coordinator runs a program for each notice: whatever a server or a template
// does, it costs half a minute and a limited amount of memory, and a panic ends only this process.
//
// It promises that nothing of an address leaves the process: what went wrong is a code of package
// order, and never an error's text. Errors of the library may contain the address.
package send

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/notice/order"
)

// maxMemory is how much memory a template, or an answer, may need: one arena of Go's heap, which is 64
// MiB, and what is beside it. Four such processes have room in the coordinator's limit.
const maxMemory = 96 << 20

// maxAnswer is how much of a server's answer is read.
const maxAnswer = 64 << 10

// Main is the program: it sends the order that it reads, within limits of time and memory.
func Main(in io.Reader, out io.Writer) error {
	time.AfterFunc(order.Timeout, func() { os.Exit(1) }) // also if the coordinator is gone
	limit := syscall.Rlimit{Cur: maxMemory, Max: maxMemory}
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &limit); err != nil {
		return errors.New("limiting the memory of this process")
	}
	return Answer(in, out)
}

// Answer sends the order that it reads, and writes what came of it.
func Answer(in io.Reader, out io.Writer) error {
	var o order.Order
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return errors.New("the order cannot be read")
	}
	return json.NewEncoder(out).Encode(send(o))
}

// send sends one notice.
func send(o order.Order) (answer order.Answer) {
	defer func() {
		if recover() != nil { // some services panic if a server cannot be reached
			answer = order.Answer{Problem: order.ProblemOther}
		}
	}()
	text, err := Render(o.Template, o.Data)
	if err != nil {
		return order.Answer{Problem: order.ProblemTemplate, Detail: err.Error()}
	}
	if o.CheckOnly { // there is no event, so the text may be empty
		return check(o.URL)
	}
	if strings.TrimSpace(text) == "" {
		return order.Answer{Problem: order.ProblemTemplate, Detail: "it gives an empty text"}
	}
	seen := observe()
	service, err := (&router.ServiceRouter{}).Locate(o.URL)
	switch {
	case errors.Is(err, router.ErrUnknownService):
		return order.Answer{Problem: order.ProblemService}
	case err != nil && seen.problem == "": // some services log in first
		return order.Answer{Problem: order.ProblemAddress}
	case err == nil:
		err = service.Send(text, &types.Params{})
	}
	return seen.answer(err)
}

// check returns whether an address names a service. It asks no server.
func check(address string) order.Answer {
	var services router.ServiceRouter
	name, _, err := services.ExtractServiceName(address)
	if err != nil {
		return order.Answer{Problem: order.ProblemAddress}
	}
	if _, err := services.NewService(name); err != nil {
		return order.Answer{Problem: order.ProblemService}
	}
	return order.Answer{}
}

// observe has all clients of this process that have no transport of their own observed.
func observe() *observer {
	o := &observer{next: http.DefaultTransport}
	http.DefaultTransport = o
	http.DefaultClient.Timeout = order.Timeout - 5*time.Second
	return o
}

// observer is a transport that keeps what went wrong last, and limits what is read.
type observer struct {
	next http.RoundTripper

	mutex   sync.Mutex
	problem order.Problem
	status  int
}

// RoundTrip implements http.RoundTripper.
func (o *observer) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := o.next.RoundTrip(r)
	o.mutex.Lock()
	defer o.mutex.Unlock()
	switch {
	case err != nil && (r.Context().Err() != nil || strings.Contains(err.Error(), "request canceled")): // by the client's time limit
		o.problem, o.status = order.ProblemTimeout, 0
		return nil, err
	case err != nil:
		o.problem, o.status = classify(err), 0
		return nil, err
	case response.StatusCode >= http.StatusBadRequest:
		o.problem, o.status = order.ProblemStatus, response.StatusCode
	default:
		o.problem, o.status = "", 0
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(response.Body, maxAnswer), response.Body}
	return response, nil
}

// answer returns what came of sending. Some services return no error although their last request
// failed.
func (o *observer) answer(err error) order.Answer {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	switch {
	case o.problem != "":
		return order.Answer{Problem: o.problem, Status: o.status}
	case err == nil:
		return order.Answer{}
	}
	var reply *textproto.Error
	if errors.As(err, &reply) {
		return order.Answer{Problem: order.ProblemStatus, Status: reply.Code}
	}
	return order.Answer{Problem: classify(err)}
}

// classify returns the code of an error of the network.
func classify(err error) order.Problem {
	var (
		unknownHost *net.DNSError
		timeout     net.Error
		authority   x509.UnknownAuthorityError
		name        x509.HostnameError
		certificate x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &unknownHost) && !unknownHost.IsTimeout:
		return order.ProblemName
	case errors.As(err, &timeout) && timeout.Timeout():
		return order.ProblemTimeout
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return order.ProblemRefused
	case errors.As(err, &authority), errors.As(err, &name), errors.As(err, &certificate):
		return order.ProblemCertificate
	}
	return order.ProblemOther
}
