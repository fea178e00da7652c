// Package send sends one notice with the library shoutrrr, in a process of its own.
//
// The library takes no context, and its services have clients of their own, with and without time
// limits. So the coordinator runs this program again for each notice: whatever a server or a template
// does, it costs half a minute and a limited amount of memory, and a panic ends only this process.
//
// It promises that nothing of an address leaves the process: what went wrong is a code of package
// notice, and never an error's text. Errors of the library may contain the address.
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
	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/notice"
)

// maxMemory is how much memory a template, or an answer, may need.
const maxMemory = 256 << 20

// maxAnswer is how much of a server's answer is read.
const maxAnswer = 64 << 10

// NewCommand returns the command that reads a notice.Order, sends it, and writes a notice.Answer.
func NewCommand() *cobra.Command {
	return &cobra.Command{
		Use: notice.Command, Short: "Send one notice, which is read from the standard input", Hidden: true, Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return Main(command.InOrStdin(), command.OutOrStdout())
		},
	}
}

// Main sends the order that it reads.
func Main(in io.Reader, out io.Writer) error {
	time.AfterFunc(notice.Timeout, func() { os.Exit(1) }) // also if the coordinator is gone
	limit := syscall.Rlimit{Cur: maxMemory, Max: maxMemory}
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &limit); err != nil {
		return errors.New("limiting the memory of this process")
	}
	var order notice.Order
	if err := json.NewDecoder(in).Decode(&order); err != nil {
		return errors.New("the order cannot be read")
	}
	return json.NewEncoder(out).Encode(send(order))
}

// send sends one notice.
func send(order notice.Order) (answer notice.Answer) {
	defer func() {
		if recover() != nil { // some services panic if a server cannot be reached
			answer = notice.Answer{Problem: notice.ProblemOther}
		}
	}()
	text, err := notice.Render(order.Template, order.Data)
	if err != nil {
		return notice.Answer{Problem: notice.ProblemTemplate, Detail: err.Error()}
	}
	if strings.TrimSpace(text) == "" {
		return notice.Answer{Problem: notice.ProblemTemplate, Detail: "it gives an empty text"}
	}
	if order.CheckOnly {
		return check(order.URL)
	}
	seen := observe()
	service, err := (&router.ServiceRouter{}).Locate(order.URL)
	switch {
	case errors.Is(err, router.ErrUnknownService):
		return notice.Answer{Problem: notice.ProblemService}
	case err != nil && seen.problem == "": // some services log in first
		return notice.Answer{Problem: notice.ProblemAddress}
	case err == nil:
		err = service.Send(text, &types.Params{})
	}
	return seen.answer(err)
}

// check returns whether an address names a service. It asks no server.
func check(address string) notice.Answer {
	var services router.ServiceRouter
	name, _, err := services.ExtractServiceName(address)
	if err != nil {
		return notice.Answer{Problem: notice.ProblemAddress}
	}
	if _, err := services.NewService(name); err != nil {
		return notice.Answer{Problem: notice.ProblemService}
	}
	return notice.Answer{}
}

// observe has all clients of this process that have no transport of their own observed.
func observe() *observer {
	o := &observer{next: http.DefaultTransport}
	http.DefaultTransport = o
	http.DefaultClient.Timeout = notice.Timeout - 5*time.Second
	return o
}

// observer is a transport that keeps what went wrong last, and limits what is read.
type observer struct {
	next http.RoundTripper

	mutex   sync.Mutex
	problem notice.Problem
	status  int
}

// RoundTrip implements http.RoundTripper.
func (o *observer) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := o.next.RoundTrip(r)
	o.mutex.Lock()
	defer o.mutex.Unlock()
	switch {
	case err != nil && (r.Context().Err() != nil || strings.Contains(err.Error(), "request canceled")): // by the client's time limit
		o.problem, o.status = notice.ProblemTimeout, 0
		return nil, err
	case err != nil:
		o.problem, o.status = classify(err), 0
		return nil, err
	case response.StatusCode >= http.StatusBadRequest:
		o.problem, o.status = notice.ProblemStatus, response.StatusCode
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
func (o *observer) answer(err error) notice.Answer {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	switch {
	case o.problem != "":
		return notice.Answer{Problem: o.problem, Status: o.status}
	case err == nil:
		return notice.Answer{}
	}
	var reply *textproto.Error
	if errors.As(err, &reply) {
		return notice.Answer{Problem: notice.ProblemStatus, Status: reply.Code}
	}
	return notice.Answer{Problem: classify(err)}
}

// classify returns the code of an error of the network.
func classify(err error) notice.Problem {
	var (
		unknownHost *net.DNSError
		timeout     net.Error
		authority   x509.UnknownAuthorityError
		name        x509.HostnameError
		certificate x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &unknownHost) && !unknownHost.IsTimeout:
		return notice.ProblemName
	case errors.As(err, &timeout) && timeout.Timeout():
		return notice.ProblemTimeout
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return notice.ProblemRefused
	case errors.As(err, &authority), errors.As(err, &name), errors.As(err, &certificate):
		return notice.ProblemCertificate
	}
	return notice.ProblemOther
}
