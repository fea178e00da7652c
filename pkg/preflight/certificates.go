package preflight

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

var certificateChecks = []Entry{
	{
		"certificate-ended", blocks,
		"a certificate below /etc/kubernetes has ended",
		"Renew it on that node: kubeadm certs renew all, then restart the control plane's static pods.",
	},
	{
		"certificate-ending", warns,
		"a certificate below /etc/kubernetes ends within 30 days; kubeadm renews a control plane's when it upgrades",
		"Renew it on that node: kubeadm certs renew all.",
	},
	{
		"ca-ended", blocks,
		"a certificate authority has ended: nothing that it signed is trusted any more",
		"Replace the authority by hand: https://kubernetes.io/docs/tasks/tls/manual-rotation-of-ca-certificates/",
	},
	{
		"ca-ending", warns,
		"a certificate authority ends within 180 days; no upgrade renews one, and certificates signed from now on end with it",
		"Plan to replace the authority by hand: https://kubernetes.io/docs/tasks/tls/manual-rotation-of-ca-certificates/",
	},
}

// How long before its end a certificate is worth a word. An authority's is
// replaced by hand, on every node and in every kubeconfig.
const (
	soon   = 30 * 24 * time.Hour
	soonCA = 180 * 24 * time.Hour
)

func (c *checker) checkCertificates() {
	var endingWorkers []*node
	authorities := map[string]*authority{}
	for _, n := range c.nodes {
		if n.facts == nil {
			continue
		}
		var ended, ending []string
		for _, cert := range n.facts.Certificates {
			left := cert.NotAfter.Sub(c.Now)
			switch {
			case cert.CA:
				if authorities[cert.Path] == nil {
					authorities[cert.Path] = &authority{ends: cert.NotAfter.Time}
				}
				authorities[cert.Path].see(n, cert.NotAfter.Time)
			case left <= 0:
				ended = append(ended, cert.Path)
			case left <= soon:
				ending = append(ending, cert.Path)
			}
		}
		if len(ended) > 0 {
			c.onNode(n, v1alpha1.Finding{ID: "certificate-ended", Message: fmt.Sprintf("On node %s, %s ended: %s.", n.name, plural(len(ended), "certificate"), names(ended))})
		}
		switch {
		case len(ending) == 0:
		case n.controlPlane:
			c.certificatesEnd(n, ending)
		default:
			endingWorkers = append(endingWorkers, n)
		}
	}
	if len(endingWorkers) > 0 {
		c.add(v1alpha1.Finding{ID: "certificate-ending", Message: fmt.Sprintf("Certificates below /etc/kubernetes end within 30 days on %s: %s.", plural(len(endingWorkers), "worker"), nodeNames(endingWorkers))})
	}
	c.checkAuthorities(authorities)
}

func (c *checker) certificatesEnd(n *node, paths []string) {
	f := v1alpha1.Finding{ID: "certificate-ending", Object: "Node/" + n.name, Message: fmt.Sprintf("On node %s, %s within 30 days: %s.", n.name, ends(len(paths)), names(paths))}
	if c.runsKubeadm(n) {
		f.Advice = "Nothing needs to be done if the upgrade runs before: kubeadm renews them. Otherwise, on that node: kubeadm certs renew all."
	}
	c.add(f)
}

func ends(n int) string {
	if n == 1 {
		return "1 certificate ends"
	}
	return plural(n, "certificate") + " end"
}

// authority is one file on many nodes. The first of its copies to end counts.
type authority struct {
	ends  time.Time
	nodes []*node
}

func (a *authority) see(n *node, ends time.Time) {
	if ends.Before(a.ends) {
		a.ends = ends
	}
	a.nodes = append(a.nodes, n)
}

func (c *checker) checkAuthorities(authorities map[string]*authority) {
	for _, path := range slices.Sorted(maps.Keys(authorities)) {
		a := authorities[path]
		left := a.ends.Sub(c.Now)
		day := a.ends.UTC().Format(time.DateOnly)
		switch {
		case left <= 0:
			c.add(v1alpha1.Finding{ID: "ca-ended", Object: "File/" + path, Message: fmt.Sprintf("The certificate authority %s ended on %s (%s).", path, day, nodeNames(a.nodes))})
		case left <= soonCA:
			c.add(v1alpha1.Finding{ID: "ca-ending", Object: "File/" + path, Message: fmt.Sprintf("The certificate authority %s ends on %s, and no upgrade renews it (%s).", path, day, nodeNames(a.nodes))})
		}
	}
}
