package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
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
	workErr = l.explain(workErr)
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

const tailBytes = 4 << 10

// Log passes on everything that a verb's programs print, and keeps the end of it.
type Log struct {
	to   io.Writer
	tail []byte
}

// NewLog returns a Log that writes to a writer.
func NewLog(to io.Writer) *Log { return &Log{to: to} }

func (l *Log) Write(p []byte) (int, error) {
	l.tail = append(l.tail, p...)
	if over := len(l.tail) - tailBytes; over > 0 {
		l.tail = append(l.tail[:0], l.tail[over:]...)
	}
	return l.to.Write(p)
}

// Printf adds a line.
func (l *Log) Printf(format string, args ...any) {
	_, _ = fmt.Fprintf(l, format+"\n", args...)
}

// Tail returns the last 4 KiB at most. If the log is longer, it begins with a
// whole line.
func (l *Log) Tail() string {
	if len(l.tail) < tailBytes {
		return string(l.tail)
	}
	for i, b := range l.tail {
		if b == '\n' {
			return string(l.tail[i+1:])
		}
	}
	return string(l.tail)
}

// LastLine returns the last line of an output, which is where systemd's programs
// report an error.
func LastLine(output string) string {
	output = strings.TrimSpace(output)
	return output[strings.LastIndex(output, "\n")+1:]
}

// Failure is an error with the reason that the node's status shows.
type Failure struct {
	Reason v1alpha1.Reason
	err    error
}

// Fail returns a Failure. The format is that of fmt.Errorf, including %w.
func Fail(reason v1alpha1.Reason, format string, args ...any) error {
	return &Failure{Reason: reason, err: fmt.Errorf(format, args...)}
}

func (f *Failure) Error() string { return f.err.Error() }

// Unwrap returns the wrapped error.
func (f *Failure) Unwrap() error { return f.err }

// ReasonOf returns the reason of the first Failure in err's chain, or otherwise.
func ReasonOf(err error, otherwise v1alpha1.Reason) v1alpha1.Reason {
	var f *Failure
	if errors.As(err, &f) {
		return f.Reason
	}
	return otherwise
}

// RunProgram runs one of systemd's programs and returns its standard output. What it prints as
// errors goes to log, and the last line of that is in the error.
func RunProgram(ctx context.Context, log *Log, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // constants, and no shell
	cmd.Env = append(os.Environ(), "LC_ALL=C", "SYSTEMD_COLORS=0", "SYSTEMD_URLIFY=0")
	cmd.Stderr = log
	out, err := cmd.Output()
	if err == nil {
		return string(out), nil
	}
	doing := program + " " + strings.Join(args, " ")
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(out), fmt.Errorf("%s failed (%w): %s", doing, err, LastLine(log.Tail()))
	}
	return string(out), fmt.Errorf("running %s: %w", doing, err)
}
