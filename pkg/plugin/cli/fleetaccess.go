package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/doctor"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// The limits on requests to one cluster. What a verb asks at once is less than the burst.
const (
	clusterQPS   = 25
	clusterBurst = 100
)

// config returns how a context's cluster is reached. No program for credentials may ask the person:
// with many clusters a person could not tell for which, and all the others would wait.
func (f *fleetCommand) config(name string) (*rest.Config, error) {
	overrides := &clientcmd.ConfigOverrides{Timeout: *f.cluster.Timeout, CurrentContext: name}
	as := &overrides.AuthInfo
	as.Impersonate, as.ImpersonateUID, as.ImpersonateGroups = *f.cluster.Impersonate, *f.cluster.ImpersonateUID, *f.cluster.ImpersonateGroup
	config, err := clientcmd.NewNonInteractiveClientConfig(f.kubeconfig, name, overrides, nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	config = onlyAPI(unlimited(config))
	config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(clusterQPS, clusterBurst)
	if config.ExecProvider != nil {
		config.ExecProvider.StdinUnavailable = true
		config.ExecProvider.StdinUnavailableMessage = "several clusters are asked at once"
	}
	return config, nil
}

// in returns the program for one of several clusters, with its own streams.
func (p *program) in(access *rest.Config, out, errOut io.Writer) *program {
	one := *p
	one.access = access
	one.In, one.Out, one.ErrOut, one.drawn = strings.NewReader(""), safe{out: out}, safe{out: errOut}, safe{out: out, colors: true}
	one.told = one.Out
	one.terminalOut, one.terminalErr = out, errOut
	return &one
}

// quietPrograms has the programs that get credentials write nothing to the terminal, until the function
// that it returns is called: client-go gives them this process's standard error. The plugin itself writes
// to its streams.
func quietPrograms() (end func()) {
	nothing, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return func() {}
	}
	stderr := os.Stderr
	os.Stderr = nothing
	return func() { os.Stderr = stderr }
}

// badContext is why a context of the kubeconfig cannot be used.
type badContext struct{ error }

// timeoutOf is the Trouble of a cluster that does not answer within the limit.
func timeoutOf(limit time.Duration) *view.Problem {
	return &view.Problem{Reason: fleet.ReasonSilent, Message: fmt.Sprintf("no answer within %s", limit)}
}

// troubleOf returns what is wrong with reaching a cluster, in plain words.
func troubleOf(err error, named string, access *rest.Config, limit time.Duration) *view.Problem {
	if unread := (&snapshot.Unreadable{}); errors.As(err, &unread) {
		err = unread.Err
	}
	var unreachable *url.Error
	var foreign *foreignAnswer
	var verification *tls.CertificateVerificationError
	trouble := func(reason v1alpha1.Reason, format string, args ...any) *view.Problem {
		return &view.Problem{Reason: reason, Message: oneLine(fmt.Sprintf(format, args...))}
	}
	try := fmt.Sprintf("try `kubectl get nodes --context %s`", named)
	switch expired := expiredCertificate(access, time.Now()); {
	case errors.As(err, new(badContext)):
		return trouble(fleet.ReasonKubeconfig, "%v", err)
	case errors.Is(err, context.Canceled):
		return trouble(fleet.ReasonUnreadable, "you interrupted the question")
	case errors.Is(err, context.DeadlineExceeded):
		return timeoutOf(limit)
	case errors.As(err, &foreign):
		return trouble(fleet.ReasonUnreachable, "%v", foreign)
	case strings.Contains(err.Error(), "getting credentials: "):
		_, why, _ := strings.Cut(err.Error(), "getting credentials: ")
		why, _, _ = strings.Cut(why, "\n") // client-go explains what such a program is
		return trouble(fleet.ReasonNoCredentials, "%s; %s", strings.TrimPrefix(why, "exec: "), try)
	case expired != "":
		return trouble(fleet.ReasonCertificateExpired, "%s", expired)
	case errors.As(err, &verification):
		if invalid := (x509.CertificateInvalidError{}); errors.As(err, &invalid) && invalid.Reason == x509.Expired {
			return trouble(fleet.ReasonCertificateExpired, "the certificate of the API server has expired, or a clock is wrong: %s", invalid.Detail)
		}
		return trouble(fleet.ReasonNotTrusted, "the certificate of the API server is not trusted: %v", verification.Err)
	case apierrors.IsUnauthorized(err):
		return trouble(fleet.ReasonNoAccess, "the API server does not accept your credentials")
	case apierrors.IsForbidden(err):
		return trouble(fleet.ReasonNoAccess, "%v", err)
	case apierrors.IsNotFound(err):
		return trouble(fleet.ReasonNotInstalled, "kubectl-upgrade is not installed here")
	case errors.As(err, &unreachable) && unreachable.Timeout():
		return trouble(fleet.ReasonSilent, "no answer: %v", unreachable.Err)
	case errors.As(err, &unreachable):
		return trouble(fleet.ReasonUnreachable, "%v", unreachable.Err)
	}
	return trouble(fleet.ReasonUnreadable, "%v", doctor.Undeclared(err))
}

// expiredCertificate says since when the person's client certificate has not been valid. Empty: it is, or
// there is none.
func expiredCertificate(access *rest.Config, now time.Time) string {
	if access == nil {
		return ""
	}
	text := access.CertData
	if len(text) == 0 && access.CertFile != "" {
		text, _ = os.ReadFile(access.CertFile)
	}
	certificates, err := cert.ParseCertsPEM(text)
	if err != nil || len(certificates) == 0 || now.Before(certificates[0].NotAfter) {
		return ""
	}
	return "your client certificate has expired on " + certificates[0].NotAfter.UTC().Format(time.DateOnly)
}

// answerOf reads what people are shown of a cluster.
func (f *fleetCommand) answerOf(ctx context.Context, m member) (fleet.Answer, error) {
	s, err := snapshot.ReadShown(ctx, m.reader.clients(), f.now())
	if err := cmp.Or(err, requireNames(s)); err != nil {
		return fleet.Answer{}, err
	}
	return fleet.Answer{Cluster: m.Cluster, Snapshot: &s, At: f.now(), UID: m.uid}, nil
}

// noAnswer is the answer of a cluster that gave none.
func noAnswer(c fleet.Cluster, trouble *view.Problem) fleet.Answer {
	return fleet.Answer{Cluster: c, Trouble: trouble}
}
