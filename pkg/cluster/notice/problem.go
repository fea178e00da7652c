package notice

import (
	"fmt"
	"net/http"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/notice/wire"
)

// texts are the problems in words. None says anything about the address.
var texts = map[wire.Problem]string{
	wire.ProblemAddress:     "the address in its Secret is not one that this service understands",
	wire.ProblemService:     "the address in its Secret does not begin with the name of a service, such as slack://",
	wire.ProblemName:        "the name of the host in its address is not known here",
	wire.ProblemTimeout:     "the address does not answer in time",
	wire.ProblemRefused:     "the address cannot be reached, or refuses connections",
	wire.ProblemCertificate: "the certificate of the address is not trusted",
	wire.ProblemEnded:       fmt.Sprintf("sending took longer than %s, or too much memory", wire.Timeout),
	wire.ProblemOther:       "the service did not take it",
	wire.ProblemProgram:     "the program send-notice, which belongs beside the coordinator's, cannot be run",
}

// problemText returns the problem as a sentence.
func problemText(a wire.Answer) string {
	switch a.Problem {
	case wire.ProblemTemplate:
		return "its template cannot be used: " + oneLine(a.Detail)
	case wire.ProblemStatus:
		status := fmt.Sprintf("the service answered %d", a.Status)
		if name := http.StatusText(a.Status); name != "" {
			status += " (" + name + ")"
		}
		if a.Status >= http.StatusMultipleChoices && a.Status < http.StatusBadRequest {
			status += ": redirects are not followed"
		}
		return status
	}
	if text, known := texts[a.Problem]; known {
		return text
	}
	return texts[wire.ProblemOther]
}

// problemPasses reports whether the problem may pass by itself.
func problemPasses(a wire.Answer) bool {
	return a.Problem != wire.ProblemTemplate && a.Problem != wire.ProblemAddress && a.Problem != wire.ProblemService
}
