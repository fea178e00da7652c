package notice

import (
	"fmt"
	"net/http"
	"time"
)

// Command is the argument with which the coordinator's program sends one notice.
const Command = "send-notice"

// Timeout is how long sending a notice may take.
const Timeout = 30 * time.Second

// Order is what the process that sends one notice reads.
type Order struct {
	URL      string
	Template string
	Data     Data
	// CheckOnly asks whether address and template are understood. Nothing is sent.
	CheckOnly bool
}

// Answer is what it writes.
type Answer struct {
	// Problem is empty if the notice was sent.
	Problem Problem
	// Status is the code of HTTP or SMTP that a server answered, with ProblemStatus.
	Status int
	// Detail is what is wrong with the template, with ProblemTemplate.
	Detail string
}

// Problem is a code for why a notice could not be sent.
type Problem string

// The problems.
const (
	ProblemTemplate    Problem = "Template"
	ProblemAddress     Problem = "Address"
	ProblemService     Problem = "Service"
	ProblemName        Problem = "Name"
	ProblemTimeout     Problem = "Timeout"
	ProblemRefused     Problem = "Refused"
	ProblemCertificate Problem = "Certificate"
	ProblemStatus      Problem = "Status"
	ProblemEnded       Problem = "Ended"
	ProblemOther       Problem = "Other"
)

// texts are the problems in words. None says anything about the address.
var texts = map[Problem]string{
	ProblemAddress:     "the address in its Secret is not one that this service understands",
	ProblemService:     "the address in its Secret does not begin with the name of a service, such as slack://",
	ProblemName:        "the name of the host in its address is not known here",
	ProblemTimeout:     "the address does not answer in time",
	ProblemRefused:     "the address cannot be reached, or refuses connections",
	ProblemCertificate: "the certificate of the address is not trusted",
	ProblemEnded:       fmt.Sprintf("sending took longer than %s, or too much memory", Timeout),
	ProblemOther:       "the service did not take it",
}

// text returns the problem as a sentence.
func (a Answer) text() string {
	switch a.Problem {
	case ProblemTemplate:
		return "its template cannot be used: " + oneLine(a.Detail)
	case ProblemStatus:
		status := fmt.Sprintf("the service answered %d", a.Status)
		if name := http.StatusText(a.Status); name != "" {
			status += " (" + name + ")"
		}
		return status
	}
	if text, known := texts[a.Problem]; known {
		return text
	}
	return texts[ProblemOther]
}

// passes reports whether the problem may pass by itself.
func (a Answer) passes() bool {
	return a.Problem != ProblemTemplate && a.Problem != ProblemAddress && a.Problem != ProblemService
}
