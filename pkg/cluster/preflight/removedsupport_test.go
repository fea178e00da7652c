package preflight_test

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
)

// to sets the versions of the cluster and of the upgrade.
func to(from, target string, then func(*preflight.Facts)) func(*preflight.Facts) {
	return func(f *preflight.Facts) {
		runs(f, from)
		f.Upgrade.Spec.Version = target
		then(f)
	}
}

func trapScenes() []scene {
	cgroup1 := func(name string, fail *bool) func(*preflight.Facts) {
		return func(f *preflight.Facts) { facts(f, name).CgroupVersion, facts(f, name).FailCgroupV1 = 1, fail }
	}
	flag := func(name string) func(*preflight.Facts) {
		return func(f *preflight.Facts) { facts(f, "worker-1").KubeletFlags = []string{"config", name} }
	}
	elsewhere := func(name string) func(*preflight.Facts) {
		return func(f *preflight.Facts) {
			flag(name)(f)
			facts(f, "worker-1").KubeletFlagsElsewhere = []string{"config", name}
		}
	}
	field := func(name string) func(*preflight.Facts) {
		return func(f *preflight.Facts) {
			facts(f, "worker-1").KubeletConfigFieldsElsewhere = []string{"cgroupDriver", name}
		}
	}
	written := func(name string) func(*preflight.Facts) {
		return func(f *preflight.Facts) { facts(f, "worker-1").KubeletConfigFields = []string{"cgroupDriver", name} }
	}
	cluster := func(name string) func(*preflight.Facts) {
		return func(f *preflight.Facts) { f.KubeletConfig.Fields = []string{"cgroupDriver", name} }
	}
	configMap := func(id string) []string { return []string{"Block " + id + " ConfigMap/kube-system/kubelet-config"} }
	containerd := func(version string) func(*preflight.Facts) {
		return func(f *preflight.Facts) {
			node(f, "worker-1").Status.NodeInfo.ContainerRuntimeVersion = "containerd://" + version
		}
	}
	gate := func(container func(*corev1.Container)) func(*preflight.Facts) {
		return func(f *preflight.Facts) { container(&systemPod(f, "kube-scheduler-cp-1").Spec.Containers[0]) }
	}
	withArgs := func(pod string) func(...string) func(*preflight.Facts) {
		return func(args ...string) func(*preflight.Facts) {
			return func(f *preflight.Facts) {
				c := &systemPod(f, pod).Spec.Containers[0]
				c.Command = append(c.Command, args...)
			}
		}
	}
	apiServer, etcdFlag := withArgs("kube-apiserver-cp-1"), withArgs("etcd-cp-1")
	called := func(remove string) func(*preflight.Facts) {
		return func(f *preflight.Facts) {
			for _, server := range []string{"cp-2", "cp-1"} {
				f.RequestedAPIs = append(f.RequestedAPIs, preflight.RequestedAPI{
					APIServer: server, Group: "storage.k8s.io", Version: "v1beta1", Resource: "csinodes", Subresource: "status", Remove: remove,
				})
			}
		}
	}
	patches := func(name string) func(*preflight.Facts) {
		return func(f *preflight.Facts) { facts(f, name).KubeadmPatches = "/etc/kubernetes/patches" }
	}
	worker := func(id string) []string { return []string{"Block " + id + " Node/worker-1 @worker-1"} }
	return append([]scene{
		{check: "version-newer", name: "than the lists", alter: to("v1.37.2", "v1.38.1", func(*preflight.Facts) {}), want: []string{"Warn version-newer"}},
		{check: "version-newer", name: "the last in the lists", alter: to("v1.36.3", "v1.37.2", func(*preflight.Facts) {})},
		{check: "feature-gate", name: "which 1.37 removes", alter: to("v1.36.3", "v1.37.2", gate(func(c *corev1.Container) {
			c.Command = append(c.Command, "--feature-gates=SidecarContainers=true")
		})), want: []string{"Block feature-gate Pod/kube-system/kube-scheduler-cp-1"}},
		{check: "cgroup-v1", name: "1.35", alter: cgroup1("worker-1", nil), want: worker("cgroup-v1")},
		{check: "cgroup-v1", name: "1.35 on a control plane", alter: cgroup1("cp-1", ptr.To(true)), want: []string{"Block cgroup-v1 Node/cp-1"}},
		{check: "cgroup-v1", name: "failCgroupV1: false in the file that kubeadm writes anew", alter: cgroup1("worker-1", ptr.To(false)), want: worker("cgroup-v1")},
		{check: "cgroup-v1", name: "the same for a patch", alter: to("v1.35.3", "v1.35.4", cgroup1("worker-1", ptr.To(false))), want: worker("cgroup-v1")},
		{check: "cgroup-v1", name: "failCgroupV1: false in the cluster's configuration", alter: func(f *preflight.Facts) {
			cgroup1("worker-1", nil)(f)
			f.KubeletConfig.FailCgroupV1 = ptr.To(false)
		}},
		{check: "cgroup-v1", name: "failCgroupV1: false in a drop-in", alter: func(f *preflight.Facts) {
			cgroup1("worker-1", ptr.To(false))(f)
			facts(f, "worker-1").FailCgroupV1Elsewhere = ptr.To(false)
		}},
		{check: "cgroup-v1", name: "failCgroupV1: true in a drop-in", alter: func(f *preflight.Facts) {
			cgroup1("worker-1", ptr.To(true))(f)
			facts(f, "worker-1").FailCgroupV1Elsewhere = ptr.To(true)
			f.KubeletConfig.FailCgroupV1 = ptr.To(false)
		}, want: worker("cgroup-v1")},
		{check: "cgroup-v1", name: "kubeadm is done here", alter: func(f *preflight.Facts) {
			cgroup1("cp-1", ptr.To(false))(f)
			upgrade(f, "cp-1").Status.Versions.Kubeadm = "v1.35.4"
		}},
		{check: "cgroup-v1", name: "the cluster's configuration was not read", alter: func(f *preflight.Facts) {
			cgroup1("worker-1", ptr.To(false))(f)
			f.KubeletConfig = nil
		}},
		{check: "cgroup-v1", name: "the cluster's configuration cannot be read", alter: func(f *preflight.Facts) {
			cgroup1("worker-1", ptr.To(false))(f)
			f.KubeletConfig = &preflight.KubeletConfig{Problem: "that is forbidden"}
		}, want: []string{"Warn unread ConfigMap/kube-system/kubelet-config"}},
		{check: "cgroup-v1", name: "only a reboot", alter: func(f *preflight.Facts) {
			cgroup1("worker-1", ptr.To(false))(f)
			reboots(f, "worker-1")
		}},
		{check: "cgroup-v1", name: "1.34", alter: to("v1.33.9", "v1.34.4", cgroup1("worker-1", nil))},
		{check: "kubelet-flag", name: "gone in 1.34", alter: to("v1.33.9", "v1.34.4", flag("register-schedulable")), want: worker("kubelet-flag")},
		{check: "kubelet-flag", name: "the same before", alter: to("v1.32.9", "v1.33.9", flag("register-schedulable"))},
		{check: "kubelet-flag", name: "the same after", alter: flag("register-schedulable")},
		{check: "kubelet-flag", name: "gone in 1.31", alter: to("v1.30.9", "v1.31.9", flag("keep-terminated-pod-volumes")), want: worker("kubelet-flag")},
		{check: "kubelet-flag", name: "taken out by kubeadm itself", alter: flag("pod-infra-container-image")},
		{check: "kubelet-flag", name: "where kubeadm takes out nothing", alter: elsewhere("pod-infra-container-image"), want: worker("kubelet-flag")},
		{check: "kubelet-flag", name: "where kubeadm takes out nothing, on a control plane", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").KubeletFlagsElsewhere = []string{"pod-infra-container-image"}
		}, want: []string{"Block kubelet-flag Node/cp-1"}},
		{check: "kubelet-flag", name: "the same for a patch", alter: to("v1.34.3", "v1.34.4", elsewhere("pod-infra-container-image"))},
		{check: "kubelet-flag", name: "known", alter: flag("node-ip")},
		{check: "kubelet-config", name: "refused since 1.32", alter: to("v1.31.9", "v1.32.9", field("runOnce")), want: worker("kubelet-config")},
		{check: "kubelet-config", name: "it runs with that already", alter: field("runOnce")},
		{check: "kubelet-config", name: "kubeadm writes it anew without", alter: to("v1.31.9", "v1.32.9", written("runOnce"))},
		{check: "kubelet-config", name: "kubeadm is done, and wrote it", alter: to("v1.31.9", "v1.32.9", func(f *preflight.Facts) {
			facts(f, "cp-1").KubeletConfigFields = []string{"runOnce"}
			upgrade(f, "cp-1").Status.Versions.Kubeadm = "v1.32.9"
		}), want: []string{"Block kubelet-config Node/cp-1"}},
		{check: "kubelet-config", name: "kubeadm writes it to every node", alter: to("v1.31.9", "v1.32.9", cluster("runOnce")), want: configMap("kubelet-config")},
		{check: "kubelet-config", name: "the cluster's was there before", alter: cluster("runOnce")},
		{check: "feature-gate", name: "kubeadm writes it anew without", alter: written("featureGates.PodIndexLabel")},
		{check: "feature-gate", name: "kubeadm writes it to every node", alter: cluster("featureGates.PodIndexLabel"), want: configMap("feature-gate")},
		{check: "feature-gate", name: "in the cluster's, for a patch", alter: to("v1.35.3", "v1.35.4", cluster("featureGates.PodIndexLabel"))},
		{check: "feature-gate", name: "in the cluster's, only a reboot", alter: func(f *preflight.Facts) {
			cluster("featureGates.PodIndexLabel")(f)
			reboots(f, "worker-1")
		}},
		{check: "unread", name: "the cluster's configuration of kubelets, for a minor", alter: func(f *preflight.Facts) {
			f.KubeletConfig = &preflight.KubeletConfig{Problem: "that is forbidden"}
		}, want: []string{"Warn unread ConfigMap/kube-system/kubelet-config"}},
		{check: "unread", name: "the cluster's configuration of kubelets, for a patch", alter: to("v1.35.3", "v1.35.4", func(f *preflight.Facts) {
			f.KubeletConfig = &preflight.KubeletConfig{Problem: "that is forbidden"}
		})},
		{check: "feature-gate", name: "gone in 1.33", alter: to("v1.32.9", "v1.33.9", field("featureGates.CPUManager")), want: worker("feature-gate")},
		{check: "feature-gate", name: "there until 1.36", alter: field("featureGates.MemoryManager")},
		{check: "feature-gate", name: "gone in 1.36", alter: to("v1.35.4", "v1.36.3", field("featureGates.MemoryManager")), want: worker("feature-gate")},
		{check: "feature-gate", name: "a patch", alter: to("v1.36.1", "v1.36.3", field("featureGates.MemoryManager"))},
		{check: "feature-gate", name: "given to the kubelet as a flag", alter: flag("feature-gates.PodIndexLabel"), want: worker("feature-gate")},
		{check: "feature-gate", name: "given as a flag, kept", alter: flag("feature-gates.Kept")},
		{check: "feature-gate", name: "given as a flag, for a patch", alter: to("v1.35.3", "v1.35.4", flag("feature-gates.PodIndexLabel"))},
		{check: "feature-gate", name: "of a static pod", alter: gate(func(c *corev1.Container) {
			c.Command = append(c.Command, "--feature-gates=Kept=true,ComponentSLIs=false, PodIndexLabel=true")
		}), want: []string{"Block feature-gate Pod/kube-system/kube-scheduler-cp-1"}},
		{check: "feature-gate", name: "of a static pod, kept", alter: gate(func(c *corev1.Container) { c.Args = []string{"--feature-gates=Kept=true"} })},
		{check: "component-flag", name: "of kube-apiserver, gone in 1.33", alter: to("v1.32.9", "v1.33.9", apiServer("--cloud-provider=external", "--cloud-config=/etc/kubernetes/cloud.conf")), want: []string{"Block component-flag Pod/kube-system/kube-apiserver-cp-1"}},
		{check: "component-flag", name: "of kube-apiserver, still there", alter: to("v1.32.9", "v1.32.13", apiServer("--cloud-provider=external"))},
		{check: "component-flag", name: "of kube-apiserver, another one", alter: to("v1.32.9", "v1.33.9", apiServer("--audit-log-path=--cloud-provider=x"))},
		{check: "component-flag", name: "of etcd, gone in 1.37", alter: to("v1.36.3", "v1.37.2", etcdFlag("--experimental-compaction-batch-limit=9")), want: []string{"Block component-flag Pod/kube-system/etcd-cp-1"}},
		{check: "component-flag", name: "of etcd, for 1.36", alter: to("v1.35.4", "v1.36.3", etcdFlag("--experimental-compaction-batch-limit=9"))},
		{check: "containerd-1", name: "1.35", alter: containerd("1.7.21")},
		{check: "containerd-1", name: "1.36", alter: to("v1.35.4", "v1.36.3", containerd("1.7.21")), want: []string{"Warn containerd-1"}},
		{check: "containerd-1", name: "1.36 with containerd 2", alter: to("v1.35.4", "v1.36.3", containerd("2.0.0"))},
		{check: "containerd-1", name: "1.38", alter: to("v1.37.1", "v1.38.0", containerd("1.7.21")), want: append(worker("containerd-1"), "Warn version-newer")},
	}, []scene{
		{check: "api-removed", name: "in the target", alter: called("1.35"), want: []string{"Block api-removed API/storage.k8s.io/v1beta1 csinodes/status"}},
		{check: "api-removed", name: "after the target", alter: called("1.36")},
		{check: "api-removed", name: "a release that is not known", alter: called("")},
		{check: "kubeadm-patches", name: "on a control plane", alter: patches("cp-2"), want: []string{"Block kubeadm-patches Node/cp-2"}},
		{check: "kubeadm-patches", name: "on a worker", alter: patches("worker-2"), want: []string{"Warn kubeadm-patches"}},
		{check: "kubeadm-patches", name: "kubeadm is done here", alter: func(f *preflight.Facts) {
			patches("cp-2")(f)
			upgrade(f, "cp-2").Status.Versions.Kubeadm = "v1.35.4"
		}},
	}...)
}
