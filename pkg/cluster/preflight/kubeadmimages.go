package preflight

import (
	"cmp"
	"strings"
	"time"
)

// kubeadmRelease is what the kubeadm of a minor brings and expects: CoreDNSVersion and PauseVersion in
// cmd/kubeadm/app/constants/constants.go, and the timeout of createJob in cmd/kubeadm/app/phases/upgrade/health.go. Patches
// have not changed them (compared: the first and the last patch known of each minor).
type kubeadmRelease struct {
	coreDNS, pause string
	jobTimeout     time.Duration
}

// kubeadmReleases are the minors whose sources have been read.
var kubeadmReleases = map[int]kubeadmRelease{
	32: {"1.11.3", "3.10", 15 * time.Second},
	33: {"1.12.0", "3.10", 15 * time.Second},
	34: {"1.12.1", "3.10.1", 15 * time.Second},
	35: {"1.13.1", "3.10.1", 15 * time.Second},
	36: {"1.14.2", "3.10.2", time.Minute},
	37: {"1.14.6", "3.10.2", time.Minute},
}

// defaultRepository is where kubeadm takes images from unless its configuration names another one.
const defaultRepository = "registry.k8s.io"

// repository returns where kubeadm takes images from (cmd/kubeadm/app/images/images.go).
func (c ClusterConfiguration) repository() string {
	return cmp.Or(c.ImageRepository, defaultRepository)
}

// dnsImage returns the CoreDNS image that kubeadm writes into its Deployment.
func (c ClusterConfiguration) dnsImage(r kubeadmRelease) string {
	repository := cmp.Or(c.DNS.ImageRepository, c.repository())
	if repository == defaultRepository {
		repository += "/coredns"
	}
	return repository + "/coredns:" + cmp.Or(c.DNS.ImageTag, "v"+r.coreDNS)
}

// splitImage returns an image's name and its tag, without a digest. Either may be empty.
func splitImage(image string) (name, tag string) {
	name, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndex(name, ":"); i > strings.LastIndex(name, "/") {
		return name[:i], name[i+1:]
	}
	return name, ""
}
