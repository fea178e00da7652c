package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The exit codes beside 0 and 1.
const (
	exitToDo        = 2
	exitFailed      = 3
	exitTimeout     = 4
	exitInterrupted = 130
)

// exitError ends the program with a code of its own. Without err, the code
// says it all.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

// Exit writes the error as one line and returns the program's exit code. An
// interruption needs no words: who pressed Ctrl-C knows.
func Exit(err error, errOut io.Writer) int {
	var exit exitError
	errOut = safe{out: errOut}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &exit):
		if exit.err != nil {
			fmt.Fprintln(errOut, "error:", oneLine(err.Error()))
		}
		return exit.code
	}
	fmt.Fprintln(errOut, "error:", oneLine(err.Error()))
	return 1
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// isMissing reports whether the object is not there; a kind that the cluster does
// not know is another matter.
func isMissing(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

const installHint = "`kubectl apply --server-side -k github.com/kubectl-upgrade/kubectl-upgrade/manifests` installs it"

// explain says what an error of the API server means, and what to try next.
func explain(doing string, err error) error {
	var unreachable *url.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return err
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s: this cluster does not know the kind, kubectl-upgrade is not installed on it; %s", doing, installHint)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w; ask the cluster's administrators for that right", err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s: the API server does not accept your credentials; try `kubectl auth whoami`", doing)
	case errors.As(err, &unreachable):
		return fmt.Errorf("%s: the API server does not answer (%w); try `kubectl cluster-info`", doing, unreachable.Err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
