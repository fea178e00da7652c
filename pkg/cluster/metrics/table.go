package metrics

import (
	"regexp"
	"slices"
)

// prefix is the prefix of all names.
const prefix = "kubectl_upgrade_"

// Type is a type of metric.
type Type string

// The types.
const (
	Gauge     Type = "gauge"
	Counter   Type = "counter"
	Histogram Type = "histogram"
)

// Metric describes a metric.
type Metric struct {
	// Name is the name without the prefix.
	Name string
	Type Type
	// Unit is "seconds", or empty for a number of things.
	Unit   string
	Labels []string
	Help   string
	// EachReplica marks a metric of the program, which a standby has, too. The others
	// describe the fleet, and only the leader has them.
	EachReplica bool
}

// FullName returns the name with the prefix.
func (m Metric) FullName() string { return prefix + m.Name }

// The names, without the prefix.
const (
	buildInfo        = "build_info"
	leader           = "leader"
	clientRequests   = "client_requests_total"
	clientDuration   = "client_request_duration_seconds"
	plans            = "plans_total"
	lastPlan         = "last_plan_time_seconds"
	writesFailed     = "writes_failed"
	nodeInfo         = "node_info"
	nodeStepStart    = "node_step_start_time_seconds"
	attemptStart     = "node_attempt_start_time_seconds"
	attemptEnd       = "node_attempt_expected_end_time_seconds"
	agentBehind      = "node_agent_behind"
	drainBlocked     = "node_drain_blocked"
	agents           = "agents"
	nodesStaged      = "nodes_staged"
	nodesBehind      = "nodes_behind"
	nodesBehindStart = "nodes_behind_start_time_seconds"
	nodesWindow      = "nodes_window"
	windowChange     = "window_change_time_seconds"
	upgradeInfo      = "upgrade_info"
	upgradeNodes     = "upgrade_nodes"
	upgradeCreated   = "upgrade_creation_time_seconds"
	upgradeTriggered = "upgrade_trigger_time_seconds"
	upgradeStalled   = "upgrade_stalled"
	upgradeWindows   = "upgrade_windows_passed"
	lastCompletion   = "last_completion_time_seconds"
	stepDuration     = "step_duration_seconds"
	handOffDuration  = "hand_off_duration_seconds"
	rehearsedBoots   = "rehearsed_boots_total"
	slots            = "slots"
	slotInfo         = "slot_info"
	scheduleState    = "schedule_state"
	scheduleChange   = "schedule_change_time_seconds"
	scheduleValid    = "schedule_valid"
	policyAutomatic  = "policy_automatic"
	policyValid      = "policy_valid"
	gateState        = "gate_state"
	imageSoak        = "image_soak_seconds"
	upgradeImage     = "upgrade_image"
	sourceReads      = "source_reads_total"
	sourceLastRead   = "source_last_success_time_seconds"
	sourceProblem    = "source_problem_start_time_seconds"
	sourceVersions   = "source_versions"
	preflightFinding = "preflight_findings"

	certificateEnd       = "certificate_end_time_seconds"
	certificateExpiring  = "certificate_expiring"
	certificateNotLoaded = "certificate_not_loaded"
	certificateFrozen    = "certificate_frozen"

	preflightTime  = "preflight_time_seconds"
	notices        = "notices_total"
	noticesFailed  = "notices_failed"
	silencesFailed = "silences_failed"
)

// Table lists all metrics. docs/monitoring.md is generated from it.
var Table = []Metric{
	{nodeInfo, Gauge, "", []string{"node", "kubelet", "target", "step", "reason"}, "Information about a managed node, as `kubectl upgrade status` shows it; target is the version that it is to have. Always 1.", false},
	{nodeStepStart, Gauge, "seconds", []string{"node"}, "When the node's step began, as Unix time.", false},
	{attemptStart, Gauge, "seconds", []string{"node"}, "When the node took its slot, as Unix time. Absent: it has none.", false},
	{attemptEnd, Gauge, "seconds", []string{"node"}, "When a node that is being upgraded is expected to free its slot, as Unix time.", false},
	{drainBlocked, Gauge, "", []string{"node", "namespace", "budget"}, "1 while pods cannot be evicted from the node, also while it waits to retry the drain. budget is the PodDisruptionBudget that prevents it; empty: something else does.", false},
	{agentBehind, Gauge, "", []string{"node"}, "1 while the agent of a Ready node has not read the present spec of its NodeUpgrade; else absent.", false},
	{certificateEnd, Gauge, "seconds", []string{"node", "certificate"}, "When the node's certificate ends, or its authority, if that ends first, as Unix time; of workers only while it is expiring. certificate is kubeadm's name for it, kubelet-client, kubelet-serving, admin-copy, or other, of which the first to end counts.", false},
	{certificateExpiring, Gauge, "", []string{"node", "certificate"}, "1 while less is left of a certificate than 30 days (of an authority 180) or a third of its life, in which it should have been renewed; else absent.", false},
	{certificateNotLoaded, Gauge, "", []string{"node", "certificate"}, "1 while a program still uses the certificate that was in the file before; else absent.", false},
	{certificateFrozen, Gauge, "", []string{"node", "certificate"}, "1 while a schedule lets no upgrade renew the certificate, the first of a control plane's, between its due time and its end: an exclusion holds, or no window opens, which counts from twice that time before its end on; else absent.", false},
	{agents, Gauge, "", []string{"state"}, "Number of the agents' pods: Desired, Ready.", false},
	{nodesStaged, Gauge, "", []string{"version"}, "Number of managed nodes with the image of the version on their disk, beside the running one.", false},
	{nodesBehind, Gauge, "", []string{"kubelet"}, "Number of managed nodes for which the source offers a newer patch of their minor.", false},
	{nodesBehindStart, Gauge, "seconds", []string{"kubelet"}, "When the oldest patch that these nodes lack was first seen, as Unix time.", false},
	{nodesWindow, Gauge, "", []string{"type", "state"}, "Number of managed nodes by their windows for that type of upgrade: Open, Closed, Excluded, Never (no window opens again), Invalid.", false},
	{windowChange, Gauge, "seconds", []string{"type"}, "When that changes next for a node, as Unix time.", false},
	{upgradeInfo, Gauge, "", []string{"upgrade", "type", "from", "version", "reason"}, "Information about a ClusterUpgrade that has not ended. Always 1.", false},
	{upgradeImage, Gauge, "", []string{"upgrade", "version", "architecture", "digest"}, "An image of a triggered ClusterUpgrade that has not ended. Always 1.", false},
	{upgradeNodes, Gauge, "", []string{"upgrade", "state"}, "Number of the upgrade's nodes: Done, Active, Waiting, Blocked, Unsupported.", false},
	{upgradeCreated, Gauge, "seconds", []string{"upgrade"}, "When the ClusterUpgrade was created, as Unix time.", false},
	{upgradeTriggered, Gauge, "seconds", []string{"upgrade"}, "When the upgrade became active and its images were fixed, as Unix time.", false},
	{upgradeStalled, Gauge, "", []string{"upgrade"}, "1 if the upgrade waits for a person to solve a problem, else 0.", false},
	{upgradeWindows, Gauge, "", []string{"upgrade"}, "Number of windows that have passed for the first node that waits, up to 10.", false},
	{lastCompletion, Gauge, "seconds", []string{"type", "outcome"}, "When the last upgrade of that type ended with that outcome, as Unix time.", false},
	{stepDuration, Histogram, "seconds", []string{"step"}, "How long nodes were in each step.", false},
	{handOffDuration, Histogram, "seconds", nil, "Time from a node's uncordon to the next node's cordon.", false},
	{rehearsedBoots, Counter, "", []string{"rehearsal", "boot"}, "Number of boots that were rehearsed, by what the rehearsal found (Passed, Failed, Incomplete) and what the boot did (Up, Assisted by the guard, Down).", false},
	{slots, Gauge, "", []string{"state"}, "Number of slots: Free, Reserved for a node, Held by a node.", false},
	{slotInfo, Gauge, "", []string{"slot", "node", "state"}, "Information about a slot that is not free. Always 1.", false},
	{scheduleState, Gauge, "", []string{"schedule", "state"}, "1 for the state that this schedule alone is in (Open, Closed, Excluded), 0 for the others.", false},
	{scheduleChange, Gauge, "seconds", []string{"schedule"}, "When that changes, as Unix time. Absent: never, as far as is known.", false},
	{scheduleValid, Gauge, "", []string{"schedule"}, "1 if the schedule is valid, 0 if it is invalid and closes all windows.", false},
	{policyAutomatic, Gauge, "", []string{"type"}, "1 if the UpgradePolicy creates upgrades of that type by itself, else 0.", false},
	{policyValid, Gauge, "", nil, "1 if the UpgradePolicy is valid, else 0.", false},
	{gateState, Gauge, "", []string{"gate", "state"}, "1 for the state of the policy's gate (Open, Closed, Unknown, also before its first answer), 0 for the others. Absent while it is not asked.", false},
	{imageSoak, Gauge, "seconds", []string{"version", "architecture", "digest"}, "How long every managed node has run the version with these images, or had run it when the first left it. Absent: a node failed or is behind, or the version is blocked.", false},
	{sourceVersions, Gauge, "", nil, "Number of versions that the source of images offers.", false},
	{sourceProblem, Gauge, "seconds", []string{"reason"}, "When the index of images could not be used any more, as Unix time. Absent: no problem.", false},
	{sourceLastRead, Gauge, "seconds", nil, "When this replica last read the index without a problem, as Unix time.", false},
	{sourceReads, Counter, "", []string{"result"}, "Number of reads of the index: OK, or the reason of the problem.", false},
	{preflightFinding, Gauge, "", []string{"check", "level"}, "Number of findings of the last checks: Block, Warn, Ignored (would block, and is ignored).", false},
	{preflightTime, Gauge, "seconds", nil, "When the checks last ran for the active upgrade, as Unix time.", false},
	{writesFailed, Gauge, "", nil, "1 while the API server refuses a write of the coordinator, which the UpgradePolicy's condition WriteFailed names; else 0.", false},
	{noticesFailed, Gauge, "", nil, "1 while a notice cannot be sent, which the UpgradePolicy's condition NoticesFailed names; else 0.", false},
	{silencesFailed, Gauge, "", nil, "1 while an Alertmanager does not take a silence, which the UpgradePolicy's condition SilencesFailed names; else 0.", false},
	{notices, Counter, "", []string{"notice", "result"}, "Number of attempts to send a notice: Sent, Failed, and events that were GivenUp after an hour.", false},
	{plans, Counter, "", []string{"result"}, "Number of plans that this replica carried out: OK, Conflict (an object changed, planned again), Failed (a write failed).", false},
	{lastPlan, Gauge, "seconds", nil, "When the last plan was made, as Unix time: the fleet's metrics are as of then.", false},
	{leader, Gauge, "", nil, "1 if this replica leads, else 0.", true},
	{buildInfo, Gauge, "", []string{"version", "goversion"}, "Information about this program. Always 1.", true},
	{clientRequests, Counter, "", []string{"method", "code"}, "Number of requests to the API server by HTTP status, or error.", true},
	{clientDuration, Histogram, "seconds", []string{"method"}, "How long requests to the API server took.", true},
}

func lookup(name string) Metric {
	for _, m := range Table {
		if m.Name == name {
			return m
		}
	}
	panic("metrics: " + name + " is not in Table")
}

// Budget is a PodDisruptionBudget.
type Budget struct{ Namespace, Name string }

// refusal is how a drain's message says that a budget keeps a pod: the pod, and the
// sentence of the API server.
var refusal = regexp.MustCompile(`([a-z0-9.-]+)/[a-z0-9.-]+: The disruption budget ([a-z0-9.-]+) needs`)

// Budgets returns the budgets that the message of a blocked drain names. If it names none,
// it returns the zero Budget.
func Budgets(message string) []Budget {
	var list []Budget
	for _, match := range refusal.FindAllStringSubmatch(message, -1) {
		if b := (Budget{match[1], match[2]}); !slices.Contains(list, b) {
			list = append(list, b)
		}
	}
	if list == nil {
		return []Budget{{}}
	}
	return list
}
