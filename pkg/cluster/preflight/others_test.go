package preflight_test

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

func otherScenes() []scene {
	manager := func(m clusterstate.RebootManager) func(*preflight.Facts) {
		return func(f *preflight.Facts) { f.RebootManagers = []clusterstate.RebootManager{m} }
	}
	locksmithd := func(state string) func(*preflight.Facts) {
		return func(f *preflight.Facts) { facts(f, "worker-1").Locksmithd = state }
	}
	return []scene{
		{check: "kured", name: "it is there", alter: manager(clusterstate.RebootManager{Name: "kured"}), want: []string{"Warn kured RebootManager/kured"}},
		{check: "kured", name: "there is none"},
		{check: "kured-lock", name: "held", alter: manager(clusterstate.RebootManager{
			Name: "kured", Active: true, Message: "kured holds its lock for node worker-1 (annotation weave.works/kured-node-lock of DaemonSet kube-system/kured); remove kured",
		}), want: []string{"Block kured-lock RebootManager/kured"}},
		{check: "kured-lock", name: "free", alter: manager(clusterstate.RebootManager{Name: "kured"}), want: []string{"Warn kured RebootManager/kured"}},
		{check: "fluo", name: "it runs", alter: manager(clusterstate.RebootManager{Name: "FLUO", Active: true, Message: "FLUO may reboot node worker-1"}),
			want: []string{"Block fluo RebootManager/FLUO"}},
		{check: "fluo", name: "it is paused", alter: manager(clusterstate.RebootManager{Name: "FLUO"}), want: []string{"Warn fluo RebootManager/FLUO"}},
		{check: "fluo", name: "there is none"},
		{check: "reboot-manager", name: "a third one", alter: manager(clusterstate.RebootManager{Name: "rebooter", Active: true, Message: "the rebooter runs"}),
			want: []string{"Block reboot-manager RebootManager/rebooter"}},
		{check: "reboot-manager", name: "there is none"},
		{check: "gate-rights", name: "one is missing", alter: func(f *preflight.Facts) {
			f.GateRights = []preflight.Lack{{Message: "Gate database needs StatefulSet of apps/v1, which the coordinator may not read.", Advice: "kubectl apply"}}
		}, want: []string{"Warn gate-rights UpgradePolicy/cluster"}},
		{check: "gate-rights", name: "none is missing"},
		{check: "hook-rights", name: "one is missing", alter: func(f *preflight.Facts) {
			f.HookRights = []preflight.Lack{{Message: "Hook leave needs CronJob kubectl-upgrade-hooks/leave, which does not exist.", Advice: "Create it."}}
		}, want: []string{"Warn hook-rights UpgradePolicy/cluster"}},
		{check: "hook-rights", name: "none is missing"},
		{check: "sysupdate-timer", name: "a drop-in", alter: func(f *preflight.Facts) {
			facts(f, "cp-1").SysupdateTimerDropIns = []string{"/etc/systemd/system/systemd-sysupdate.service.d/kubernetes.conf"}
		}, want: []string{"Warn sysupdate-timer"}},
		{check: "sysupdate-timer", name: "masked by its former name only", alter: func(f *preflight.Facts) {
			facts(f, "worker-1").SysupdateTimerUnmasked = "systemd-sysupdate-update.timer"
		}, want: []string{"Warn sysupdate-timer"}},
		{check: "sysupdate-timer", name: "a socket merges images", alter: func(f *preflight.Facts) {
			facts(f, "worker-1").SysextRefreshSocket = "enabled"
		}, want: []string{"Warn sysupdate-timer"}},
		{check: "sysupdate-timer", name: "the socket is disabled", alter: func(f *preflight.Facts) {
			facts(f, "worker-1").SysextRefreshSocket = "disabled"
		}},
		{check: "sysupdate-timer", name: "none"},
		{check: "sysupdate-conflict", name: "a worker's is for every minor", alter: func(f *preflight.Facts) {
			facts(f, "worker-1").DefinitionsProblem = "/etc/sysupdate.kubernetes.d/kubernetes.conf is not valid"
		}, want: []string{"Block sysupdate-conflict Node/worker-1 @worker-1"}},
		{check: "sysupdate-conflict", name: "a Reboot", alter: func(f *preflight.Facts) {
			reboots(f, "worker-1")
			facts(f, "worker-1").DefinitionsProblem = "/etc/sysupdate.kubernetes.d/kubernetes.conf is not valid"
		}, want: []string{"Warn sysupdate-conflict Node/worker-1"}},
		{check: "sysupdate-conflict", name: "clear"},
		{check: "locksmithd", name: "enabled", alter: locksmithd("enabled"), want: []string{"Warn locksmithd"}},
		{check: "locksmithd", name: "masked until the next boot", alter: locksmithd("masked-runtime"), want: []string{"Warn locksmithd"}},
		{check: "locksmithd", name: "not there", alter: locksmithd("")},
		{check: "cluster-api", name: "a Machine's node", alter: func(f *preflight.Facts) {
			for _, name := range []string{"cp-1", "worker-1", "worker-2", "cp-2"} {
				node(f, name).Annotations["cluster.x-k8s.io/machine"] = "m"
			}
		}, want: []string{"Warn cluster-api"}},
		{check: "cluster-api", name: "none"},
		{check: "cluster-api", name: "it decides, and has no Machine for some", alter: func(f *preflight.Facts) {
			f.Policy.VersionsFrom = v1alpha1.VersionsFromClusterAPI
			for _, name := range []string{"cp-1", "worker-1", "worker-2", "cp-2"} {
				node(f, name).Annotations["cluster.x-k8s.io/machine"] = "m"
			}
		}, want: []string{"Warn cluster-api"}},
		{check: "cluster-api", name: "it decides, and has Machines for all", alter: func(f *preflight.Facts) {
			f.Policy.VersionsFrom = v1alpha1.VersionsFromClusterAPI
			for i := range f.Nodes {
				f.Nodes[i].Annotations["cluster.x-k8s.io/machine"] = "m"
			}
		}},
		{check: "soft-reboot", name: "systemd is too old", alter: func(f *preflight.Facts) {
			f.Upgrade.Spec.Strategy.Method = v1alpha1.MethodSoftReboot
			facts(f, "worker-1").SoftRebootBlocker = &v1alpha1.Problem{Reason: v1alpha1.SystemdTooOld, Message: "systemd is 252, and a soft reboot takes 256 or later"}
		}, want: []string{"Warn soft-reboot"}},
		{check: "soft-reboot", name: "a new kernel waits on one, and systemd is too old on another", alter: func(f *preflight.Facts) {
			f.Upgrade.Spec.Strategy.Method = v1alpha1.MethodSoftReboot
			facts(f, "worker-1").SoftRebootBlocker = &v1alpha1.Problem{Reason: v1alpha1.SystemdTooOld, Message: "systemd is 252, and a soft reboot takes 256 or later"}
			upgrade(f, "worker-2").Status.Reboot = v1alpha1.NodeReboot{Required: true, Message: "update_engine has installed an update"}
		}, want: []string{"Warn soft-reboot", "Warn soft-reboot"}},
		{check: "soft-reboot", name: "another method", alter: func(f *preflight.Facts) {
			facts(f, "worker-1").SoftRebootBlocker = &v1alpha1.Problem{Reason: v1alpha1.SystemdTooOld, Message: "systemd is 252, and a soft reboot takes 256 or later"}
		}},
		{check: "unsupported", name: "the agent says so", alter: func(f *preflight.Facts) {
			lacksImage(f, "worker-1")
		}, want: []string{"Warn unsupported"}},
		{check: "unsupported", name: "an older agent says so", alter: func(f *preflight.Facts) {
			upgrade(f, "worker-1").Status.Step = v1alpha1.StepUnsupported
		}, want: []string{"Warn unsupported"}},
		{check: "unsupported", name: "a Reboot includes it", alter: func(f *preflight.Facts) {
			lacksImage(f, "worker-1")
			reboots(f, "worker-1")
			facts(f, "worker-1").SysupdateTimerDropIns = []string{"/etc/systemd/system/systemd-sysupdate.service.d/other.conf"}
			node(f, "worker-1").Status.NodeInfo.KubeletVersion = "1.34-from-packages"
		}},
		{check: "unsupported", name: "all are"},
	}
}
