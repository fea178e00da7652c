package render

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// Certificates draws a row for each certificate, and below them what a person should do.
func Certificates(list view.CertificateList, o Options) string {
	if len(list.Items) == 0 {
		return "No agent has reported a certificate: see `kubectl -n kubectl-upgrade get pods`.\n"
	}
	return o.named(certificateTable(list.Items, o)) + certificateNotes(list, o)
}

func certificateTable(items []view.Certificate, o Options) string {
	columns := []column{
		{title: "NODE", shortens: true}, {title: "CERTIFICATE"}, {title: "AUTHORITY", leaves: 1, as: "authority: ", usual: "ca"}, {title: "ENDS"},
		{title: "FILE"}, {title: "WRITTEN"}, {title: "RENEWED BY", leaves: 3, as: "renewed by: "}, {title: "USED BY"}, {title: "IN USE"},
	}
	for _, c := range items {
		written := "-"
		if c.Written != nil {
			written = c.Written.In(o.Zone).Format("2006-01-02 15:04")
		}
		for i, one := range []cell{
			{c.Node, plain}, {certificateName(c), plain}, {authorityName(c), plain}, certificateEnd(c, o),
			{c.Path, plain}, {written, plain}, {renewers[c.RenewedBy], plain}, {orDash(strings.Join(c.UsedBy, ", ")), plain}, certificateUse(c),
		} {
			columns[i].cells = append(columns[i].cells, one)
		}
	}
	if !o.Wide {
		columns = append(columns[:4], columns[6], columns[8])
	}
	return o.draw(table{columns: columns})
}

// certificateName returns what kubeadm calls the certificate; of one that is not kubeadm's, its file.
func certificateName(c view.Certificate) string {
	switch c.Name {
	case rules.KindOther:
		return filepath.Base(c.Path)
	case rules.KindAdminCopy:
		return c.Path
	case rules.KindKubeletClient:
		if c.Path == rules.KubeletConf {
			return "kubelet.conf"
		}
	}
	return c.Name
}

var renewers = map[v1alpha1.CertificateRenewer]string{
	"": "-", v1alpha1.RenewedByKubeadm: "kubeadm", v1alpha1.RenewedByKubelet: "kubelet", v1alpha1.RenewedElsewhere: "elsewhere", v1alpha1.RenewedByNone: "nobody",
}

// authorityName returns who signed the certificate, and whether that ends first.
func authorityName(c view.Certificate) string {
	if c.AuthorityEndsFirst {
		return c.Authority + " (ends first)"
	}
	return orDash(c.Authority)
}

// certificateEnd returns when the certificate ends, and how far away that is. Of one that is far away the day is enough.
func certificateEnd(c view.Certificate, o Options) cell {
	const near = 48 * time.Hour
	layout := time.DateOnly
	left := c.End.Sub(o.Now)
	if left.Abs() < near {
		layout = "2006-01-02 15:04 MST"
	}
	text := c.End.In(o.Zone).Format(layout)
	if left > 0 {
		text += " (in " + duration.HumanDuration(left) + ")"
	} else {
		text += " (" + duration.HumanDuration(-left) + " ago)"
	}
	return cell{text, map[view.CertificateState]color{view.CertificateExpired: red, view.CertificateExpiring: yellow}[c.State]}
}

func certificateUse(c view.Certificate) cell {
	switch c.InUse {
	case v1alpha1.UsesCurrent:
		return cell{"current", plain}
	case v1alpha1.UsesFormer:
		return cell{"former", yellow}
	}
	return cell{"-", plain}
}

// certificateNotes returns sentences, each with the command that helps in a line of its own.
func certificateNotes(list view.CertificateList, o Options) string {
	var b strings.Builder
	note := func(ink color, command, format string, args ...any) {
		b.WriteString("\n")
		o.hang(&b, "", 0, cell{fmt.Sprintf(format, args...), ink})
		if command != "" {
			b.WriteString(o.paint("    "+command, plain) + "\n")
		}
	}
	expired, copies, due := 0, []string{}, []string{}
	for _, c := range list.Items {
		if c.State == view.CertificateExpired {
			expired++
		}
		isLeft := c.RenewedBy != v1alpha1.RenewedByKubeadm || c.AuthorityEndsFirst || slices.Contains(list.RenewalDisabled, c.Node)
		if c.State != view.CertificateValid && !isLeft && !slices.Contains(due, c.Node) {
			due = append(due, c.Node)
		}
		if c.Name == rules.KindAdminCopy || c.Name == "super-admin.conf" {
			copies = append(copies, fmt.Sprintf("%s on %s ends on %s", c.Path, c.Node, o.date(c.End)))
		}
	}
	if expired > 0 {
		note(red, "", "Expired: %d of %d certificates.", expired, len(list.Items))
	}
	if len(due) > 0 {
		slices.Sort(due)
		note(plain, preflight.Renew(strings.Join(due, " ")), "What kubeadm renews on %s is due. To renew it, without a drain or a reboot:", strings.Join(due, ", "))
	}
	for _, c := range list.Items {
		if c.InUse == v1alpha1.UsesFormer && len(c.UsedBy) > 0 {
			note(yellow, preflight.Restart(c.UsedBy[0]), "%s on %s still uses the certificate that was in %s%s. On %s:", c.UsedBy[0], c.Node, c.Path, o.before(c.Written), c.Node)
		}
		if c.Path == rules.KubeletConf && c.State != view.CertificateValid {
			note(yellow, "", "Nothing renews the certificate inside %s on %s. %s", c.Path, c.Node, preflight.NameRotated)
		}
	}
	if len(copies) > 0 {
		note(plain, "", "A copy of a kubeconfig is not renewed with it: %s.", strings.Join(copies, "; "))
	}
	if len(list.RenewalDisabled) > 0 {
		note(plain, "", "On %s no upgrade renews a certificate, as kubeadm-upgrade.yaml has certificateRenewal: false.", strings.Join(list.RenewalDisabled, ", "))
	}
	for i, r := range list.ServingRequests {
		if i == mostRequests {
			note(yellow, "kubectl get certificatesigningrequests", "%d more kubelets wait for a serving certificate.", len(list.ServingRequests)-i)
			break
		}
		note(yellow, "kubectl certificate approve "+r.Name, "The kubelet of %s waits for the approval of its serving certificate:", r.Node)
	}
	return b.String()
}

// mostRequests is how many requests are drawn.
const mostRequests = 5

// date returns the day in the zone of the screen.
func (o Options) date(t time.Time) string { return t.In(o.Zone).Format(time.DateOnly) }

func (o Options) before(t *time.Time) string {
	if t == nil {
		return ""
	}
	return " before " + t.In(o.Zone).Format("2006-01-02 15:04 MST")
}
