package monitoring

import (
	"encoding/json"
	"fmt"
)

// Panel is a panel of the dashboard.
type Panel struct {
	Title, Description string
	// Type is Grafana's: stat, timeseries, table, bargauge.
	Type string
	// Unit is Grafana's: s for seconds, percentunit, bytes; empty for a number.
	Unit string
	// Width of 24.
	Width   int
	Queries []Query
}

// Query is a query in PromQL. Legend is the name of each series.
type Query struct{ Expr, Legend string }

// Row is a row of panels with a title.
type Row struct {
	Title  string
	Panels []Panel
}

// Rows are the dashboard's rows. `max by` joins the replicas of the coordinator.
var Rows = []Row{
	{"Upgrade", []Panel{
		{"Upgrades", "The ClusterUpgrades that have not ended, and what each waits for.", "table", "", 12, []Query{
			{`max by (upgrade, type, from, version, reason) (kubectl_upgrade_upgrade_info)`, ""}}},
		{"Progress", "How many of the upgrade's nodes are done.", "gauge", "percentunit", 4, []Query{
			{`max by (upgrade) (kubectl_upgrade_upgrade_nodes{state="Done"}) / on (upgrade) ` +
				`clamp_min(sum by (upgrade) (max by (upgrade, state) (kubectl_upgrade_upgrade_nodes{state!="Unsupported"})), 1)`, "{{upgrade}}"}}},
		{"Age", "Since the ClusterUpgrade was created.", "stat", "s", 4, []Query{
			{`time() - max by (upgrade) (kubectl_upgrade_upgrade_creation_time_seconds)`, "{{upgrade}}"}}},
		{"Waits for a person", "1: the upgrade is stalled.", "stat", "", 4, []Query{
			{`max by (upgrade) (kubectl_upgrade_upgrade_stalled)`, "{{upgrade}}"}}},
		{"Nodes of the upgrade", "Done, being upgraded (Active), waiting, blocked.", "timeseries", "", 12, []Query{
			{`max by (upgrade, state) (kubectl_upgrade_upgrade_nodes)`, "{{upgrade}} {{state}}"}}},
		{"Alerts", "The alerts of kubectl-upgrade that fire.", "table", "", 12, []Query{
			{`ALERTS{alertname=~"KubectlUpgrade.*", alertstate="firing", severity!="none"}`, ""}}},
	}},
	{"Nodes", []Panel{
		{"Nodes by version", "What the kubelets run.", "timeseries", "", 8, []Query{
			{`count by (kubelet) (max by (node, kubelet) (kubectl_upgrade_node_info))`, "{{kubelet}}"}}},
		{"Nodes by step", "docs/node.md explains the steps.", "timeseries", "", 8, []Query{
			{`count by (step) (max by (node, step) (kubectl_upgrade_node_info))`, "{{step}}"}}},
		{"Nodes by reason", "docs/reasons.md explains the reasons.", "timeseries", "", 8, []Query{
			{`count by (reason) (max by (node, reason) (kubectl_upgrade_node_info))`, "{{reason}}"}}},
		{"Nodes being upgraded", "With their step and reason.", "table", "", 12, []Query{
			{`max by (node, kubelet, target, step, reason) (kubectl_upgrade_node_info) and on (node) kubectl_upgrade_node_attempt_start_time_seconds`, ""}}},
		{"Time since a node took its slot", "Of the nodes being upgraded.", "timeseries", "s", 12, []Query{
			{`time() - max by (node) (kubectl_upgrade_node_attempt_start_time_seconds)`, "{{node}}"}}},
		{"Drains that are blocked", "With the PodDisruptionBudget.", "table", "", 12, []Query{
			{`max by (node, namespace, budget) (kubectl_upgrade_node_drain_blocked)`, ""}}},
		{"Nodes that lack a patch", "The source offers a newer one of their minor.", "timeseries", "", 6, []Query{
			{`max by (kubelet) (kubectl_upgrade_nodes_behind)`, "{{kubelet}}"}}},
		{"For how long", "Since the coordinator first saw that patch.", "stat", "s", 6, []Query{
			{`time() - max by (kubelet) (kubectl_upgrade_nodes_behind_start_time_seconds)`, "{{kubelet}}"}}},
		{"Nodes with a staged image", "On the disk, not active yet.", "timeseries", "", 12, []Query{
			{`max by (version) (kubectl_upgrade_nodes_staged)`, "{{version}}"}}},
		{"Agents", "Not Ready, or silent.", "timeseries", "", 12, []Query{
			{`max by (state) (kubectl_upgrade_agents)`, "{{state}}"},
			{`count(max by (node) (kubectl_upgrade_node_agent_behind)) or vector(0)`, "Silent"}}},
	}},
	{"Time", []Panel{
		{"Time in each step, median", "Of the nodes that went through it in the range shown.", "bargauge", "s", 12, []Query{
			{`histogram_quantile(0.5, sum by (le, step) (increase(kubectl_upgrade_step_duration_seconds_bucket[$__range])))`, "{{step}}"}}},
		{"Time in each step, 95 of 100", "One node in twenty took longer.", "bargauge", "s", 12, []Query{
			{`histogram_quantile(0.95, sum by (le, step) (increase(kubectl_upgrade_step_duration_seconds_bucket[$__range])))`, "{{step}}"}}},
		{"Hand-off", "From the end of a node's uncordon to the start of the next node's cordon, median.", "stat", "s", 12, []Query{
			{`histogram_quantile(0.5, sum by (le) (increase(kubectl_upgrade_hand_off_duration_seconds_bucket[$__range])))`, "median"}}},
		{"Since the last upgrade ended", "By type and outcome.", "stat", "s", 12, []Query{
			{`time() - max by (type, outcome) (kubectl_upgrade_last_completion_time_seconds)`, "{{type}} {{outcome}}"}}},
	}},
	{"Windows", []Panel{
		{"Nodes whose window is open", "By type of upgrade.", "timeseries", "", 8, []Query{
			{`max by (type, state) (kubectl_upgrade_nodes_window)`, "{{type}} {{state}}"}}},
		{"Until a window opens or closes", "For the first node.", "stat", "s", 8, []Query{
			{`min by (type) (kubectl_upgrade_window_change_time_seconds) - time()`, "{{type}}"}}},
		{"Schedules", "The state of each MaintenanceSchedule alone.", "table", "", 8, []Query{
			{`max by (schedule, state) (kubectl_upgrade_schedule_state) == 1`, ""}}},
		{"Windows that passed", "Since the active upgrade was created.", "stat", "", 8, []Query{
			{`max by (upgrade) (kubectl_upgrade_upgrade_windows_passed)`, "{{upgrade}}"}}},
		{"Slots", "Free, reserved, held.", "timeseries", "", 8, []Query{
			{`max by (state) (kubectl_upgrade_slots)`, "{{state}}"}}},
		{"Holders", "The nodes with a slot.", "table", "", 8, []Query{
			{`max by (slot, node, state) (kubectl_upgrade_slot_info)`, ""}}},
	}},
	{"Source and checks", []Panel{
		{"Age of the index of images", "Since it was last read without a problem.", "stat", "s", 6, []Query{
			{`time() - max(kubectl_upgrade_source_last_success_time_seconds)`, "age"}}},
		{"Versions that the source offers", "", "stat", "", 6, []Query{
			{`max(kubectl_upgrade_source_versions)`, "versions"}}},
		{"Reads of the index", "By result.", "timeseries", "", 12, []Query{
			{`sum by (result) (increase(kubectl_upgrade_source_reads_total[$__rate_interval]))`, "{{result}}"}}},
		{"Gates", "Of the UpgradePolicy, while they are asked. docs/gates.md explains gates.", "table", "", 12, []Query{
			{`max by (gate, state) (kubectl_upgrade_gate_state) == 1`, ""}}},
		{"Findings of the checks", "Block: nothing begins. docs/checks.md explains the checks.", "table", "", 12, []Query{
			{`max by (check, level) (kubectl_upgrade_preflight_findings)`, ""}}},
	}},
	{"Coordinator", []Panel{
		{"Leaders", "One is right.", "stat", "", 6, []Query{{`count(kubectl_upgrade_leader == 1)`, "leaders"}}},
		{"Plans", "Made and carried out, each second.", "timeseries", "", 6, []Query{
			{`sum by (result) (rate(kubectl_upgrade_plans_total[$__rate_interval]))`, "{{result}}"}}},
		{"Requests to the API server", "Each second, by HTTP status.", "timeseries", "", 6, []Query{
			{`sum by (method, code) (rate(kubectl_upgrade_client_requests_total[$__rate_interval]))`, "{{method}} {{code}}"}}},
		{"Memory", "Of each replica.", "timeseries", "bytes", 6, []Query{
			{`process_resident_memory_bytes and on (instance) kubectl_upgrade_leader`, "{{instance}}"}}},
	}},
}

// Dashboard returns the dashboard as Grafana imports it.
func Dashboard() ([]byte, error) {
	var panels []map[string]any
	id, top := 0, 0
	for _, row := range Rows {
		id++
		panels = append(panels, map[string]any{"id": id, "type": "row", "title": row.Title, "collapsed": false, "panels": []any{}, "gridPos": position(24, 1, 0, top)})
		top++
		left := 0
		for _, p := range row.Panels {
			if left+p.Width > 24 {
				left, top = 0, top+height
			}
			id++
			panels = append(panels, p.json(id, left, top))
			left += p.Width
		}
		top += height
	}
	text, err := json.MarshalIndent(map[string]any{
		"title": "kubectl-upgrade", "uid": "kubectl-upgrade", "tags": []string{"kubernetes", "kubectl-upgrade"},
		"description":   "Upgrades of Kubernetes nodes. Generated from test/monitoring by `go test ./test/monitoring -update`.",
		"schemaVersion": 39, "version": 1, "editable": true, "timezone": "browser", "refresh": "30s",
		"time": map[string]string{"from": "now-6h", "to": "now"},
		"templating": map[string]any{"list": []any{map[string]any{
			"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus", "hide": 0, "current": map[string]any{},
		}}},
		"annotations": map[string]any{"list": []any{}}, "links": []any{},
		"panels": panels,
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the dashboard: %w", err)
	}
	return append(text, '\n'), nil
}

// height of each panel.
const height = 8

func position(w, h, x, y int) map[string]int { return map[string]int{"w": w, "h": h, "x": x, "y": y} }

var source = map[string]string{"type": "prometheus", "uid": "${datasource}"}

func (p Panel) json(id, left, top int) map[string]any {
	var targets []map[string]any
	for i, q := range p.Queries {
		target := map[string]any{"refId": string(rune('A' + i)), "expr": q.Expr, "legendFormat": q.Legend, "datasource": source}
		if p.Type != "timeseries" {
			target["instant"], target["range"] = true, false
		}
		if p.Type == "table" {
			target["format"] = "table"
		}
		targets = append(targets, target)
	}
	panel := map[string]any{
		"id": id, "type": p.Type, "title": p.Title, "description": p.Description, "datasource": source, "targets": targets,
		"gridPos":     position(p.Width, height, left, top),
		"fieldConfig": map[string]any{"defaults": p.defaults(), "overrides": []any{}},
	}
	if p.Type == "table" {
		panel["transformations"] = []any{map[string]any{"id": "organize", "options": map[string]any{
			"excludeByName": map[string]bool{"Time": true, "Value": true, "__name__": true},
		}}}
	}
	return panel
}

func (p Panel) defaults() map[string]any {
	defaults := map[string]any{"unit": "short", "min": 0}
	if p.Unit != "" {
		defaults["unit"] = p.Unit
	}
	switch {
	case p.Unit == "percentunit":
		defaults["max"] = 1
	case p.Type == "timeseries":
		defaults["custom"] = map[string]any{"lineInterpolation": "stepAfter", "fillOpacity": 10}
	}
	return defaults
}
