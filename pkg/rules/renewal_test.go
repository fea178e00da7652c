package rules

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestNextRenewal checks when the renewal of certificates is due, in hours after they were written.
func TestNextRenewal(t *testing.T) {
	const day = 24.0
	written := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	after := func(hours float64) metav1.Time {
		return metav1.NewTime(written.Add(time.Duration(hours * float64(time.Hour))))
	}
	at := func(hours float64) *metav1.Time { one := after(hours); return &one }
	scheduler := func(ends float64) v1alpha1.CertificateFacts {
		return v1alpha1.CertificateFacts{
			Path: "/etc/kubernetes/scheduler.conf", NotBefore: at(-5000), WrittenTime: at(0), NotAfter: after(ends),
			RenewedBy: v1alpha1.RenewedByKubeadm, AuthorityPath: clusterCA, InUse: v1alpha1.UsesCurrent,
		}
	}
	authority := func(ends float64) v1alpha1.CertificateFacts {
		return v1alpha1.CertificateFacts{Path: clusterCA, NotAfter: after(ends), CA: true, HasKey: true, RenewedBy: v1alpha1.RenewedByNone}
	}
	with := func(c v1alpha1.CertificateFacts, change func(*v1alpha1.CertificateFacts)) v1alpha1.CertificateFacts {
		change(&c)
		return c
	}
	const never = -1.0
	for name, c := range map[string]struct {
		certificates []v1alpha1.CertificateFacts
		disabled     bool
		before       time.Duration
		want         float64
	}{
		"a year":                           {[]v1alpha1.CertificateFacts{scheduler(365 * day)}, false, Soon, 335 * day},
		"a year, ninety days before":       {[]v1alpha1.CertificateFacts{scheduler(365 * day)}, false, 90 * 24 * time.Hour, 275 * day},
		"no more than a third of its life": {[]v1alpha1.CertificateFacts{scheduler(0.25)}, false, Soon, 0.25 * 2 / 3},
		"the first of two":                 {[]v1alpha1.CertificateFacts{scheduler(365 * day), with(scheduler(200*day), func(c *v1alpha1.CertificateFacts) { c.Path = "/etc/kubernetes/admin.conf" })}, false, Soon, 170 * day},
		"its authority lives on":           {[]v1alpha1.CertificateFacts{scheduler(365 * day), authority(3650 * day)}, false, Soon, 335 * day},
		"it ends with its authority":       {[]v1alpha1.CertificateFacts{scheduler(365 * day), authority(365 * day)}, false, Soon, never},
		"its authority ends before":        {[]v1alpha1.CertificateFacts{scheduler(365 * day), authority(100 * day)}, false, Soon, never},
		"not used by its program":          {[]v1alpha1.CertificateFacts{with(scheduler(365*day), func(c *v1alpha1.CertificateFacts) { c.InUse = v1alpha1.UsesFormer })}, false, Soon, 0},
		"somebody else's":                  {[]v1alpha1.CertificateFacts{with(scheduler(365*day), func(c *v1alpha1.CertificateFacts) { c.RenewedBy = v1alpha1.RenewedElsewhere })}, false, Soon, never},
		"the kubelet's":                    {[]v1alpha1.CertificateFacts{with(scheduler(365*day), func(c *v1alpha1.CertificateFacts) { c.RenewedBy = v1alpha1.RenewedByKubelet })}, false, Soon, never},
		"certificateRenewal: false":        {[]v1alpha1.CertificateFacts{scheduler(365 * day)}, true, Soon, never},
		"its life is not known": {[]v1alpha1.CertificateFacts{with(scheduler(365*day), func(c *v1alpha1.CertificateFacts) { c.NotBefore, c.WrittenTime = nil, nil })},
			false, Soon, 335 * day},
	} {
		t.Run(name, func(t *testing.T) {
			facts := &v1alpha1.NodeFacts{Certificates: c.certificates, CertificateRenewalDisabled: c.disabled}
			next, is := NextRenewal(facts, c.before)
			got := never
			if is {
				got = next.Due.Sub(written).Hours()
			}
			if diff := got - c.want; diff > 0.001 || diff < -0.001 {
				t.Errorf("due after %v hours, want %v", got, c.want)
			}
		})
	}
	facts := &v1alpha1.NodeFacts{Certificates: []v1alpha1.CertificateFacts{scheduler(365 * day)}}
	for hours, want := range map[float64]bool{36 * day: true, 37 * day: false} {
		if got := RenewedRecently(facts, after(hours).Time); got != want {
			t.Errorf("after %v hours: renewed recently is %v", hours, got)
		}
	}
	facts.Certificates[0].InUse = v1alpha1.UsesFormer
	if RenewedRecently(facts, written) || !RenewedRecently(nil, written) {
		t.Error("what no program uses counts as renewed, or a node without certificates does not")
	}
}
