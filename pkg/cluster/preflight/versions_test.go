package preflight_test

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
)

func versionScenes() []scene {
	kubelet := func(name, version string) func(*preflight.Facts) {
		return func(f *preflight.Facts) { node(f, name).Status.NodeInfo.KubeletVersion = version }
	}
	servers := func(versions ...string) func(*preflight.Facts) {
		return func(f *preflight.Facts) {
			for i, v := range versions {
				serve(f, []string{"cp-1", "cp-2", "cp-3"}[i], v)
			}
		}
	}
	return []scene{
		{check: "version-skip", name: "the next minor"},
		{check: "version-skip", name: "two minors", alter: func(f *preflight.Facts) {
			f.Upgrade.Spec.Version = "v1.36.3"
		}, want: []string{"Block version-skip"}},
		{check: "version-skip", name: "one worker two minors behind", alter: kubelet("worker-1", "v1.33.9"),
			want: []string{"Block version-skip Node/worker-1 @worker-1"}},
		{check: "version-skip", name: "one that a person gave up", alter: func(f *preflight.Facts) {
			kubelet("worker-1", "v1.33.9")(f)
			upgrade(f, "worker-1").Abandoned = &v1alpha1.Abandoned{Comment: "broken"}
		}},
		{check: "version-downgrade", name: "a patch back", alter: func(f *preflight.Facts) {
			f.Upgrade.Spec.Version = "v1.34.3"
		}, want: []string{"Block version-downgrade"}},
		{check: "version-downgrade", name: "a minor back, which is no fault of kubelets", alter: func(f *preflight.Facts) {
			f.Upgrade.Spec.Version = "v1.33.9"
		}, want: []string{"Block version-downgrade"}},
		{check: "version-downgrade", name: "the same again", alter: func(f *preflight.Facts) {
			f.Upgrade.Spec.Version = "v1.34.4"
		}},
		{check: "version-blocked", name: "it is", alter: func(f *preflight.Facts) {
			f.Blocked = &v1alpha1.BlockedVersion{Version: f.Upgrade.Spec.Version, Comment: "CVE-2026-1"}
		}, want: []string{"Block version-blocked UpgradePolicy/cluster"}},
		{check: "version-blocked", name: "another version is", alter: func(f *preflight.Facts) {
			f.Policy.BlockedVersions = []v1alpha1.BlockedVersion{{Version: "v1.34.9", Comment: "another"}}
		}},
		{check: "version-downgrade", name: "a Rollback, which takes back only kubelets", alter: func(f *preflight.Facts) {
			f.Upgrade.Spec.Type, f.Upgrade.Spec.Version = v1alpha1.TypeRollback, "v1.34.3"
		}},
		{check: "version-kubelet-skew", name: "a kubelet that would be four minors older", alter: kubelet("worker-2", "v1.31.9"),
			want: []string{"Block version-kubelet-skew Node/worker-2"}},
		{check: "version-kubelet-skew", name: "the same on a node that is not ours", alter: func(f *preflight.Facts) {
			kubelet("worker-2", "v1.31.9")(f)
			node(f, "worker-2").Status.NodeInfo.OperatingSystem = "windows"
		}, want: []string{"Block version-kubelet-skew Node/worker-2", "Warn health-job Job/kube-system/upgrade-health-check", "Warn unsupported"}},
		{check: "version-kubelet-skew", name: "three minors on a node that is not ours", alter: func(f *preflight.Facts) {
			kubelet("worker-2", "v1.32.9")(f)
			node(f, "worker-2").Status.NodeInfo.OperatingSystem = "windows"
		}, want: []string{"Warn health-job Job/kube-system/upgrade-health-check", "Warn unsupported"}},
		{check: "version-kubelet-skew", name: "a kubelet newer than an apiserver", alter: kubelet("worker-2", "v1.35.4"),
			want: []string{"Block version-kubelet-skew Node/worker-2"}},
		{check: "version-kubelet-skew", name: "by Cluster API's request, beside older apiservers", alter: func(f *preflight.Facts) {
			f.Policy.VersionsFrom = v1alpha1.VersionsFromClusterAPI
			f.Upgrade.Spec.Version = "v1.35.4"
			servers("v1.35.4", "v1.34.3", "v1.34.3")(f)
			kubelet("cp-1", "v1.35.4")(f)
			facts(f, "cp-1").OwnAPIServer = true
		}, want: []string{"Warn cluster-api"}},
		{check: "version-kubelet-skew", name: "the same through a load balancer", alter: func(f *preflight.Facts) {
			f.Policy.VersionsFrom = v1alpha1.VersionsFromClusterAPI
			f.Upgrade.Spec.Version = "v1.35.4"
			servers("v1.35.4", "v1.34.3", "v1.34.3")(f)
			kubelet("cp-1", "v1.35.4")(f)
		}, want: []string{"Block version-kubelet-skew Node/cp-1", "Warn cluster-api"}},
		{check: "version-kubelet-skew", name: "a kubelet a patch newer", alter: kubelet("worker-2", "v1.34.5")},
		{check: "version-apiservers", name: "another patch", alter: servers("v1.34.4", "v1.34.3"),
			want: []string{"Warn version-apiservers"}},
		{check: "version-apiservers", name: "another minor", alter: func(f *preflight.Facts) {
			runs(f, "v1.33.9")
			servers("v1.34.2", "v1.33.9", "v1.33.9")(f)
			f.Upgrade.Spec.Version = "v1.34.4"
		}, want: []string{"Block version-apiservers"}},
		{check: "version-apiservers", name: "in the middle of this upgrade", alter: servers("v1.35.4")},
		{check: "version-apiservers", name: "in the middle of this upgrade, and another was not finished before",
			alter: servers("v1.35.4", "v1.34.4", "v1.34.3"), want: []string{"Warn version-apiservers"}},
		{check: "version-unknown", name: "a vendor's apiserver", alter: servers("v1.34-eks-1"),
			want: []string{"Block version-unknown Pod/kube-system/kube-apiserver-cp-1"}},
		{check: "version-unknown", name: "an apiserver by digest only", alter: func(f *preflight.Facts) {
			systemPod(f, "kube-apiserver-cp-1").Spec.Containers[0].Image = "registry:5000/kube-apiserver@sha256:0123"
		}, want: []string{"Block version-unknown Pod/kube-system/kube-apiserver-cp-1"}},
		{check: "version-unknown", name: "a vendor's kubelet", alter: kubelet("worker-1", "v1.34+vendor"),
			want: []string{"Block version-unknown Node/worker-1"}},
		{check: "version-unknown", name: "no apiserver at all", alter: func(f *preflight.Facts) {
			f.SystemPods, f.Nodes, f.NodeUpgrades = nil, nil, nil
		}, want: []string{"Block version-unknown"}},
		{check: "version-unknown", name: "releases"},
		{check: "version-unknown", name: "a pre-release and a build", alter: func(f *preflight.Facts) {
			servers("v1.34.4_k3s1", "v1.34.4_k3s1", "v1.34.4_k3s1")(f)
			kubelet("worker-1", "v1.34.4-rc.1")(f)
		}},
		{check: "version-downgrade", name: "to a pre-release", alter: func(f *preflight.Facts) {
			servers("v1.35.4", "v1.35.4", "v1.35.4")(f)
			f.Upgrade.Spec.Version = "v1.35.4-rc.1"
		}, want: []string{"Block version-downgrade"}},
		{check: "image-not-offered", name: "for one architecture", alter: func(f *preflight.Facts) {
			f.Offered = []string{"amd64"}
			node(f, "worker-1").Status.NodeInfo.Architecture = "arm64"
		}, want: []string{"Block image-not-offered"}},
		{check: "image-not-offered", name: "for none", alter: func(f *preflight.Facts) {
			f.Offered = []string{}
		}, want: []string{"Block image-not-offered"}},
		{check: "image-not-offered", name: "fixed at the trigger, withdrawn since", alter: func(f *preflight.Facts) {
			f.Offered = []string{}
			f.Upgrade.Status.Images = []v1alpha1.Image{{Architecture: "amd64"}}
		}},
		{check: "image-replaced", name: "replaced", alter: func(f *preflight.Facts) {
			f.Replaced = []v1alpha1.OfferedImage{{Architecture: "amd64", Digest: "sha256:b", FirstSeenTime: metav1.NewTime(f.Now.Add(-time.Hour))}}
		}, want: []string{"Warn image-replaced"}},
		{check: "image-replaced", name: "never", alter: func(*preflight.Facts) {}},
		{check: "image-not-offered", name: "not known", alter: func(f *preflight.Facts) { f.Offered = nil }},
		{check: "image-not-offered", name: "no node needs one", alter: func(f *preflight.Facts) {
			f.Offered = []string{}
			runs(f, "v1.35.4")
			for _, name := range []string{"cp-1", "cp-2", "cp-3"} {
				upgrade(f, name).Status.Versions.ControlPlane = "v1.35.4"
			}
		}},
		{check: "image-not-offered", name: "kubeadm has still to run where the kubelet is there already", alter: func(f *preflight.Facts) {
			f.Offered = []string{}
			runs(f, "v1.35.4")
			for _, name := range []string{"cp-1", "cp-2"} {
				upgrade(f, name).Status.Versions.ControlPlane = "v1.35.4"
			}
		}, want: []string{"Block image-not-offered"}},
	}
}
