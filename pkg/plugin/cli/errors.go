package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/doctor"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/watch"
)

// The exit codes beside 0 and 1.
const (
	exitWork        = 2
	exitFailed      = 3
	exitTimeout     = 4
	exitUnanswered  = 5
	exitInterrupted = 130
)

// errWork ends `kubectl upgrade plan --exit-code` where there is something to do.
var errWork = errors.New("there is something to do")

// exit writes the error as one line, or as some on a terminal, and returns the program's exit code. An
// interruption is not reported: the person who pressed Ctrl-C knows.
func exit(err error, errOut io.Writer) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, errWork):
		return exitWork
	}
	fmt.Fprintln(sentencesTo(safe{out: errOut}, errOut), "error:", clip(err.Error()))
	switch {
	case errors.As(err, new(watch.Failure)):
		return exitFailed
	case errors.As(err, new(timedOut)):
		return exitTimeout
	case errors.As(err, new(unanswered)):
		return exitUnanswered
	}
	return 1
}

// oneLine returns the text with each run of white space as one space.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Errors are cut to these lengths: they may repeat what was typed, or what a server sent.
const (
	longestWord  = 400
	longestError = 1600
)

// clip returns the text in one line, without the middle of what is too long: what is expected
// stands at the end.
func clip(text string) string {
	words := strings.Fields(text)
	for i, word := range words {
		words[i] = withoutMiddle(word, longestWord)
	}
	return withoutMiddle(strings.Join(words, " "), longestError)
}

func withoutMiddle(text string, most int) string {
	letters := []rune(text)
	if len(letters) <= most {
		return text
	}
	return string(letters[:most/2]) + " … " + string(letters[len(letters)-most/2:])
}

// isMissing reports whether the object does not exist. A kind that the cluster does not
// know is another error.
func isMissing(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

const installHint = "see Install in its README.md"

// explain returns an error of the API server with what it means, and what to try next.
func explain(doing string, err error) error {
	var unreachable *url.Error
	var foreign *foreignAnswer
	if unread := (&snapshot.Unreadable{}); errors.As(err, &unread) {
		doing, err = "reading "+unread.What, unread.Err
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: the API server does not answer; try `kubectl cluster-info`", doing)
	case errors.As(err, &foreign):
		return fmt.Errorf("%s: %w", doing, foreign)
	case errors.Is(err, context.Canceled):
		return err
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s: this cluster does not know the kind, kubectl-upgrade is not installed on it; %s", doing, installHint)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w; ask the cluster's administrators for that right", err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s: the API server does not accept your credentials; try `kubectl auth whoami`", doing)
	case errors.As(err, &unreachable) && strings.Contains(unreachable.URL, "//localhost:8080/"): // client-go's address without a kubeconfig
		return fmt.Errorf("%s: there is no kubeconfig: --kubeconfig, $KUBECONFIG or ~/.kube/config must name a file with a cluster", doing)
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return fmt.Errorf(
			"%s: the API server's certificate is not trusted (%w); the kubeconfig's certificate-authority must be that of the cluster, and its server an address that the certificate names",
			doing, unreachable.Err)
	case errors.As(err, &unreachable):
		return fmt.Errorf("%s: the API server does not answer (%w); try `kubectl cluster-info`", doing, unreachable.Err)
	}
	return fmt.Errorf("%s: %w", doing, doctor.Undeclared(err))
}

// safe is an io.Writer for everything that people see. A node's log, an object's message
// or an index of images may hold control characters, which a terminal would obey. They
// are written as JSON does, \u001b, so that JSON stays JSON.
type safe struct {
	out io.Writer
	// colors keeps the colors of package render, which removes all others.
	colors bool
}

// Write is part of io.Writer.
func (s safe) Write(p []byte) (int, error) {
	if _, err := io.WriteString(s.out, render.Sanitize(string(p), s.colors)); err != nil {
		return 0, err
	}
	return len(p), nil
}
