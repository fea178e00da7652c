package host

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// Ended writes a Result for a verb that could not write its own, because it was
// killed, reached its time limit, or could not be started. The verb's unit runs
// it as ExecStopPost=; systemd reports how the unit ended in the environment
// (systemd.exec(5), $SERVICE_RESULT).
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

// lastResult returns the result of the last request for a verb that is not
// running. If there is none, as after a power cut, it returns a failure. When the
// verb ended is then unknown, so FinishedAt is the time of the request: every call
// returns the same failure.
func lastResult(root string, v verb.Verb, failed v1alpha1.Reason) (*verb.Result, error) {
	request, result, err := lastRequest(root, v)
	if err != nil || request == nil || result != nil {
		return result, err
	}
	const end = "the node lost power, or the unit could not be set up: its journal on the node may say why"
	return noResult(request, failed, "", end, request.RequestedAt), nil
}

// lastRequest returns the last request for a verb, and the result that answers it.
// Each is nil when there is none.
func lastRequest(root string, v verb.Verb) (*verb.Request, *verb.Result, error) {
	request, err := readJSON[verb.Request](requestFile(root, v))
	if err != nil || request == nil {
		return nil, nil, err
	}
	result, err := readJSON[verb.Result](resultFile(root, v))
	if err != nil || result == nil || result.Key != request.Key {
		return request, nil, err
	}
	return request, result, nil
}

func noResult(request *verb.Request, failed v1alpha1.Reason, bootID, end string, at time.Time) *verb.Result {
	return &verb.Result{
		Verb: request.Verb, Key: request.Key, BootID: bootID,
		StartedAt: request.RequestedAt, FinishedAt: at,
		Reason:  failed,
		Message: fmt.Sprintf("host verb %q ended without a result (%s)", request.Verb, end),
	}
}
