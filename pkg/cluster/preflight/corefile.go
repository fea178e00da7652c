package preflight

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coredns/corefile-migration/migration"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// CoreDNS is what kubeadm reads of its DNS addon (GetCoreDNSInfo in cmd/kubeadm/app/phases/addons/dns/dns.go).
type CoreDNS struct {
	// Images are those of the first containers of the Deployments that kubeadm takes for it.
	Images []string
	// ConfigMissing reports whether its ConfigMap does not exist.
	ConfigMissing bool
	// Corefile is what the ConfigMap has under that key. Nil: it has no such key.
	Corefile *string
}

// installed returns the Corefile and the version from which kubeadm would migrate it, and what it takes them from.
func (d *CoreDNS) installed() (corefile, version, source string, err error) {
	switch {
	case d.ConfigMissing:
		return "", "", "ConfigMap kube-system/coredns does not exist", nil
	case d.Corefile == nil:
		return "", "", "ConfigMap kube-system/coredns", errors.New("it has no key Corefile")
	case len(d.Images) > 1:
		return "", "", "label k8s-app=kube-dns", fmt.Errorf("%d Deployments of kube-system have it", len(d.Images))
	case len(d.Images) == 0:
		return *d.Corefile, "", "no Deployment of kube-system has the label k8s-app=kube-dns", nil
	}
	_, tag := splitImage(d.Images[0])
	return *d.Corefile, strings.TrimLeft(tag, "v"), "image " + d.Images[0], nil
}

// The checks that `kubeadm upgrade apply` makes first (cmd/kubeadm/app/phases/upgrade/preflight.go of v1.32 to v1.37).
// They do not ask whether ClusterConfiguration disables CoreDNS.
const (
	pluginsCheck   = "CoreDNSUnsupportedPlugins"
	migrationCheck = "CoreDNSMigration"
)

// checkCoreDNS finds why kubeadm would refuse to upgrade because of CoreDNS, and what it would change.
func (c *checker) checkCoreDNS() {
	release, read := kubeadmReleases[c.to.Minor]
	if !read || c.CoreDNS == nil || !slices.ContainsFunc(c.controlPlanes(), c.runsKubeadm) {
		return
	}
	corefile, from, source, err := c.CoreDNS.installed()
	if err == nil && from == release.coreDNS {
		c.checkDNSImage(release)
		return
	}
	var unknown []string
	if err == nil {
		unknown, err = unsupported(from, release.coreDNS, corefile)
	}
	switch {
	case err != nil:
		c.refusesCoreDNS(fmt.Sprintf("in its checks %s and %s", pluginsCheck, migrationCheck), fmt.Sprintf("%s: %s", source, err), c.coreDNSAdvice(from, release))
		return
	case len(unknown) > 0:
		c.refusesCoreDNS("in its check "+pluginsCheck, fmt.Sprintf("it cannot migrate the Corefile from CoreDNS %s to %s because of %s", from, release.coreDNS, names(unknown)),
			fmt.Sprintf("kubeadm leaves what it does not know as it is. If CoreDNS %s understands it, %s. To see the Corefile: kubectl -n kube-system get configmap coredns -o yaml.",
				release.coreDNS, ignoring(pluginsCheck)))
	}
	c.checkCorefile(corefile, from, release)
	c.checkDNSImage(release)
}

// refusesCoreDNS adds that the first control plane is not upgraded. The others make no such checks.
func (c *checker) refusesCoreDNS(where, why, advice string) {
	if c.appliesKubeadm() {
		c.add(v1alpha1.Finding{ID: "corefile", Object: kubeadmObject("ConfigMap", clusterstate.CoreDNSName), Advice: advice,
			Message: fmt.Sprintf("kubeadm upgrade apply %s would fail %s: %s.", c.to, where, sentence(why))})
	}
}

// ignoring says how kubeadm's checks are ignored, and then this one.
func ignoring(checks ...string) string {
	return fmt.Sprintf("list %s in apply.ignorePreflightErrors of /etc/kubernetes/kubeadm-upgrade.yaml (an UpgradeConfiguration) on every control-plane node, and ignore this check",
		strings.Join(checks, " and "))
}

// coreDNSAdvice says what to do where kubeadm knows no way from what is installed. To ignore its checks is not enough if
// there is a version: createCoreDNSAddon asks the same again, and fails the addon phase.
func (c *checker) coreDNSAdvice(from string, release kubeadmRelease) string {
	ignore := ignoring(pluginsCheck, migrationCheck)
	show := "To see what is there: kubectl -n kube-system get deployments,configmaps -l k8s-app=kube-dns."
	switch {
	case c.CoreDNS.ConfigMissing || c.CoreDNS.Corefile != nil && len(c.CoreDNS.Images) == 0:
		return "If CoreDNS is not to run, " + ignore + ". " + show
	case from == "":
		return "Let one Deployment have that label, with a tag in its image, and the ConfigMap the key Corefile. " + show
	}
	known, _ := splitImage(ClusterConfiguration{}.dnsImage(release))
	if c.KubeadmConfig != nil {
		known, _ = splitImage(c.KubeadmConfig.dnsImage(release))
	}
	return fmt.Sprintf("To keep your CoreDNS, set disabled: true below dns in ClusterConfiguration (kubectl -n kube-system edit configmap kubeadm-config), %s. "+
		"Or install the release that this kubeadm brings: kubectl -n kube-system set image deployment/coredns '*=%s:v%s'.", ignore, known, release.coreDNS)
}

// checkCorefile finds what kubeadm would change in a Corefile that a person has edited, and what CoreDNS no longer wants in
// it. kubeadm replaces its own Corefile by its own, and migrates another one only if it has to.
func (c *checker) checkCorefile(corefile, from string, release kubeadmRelease) {
	if !c.installsCoreDNS() || isDefault(corefile) {
		return
	}
	notices, err := library(func() ([]migration.Notice, error) { return migration.Deprecated(from, release.coreDNS, corefile) })
	if err != nil || len(notices) == 0 {
		return
	}
	var texts []string
	migrates := false
	for _, notice := range notices {
		texts = append(texts, fmt.Sprintf("%.200s", sentence(notice.ToString())))
		migrates = migrates || notice.Severity == migration.SevRemoved || notice.Severity == migration.SevNewDefault
	}
	does := "would leave the Corefile as it is"
	if migrates {
		does = "would change the Corefile, and keep the old one as Corefile-backup in its ConfigMap"
	}
	c.add(v1alpha1.Finding{ID: "corefile", Level: v1alpha1.LevelWarn, Object: kubeadmObject("ConfigMap", clusterstate.CoreDNSName),
		Message: fmt.Sprintf("kubeadm %s %s, for CoreDNS %s after %s: %s.", c.to, does, release.coreDNS, from, names(texts)),
		Advice:  "Compare the Corefile before and after: kubectl -n kube-system get configmap coredns -o yaml."})
}

// checkDNSImage finds an image of another place than the one that kubeadm writes: it writes its whole Deployment, but for
// the number of replicas.
func (c *checker) checkDNSImage(release kubeadmRelease) {
	if !c.installsCoreDNS() || c.CoreDNSRemoved || len(c.CoreDNS.Images) != 1 {
		return
	}
	runs, writes := c.CoreDNS.Images[0], c.KubeadmConfig.dnsImage(release)
	name, _ := splitImage(runs)
	if other, _ := splitImage(writes); name != other {
		c.add(v1alpha1.Finding{ID: "coredns-image", Object: kubeadmObject("Deployment", clusterstate.CoreDNSName),
			Message: fmt.Sprintf("CoreDNS runs with image %s, and kubeadm %s would replace it by %s.", runs, c.to, writes)})
	}
}

// installsCoreDNS reports whether kubeadm is known to install CoreDNS again.
func (c *checker) installsCoreDNS() bool {
	return c.KubeadmConfig != nil && c.KubeadmConfig.Problem == "" && !c.KubeadmConfig.DNS.Disabled
}

// unsupported returns the plugins and options that kubeadm's library cannot migrate, or why it migrates nothing.
func unsupported(from, to, corefile string) ([]string, error) {
	notices, err := library(func() ([]migration.Notice, error) { return migration.Unsupported(from, to, corefile) })
	if err != nil {
		return nil, err
	}
	if _, err := library(func() (string, error) { return migration.Migrate(from, to, corefile, false) }); err != nil {
		return nil, err
	}
	var list []string
	for _, notice := range notices {
		text := fmt.Sprintf("plugin %.60s", notice.Plugin)
		if notice.Option != "" {
			text = fmt.Sprintf("option %.60s of plugin %.60s", notice.Option, notice.Plugin)
		}
		list = append(list, text)
	}
	return list, nil
}

// isDefault reports whether the Corefile is one that a kubeadm has written, or empty.
func isDefault(corefile string) bool {
	is, _ := library(func() (bool, error) { return corefile == "" || migration.Default("", corefile), nil })
	return is
}

// library calls kubeadm's library. It panics at a Corefile whose braces do not match, and kubeadm with it.
func library[T any](call func() (T, error)) (result T, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the braces of the Corefile do not match")
		}
	}()
	return call()
}
