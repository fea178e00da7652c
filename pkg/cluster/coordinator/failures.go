package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/slot"
)

const (
	// maxFailures is how many failed writes are listed.
	maxFailures = 3
	// maxFailure is the maximum length of each, in bytes.
	maxFailure = 300
)

// noteFailures stores which writes failed, for the policy's next status, and records an
// event if that is new.
func (c *Coordinator) noteFailures(policy *v1alpha1.UpgradePolicy, err error) {
	failing := failures(err)
	if failing == c.failing {
		return
	}
	c.failing = failing
	c.queue.Add(wholeCluster)
	if failing != "" && policy != nil {
		c.record("UpgradePolicy", policy, corev1.EventTypeWarning, string(v1alpha1.ReasonAPIWriteFailed), failing)
	}
}

// failures returns the writes that failed, as text. A conflict is no failure: the next
// plan sees the changed object.
func failures(err error) string {
	var list []string
	for _, one := range each(err) {
		if changedMeanwhile(one) || errors.Is(one, context.Canceled) {
			continue
		}
		text := one.Error()
		if len(text) > maxFailure {
			text = strings.ToValidUTF8(text[:maxFailure], "") + "..."
		}
		list = append(list, text)
	}
	slices.Sort(list)
	list = slices.Compact(list)
	if more := len(list) - maxFailures; more > 0 {
		list = append(list[:maxFailures], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, "; ")
}

// changedMeanwhile reports whether a write was refused because the object was changed since
// it was read.
func changedMeanwhile(err error) bool {
	return apierrors.IsConflict(err) || errors.Is(err, slot.ErrTaken)
}

// each returns the errors that were joined.
func each(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return []error{err}
	}
	var all []error
	for _, one := range joined.Unwrap() {
		all = append(all, each(one)...)
	}
	return all
}
