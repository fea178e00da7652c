package host

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// Work is the function that carries out a verb. It prints to log. The Result has
// its output even if it returns an error.
type Work func(ctx context.Context, l Layout, args json.RawMessage, log *Log) (output any, err error)

// Run carries out the request for a verb and writes the Result. The verb's unit
// calls it. If there is no request, because a person runs the verb, work gets no
// arguments. An error of work that has no reason gets the reason failed. Run
// returns the error of work, or an error of reading the request or writing the
// result.
func Run(ctx context.Context, l Layout, v verb.Verb, failed v1alpha1.Reason, work Work, logTo io.Writer) (*verb.Result, error) {
	request, err := readJSON[verb.Request](requestFile(l.Root(), v))
	if err != nil {
		return nil, err
	}
	if request == nil {
		request = &verb.Request{Verb: v}
	}
	result, workErr := run(ctx, l, *request, failed, work, logTo)
	if result == nil {
		return nil, workErr
	}
	if err := writeJSON(resultFile(l.Root(), v), result); err != nil {
		return nil, err
	}
	return result, workErr
}

// run carries out a request and returns its Result, or nil if that cannot be made.
func run(ctx context.Context, l Layout, request verb.Request, failed v1alpha1.Reason, work Work, logTo io.Writer) (*verb.Result, error) {
	log := NewLog(logTo)
	result := &verb.Result{Verb: request.Verb, Key: request.Key, StartedAt: time.Now().UTC()}
	output, workErr := protect(ctx, l, work, request.Args, log)
	result.FinishedAt = time.Now().UTC()
	result.LogTail = log.Tail()
	if err := conclude(result, l, output, workErr, failed); err != nil {
		return nil, err
	}
	return result, workErr
}

// messageBytes limits the message of a Result, which may quote what a program or a server said.
const messageBytes = 4 << 10

// Clip shortens a text to that many bytes.
func Clip(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	return strings.ToValidUTF8(text[:bytes-3], "") + "..."
}

func conclude(r *verb.Result, l Layout, output any, workErr error, failed v1alpha1.Reason) (err error) {
	if r.BootID, err = l.BootID(); err != nil {
		return err
	}
	r.OK = workErr == nil
	if workErr != nil {
		r.Reason = ReasonOf(workErr, failed)
		r.Message = Clip(workErr.Error(), messageBytes)
	}
	if output == nil {
		return nil
	}
	if r.Output, err = json.Marshal(output); err != nil {
		return fmt.Errorf("encoding the output of host verb %q: %w", r.Verb, err)
	}
	return nil
}

// protect returns a panic of work as an error, so that it too becomes a Result.
func protect(ctx context.Context, l Layout, work Work, args json.RawMessage, log *Log) (output any, err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Printf("%s", debug.Stack())
			err = fmt.Errorf("a bug in this program: %v", p)
		}
	}()
	return work(ctx, l, args, log)
}
