package preflight_test

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
)

func controlPlaneScenes() []scene {
	without := func(name string) func(*preflight.Facts) {
		return func(f *preflight.Facts) {
			f.SystemPods = slices.DeleteFunc(f.SystemPods, func(p corev1.Pod) bool { return p.Name == name })
		}
	}
	return []scene{
		{check: "control-plane-node", name: "one is not Ready", alter: func(f *preflight.Facts) { unready(f, "cp-2") },
			want: []string{"Block control-plane-node Node/cp-2"}},
		{check: "control-plane-node", name: "a worker is not Ready", alter: func(f *preflight.Facts) { unready(f, "worker-1") }},
		{check: "control-plane-node", name: "one that has never said", alter: func(f *preflight.Facts) { node(f, "cp-2").Status.Conditions = nil },
			want: []string{"Block control-plane-node Node/cp-2"}},
		{check: "control-plane-node", name: "a worker is to be rebooted, and no other node", alter: func(f *preflight.Facts) {
			unready(f, "cp-2")
			reboots(f, "worker-1")
		}},
		{check: "control-plane-node", name: "another is to be rebooted", alter: func(f *preflight.Facts) {
			unready(f, "cp-2")
			reboots(f, "cp-1")
		}, want: []string{"Block control-plane-node Node/cp-2"}},
		{check: "control-plane-node", name: "all are to be rebooted, whether they ask or not", alter: func(f *preflight.Facts) {
			unready(f, "cp-2")
			reboots(f)
			f.Upgrade.Spec.RebootPolicy = v1alpha1.RebootAlways
		}, want: []string{"Block control-plane-node Node/cp-2"}},
		{check: "control-plane-node", name: "another is to be rebooted, whether it asks or not", alter: func(f *preflight.Facts) {
			unready(f, "cp-2")
			ends(f, "cp-1", "before")
		}, want: []string{"Block control-plane-node Node/cp-2"}},
		{check: "control-plane-node", name: "another has booted since", alter: func(f *preflight.Facts) {
			unready(f, "cp-2")
			ends(f, "cp-1", "after")
		}},
		{check: "control-plane-node", name: "one without a sysext image is to be rebooted", alter: func(f *preflight.Facts) {
			unready(f, "cp-2")
			lacksImage(f, "cp-1")
			reboots(f, "cp-1")
		}, want: []string{"Block control-plane-node Node/cp-2"}},
		{check: "control-plane-node", name: "the upgrade itself reboots it", alter: func(f *preflight.Facts) { away(f, v1alpha1.StepRebooting) }},
		{check: "control-plane-node", name: "the upgrade itself restarts its pods", alter: func(f *preflight.Facts) { away(f, v1alpha1.StepChecking) }},
		{check: "control-plane-node", name: "it failed in the upgrade", alter: func(f *preflight.Facts) { away(f, v1alpha1.StepFailed) }, want: []string{
			"Block control-plane-node Node/cp-2", "Block control-plane-pod Node/cp-2", "Block control-plane-pod Pod/kube-system/kube-scheduler-cp-2", "Block etcd-member EtcdMember/cp-2",
			"Block etcd-quorum", "Block etcd-unknown Node/cp-2", "Block facts-missing Node/cp-2",
		}},
		{check: "control-plane-node", name: "the upgrade rebooted it, and a person has abandoned it", alter: func(f *preflight.Facts) {
			away(f, v1alpha1.StepRebooting)
			upgrade(f, "cp-2").Abandoned = &v1alpha1.Abandoned{Comment: "gone"}
		}, want: []string{"Block etcd-member EtcdMember/cp-2", "Block etcd-quorum"}},
		{check: "control-plane-node", name: "another one is away than that which the upgrade reboots", alter: func(f *preflight.Facts) {
			f.NodeUpgrades[0].Status.Step = v1alpha1.StepRebooting
			unready(f, "cp-2")
		}, want: []string{"Block control-plane-node Node/cp-2"}},
		{check: "control-plane-pod", name: "one is not Ready", alter: func(f *preflight.Facts) {
			systemPod(f, "kube-scheduler-cp-3").Status.Conditions[0].Status = corev1.ConditionFalse
		}, want: []string{"Block control-plane-pod Pod/kube-system/kube-scheduler-cp-3"}},
		{check: "control-plane-pod", name: "one is missing", alter: without("kube-controller-manager-cp-1"),
			want: []string{"Block control-plane-pod Node/cp-1"}},
		{check: "control-plane-pod", name: "etcd is missing on one", alter: without("etcd-cp-1"),
			want: []string{"Block control-plane-pod Node/cp-1"}},
		{check: "control-plane-pod", name: "etcd runs elsewhere", alter: func(f *preflight.Facts) {
			external(f)
			f.Upgrade.Spec.Strategy.EtcdSnapshotPolicy = v1alpha1.EtcdSnapshotSkip
		}},
		{check: "control-plane-pod", name: "a static pod that is not kubeadm's", alter: func(f *preflight.Facts) {
			vip := static("kube-vip", "cp-1")
			vip.Status.Conditions = nil
			f.SystemPods = append(f.SystemPods, vip)
		}, want: []string{"Block control-plane-pod Pod/kube-system/kube-vip-cp-1"}},
		{check: "control-plane-pod", name: "a Job's with etcd's label", alter: func(f *preflight.Facts) {
			defrag := static("etcd", "worker-1")
			defrag.Name, defrag.Annotations, defrag.Status.Phase, defrag.Status.Conditions = "defrag-28", nil, corev1.PodSucceeded, nil
			ownedBy("Job", "defrag")(&defrag)
			onControlPlane := *defrag.DeepCopy()
			onControlPlane.Name, onControlPlane.Spec.NodeName, onControlPlane.Status.Phase = "defrag-29", "cp-1", corev1.PodRunning
			f.SystemPods = append(f.SystemPods, defrag, onControlPlane)
		}},
		{check: "control-plane-pod", name: "a static pod that has ended", alter: func(f *preflight.Facts) {
			p := systemPod(f, "etcd-cp-2")
			p.Status.Phase, p.Status.Conditions = corev1.PodFailed, nil
		}, want: []string{"Block control-plane-pod Pod/kube-system/etcd-cp-2"}},
		{check: "control-plane-pod", name: "any other pod, or one on a worker", alter: func(f *preflight.Facts) {
			dns := static("coredns", "cp-1")
			dns.Annotations, dns.Status.Conditions = nil, nil
			onWorker := static("haproxy", "worker-1")
			onWorker.Status.Conditions = nil
			f.SystemPods = append(f.SystemPods, dns, onWorker)
		}},
	}
}

// away is a control plane of three whose second node is in that step, and away with all that runs there. Its agent has
// not reported for long.
func away(f *preflight.Facts, step v1alpha1.Step) {
	f.NodeUpgrades[1].Status.Step = step
	unready(f, "cp-2")
	systemPod(f, "kube-scheduler-cp-2").Status.Conditions[0].Status = corev1.ConditionFalse
	f.SystemPods = slices.DeleteFunc(f.SystemPods, func(p corev1.Pod) bool { return p.Name == "kube-apiserver-cp-2" })
	facts(f, "cp-1").Etcd.Members[1].Healthy = false
	facts(f, "cp-2").Etcd.Problem = "connection refused"
	facts(f, "cp-2").GatheredTime.Time = now.Add(-2 * time.Hour)
	agents(f, "cp-1", "cp-3", "worker-1", "worker-2")
}

// external is a control plane of three with its etcd elsewhere.
func external(f *preflight.Facts) {
	f.SystemPods = slices.DeleteFunc(f.SystemPods, func(p corev1.Pod) bool { return p.Labels["component"] == "etcd" })
	for _, name := range []string{"cp-1", "cp-2", "cp-3"} {
		facts(f, name).Etcd = nil
	}
}

// ofHosts has etcd's members as units of the control planes' hosts, of which their agents know.
func ofHosts(then func(*preflight.Facts)) func(*preflight.Facts) {
	return func(f *preflight.Facts) {
		f.SystemPods = slices.DeleteFunc(f.SystemPods, func(p corev1.Pod) bool { return p.Labels["component"] == "etcd" })
		f.KubeadmConfig.ClusterConfiguration.Etcd.External = &struct{}{}
		then(f)
	}
}

// unsupportedScenes are of a control-plane node whose Kubernetes is part of its
// operating system.
func unsupportedScenes() []scene {
	const check, warn = "unsupported-control-plane", "Warn unsupported"
	unsupported := func(then func(*preflight.Facts)) func(*preflight.Facts) {
		return func(f *preflight.Facts) {
			upgrade(f, "cp-3").Status.Step = v1alpha1.StepUnsupported
			then(f)
		}
	}
	blocked := []string{"Block " + check + " Node/cp-3", warn}
	return []scene{
		{check: check, name: "its apiserver is older", alter: unsupported(func(*preflight.Facts) {}), want: blocked},
		{check: check, name: "its apiserver is there already", alter: unsupported(func(f *preflight.Facts) { serve(f, "cp-3", "v1.35.4") }), want: []string{warn}},
		{check: check, name: "its apiserver is not to be seen", alter: unsupported(func(f *preflight.Facts) {
			f.SystemPods = slices.DeleteFunc(f.SystemPods, func(p corev1.Pod) bool { return p.Name == "kube-apiserver-cp-3" })
		}), want: blocked},
		{check: check, name: "a person gave it up", alter: unsupported(func(f *preflight.Facts) {
			upgrade(f, "cp-3").Abandoned = &v1alpha1.Abandoned{Comment: "gone"}
		}), want: []string{warn}},
		{check: check, name: "only reboots", alter: unsupported(func(f *preflight.Facts) { reboots(f, "cp-1") })},
	}
}

// leftOutScenes are of control-plane nodes that a nodeSelector leaves out.
func leftOutScenes() []scene {
	const check = "control-plane-left-out"
	return []scene{
		{check: check, name: "the upgrade is for one worker", alter: func(f *preflight.Facts) {
			node(f, "worker-1").Labels["pool"] = "canary"
			f.Upgrade.Spec.NodeSelector = ptr.To(pool("canary"))
		}, want: []string{
			"Block control-plane-left-out Node/cp-1", "Block control-plane-left-out Node/cp-2", "Block control-plane-left-out Node/cp-3",
		}},
		{check: check, name: "the control plane is there already", alter: func(f *preflight.Facts) {
			node(f, "worker-1").Labels["pool"] = "canary"
			f.Upgrade.Spec.NodeSelector = ptr.To(pool("canary"))
			for _, name := range []string{"cp-1", "cp-2", "cp-3"} {
				serve(f, name, "v1.35.4")
			}
		}},
		{check: check, name: "a patch is for one worker", alter: func(f *preflight.Facts) {
			node(f, "worker-1").Labels["pool"] = "canary"
			f.Upgrade.Spec.NodeSelector, f.Upgrade.Spec.Version = ptr.To(pool("canary")), "v1.34.5"
		}},
		{check: check, name: "one is not managed", alter: func(f *preflight.Facts) {
			for _, n := range f.Nodes {
				n.Labels["pool"] = "ours"
			}
			node(f, "cp-3").Labels["pool"] = "theirs"
			f.Policy.NodeSelector = ptr.To(pool("ours"))
		}, want: []string{"Block control-plane-left-out Node/cp-3"}},
	}
}

func etcdScenes() []scene {
	sick := func(m *v1alpha1.EtcdMember) { m.Healthy, m.Problem = false, "connection refused." }
	at := func(version string) func(*v1alpha1.EtcdMember) {
		return func(m *v1alpha1.EtcdMember) { m.Version = version }
	}
	to := func(from, version string, change func(*v1alpha1.EtcdMember)) func(*preflight.Facts) {
		return func(f *preflight.Facts) {
			runs(f, from)
			f.Upgrade.Spec.Version = version
			etcd(f, "*", change)
		}
	}
	skip := func(alter func(*preflight.Facts)) func(*preflight.Facts) {
		return func(f *preflight.Facts) {
			alter(f)
			f.Upgrade.Spec.Strategy.EtcdSnapshotPolicy = v1alpha1.EtcdSnapshotSkip
		}
	}
	tooOld := []string{
		"Block etcd-version EtcdMember/cp-1", "Block etcd-version EtcdMember/cp-2", "Block etcd-version EtcdMember/cp-3",
	}
	return []scene{
		{check: "etcd-member", name: "one of three is sick", alter: func(f *preflight.Facts) { etcd(f, "cp-2", sick) },
			want: []string{"Block etcd-member EtcdMember/cp-2", "Block etcd-quorum"}},
		{check: "etcd-member", name: "only one agent sees it so", alter: func(f *preflight.Facts) {
			sick(&facts(f, "cp-3").Etcd.Members[1])
		}, want: []string{"Block etcd-member EtcdMember/cp-2", "Block etcd-quorum"}},
		{check: "etcd-member", name: "a learner", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").Etcd.Members = append(facts(f, "cp-1").Etcd.Members, v1alpha1.EtcdMember{Name: "cp-4", Learner: true, Healthy: true})
		}, want: []string{"Block etcd-member EtcdMember/cp-4"}},
		{check: "etcd-member", name: "all healthy"},
		{check: "etcd-member", name: "the control plane has lost its labels", alter: func(f *preflight.Facts) {
			etcd(f, "cp-2", sick)
			for _, name := range []string{"cp-1", "cp-2", "cp-3"} {
				delete(node(f, name).Labels, "node-role.kubernetes.io/control-plane")
				facts(f, name).StaticPods = []string{"kube-apiserver", "etcd"}
			}
		}, want: []string{"Block etcd-member EtcdMember/cp-2", "Block etcd-quorum"}},
		{check: "etcd-member", name: "only a worker is to be rebooted", alter: func(f *preflight.Facts) {
			etcd(f, "cp-2", sick)
			facts(f, "cp-1").Etcd.Problem = "connection refused"
			reboots(f, "worker-1")
		}},
		{check: "etcd-member", name: "another's node is to be rebooted", alter: func(f *preflight.Facts) {
			etcd(f, "cp-2", sick)
			reboots(f, "cp-1")
		}, want: []string{"Block etcd-member EtcdMember/cp-2", "Block etcd-quorum"}},
		{check: "etcd-member", name: "only workers are left", alter: func(f *preflight.Facts) {
			etcd(f, "cp-2", sick)
			for _, name := range []string{"cp-1", "cp-2", "cp-3"} {
				serve(f, name, "v1.35.4")
				node(f, name).Status.NodeInfo.KubeletVersion = "v1.35.4"
				upgrade(f, name).Status.Versions.Kubeadm = "v1.35.4"
			}
		}},
		{check: "etcd-quorum", name: "one of five is sick", facts: cluster(5, 0), alter: func(f *preflight.Facts) { etcd(f, "cp-2", sick) },
			want: []string{"Block etcd-member EtcdMember/cp-2"}},
		{check: "etcd-quorum", name: "two of five are sick", facts: cluster(5, 0), alter: func(f *preflight.Facts) {
			etcd(f, "cp-2", sick)
			etcd(f, "cp-3", sick)
		}, want: []string{"Block etcd-member EtcdMember/cp-2", "Block etcd-member EtcdMember/cp-3", "Block etcd-quorum"}},
		{check: "etcd-quorum", name: "two members", facts: cluster(2, 1), want: []string{"Block etcd-quorum"}},
		{check: "etcd-single", name: "one member", facts: cluster(1, 1), want: []string{"Warn etcd-single"}},
		{check: "etcd-single", name: "three members"},
		{check: "etcd-single", name: "its node is not rebooted", facts: cluster(1, 1), alter: func(f *preflight.Facts) { reboots(f, "worker-1") }},
		{check: "etcd-single", name: "its node is done", facts: cluster(1, 1), alter: func(f *preflight.Facts) {
			runs(f, "v1.35.4")
			upgrade(f, "cp-1").Status.Versions.ControlPlane = "v1.35.4"
		}},
		{check: "etcd-version", name: "1.34 with 3.5.24", alter: to("v1.33.9", "v1.34.4", at("3.5.24")), want: tooOld},
		{check: "etcd-version", name: "1.34 with 3.5.26", alter: to("v1.33.9", "v1.34.4", at("3.5.26"))},
		{check: "etcd-version", name: "1.33 with 3.5.16", alter: to("v1.32.9", "v1.33.9", at("3.5.16"))},
		{check: "etcd-version", name: "1.36 with 3.5.26", alter: to("v1.35.4", "v1.36.3", at("3.5.26")), want: tooOld},
		{check: "etcd-version", name: "1.36 with 3.6.0", alter: to("v1.35.4", "v1.36.3", at("3.6.0"))},
		{check: "etcd-version", name: "1.37 with 3.6.8", alter: to("v1.36.3", "v1.37.2", at("3.6.8"))}, // lab/results/etcd.md
		{check: "etcd-version", name: "1.36 with a version that is not known", alter: to("v1.35.4", "v1.36.3", at(""))},
		{check: "etcd-version", name: "the older of what two agents say", alter: func(f *preflight.Facts) {
			to("v1.35.4", "v1.36.3", at("3.6.0"))(f)
			facts(f, "cp-3").Etcd.Members[0].Version = "3.5.30"
		}, want: tooOld[:1]},
		{check: "etcd-unknown", name: "the agent cannot ask", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").Etcd = &v1alpha1.EtcdFacts{Problem: "reading /etc/kubernetes/pki/etcd/ca.crt: no such file"}
		}, want: []string{"Block etcd-unknown Node/cp-1"}},
		{check: "etcd-unknown", name: "the agent says nothing", alter: func(f *preflight.Facts) { facts(f, "cp-1").Etcd = nil },
			want: []string{"Block etcd-unknown Node/cp-1"}},
		{check: "etcd-unknown", name: "all say"},
		{check: "etcd-no-snapshot", name: "1.37 with 3.6.8", alter: skip(to("v1.36.3", "v1.37.2", at("3.6.8"))), want: []string{"Warn etcd-no-snapshot"}},
		{check: "etcd-no-snapshot", name: "1.34 with 3.5.26", alter: skip(to("v1.33.9", "v1.34.4", at("3.5.26"))), want: []string{"Warn etcd-no-snapshot"}},
		{check: "etcd-no-snapshot", name: "one member has the new minor", alter: func(f *preflight.Facts) {
			skip(to("v1.36.3", "v1.37.2", at("3.6.8")))(f)
			etcd(f, "cp-1", at("3.7.0"))
		}, want: []string{"Warn etcd-no-snapshot"}},
		{check: "etcd-no-snapshot", name: "all have the new minor", alter: skip(to("v1.36.3", "v1.37.2", at("3.7.0")))},
		{check: "etcd-no-snapshot", name: "a snapshot is taken", alter: to("v1.36.3", "v1.37.2", at("3.6.8"))},
		{check: "etcd-no-snapshot", name: "1.36 with 3.6.5", alter: skip(to("v1.35.4", "v1.36.3", at("3.6.5")))},
		{check: "etcd-no-snapshot", name: "1.33 with 3.5.16", alter: skip(to("v1.32.9", "v1.33.9", at("3.5.16")))},
		{check: "etcd-no-snapshot", name: "a version that is not known", alter: skip(to("v1.36.3", "v1.37.2", at("")))},
		{check: "etcd-version", name: "an etcd of the hosts, which kubeadm does not upgrade", alter: ofHosts(to("v1.35.4", "v1.36.3", at("3.5.26")))},
		{check: "etcd-no-snapshot", name: "an etcd of the hosts", alter: ofHosts(skip(to("v1.36.3", "v1.37.2", at("3.6.8"))))},
		{check: "etcd-quorum", name: "a member of the hosts' is away", alter: ofHosts(func(f *preflight.Facts) { etcd(f, "cp-2", sick) }),
			want: []string{"Block etcd-member EtcdMember/cp-2", "Block etcd-quorum"}},
		{check: "etcd-external", name: "each host has a member", alter: ofHosts(func(*preflight.Facts) {})},
		{check: "etcd-no-snapshot", name: "only workers are left", alter: func(f *preflight.Facts) {
			skip(to("v1.36.3", "v1.37.2", at("3.6.8")))(f)
			for _, name := range []string{"cp-1", "cp-2", "cp-3"} {
				serve(f, name, "v1.37.2")
				upgrade(f, name).Status.Versions.Kubeadm = "v1.37.2"
			}
		}},
		{check: "etcd-external", name: "a snapshot is wanted", alter: external, want: []string{"Block etcd-external"}},
		{check: "etcd-external", name: "for a patch too", alter: func(f *preflight.Facts) {
			external(f)
			runs(f, "v1.35.3")
		}, want: []string{"Block etcd-external"}},
		{check: "etcd-external", name: "none is wanted", alter: func(f *preflight.Facts) {
			external(f)
			f.Upgrade.Spec.Strategy.EtcdSnapshotPolicy = v1alpha1.EtcdSnapshotSkip
		}},
		{check: "etcd-external", name: "only workers are left", alter: func(f *preflight.Facts) {
			external(f)
			for _, name := range []string{"cp-1", "cp-2", "cp-3"} {
				serve(f, name, "v1.35.4")
				upgrade(f, name).Status.Versions.Kubeadm = "v1.35.4"
			}
		}},
		{check: "etcd-external", name: "only reboots", alter: func(f *preflight.Facts) {
			external(f)
			reboots(f, "cp-1")
		}},
		{check: "etcd-external", name: "its pod is away for a moment", facts: cluster(1, 1), alter: func(f *preflight.Facts) {
			f.SystemPods = slices.DeleteFunc(f.SystemPods, func(p corev1.Pod) bool { return p.Name == "etcd-cp-1" })
		}, want: []string{"Warn etcd-single"}},
		{check: "etcd-external", name: "an agent has not spoken", alter: func(f *preflight.Facts) {
			external(f)
			unseen(f, "cp-1")
		}, want: []string{"Block facts-missing Node/cp-1"}},
	}
}
