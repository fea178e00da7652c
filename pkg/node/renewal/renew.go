package renewal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/facts"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/kubeadm"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// Replaced in tests, which have no kubeadm and no programs that use certificates.
var (
	look  = facts.Certificates
	renew = kubeadm.RenewCertificates
)

// Renew renews the certificates, restarts what does not load them, and records that for the upgrade. If any of
// that fails, the former files are back, and what was restarted is restarted again.
//
// Reason: RenewalFailed.
func Renew(ctx context.Context, l host.Layout, args verb.RenewArgs, log *host.Log) (*v1alpha1.CertificatesRenewed, error) {
	if err := PutBack(l, log); err != nil {
		return nil, err
	}
	before := look(ctx, l)
	certificates := rules.Renewable(&before)
	out := &v1alpha1.CertificatesRenewed{Upgrade: args.Upgrade}
	for _, c := range certificates {
		out.Names = append(out.Names, rules.CertificateKind(c))
	}
	programs, err := connect(l)
	if err != nil {
		return nil, fail(err)
	}
	defer func() { _ = programs.Close() }()
	if err := errors.Join(l.EnableGuard(), save(l, certificates)); err != nil {
		return nil, fail(errors.Join(err, end(l)))
	}
	err = renew(ctx, l, args.ClusterConfiguration, out.Names, log)
	if err == nil {
		out.Restarted, err = bringIntoUse(ctx, l, programs, certificates, log)
	}
	if err != nil {
		return nil, fail(errors.Join(err, undo(ctx, l, programs, out.Restarted, log)))
	}
	if err := end(l); err != nil {
		return nil, fail(err)
	}
	out.Time = metav1.NewTime(time.Now().UTC().Truncate(time.Second))
	return out, l.SetCertificatesRenewed(*out)
}

func fail(err error) error { return host.Fail(v1alpha1.ReasonRenewalFailed, "%w", err) }

// undo puts the former files back, and restarts the programs that have the new ones.
func undo(ctx context.Context, l host.Layout, programs *programs, restarted []string, log *host.Log) error {
	if err := PutBack(l, log); err != nil {
		return fmt.Errorf("the former certificates could not be put back from %s: %w", host.CertificatesCopy, err)
	}
	problems := []error{errors.New("the former certificates are back")}
	for _, name := range restarted {
		if err := programs.restart(ctx, name, log); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// How long is waited for a program that loads a certificate by itself, and for all programs to have theirs.
var (
	loadsWithin = 75 * time.Second // kube-apiserver looks at its files every minute (k8s.io/apiserver 1.34, dynamiccertificates)
	usedWithin  = 5 * time.Minute
	pause       = 2 * time.Second
)

// bringIntoUse waits until the programs that use the certificates have the new ones. It restarts those that do not
// load them, and returns their names.
func bringIntoUse(ctx context.Context, l host.Layout, programs *programs, renewed []v1alpha1.CertificateFacts, log *host.Log) (restarted []string, err error) {
	began := time.Now()
	for {
		found := look(ctx, l)
		if problem := notWritten(renewed, found.Certificates); problem != "" {
			return restarted, errors.New(problem)
		}
		late := time.Since(began) >= loadsWithin
		left := ""
		for _, user := range usersOf(found.Certificates, renewed) {
			switch waits := user.state(late); {
			case waits == has, waits == mayHave && slices.Contains(restarted, user.name):
			case waits == loads, slices.Contains(restarted, user.name):
				left = user.text()
			default:
				if err := programs.restart(ctx, user.name, log); err != nil {
					return restarted, err
				}
				restarted = append(restarted, user.name)
				left = user.text()
			}
		}
		switch {
		case left == "":
			return restarted, programs.steady(ctx, restarted)
		case time.Since(began) >= usedWithin:
			return restarted, fmt.Errorf("%s %s after it was renewed", left, usedWithin)
		}
		if err := sleep(ctx, pause); err != nil {
			return restarted, err
		}
	}
}

// notWritten returns which certificate kubeadm has not written anew, though it says so; empty: none.
func notWritten(renewed, now []v1alpha1.CertificateFacts) string {
	for _, former := range renewed {
		i := slices.IndexFunc(now, func(c v1alpha1.CertificateFacts) bool { return c.Path == former.Path })
		if i < 0 {
			return fmt.Sprintf("kubeadm certs renew succeeded, and %s cannot be read", former.Path)
		}
		if now[i].WrittenTime != nil && now[i].WrittenTime.Equal(former.WrittenTime) {
			return fmt.Sprintf("kubeadm certs renew succeeded, and has not written %s", former.Path)
		}
	}
	return ""
}

// user is a program that uses a certificate.
type user struct {
	name        string
	certificate v1alpha1.CertificateFacts
	// first reports whether it is the program that the certificate's InUse is about.
	first bool
}

// state says how a program stands to the new certificate.
type state int

const (
	has     state = iota
	loads         // it may still load it by itself
	mayHave       // that cannot be asked: only a restart makes it certain
	hasNot
)

func (u user) state(late bool) state {
	switch {
	case !u.first, u.certificate.InUse == "" && late:
		return mayHave
	case u.certificate.InUse == v1alpha1.UsesCurrent:
		return has
	case u.certificate.InUse == v1alpha1.UsesFormer && (late || strings.HasSuffix(u.certificate.Path, ".conf")):
		return hasNot // what is inside a kubeconfig is read at the start
	}
	return loads
}

func (u user) text() string { return fmt.Sprintf("%s does not use %s", u.name, u.certificate.Path) }

// usersOf returns the programs that use the renewed certificates. People and kubeadm read the files anew each time, and the
// kubelet uses none of them.
func usersOf(now, renewed []v1alpha1.CertificateFacts) (users []user) {
	for _, c := range now {
		if !slices.ContainsFunc(renewed, func(r v1alpha1.CertificateFacts) bool { return r.Path == c.Path }) {
			continue
		}
		known, _ := rules.KubeadmCertificateAt(c.Path)
		for _, name := range c.UsedBy {
			users = append(users, user{name: name, certificate: c, first: name == known.Program})
		}
	}
	return users
}
