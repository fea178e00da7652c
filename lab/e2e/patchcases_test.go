//go:build e2e

package e2e

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Steps that only an upgrade to another version has.
const (
	snapshotting = v1alpha1.StepSnapshotting
	kubeadm      = v1alpha1.StepKubeadm
	checking     = v1alpha1.StepChecking
	activating   = v1alpha1.StepActivating
	restarting   = v1alpha1.StepRestarting
)

// workerSteps are those of a worker that is patched, watchedSteps those of one with minReadySeconds until it frees its slot,
// controlPlaneSteps those of the first control plane, in order.
var (
	workerSteps       = steps{locking, kubeadm, cordoning, draining, lastCheck, activating, rebooting, verifying, settling, uncordons, unlocking}
	watchedSteps      = steps{locking, kubeadm, cordoning, draining, lastCheck, activating, rebooting, verifying, settling, uncordons, observing}
	controlPlaneSteps = steps{locking, kubeadm, checking, cordoning, draining, lastCheck, activating, rebooting, verifying, settling, uncordons, unlocking}
)

// atDefaults patches w1 and then w2 to an image of that kind, with the pace that a strategy has by default.
func atDefaults(broken string) *patch {
	pace := v1alpha1.DefaultStrategy().Pace
	return &patch{nodes: []string{"w1", "w2"}, broken: broken, settle: int(*pace.SettleSeconds), watch: int(*pace.MinReadySeconds), guard: int(*pace.GuardSeconds)}
}

// workers patches w1 and then w2, and controlPlane the only control plane.
var (
	workers      = &patch{nodes: []string{"w1", "w2"}}
	controlPlane = &patch{nodes: []string{"cp1"}}
)

// patchFaults are the cases of TestFaults in which nodes come to another version.
var patchFaults = []fault{
	{name: "patch-agent-killed", what: "w1's agent is killed at each step of a patch", patch: workers, at: workerSteps, throughout: true, inject: killAgentOf("w1"), then: patched},
	{name: "patch-power-cut", what: "w1 loses its power for 10 s", patch: workers, at: steps{kubeadm, activating},
		inject: onLab("kill", "w1"), lasts: 10 * time.Second, heal: onLab("start", "w1"), then: patched, struck: []string{"w1"}},
	{name: "patch-partition", what: "w1's network is cut for 20 s", patch: workers, at: steps{kubeadm, activating, verifying},
		inject: onLab("partition", "w1"), lasts: 20 * time.Second, heal: onLab("heal", "w1"), then: patched},
	{name: "sysupdate-timer", what: "systemd-sysupdate.service, which the timer of the same name starts, is started on w1 at each step", patch: workers, at: workerSteps, throughout: true,
		inject: tolerant(onNode("w1", "systemctl start --no-block systemd-sysupdate.service")), then: patched},
	{name: "image-deleted", what: "a person deletes the staged image on w1", patch: workers, at: steps{draining}, blocked: true,
		inject: onNode("w1", "rm "+kept+"kubernetes-"+to+"-*"), then: patched},
	{name: "version-withdrawn", what: "the source withdraws the version", patch: workers, at: steps{draining}, blocked: true,
		inject: onLab("withdraw", to), lasts: 15 * time.Second, then: patched},

	{name: "source-slow", what: "the download of the image takes 30 s and more", patch: workers, at: steps{staging}, before: onLab("fault", "slow"), inject: none,
		says: says{"w1", v1alpha1.ReasonStaging, "is being downloaded"}, heal: onLab("fault", "none"), then: patched},

	{name: "cp-agent-killed", what: "cp1's agent is killed at each step of a patch", patch: controlPlane, at: controlPlaneSteps, throughout: true, inject: killAgentOf("cp1"), then: patched},
	{name: "cp-power-cut", what: "the only control plane loses its power for 10 s", patch: controlPlane, at: steps{kubeadm, checking, activating, verifying},
		inject: onLab("kill", "cp1"), lasts: 10 * time.Second, heal: onLab("start", "cp1"), then: patched, struck: []string{"cp1"}},
	{name: "cp-power-cut-renames", what: "the only control plane loses its power for 10 s while kubeadm replaces the static pods", patch: controlPlane, at: steps{kubeadm},
		inject: killWhileManifestsMove, lasts: 10 * time.Second, heal: onLab("start", "cp1"), then: patched, struck: []string{"cp1"}},
	{name: "disk-full-kubeadm", what: "the disk of cp1 is full where kubeadm makes its backup", patch: controlPlane, at: steps{kubeadm},
		before: onNode("cp1", "mkdir -p /etc/kubernetes/tmp; mount -t tmpfs -o size=4k tmpfs /etc/kubernetes/tmp"), inject: none,
		says: says{"cp1", v1alpha1.ReasonKubeadmFailed, "no space left"}, heal: onNode("cp1", "umount /etc/kubernetes/tmp"), then: patched},

	// The guard, which returns w1 to its former version while the fault lasts. A kubelet that
	// reports in between shows its reboot.
	{name: "guard-killed", what: "w1's new kubelet hangs, and the guard is killed every 5 s", patch: &patch{nodes: []string{"w1"}, broken: "hang"}, at: steps{rebooting}, inject: killGuard, then: rolledBack},
	{name: "guard-twice", what: "w1's new kubelet hangs, and a second guard runs beside the first", patch: &patch{nodes: []string{"w1"}, broken: "hang", method: v1alpha1.MethodRestart}, at: steps{restarting}, inject: secondGuard, then: rolledBack},
	{name: "guard-healthy", what: "a second guard runs on a node that becomes healthy", patch: workers, at: steps{verifying}, inject: secondGuard, then: patched},
	{name: "guard-power-cut", what: "w1's new kubelet hangs, and w1 loses its power for 5 s when the guard has begun to return to the former version", patch: &patch{nodes: []string{"w1"}, broken: "hang"}, at: steps{rebooting},
		inject: killInRollback, lasts: 5 * time.Second, heal: onLab("start", "w1"), then: rolledBack, struck: []string{"w1"}},
	{name: "guard-disk-full", what: "w1's new kubelet hangs, and the file system of the guard's files is full", patch: &patch{nodes: []string{"w1"}, broken: "hang", method: v1alpha1.MethodRestart}, at: steps{restarting},
		before: smallDisk, inject: onNode("w1", fillDisk), then: all(rolledBack, onNode("w1", largeDisk))},

	// At default settings: after the uncordon, while the slot is held.
	{name: "kubelet-dies", what: "the new kubelet is Ready, and dies for good 75 s later", patch: atDefaults("dies"), at: steps{observing},
		inject: none, then: all(rolledBack, neverBegan("w2")), struck: []string{"w1"}},
	{name: "kubelet-dies-agent-killed", what: "the same, and w1's agent is killed at each step", patch: atDefaults("dies"), at: watchedSteps, throughout: true,
		inject: killAgentOf("w1"), then: all(rolledBack, neverBegan("w2")), struck: []string{"w1"}},
	{name: "kubelet-dies-late", what: "the new kubelet is Ready, and dies for good 110 s later", patch: atDefaults("dies-late"), at: steps{observing},
		inject: none, then: all(rolledBack, neverBegan("w2")), struck: []string{"w1"}},
	{name: "kubelet-dies-late-agent-killed", what: "the same, and w1's agent is killed at each step", patch: atDefaults("dies-late"), at: watchedSteps, throughout: true,
		inject: killAgentOf("w1"), then: all(rolledBack, neverBegan("w2")), struck: []string{"w1"}},
	{name: "guard-api-gone", what: "w1's new kubelet never becomes Ready, and the API server is gone when the guard decides", patch: &patch{nodes: []string{"w1"}, broken: "not-ready"}, at: steps{rebooting},
		inject: onNode("cp1", apiGone), lasts: 3 * time.Minute, heal: all(onNode("cp1", apiBack), kubectl("get", "--raw", "/readyz")), then: rolledBack, struck: []string{"w1"}},

	// Nodes that join, and an API that goes back in time.
	{name: "late-joiner", what: "a node joins at the old version while the upgrade runs", patch: &patch{nodes: []string{"w1", "w2", "w3"}}, at: steps{draining},
		before: all(onLab("kill", "w3"), deleteNodeOf("w3")), inject: onLab("start", "w3"), then: patched, struck: []string{"w3"}},
	// The last one: from now on the policy names v1.34.4 for nodes that join late.
	{name: "late-joiner-after", what: "a node joins at the old version after the upgrade of all nodes has succeeded", patch: &patch{nodes: []string{"w1", "w2", "w3"}, all: true}, at: steps{draining},
		before: all(onLab("kill", "w3"), deleteNodeOf("w3")), inject: none, then: all(ended, onLab("start", "w3"), runsPatch("w3"), patched), struck: []string{"w3"}},
}
