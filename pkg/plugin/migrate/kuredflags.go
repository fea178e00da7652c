package migrate

// kuredFlag is one of kured's flags. becomes sets what the flag becomes in the result; a flag
// without it has the same row whatever its value.
// https://kured.dev/docs/configuration/, and cmd/kured/main.go of kured 1.23.
type kuredFlag struct {
	flagSpec
	becomes func(*kured, *Row, setting)
	meaning Meaning
	target  string // what to write instead
	note    string
	// secret reports whether the value may contain a password: it is not shown.
	secret bool
}

// kuredFlags are all of kured's flags, in the order in which they are shown.
var kuredFlags = []kuredFlag{
	// When.
	{flagSpec: flagSpec{"reboot-days", list, "su,mo,tu,we,th,fr,sa"}, becomes: (*kured).window},
	{flagSpec: flagSpec{"start-time", text, "0:00"}, becomes: (*kured).window},
	{flagSpec: flagSpec{"end-time", text, "23:59:59"}, becomes: (*kured).window},
	{flagSpec: flagSpec{"time-zone", text, "UTC"}, becomes: (*kured).timeZone},
	{flagSpec: flagSpec{"period", duration, "1h"}, meaning: NotNeeded, note: "update_engine's signal is noticed at once, the file /run/reboot-required within five minutes"},

	// Which node needs a reboot.
	{flagSpec: flagSpec{"reboot-sentinel", text, "/var/run/reboot-required"}, becomes: (*kured).sentinel},
	{flagSpec: flagSpec{"reboot-sentinel-command", text, ""}, meaning: None, note: "no command is run on nodes; let what makes it succeed create /run/reboot-required"},

	// How many, and at what pace.
	{flagSpec: flagSpec{"concurrency", number, "1"}, becomes: (*kured).concurrency},
	{flagSpec: flagSpec{"lock-release-delay", duration, "0"}, becomes: (*kured).lockReleaseDelay},
	{flagSpec: flagSpec{"lock-ttl", duration, "0"}, meaning: None, note: "a slot does not expire, because its node may still be out of service; `kubectl upgrade abandon NODE` frees it"},
	{flagSpec: flagSpec{"lock-annotation", text, "weave.works/kured-node-lock"}, meaning: NotNeeded, note: "slots are Leases in the namespace kubectl-upgrade"},
	{flagSpec: flagSpec{"ds-name", text, "kured"}, meaning: NotNeeded, note: "slots are Leases in the namespace kubectl-upgrade"},
	{flagSpec: flagSpec{"ds-namespace", text, "kube-system"}, meaning: NotNeeded, note: "slots are Leases in the namespace kubectl-upgrade"},
	{flagSpec: flagSpec{"node-id", text, ""}, meaning: NotNeeded, note: "an agent knows its node"},

	// The drain.
	{flagSpec: flagSpec{"drain-timeout", duration, "0"}, becomes: (*kured).drainTimeout},
	{flagSpec: flagSpec{"drain-grace-period", number, "-1"}, becomes: (*kured).drainGracePeriod},
	{flagSpec: flagSpec{"force-reboot", boolean, "false"}, becomes: (*kured).forceReboot},
	{flagSpec: flagSpec{"blocking-pod-selector", array, ""}, becomes: (*kured).blockingPods},
	{flagSpec: flagSpec{"drain-pod-selector", text, ""}, becomes: (*kured).drainPods},
	{flagSpec: flagSpec{"drain-delay", duration, "0"}, meaning: None, note: "a node is cordoned and drained as soon as it has its slot"},
	{flagSpec: flagSpec{"skip-wait-for-delete-timeout", number, "0"}, meaning: None, note: "the drain waits until every pod is gone, up to strategy.drain.timeoutSeconds"},
	{flagSpec: flagSpec{"prefer-no-schedule-taint", text, ""}, meaning: None, note: "nodes that wait are not tainted: pods may be evicted more than once"},

	// The reboot.
	{flagSpec: flagSpec{"reboot-command", text, "/bin/systemctl reboot"}, meaning: None, note: "the agent asks logind for the reboot; a unit of the host can act before it (Before=reboot.target)"},
	{flagSpec: flagSpec{"reboot-method", text, "command"}, meaning: NotNeeded, note: "the agent asks logind for the reboot"},
	{flagSpec: flagSpec{"reboot-signal", number, "39"}, meaning: NotNeeded, note: "the agent asks logind for the reboot"},
	{flagSpec: flagSpec{"reboot-delay", duration, "0"}, meaning: None, note: "a node reboots as soon as it is drained"},

	// Alerts.
	{flagSpec: flagSpec{"prometheus-url", text, ""}, meaning: None, secret: true, note: "no alert is read: let Alertmanager run `kubectl upgrade freeze`, or `kubectl upgrade suspend NAME`. A node that does not come back Ready stops the others without alerts"},
	{flagSpec: flagSpec{"alert-filter-regexp", text, ""}, meaning: None, note: "see --prometheus-url"},
	{flagSpec: flagSpec{"alert-filter-match-only", boolean, "false"}, meaning: None, note: "see --prometheus-url"},
	{flagSpec: flagSpec{"alert-firing-only", boolean, "false"}, meaning: None, note: "see --prometheus-url"},

	// What it tells.
	{flagSpec: flagSpec{"notify-url", text, ""}, meaning: Nearest, secret: true, target: "events, metrics and alerts", note: "nothing is sent to a chat: Alertmanager sends the alerts of docs/monitoring.md, events are on each NodeUpgrade"},
	{flagSpec: flagSpec{"slack-hook-url", text, ""}, meaning: Nearest, secret: true, target: "events, metrics and alerts", note: "see --notify-url"},
	{flagSpec: flagSpec{"slack-username", text, "kured"}, meaning: None, note: "see --notify-url"},
	{flagSpec: flagSpec{"slack-channel", text, ""}, meaning: None, note: "see --notify-url"},
	{flagSpec: flagSpec{"message-template-drain", text, "Draining node %s"}, meaning: None, note: "see --notify-url"},
	{flagSpec: flagSpec{"message-template-reboot", text, "Rebooting node %s"}, meaning: None, note: "see --notify-url"},
	{flagSpec: flagSpec{"message-template-uncordon", text, "Node %s rebooted & uncordoned successfully!"}, meaning: None, note: "see --notify-url"},
	{flagSpec: flagSpec{"annotate-nodes", boolean, "false"}, meaning: Nearest, target: "NodeUpgrade.status.step and steps", note: "each node's NodeUpgrade has its step and its times; Nodes get no such annotation"},
	{flagSpec: flagSpec{"pre-reboot-node-labels", list, ""}, meaning: None, note: "Nodes get no label; watch NodeUpgrade.status.step instead"},
	{flagSpec: flagSpec{"post-reboot-node-labels", list, ""}, meaning: None, note: "Nodes get no label; watch NodeUpgrade.status.step instead"},
	{flagSpec: flagSpec{"metrics-host", text, ""}, meaning: NotNeeded, note: "the coordinator serves the metrics of all nodes, over https with the rights of Kubernetes (docs/metrics.md)"},
	{flagSpec: flagSpec{"metrics-port", number, "8080"}, meaning: NotNeeded, note: "see --metrics-host; NodeUpgrade.status.reboot.required says what kured_reboot_required does, no metric does"},
	{flagSpec: flagSpec{"log-format", text, "text"}, meaning: NotNeeded, note: "the programs log as key=value text"},
}

// row returns the flag's row, without what depends on its value.
func (f kuredFlag) row(s setting) Row {
	row := Row{Setting: "--" + f.name, Value: s.value(), Set: s.set(), Meaning: f.meaning, Becomes: f.target, Note: f.note}
	if s.from != "" && s.from != row.Setting {
		row.Setting = s.from
	}
	if f.secret && row.Value != "" {
		row.Value = "(not shown)"
	}
	return row
}
