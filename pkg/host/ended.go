package host

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// Ended leaves a Result in the place of a verb that could not leave its own:
// it was killed, hung until its limit, or was never started. The verb's unit
// calls it as ExecStopPost=, with what systemd knows of the end in the
// environment (systemd.exec(5), $SERVICE_RESULT).
func Ended(l Layout, v verb.Verb, failed v1alpha1.Reason, getenv func(string) string) error {
	request, result, err := lastRequest(l.Root(), v)
	if err != nil || request == nil || result != nil {
		return err
	}
	bootID, err := l.BootID()
	if err != nil {
		return err
	}
	end := fmt.Sprintf("%s, %s %s", getenv("SERVICE_RESULT"), getenv("EXIT_CODE"), getenv("EXIT_STATUS"))
	return writeJSON(resultFile(l.Root(), v), noResult(request, failed, bootID, end, time.Now().UTC()))
}

// lastResult returns what came of the last request, of a verb that does not run.
// Where nothing was left, as after a power cut, it is the same failure each time
// it is asked for: the end is not known, so it ended when it was asked for.
func lastResult(root string, v verb.Verb, failed v1alpha1.Reason) (*Result, error) {
	request, result, err := lastRequest(root, v)
	if err != nil || request == nil || result != nil {
		return result, err
	}
	const end = "the node lost power, or the unit could not be set up: its journal on the node may say why"
	return noResult(request, failed, "", end, request.RequestedAt), nil
}

// lastRequest returns the last request for a verb, and the result that answers it.
// Each is nil when there is none.
func lastRequest(root string, v verb.Verb) (*Request, *Result, error) {
	request, err := readJSON[Request](requestFile(root, v))
	if err != nil || request == nil {
		return nil, nil, err
	}
	result, err := readJSON[Result](resultFile(root, v))
	if err != nil || result == nil || result.Key != request.Key {
		return request, nil, err
	}
	return request, result, nil
}

func noResult(request *Request, failed v1alpha1.Reason, bootID, end string, at time.Time) *Result {
	return &Result{
		Verb: request.Verb, Key: request.Key, BootID: bootID,
		StartedAt: request.RequestedAt, FinishedAt: at,
		Reason:  failed,
		Message: fmt.Sprintf("host verb %q ended without a result (%s)", request.Verb, end),
	}
}
