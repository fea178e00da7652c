//go:build e2e

package e2e

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Steps of a node that reboots, by their names in the cases.
const (
	idle      = v1alpha1.StepIdle // each node is, when a case begins
	staging   = v1alpha1.StepStaging
	locking   = v1alpha1.StepLocking
	cordoning = v1alpha1.StepCordoning
	draining  = v1alpha1.StepDraining
	lastCheck = v1alpha1.StepLastCheck
	rebooting = v1alpha1.StepRebooting
	verifying = v1alpha1.StepVerifying
	settling  = v1alpha1.StepSettling
	uncordons = v1alpha1.StepUncordoning
	observing = v1alpha1.StepObserving
	unlocking = v1alpha1.StepUnlocking
)

type steps = []v1alpha1.Step

// rebootSteps are all of them, in order.
var rebootSteps = steps{locking, cordoning, draining, lastCheck, rebooting, verifying, settling, uncordons, unlocking}

// without are all of them but one.
func without(step v1alpha1.Step) steps {
	return slices.DeleteFunc(slices.Clone(rebootSteps), func(s v1alpha1.Step) bool { return s == step })
}

// faults are the cases of TestFaults.
var faults = []fault{
	// Parts of kubectl-upgrade.
	{name: "agent-killed", what: "w1's agent is killed at each step", at: rebootSteps, throughout: true, inject: killAgentOf("w1")},
	{name: "coordinator-killed", what: "both coordinators are killed at each step", at: rebootSteps, throughout: true, inject: killCoordinators},
	{name: "coordinator-gone", what: "there is no coordinator for more than a minute", at: steps{draining},
		says:   says{words: "CoordinatorNotRunning: no coordinator has renewed its Lease since"},
		inject: kubectl("-n", v1alpha1.Namespace, "scale", "deployment/coordinator", "--replicas", "0"),
		heal:   kubectl("-n", v1alpha1.Namespace, "scale", "deployment/coordinator", "--replicas", "2")},
	{name: "two-coordinators", what: "two coordinators lead at once, again and again for 40 s", at: steps{locking}, inject: twoLeaders},
	{name: "self-upgrade", what: "both workloads of kubectl-upgrade are replaced (kubectl rollout restart), as by an upgrade of itself", at: steps{locking, draining, settling}, inject: restartAll},

	// Nodes.
	{name: "power-cut", what: "w1 loses its power for 10 s", at: without(draining),
		inject: onLab("kill", "w1"), lasts: 10 * time.Second, heal: onLab("start", "w1"), struck: []string{"w1"}},
	{name: "power-cut-draining", what: "w1 loses its power while it drains, until it counts as lost", at: steps{draining}, blocked: true,
		inject: onLab("kill", "w1"), says: says{"w2", v1alpha1.ReasonNodeNotBack, "NotReady since .*abandon w1"}, heal: onLab("start", "w1"), struck: []string{"w1"}},
	{name: "node-lost", what: "w1 never comes back, and is abandoned; later its power is restored", at: steps{draining}, blocked: true,
		inject: onLab("kill", "w1"), says: says{"w2", v1alpha1.ReasonNodeNotBack, "NotReady since .*abandon w1"}, heal: abandon,
		then: all(w2Rebooted, onLab("start", "w1")), struck: []string{"w1"}},
	{name: "node-deleted", what: "w1 is switched off, its Node deleted; later it registers again", at: steps{draining, settling},
		inject: all(onLab("kill", "w1"), deleteNodeOf("w1")), then: all(w2Rebooted, onLab("start", "w1")), struck: []string{"w1"}},
	{name: "node-replaced", what: "w1's Node is deleted while it runs, and its kubelet registers again: a new UID", at: steps{draining, settling},
		inject: all(deleteNodeOf("w1"), onNode("w1", "systemctl restart kubelet"))},
	{name: "reboot-by-hand", what: "a person reboots w1", at: without(rebooting),
		inject: tolerant(onLab("reboot", "w1")), struck: []string{"w1"}},
	{name: "partition", what: "w1's network is cut for 20 s", at: without(draining),
		inject: onLab("partition", "w1"), lasts: 20 * time.Second, heal: onLab("heal", "w1")},
	{name: "partition-draining", what: "w1's network is cut while it drains, until it counts as lost", at: steps{draining}, blocked: true,
		inject: onLab("partition", "w1"), says: says{"w2", v1alpha1.ReasonNodeNotBack, "NotReady since .*abandon w1"}, heal: onLab("heal", "w1")},
	{name: "certificate-rotated", what: "w1's kubelet gets a new client certificate", at: steps{draining}, blocked: true, inject: rotateCertificate,
		says: says{"w1", v1alpha1.ReasonDrainBlocked, "stuck"}},

	// The API.
	{name: "api-gone-draining", what: "the API server is gone for five minutes", at: steps{draining},
		inject: onNode("cp1", apiGone), lasts: 5 * time.Minute, heal: all(onNode("cp1", apiBack), kubectl("get", "--raw", "/readyz"))},
	{name: "api-gone", what: "the API server is gone for 90 s", at: steps{locking, rebooting, settling},
		inject: onNode("cp1", apiGone), lasts: 90 * time.Second, heal: all(onNode("cp1", apiBack), kubectl("get", "--raw", "/readyz"))},
	{name: "webhook-nodes-cordoning", what: "a webhook fails closed on Nodes before w1 is cordoned", at: steps{cordoning}, before: applied(failingWebhook("", "nodes")), inject: none,
		says: says{"w1", v1alpha1.ReasonAPIWriteFailed, "fault.example.com"}, heal: noWebhook},
	{name: "webhook-nodes-rebooting", what: "a webhook fails closed on Nodes: the kubelet cannot register after the reboot", at: steps{rebooting}, inject: applied(failingWebhook("", "nodes")),
		says: says{"w1", v1alpha1.ReasonNodeNotReady, "fault.example.com"}, heal: noWebhook},
	{name: "webhook-nodes-settling", what: "a webhook fails closed on Nodes before w1 is uncordoned", at: steps{settling}, inject: applied(failingWebhook("", "nodes")),
		says: says{"w1", v1alpha1.ReasonAPIWriteFailed, "fault.example.com"}, heal: noWebhook},
	{name: "webhook-leases", what: "a webhook fails closed on Leases", at: steps{draining},
		inject: applied(failingWebhook("coordination.k8s.io", "leases")), lasts: 60 * time.Second, heal: noWebhook},
	{name: "webhook-pods", what: "a webhook fails closed on pods", at: steps{draining},
		inject: applied(failingWebhook("", "pods")), lasts: 40 * time.Second, heal: noWebhook},
	{name: "webhook-eviction", what: "a webhook fails closed on evictions", at: steps{draining},
		before: applied(failingWebhook("", "pods/eviction")), inject: none, says: says{"w1", v1alpha1.ReasonDrainBlocked, "fault.example.com"}, heal: noWebhook},

	// Objects.
	{name: "slot-deleted", what: "the slot's Lease is deleted", lostSlot: true, at: steps{draining, rebooting, settling}, inject: kubectl("-n", v1alpha1.Namespace, "delete", "lease", "slot-0")},
	{name: "slot-emptied", what: "holder and reservation are removed from the slot's Lease", lostSlot: true, at: steps{draining, settling},
		inject: patchSlot(`{"metadata":{"annotations":{"` + v1alpha1.ReservedForAnnotation + `":null}},"spec":{"holderIdentity":null}}`)},
	{name: "slot-unlabelled", what: "the slot's Lease loses its label", at: steps{draining, settling}, inject: patchSlot(`{"metadata":{"labels":null}}`)},
	{name: "slot-given-away", what: "the slot's Lease names w3 as its holder", lostSlot: true, at: steps{draining}, blocked: true, inject: giveSlotTo("w3"), lasts: 20 * time.Second},
	{name: "slot-given-on", what: "the slot's Lease names w2, which waits for its turn, as its holder", lostSlot: true, at: steps{draining}, blocked: true, inject: giveSlotTo("w2"), lasts: 20 * time.Second},
	{name: "slot-unreadable", what: "the slot's Lease names a holder that cannot be parsed", lostSlot: true, at: steps{draining, rebooting}, inject: patchSlot(`{"spec":{"holderIdentity":"nonsense"}}`)},
	{name: "nodeupgrade-deleted", what: "w1's NodeUpgrade is deleted", at: steps{locking, draining, rebooting, settling}, inject: kubectl("delete", "nodeupgrade", "w1")},
	{name: "upgrade-deleted", what: "the ClusterUpgrade is deleted", at: steps{draining, rebooting, settling}, inject: deleteUpgrade, then: withoutUpgrade},
	{name: "upgrade-anew", what: "the ClusterUpgrade is deleted and made again under its name", at: steps{draining, rebooting, settling}, inject: anew},
	{name: "second-upgrade", what: "a second ClusterUpgrade is created", at: steps{draining}, blocked: true, inject: secondUpgrade, then: bothSucceeded, lasts: 5 * time.Second},
	{name: "crds-removed", what: "all kinds of kubectl-upgrade are removed for 20 s, and put back", at: steps{draining, settling}, inject: deleteCRDs, lasts: 20 * time.Second, heal: restoreCRDs},

	// Hours.
	{name: "window-closed", what: "the window is closed", at: steps{draining}, blocked: true, inject: closed, says: says{"w1", v1alpha1.ReasonWindowClosed, "tonight|until|opens"}, heal: open},
	{name: "window-closed-at", what: "the window is closed", at: without(draining), inject: closed, says: says{"w2", v1alpha1.ReasonWindowClosed, "tonight|until|opens"}, heal: open},
	{name: "schedule-deleted", what: "the only schedule is deleted", at: steps{draining}, blocked: true, inject: kubectl("delete", "maintenanceschedule", "lab"), says: says{"w1", v1alpha1.ReasonWindowClosed, ""}, heal: open},
	{name: "schedule-deleted-late", what: "the only schedule is deleted", at: steps{rebooting, settling}, inject: kubectl("delete", "maintenanceschedule", "lab"), says: says{"w2", v1alpha1.ReasonWindowClosed, ""}, heal: open},
	{name: "freeze", what: "a freeze begins", at: steps{locking, cordoning, draining}, blocked: true, inject: frozen, says: says{"w1", v1alpha1.ReasonExcluded, "the lab is frozen"}, heal: thawed},
	{name: "freeze-late", what: "a freeze begins", at: steps{lastCheck, rebooting, verifying, settling, uncordons, unlocking}, inject: frozen, says: says{"w2", v1alpha1.ReasonExcluded, "the lab is frozen"}, heal: thawed},

	// Pods.
	{name: "budget", what: "a PodDisruptionBudget allows no eviction", at: steps{draining}, blocked: true, inject: none, says: says{"w1", v1alpha1.ReasonDrainBlocked, "default/stuck"}},
	{name: "pod-ignores-sigterm", what: "a pod ignores SIGTERM", at: steps{draining}, before: patchStuck(slowPod), inject: none,
		says: says{"w1", v1alpha1.ReasonDraining, "stuck"}, lasts: 15 * time.Second, heal: killStuck, then: all(ended, patchStuck(quickPod), killStuck)}, // the last slow one, too
	{name: "pod-finalizer", what: "a finalizer that nobody removes keeps a pod that has ended", at: steps{draining}, before: addFinalizer, inject: none, then: all(ended, removeFinalizer)},

	// The source of images.
	{name: "source-cut", what: "the download of the image breaks off", at: steps{staging}, stages: true, inject: onLab("fault", "cut"),
		says: says{"w1", v1alpha1.ReasonSourceUnavailable, "downloading .*" + to}, heal: onLab("fault", "none"), then: staged},
	{name: "source-stalled", what: "the download of the image stops, and no byte follows", at: steps{staging}, stages: true, inject: onLab("fault", "stalled"),
		says: says{"w1", v1alpha1.ReasonSourceUnavailable, "downloading .*" + to}, heal: onLab("fault", "none"), then: staged},
	{name: "source-endless", what: "the download of the image has no end", at: steps{staging}, stages: true, inject: onLab("fault", "endless"),
		says: says{"w1", v1alpha1.ReasonDiskFull, "is longer than"}, heal: onLab("fault", "none"), then: staged},
	{name: "source-down", what: "the source answers 503", at: steps{idle}, stages: true, inject: onLab("fault", "down"),
		says: says{words: "SourceUnavailable.*503"}, heal: onLab("fault", "none"), then: staged},
	{name: "source-signature", what: "the policy has a keyring, and the signature of the index is wrong", at: steps{idle}, stages: true, before: withKeyring, inject: onLab("fault", "wrong-signature"),
		says: says{words: "SourceInvalid.*signature is wrong"}, heal: all(onLab("fault", "none"), withoutKeyring), then: staged},
	{name: "source-digest", what: "the image differs from its digest in the index", at: steps{staging}, stages: true, publish: []string{"--corrupt"}, inject: none,
		says: says{"w1", v1alpha1.ReasonHashMismatch, to}, then: unpublished},
	{name: "source-content", what: "the image has another version in it", at: steps{staging}, stages: true, publish: []string{"--content", from}, inject: none,
		says: says{"w1", v1alpha1.ReasonContentMismatch, to}, then: unpublished},
	{name: "disk-full-staging", what: "w1's disk has no space for the image", at: steps{staging}, stages: true, inject: onNode("w1", fullDisk),
		says: says{"w1", v1alpha1.ReasonDiskFull, to}, heal: onNode("w1", "umount /opt/extensions/kubernetes /mnt"), then: staged},

	// People.
	{name: "cordon-before", what: "a person has cordoned w1 before", at: steps{draining}, before: kubectl("cordon", "w1"), inject: none, foreign: []string{"w1"}},
	{name: "cordon-other", what: "a person cordons w2 while w1 is upgraded", at: steps{draining}, inject: kubectl("cordon", "w2"), foreign: []string{"w2"}},
	{name: "cordon-again", what: "a person uncordons w1, and cordons it again", at: steps{settling}, inject: all(kubectl("uncordon", "w1"), kubectl("cordon", "w1")), foreign: []string{"w1"}},
	{name: "cordon-middle", what: "a person cordons w1 before it has freed its slot", at: steps{unlocking}, inject: kubectl("cordon", "w1"), foreign: []string{"w1"}},
	{name: "etcd-restored", what: "etcd is restored from a snapshot that is older than the upgrade", at: steps{draining, settling}, before: snapshotEtcd, inject: restoreEtcd, then: withoutUpgrade},
	{name: "uncordon", what: "a person uncordons w1", at: steps{draining, rebooting, settling}, inject: kubectl("uncordon", "w1")},
}
