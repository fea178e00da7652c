package host

import (
	"errors"
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

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
