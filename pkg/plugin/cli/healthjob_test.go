package cli_test

import (
	"errors"
	"net/http"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
)

// What says that kubeadm's Job would be refused, and what says nothing.
func TestRefuses(t *testing.T) {
	jobs := batchv1.Resource("jobs")
	status := func(code int32, message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Message: message}}
	}
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"taken":                              {nil, false},
		"a quota or a level of pod security": {apierrors.NewForbidden(jobs, "x", errors.New("exceeded quota: few")), true},
		"a policy":                           {apierrors.NewInvalid(batchv1.SchemeGroupVersion.WithKind("Job").GroupKind(), "x", nil), true},
		"a policy with another code":         {status(http.StatusRequestEntityTooLarge, "jobs \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no"), true},
		"a webhook":                          {status(http.StatusBadRequest, `admission webhook "w" denied the request: no`), true},
		"a webhook with another code":        {status(http.StatusTeapot, `admission webhook "w" denied the request: no`), true},
		"a webhook that does not answer":     {apierrors.NewInternalError(errors.New(`failed calling webhook "w": timeout`)), true},
		"a webhook that takes no dry runs":   {apierrors.NewBadRequest(`admission webhook "w" does not support dry run`), false},
		"an API server that is busy":         {apierrors.NewTooManyRequests("later", 1), false},
		"an error of the API server":         {apierrors.NewInternalError(errors.New("etcd")), false},
		"a name that is there":               {apierrors.NewAlreadyExists(jobs, "x"), false},
		"no answer":                          {errors.New("connection refused"), false},
	} {
		if got := cli.Refuses(test.err); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}
