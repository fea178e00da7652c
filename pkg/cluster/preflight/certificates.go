package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// renewByHand is how a person renews kubeadm's certificates on a node, where no upgrade can.
const renewByHand = "kubeadm certs renew all, then restart its static pods"

// Renew returns the command that has kubeadm renew the certificates of a control plane.
func Renew(node string) string {
	return "kubectl upgrade certificates renew " + node + " --reason TEXT"
}

// Restart returns the command that restarts, on its node, a program that is the kubelet or a static pod, which the kubelet
// starts again. Flatcar's image of Kubernetes has no crictl.
func Restart(program string) string {
	if program == "kubelet" {
		return "systemctl restart kubelet"
	}
	return fmt.Sprintf("kill $(pidof %s)", program)
}

// NameRotated is what a kubelet.conf with a certificate inside lacks (kubeadm#1317).
const NameRotated = "Let client-certificate and client-key in /etc/kubernetes/kubelet.conf name /var/lib/kubelet/pki/kubelet-client-current.pem, then systemctl restart kubelet."

var certificateChecks = []Entry{
	{
		"certificate-ended", either,
		"a certificate of kubeadm's below /etc/kubernetes, or the kubelet's, has expired. An upgrade of type Certificates, which renews kubeadm's, is only warned of those",
		"Renew it: " + Renew("NODE") + "; if the API does not answer, docs/troubleshooting.md. For the kubelet's: https://kubernetes.io/docs/setup/production-environment/tools/kubeadm/troubleshooting-kubeadm/#kubelet-client-cert.",
	},
	{
		"certificate-ending", warns,
		"a certificate below /etc/kubernetes, also of another program, or the kubelet's expires within 30 days, or a third of its life. kubeadm renews its own when it upgrades a control plane",
		"Renew it: " + Renew("NODE") + ". For the kubelet's, check rotateCertificates in /var/lib/kubelet/config.yaml.",
	},
	{
		"certificate-not-loaded", warns,
		"a program of a node still uses the certificate that was in a file before, and fails when that one expires",
		"Restart that program: the finding has the command.",
	},
	{
		"certificate-authority-elsewhere", warns,
		"the key of an authority is not on a control plane, or a certificate of kubeadm's was signed by another authority: kubeadm does not renew it",
		"Let that authority sign it before it expires: kubectl upgrade certificates.",
	},
	{
		"certificates-frozen", warns,
		"an exclusion, such as a freeze, stops upgrades of type Certificates until the first certificate of a control plane has expired, or no window opens when it is due",
		"End the exclusion: kubectl upgrade unfreeze NAME; or renew the certificates without a window: " + Renew("NODE") + " --ignore-windows.",
	},
	{
		"kubelet-serving-waits", warns,
		"a kubelet's request for a serving certificate waits for an approval: logs, exec and metrics of its node fail (only the plugin asks)",
		"Look at each, then: kubectl certificate approve NAME.",
	},
	{
		"ca-ended", blocks,
		"a certificate authority has expired: the certificates that it signed are no longer trusted",
		"Replace the authority by hand: https://kubernetes.io/docs/tasks/tls/manual-rotation-of-ca-certificates/",
	},
	{
		"ca-ending", warns,
		"a certificate authority expires within 180 days, or a third of its life, and with it what it signs; no upgrade renews it",
		"Plan to replace the authority by hand: https://kubernetes.io/docs/tasks/tls/manual-rotation-of-ca-certificates/",
	},
}

const (
	rotatesAdvice = "The kubelet rotates it before it expires, and no upgrade does. If it does not: rotateCertificates has to be true in /var/lib/kubelet/config.yaml; journalctl -u kubelet on the node and kubectl get certificatesigningrequests show why."
	rotatedAdvice = "The kubelet rotates a certificate only before it expires: https://kubernetes.io/docs/setup/production-environment/tools/kubeadm/troubleshooting-kubeadm/#kubelet-client-cert says how to make a new one. rotateCertificates has to be true in /var/lib/kubelet/config.yaml."
	renewedAdvice = "Nothing needs to be done if the upgrade runs before that: kubeadm renews those of each component that it upgrades. Otherwise renew them"
	thisRenews    = "This upgrade renews what kubeadm has issued."
	servingAdvice = "Approve the kubelet's next request: kubectl get certificatesigningrequests; or renew it in the way in which it was installed."
)

// foreign reports whether a certificate is neither kubeadm's nor the kubelet's. The cluster does not stop when one in
// another file below /etc/kubernetes expires.
func foreign(cert v1alpha1.CertificateFacts) bool {
	_, kubeadms := rules.KubeadmCertificateAt(cert.Path)
	return strings.HasPrefix(cert.Path, "/etc/kubernetes/") && !kubeadms && !rules.IsKubeletClient(cert) && !cert.KubeletServing
}

// certificatesOf are what is found of the certificates of all nodes.
type certificatesOf struct {
	kubelets, embedded, workers, serving []*node
	authorities, foreigners, keyless     map[string]*copies
}

func (c *checker) checkCertificates() {
	all := certificatesOf{authorities: map[string]*copies{}, foreigners: map[string]*copies{}, keyless: map[string]*copies{}}
	for _, n := range c.nodes {
		if n.facts != nil {
			c.checkCertificatesOn(n, &all)
			c.checkUse(n)
			c.checkSigners(n, all.keyless)
		}
	}
	c.certificatesEndOn(all.kubelets, "The kubelet's certificate expires soon on %s: %s.", rotatesAdvice)
	c.certificatesEndOn(all.embedded, "The certificate inside /etc/kubernetes/kubelet.conf, which nothing renews, expires soon on %s: %s. Then the kubelet does not start again.", NameRotated)
	c.certificatesEndOn(all.serving, "The certificate with which the kubelet serves logs, exec and metrics expires soon, or has expired, on %s: %s.", servingAdvice)
	c.certificatesEndOn(all.workers, "Certificates below /etc/kubernetes expire soon on %s: %s.", "Renew them in the way in which they were installed.")
	c.checkAuthorities(all.authorities)
	for _, path := range slices.Sorted(maps.Keys(all.foreigners)) {
		c.add(v1alpha1.Finding{
			ID: "certificate-ending", Object: v1alpha1.ObjectReference{Kind: "File", Name: path},
			Message: fmt.Sprintf("Certificate %s, which kubeadm does not manage, expires on %s (%s).", path, day(all.foreigners[path].ends), nodeNames(all.foreigners[path].nodes)),
			Advice:  "Renew it in the way in which it was installed; or remove it, if nothing uses it.",
		})
	}
	for _, path := range slices.Sorted(maps.Keys(all.keyless)) {
		c.add(v1alpha1.Finding{
			ID: "certificate-authority-elsewhere", Object: v1alpha1.ObjectReference{Kind: "File", Name: path},
			Message: fmt.Sprintf("The key of the authority %s is not on %s: kubeadm cannot renew what it signed, of which the first expires on %s.",
				path, nodeNames(all.keyless[path].nodes), day(all.keyless[path].ends)),
		})
	}
	c.checkFrozen()
	c.checkServingRequests()
}

// checkCertificatesOn checks when the certificates of a node expire.
func (c *checker) checkCertificatesOn(n *node, all *certificatesOf) {
	var ending []v1alpha1.CertificateFacts
	for _, cert := range n.facts.Certificates {
		end := endOf(n, cert)
		left := end.Sub(c.Now)
		isSoon := left <= rules.CertificateSoon(cert)
		switch {
		case rules.EndsUnnoticed(cert):
		case cert.KubeletServing:
			if isSoon {
				all.serving = append(all.serving, n)
			}
		case foreign(cert):
			if left <= rules.Soon {
				addCopy(all.foreigners, n, cert.Path, end)
			}
		case cert.CA:
			if isSoon {
				addCopy(all.authorities, n, cert.Path, end)
			}
		case left <= 0:
			c.certificateEnded(n, cert, end)
		case !isSoon:
		case cert.Path == rules.KubeletConf:
			all.embedded = append(all.embedded, n)
		case rules.IsKubeletClient(cert):
			all.kubelets = append(all.kubelets, n)
		default:
			ending = append(ending, cert)
		}
	}
	switch {
	case len(ending) == 0:
	case n.controlPlane:
		c.certificatesEnd(n, ending)
	default:
		all.workers = append(all.workers, n)
	}
}

// endOf returns when a certificate expires. Its authority may expire before: of one of kubeadm's, checkAuthorities says so
// once.
func endOf(n *node, cert v1alpha1.CertificateFacts) time.Time {
	if authority := rules.AuthorityOf(n.facts, cert); authority != nil && !foreign(*authority) {
		return cert.NotAfter.Time
	}
	return rules.CertificateEnd(n.facts, cert)
}

// checkUse finds programs that still use the certificate that was in a file before.
func (c *checker) checkUse(n *node) {
	for _, cert := range n.facts.Certificates {
		if cert.InUse != v1alpha1.UsesFormer || len(cert.UsedBy) == 0 || n.isAway() {
			continue
		}
		written := ""
		if cert.WrittenTime != nil {
			written = " before " + day(cert.WrittenTime.Time)
		}
		c.add(v1alpha1.Finding{
			ID: "certificate-not-loaded", Object: n.object(),
			Message: fmt.Sprintf("On node %s, %s still uses the certificate that was in %s%s.", n.name, cert.UsedBy[0], cert.Path, written),
			Advice:  "On that node: " + Restart(cert.UsedBy[0]),
		})
	}
}

// checkSigners finds certificates of a control plane that kubeadm does not renew.
func (c *checker) checkSigners(n *node, keyless map[string]*copies) {
	var others []string
	for _, cert := range n.facts.Certificates {
		switch authority := rules.AuthorityOf(n.facts, cert); {
		case !n.controlPlane:
		case rules.HasOtherAuthority(cert):
			others = append(others, cert.Path)
		case authority != nil && cert.RenewedBy == v1alpha1.RenewedElsewhere && !authority.HasKey && !foreign(cert) && !cert.KubeletServing:
			addCopy(keyless, n, authority.Path, cert.NotAfter.Time)
		}
	}
	if len(others) > 0 {
		but := "`kubeadm certs renew` would replace them by kubeadm's"
		if c.renews {
			but = "the upgrade leaves them as they are"
		}
		c.add(v1alpha1.Finding{
			ID: "certificate-authority-elsewhere", Object: n.object(),
			Message: fmt.Sprintf("On node %s, another authority than kubeadm's signed %s: %s.", n.name, names(others), but),
		})
	}
}

func (c *checker) certificateEnded(n *node, cert v1alpha1.CertificateFacts, end time.Time) {
	f := v1alpha1.Finding{ID: "certificate-ended", Message: fmt.Sprintf("On node %s, certificate %s expired on %s.", n.name, cert.Path, day(end))}
	switch {
	case cert.Path == rules.KubeletConf:
		f.Message = fmt.Sprintf("On node %s, the certificate inside %s expired on %s: the kubelet does not start again.", n.name, cert.Path, day(end))
		f.Advice = NameRotated
		if c.renews { // which does not restart the kubelet
			f.Level = v1alpha1.LevelWarn
		}
	case rules.IsKubeletClient(cert):
		f.Advice = rotatedAdvice
	case c.renewsOn(n, cert):
		f.Level, f.Advice = v1alpha1.LevelWarn, thisRenews
	default:
		f.Advice = "Renew it" + renewal(n, cert)
	}
	c.onNode(n, f)
}

func (c *checker) certificatesEnd(n *node, certs []v1alpha1.CertificateFacts) {
	first, paths := endOf(n, certs[0]), []string{}
	for _, cert := range certs {
		paths = append(paths, cert.Path)
		if end := endOf(n, cert); end.Before(first) {
			first = end
		}
	}
	c.add(v1alpha1.Finding{
		ID: "certificate-ending", Object: n.object(), Advice: c.renewAdvice(n, certs),
		Message: fmt.Sprintf("On node %s, %s on %s: %s.", n.name, expire(len(paths)), day(first), names(paths)),
	})
}

// renewAdvice returns what to do about certificates of a node that expire soon.
func (c *checker) renewAdvice(n *node, certs []v1alpha1.CertificateFacts) string {
	switch how := renewal(n, certs...); {
	case c.renewsOn(n, certs...):
		return thisRenews
	case !c.runsKubeadm(n):
		return "Renew them" + how
	case n.facts.CertificateRenewalDisabled:
		return "The upgrade does not renew them, as kubeadm-upgrade.yaml has certificateRenewal: false. Renew them" + how
	default:
		return renewedAdvice + how
	}
}

// renewsOn reports whether the upgrade, of type Certificates, has still to renew one of these certificates of a node.
func (c *checker) renewsOn(n *node, certs ...v1alpha1.CertificateFacts) bool {
	return c.renews && n.moves && slices.ContainsFunc(certs, byKubeadm)
}

// renewal returns what renews one of these certificates of a node, as the end of a sentence.
func renewal(n *node, certs ...v1alpha1.CertificateFacts) string {
	isUnknown := func(cert v1alpha1.CertificateFacts) bool { return cert.RenewedBy == "" } // its agent is older
	byUpgrade, disabled := slices.ContainsFunc(certs, byKubeadm), n.facts.CertificateRenewalDisabled
	switch {
	case n.controlPlane && byUpgrade && !disabled:
		return ": " + Renew(n.name)
	case n.controlPlane && (byUpgrade || slices.ContainsFunc(certs, isUnknown)):
		return " on that node: " + renewByHand + "."
	}
	return " in the way in which it was installed."
}

func byKubeadm(cert v1alpha1.CertificateFacts) bool {
	return cert.RenewedBy == v1alpha1.RenewedByKubeadm
}

// certificatesEndOn adds one warning about many nodes.
func (c *checker) certificatesEndOn(nodes []*node, format, advice string) {
	if len(nodes) > 0 {
		c.add(v1alpha1.Finding{ID: "certificate-ending", Message: fmt.Sprintf(format, plural(len(nodes), "node"), nodeNames(nodes)), Advice: advice})
	}
}

func expire(n int) string {
	if n == 1 {
		return "1 certificate expires"
	}
	return plural(n, "certificate") + " expire, the first"
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// copies are one file on many nodes, and the first end of any of them.
type copies struct {
	ends  time.Time
	nodes []*node
}

// addCopy adds a node's copy.
func addCopy(files map[string]*copies, n *node, path string, end time.Time) {
	a := files[path]
	if a == nil {
		a = &copies{ends: end}
		files[path] = a
	}
	if end.Before(a.ends) {
		a.ends = end
	}
	if !slices.Contains(a.nodes, n) {
		a.nodes = append(a.nodes, n)
	}
}

func (c *checker) checkAuthorities(authorities map[string]*copies) {
	for _, path := range slices.Sorted(maps.Keys(authorities)) {
		a := authorities[path]
		f := v1alpha1.Finding{ID: "ca-ending", Object: v1alpha1.ObjectReference{Kind: "File", Name: path},
			Message: fmt.Sprintf("The certificate authority %s expires on %s, and no upgrade renews it (%s).", path, day(a.ends), nodeNames(a.nodes))}
		if !a.ends.After(c.Now) {
			f.ID, f.Message = "ca-ended", fmt.Sprintf("The certificate authority %s expired on %s (%s).", path, day(a.ends), nodeNames(a.nodes))
		}
		c.add(f)
	}
}
