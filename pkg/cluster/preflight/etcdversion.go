package preflight

import (
	"fmt"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// The minors of Kubernetes from which on the version of etcd matters.
//
//   - kubeadm 1.34 brings etcd 3.6.5 (SupportedEtcdVersion in
//     cmd/kubeadm/app/constants/constants.go). Members before 3.5.26 may come
//     back as "zombies" in 3.6: https://etcd.io/blog/2025/zombie_members_upgrade/
//   - kubeadm 1.36 maps no minor to an etcd before 3.6
//     (https://github.com/kubernetes/kubernetes/pull/135701).
const (
	minorWithEtcd36    = 34
	minorWithoutEtcd35 = 36
)

var (
	etcdBefore36 = version.Version{Major: 3, Minor: 5, Patch: 26}
	etcd36       = version.Version{Major: 3, Minor: 6}
)

func (c *checker) checkEtcdVersion(member, runs string) {
	v, err := etcdVersion(runs)
	if !c.kubeadm || err != nil {
		return
	}
	switch {
	case c.to.Minor >= minorWithoutEtcd35 && v.Less(etcd36):
		c.onMember(member, "etcd-version",
			fmt.Sprintf("Member %s of etcd runs %s, and kubeadm of %s does not support etcd before 3.6.", member, runs, c.to.Line()),
			"Let kubeadm of the minor that runs now bring etcd 3.6: remove etcd.local.imageTag from ClusterConfiguration (kubectl -n kube-system edit configmap kubeadm-config), and upgrade to its newest patch.")
	case c.to.Minor >= minorWithEtcd36 && v.Less(etcdBefore36):
		c.onMember(member, "etcd-version",
			fmt.Sprintf("Member %s of etcd runs %s, and %s brings 3.6, to which only 3.5.26 and later may be upgraded safely.", member, runs, c.to),
			"Bring etcd to 3.5.26 first: set etcd.local.imageTag to 3.5.26-0 in ClusterConfiguration (kubectl -n kube-system edit configmap kubeadm-config), upgrade to a patch of the minor that runs now, and remove the tag again. If no member was ever replaced, this check can be ignored: https://etcd.io/blog/2025/zombie_members_upgrade/")
	}
}

// older reports whether a is known, and b is newer or not known.
func older(a, b string) bool {
	left, err := etcdVersion(a)
	if err != nil {
		return false
	}
	right, err := etcdVersion(b)
	return err != nil || left.Less(right)
}

// etcdVersion parses 3.6.5, and the tag of an image such as 3.6.5-0.
func etcdVersion(s string) (version.Version, error) {
	s, _, _ = strings.Cut(s, "-")
	return version.Parse(s)
}
