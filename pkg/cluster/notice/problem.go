package notice

import (
	"fmt"
	"net/http"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/notice/order"
)

// texts are the problems in words. None says anything about the address.
var texts = map[order.Problem]string{
	order.ProblemAddress:     "the address in its Secret is not one that this service understands",
	order.ProblemService:     "the address in its Secret does not begin with the name of a service, such as slack://",
	order.ProblemName:        "the name of the host in its address is not known here",
	order.ProblemTimeout:     "the address does not answer in time",
	order.ProblemRefused:     "the address cannot be reached, or refuses connections",
	order.ProblemCertificate: "the certificate of the address is not trusted",
	order.ProblemEnded:       fmt.Sprintf("sending took longer than %s, or too much memory", order.Timeout),
	order.ProblemOther:       "the service did not take it",
	order.ProblemProgram:     "the program send-notice, which belongs beside the coordinator's, cannot be run",
}

// problemText returns the problem as a sentence.
func problemText(a order.Answer) string {
	switch a.Problem {
	case order.ProblemTemplate:
		return "its template cannot be used: " + oneLine(a.Detail)
	case order.ProblemStatus:
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
	return texts[order.ProblemOther]
}

// problemPasses reports whether the problem may pass by itself.
func problemPasses(a order.Answer) bool {
	return a.Problem != order.ProblemTemplate && a.Problem != order.ProblemAddress && a.Problem != order.ProblemService
}
