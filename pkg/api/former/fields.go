package former

import "github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"

// field is a field of an earlier version.
type field struct {
	kind string
	at   string // the object that has it; [] stands for each item of a list
	was  string
	now  string

	problem v1alpha1.ProblemReason // the reason of text that is the message of a Problem now
	byName  bool                   // text that is an object with the field name now
	values  map[string]string      // values that have another name now
	absent  string                 // what the field has where it was absent and is required now
	byHand  string                 // what to write instead, where Convert cannot know it
}

// onFailure is the hook point that was named like the field of a hook.
var onFailure = map[string]string{"OnFailure": "NodeFailed"}

// ignoreGates stands for a list of the gates that a group asks: the others are those of the policy.
const ignoreGates = "write ignoreGates, the gates that the group does not wait for"

// fields are those of former versions, each once, but those of records: v1alpha1 reads them as they were stored. Changes of a kind are made in this order.
var fields = []field{
	{kind: "MaintenanceSchedule", at: "spec.maintenanceExclusions[]", was: "reason", now: "comment"},
	{kind: "MaintenanceSchedule", at: "spec.maintenanceExclusions[]", was: "upgrades", now: "upgradeTypes"},

	{kind: "UpgradePolicy", at: "spec.source", was: "insecure", now: "transportPolicy", values: map[string]string{"true": "AllowHTTP", "false": "RequireTLS"}},
	{kind: "UpgradePolicy", at: "spec.strategy", was: "etcdSnapshot", now: "etcdSnapshotPolicy"},
	{kind: "UpgradePolicy", at: "spec.strategy.groups[]", was: "gates", byHand: ignoreGates},
	{kind: "UpgradePolicy", at: "spec.blockedVersions[]", was: "reason", now: "comment"},
	{kind: "UpgradePolicy", at: "spec.gates[].cluster", was: "kubeconfigSecret", now: "kubeconfigSecretRef", byName: true},
	{kind: "UpgradePolicy", at: "spec.gates[].prometheus", was: "caSecret", now: "caSecretRef", byName: true},
	{kind: "UpgradePolicy", at: "spec.gates[].prometheus", was: "tokenSecret", now: "tokenSecretRef", byName: true},
	{kind: "UpgradePolicy", at: "spec.silences[]", was: "caSecret", now: "caSecretRef", byName: true},
	{kind: "UpgradePolicy", at: "spec.silences[]", was: "tokenSecret", now: "tokenSecretRef", byName: true},
	{kind: "UpgradePolicy", at: "spec.notices[]", was: "urlSecret", now: "urlSecretRef", byName: true},
	{kind: "UpgradePolicy", at: "spec.hooks[]", was: "cronJob", now: "cronJobName"},
	{kind: "UpgradePolicy", at: "spec.hooks[]", was: "onFailure", now: "failurePolicy"},
	{kind: "UpgradePolicy", at: "spec.hooks[]", was: "when", now: "when", values: onFailure},
	{kind: "UpgradePolicy", at: "status.takenBack[]", was: "reason", now: "comment"},
	{kind: "UpgradePolicy", at: "status.hookTurns[]", was: "beginTime", now: "startTime"},
	{kind: "UpgradePolicy", at: "status.hookTurns[].hooks[]", was: "cronJob", now: "cronJobName"},
	{kind: "UpgradePolicy", at: "status.hookTurns[].hooks[]", was: "when", now: "when", values: onFailure},

	{kind: "ClusterUpgrade", at: "spec", was: "reason", now: "comment"},
	{kind: "ClusterUpgrade", at: "spec.strategy", was: "etcdSnapshot", now: "etcdSnapshotPolicy"},
	{kind: "ClusterUpgrade", at: "status.strategy", was: "etcdSnapshot", now: "etcdSnapshotPolicy"},
	{kind: "ClusterUpgrade", at: "spec.strategy.groups[]", was: "gates", byHand: ignoreGates},
	{kind: "ClusterUpgrade", at: "status.strategy.groups[]", was: "gates", byHand: ignoreGates},
	{kind: "ClusterUpgrade", at: "spec.ignoreChecks[]", was: "reason", now: "comment", absent: "none was given"},
	{kind: "ClusterUpgrade", at: "spec.ignoreGates[]", was: "reason", now: "comment"},
	{kind: "ClusterUpgrade", at: "spec", was: "ignoreWindows", now: "windowPolicy", values: map[string]string{"true": "Ignore", "false": "Respect"}},
	{kind: "ClusterUpgrade", at: "status", was: "beginTime", now: "startTime"},
	{kind: "ClusterUpgrade", at: "status", was: "completionTime", now: "endTime"},
	{kind: "ClusterUpgrade", at: "spec", was: "requestedNodes", byHand: "leave it out, as Cluster API's extension asks for the nodes anew"},
	{kind: "ClusterUpgrade", at: "spec", was: "retryOf", now: "retryOf", byName: true},

	{kind: "NodeUpgrade", at: "spec", was: "etcdSnapshot", now: "etcdSnapshotPolicy", values: map[string]string{"true": "Required"}},
	{kind: "NodeUpgrade", at: "abandoned", was: "reason", now: "comment"},
	{kind: "NodeUpgrade", at: "status.reboot", was: "reason", now: "message"},
	{kind: "NodeUpgrade", at: "status", was: "unsupported", now: "imageProblem", problem: v1alpha1.NoSysextImage},

	{kind: "NodeInventory", at: "", was: "softRebootProblem", now: "softRebootBlocker", problem: v1alpha1.SystemdTooOld},
}
