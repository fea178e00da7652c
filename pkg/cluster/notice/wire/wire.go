// Package wire has what the coordinator tells the program that sends one notice, and what that
// answers. It links nothing of either.
package wire

import "time"

// Timeout is how long sending a notice may take.
const Timeout = 30 * time.Second

// Message is what the program that sends one notice reads.
type Message struct {
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
	// ProblemProgram is the coordinator's own answer if it cannot run the program.
	ProblemProgram Problem = "Program"
)

// Data are the fields of a template. docs/gates.md describes them.
type Data struct {
	ID      string // the same whenever the event is sent again
	Cluster string // as the UpgradePolicy calls it; may be empty
	Event   string
	Time    string // RFC 3339, in UTC
	Upgrade string // the ClusterUpgrade's name
	Type    string // Patch, Minor, Reboot, Rollback, Certificates
	From    string
	Version string
	Outcome string
	Done    int32
	Total   int32
	Node    string
	Reason  string
	Message string
	Next    string // the command to try next
	Text    string // all of this in one sentence
}
