package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// TestExampleOfRFC0015IsAccepted applies the example of Giant Swarm's RFC 0015 with our
// apiVersion.
func TestExampleOfRFC0015IsAccepted(t *testing.T) {
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	out, err := apitest.Kubectl(t, config, "apply", "-f", "testdata/rfc0015.yaml").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "working-hours-except-month-start created") {
		t.Fatalf("kubectl apply: %v\n%s", err, out)
	}
	for _, again := range []string{"unchanged", "deleted"} {
		verb := map[string]string{"unchanged": "apply", "deleted": "delete"}[again]
		out, err := apitest.Kubectl(t, config, verb, "-f", "testdata/rfc0015.yaml").CombinedOutput()
		if err != nil || !strings.Contains(string(out), again) {
			t.Errorf("kubectl %s: %v\n%s", verb, err, out)
		}
	}
}

// digest is one that the API server accepts.
const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// image is one that the API server accepts.
const image = "{architecture: amd64, url: https://images.example/k.raw, digest: '" + digest + "'}"

// everySelector is a selector with every field.
const everySelector = `{matchLabels: {pool: gpu, example.com/zone: a_b.c-D, node-role.kubernetes.io/worker: ""},
	matchExpressions: [{key: a, operator: In, values: [b, ""]}, {key: example.com/c, operator: NotIn, values: [d]},
	{key: e, operator: Exists}, {key: f, operator: DoesNotExist, values: []}]}`

// everyPace has every field of a strategy that groups and orders have too.
const everyPace = `settleSeconds: 0, minReadySeconds: 86400,
	whole: {timeoutSeconds: 1, resources: Wait, drivers: Ignore, daemonSets: Wait, extensions: Ignore, taints: Wait, network: Ignore}, drain: {timeoutSeconds: 1, onTimeout: Delete, volumesDetachedSeconds: 0, gracePeriodSeconds: -1,
	unmanagedPods: Evict, emptyDirPods: Block, doNotDisruptSeconds: 0, rules: [
		{name: CI jobs, podSelector: {matchLabels: {app: ci}}, namespaces: [ci, build], behavior: WaitCompleted},
		{name: logs, podSelector: {}, behavior: Skip}, {name: rest, podSelector: ` + everySelector + `, behavior: Drain}]}`

// everyStrategy is a strategy with every field.
const everyStrategy = `{method: Reboot, maxUnavailable: 100%, maxFailures: 0, cordonedNodes: Count, approval: Required, etcdSnapshotPolicy: Skip, ` + everyPace + `,
	groups: [{name: canary, nodeSelector: {}}, {name: db-2, nodeSelector: ` + everySelector + `, maxUnavailable: 2, approval: Required, ` + everyPace + `}]}`

func TestValidValuesAreAccepted(t *testing.T) {
	client := server(t)
	rows := []struct{ kind, text string }{
		{"MaintenanceSchedule", "spec: {}"},
		{"MaintenanceSchedule", "spec: {nodeSelector: {}}"},
		{"MaintenanceSchedule", "spec: {nodeSelector: " + everySelector + "}"},
		{"MaintenanceSchedule", "spec: {timeZone: America/Argentina/Buenos_Aires}"},
		{"MaintenanceSchedule", "spec: {timeZone: Etc/GMT+5}"},
		{"MaintenanceSchedule", window(`startTime: "2026-01-03T01:00:00+02:00"`)},
		{"MaintenanceSchedule", window(`recurrence: "FREQ=DAILY"`)},
		{"MaintenanceSchedule", window(`recurrence: "RRULE:FREQ=MONTHLY;BYDAY=-1SU"`)},
		{"MaintenanceSchedule", window(`recurrence: "freq=weekly;byday=mo,tu"`)},
		{"MaintenanceSchedule", window(`recurrence: "INTERVAL=2;FREQ=WEEKLY;BYDAY=SA,SU;WKST=MO;COUNT=10"`)},
		{"MaintenanceSchedule", window(`recurrence: "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;UNTIL=20271231T235959Z"`)},
		{"MaintenanceSchedule", window(`recurrence: "FREQ=YEARLY;BYMONTH=1,12;BYMONTHDAY=1,-1"`)},
		{"MaintenanceSchedule", `spec: {maintenanceExclusions: [{name: x, startTime: "2026-01-03T01:00:00Z", endTime: "2026-01-04T01:00:00Z"},
			{name: audit, startTime: "2026-01-03T01:00:00Z", endTime: "2026-01-04T01:00:00Z", comment: audit, upgradeTypes: [Patch, Minor, Reboot]}]}`},

		{"UpgradePolicy", named("cluster", "{}")},
		{"UpgradePolicy", named("cluster", "spec: {}")},
		{"UpgradePolicy", named("cluster", "spec: {automatic: [{type: Patch}, {type: Reboot}]}")},
		{"UpgradePolicy", named("cluster", "spec: {automatic: [{type: Patch, minAgeSeconds: 0, noticeSeconds: 2592000, minIntervalSeconds: 31536000}, {type: Reboot, noticeSeconds: 0, minIntervalSeconds: 0}], historyLimit: 1, nodeSelector: "+everySelector+"}")},
		{"UpgradePolicy", named("cluster", "spec: {source: {url: 'http://mirror.example:8080/k/', transportPolicy: AllowHTTP, intervalSeconds: 1, keyring: '-----BEGIN PGP PUBLIC KEY BLOCK-----'}}")},
		{"UpgradePolicy", named("cluster", "spec: {strategy: "+everyStrategy+"}")},
		{"UpgradePolicy", named("cluster", "spec: {silences: [{name: a, url: 'https://alertmanager.monitoring.svc:9093/am', caSecretRef: {name: ca}, tokenSecretRef: {name: token}, matchers: [{name: instance, value: '{node}:9100'}, {name: cluster, value: prod}]}]}")},
		{"UpgradePolicy", named("cluster", "spec: {notices: [{name: chat, urlSecretRef: {name: chat.example}}, {name: 1-2, urlSecretRef: {name: b}, events: [Announced, Began, NodeFailed, Stalled, Waiting, Ended], template: '{{.Text}}'}]}")},

		{"ClusterUpgrade", "spec: {version: v1.34.4}"},
		{"ClusterUpgrade", "spec: {version: v1.35.0-rc.1}"},
		{"ClusterUpgrade", "spec: {version: v1.34.4+k3s1}"},
		{"ClusterUpgrade", "spec: {version: v1.34.4-alpha.0.12+abc-d.1}"},
		{"ClusterUpgrade", "spec: {type: Patch, version: v1.34.4, strategy: {method: Restart}}"},
		{"ClusterUpgrade", "spec: {version: v1.34.4, strategy: {method: Restart}}"},
		{"ClusterUpgrade", "spec: {type: Minor, version: v1.35.4, strategy: {method: SoftReboot}}"},
		{"ClusterUpgrade", "spec: {type: Reboot}"},
		{"ClusterUpgrade", "spec: {type: Reboot, comment: a new kernel}"},
		{"ClusterUpgrade", "spec: {type: Rollback, version: v1.34.3, comment: it crashes, windowPolicy: Ignore, strategy: {method: SoftReboot}, nodeSelector: {matchLabels: {kubernetes.io/hostname: w1}}}"},
		{"MaintenanceSchedule", "spec: {maintenanceExclusions: [{name: a, startTime: \"2026-01-03T01:00:00Z\", endTime: \"2026-01-03T02:00:00Z\", upgradeTypes: [Patch, Rollback]}]}"},
		{"ClusterUpgrade", "spec: {version: v1.34.4, strategy: " + everyStrategy + "}"},
		{"ClusterUpgrade", "spec: {version: v1.34.4, strategy: {maxUnavailable: 3, maxFailures: 5}}"},
		{"ClusterUpgrade", "spec: {version: v1.34.4, nodeSelector: " + everySelector + "}"},
		{"ClusterUpgrade", `spec: {version: v1.34.4, startTime: "2026-12-24T18:00:00Z", suspend: true, windowPolicy: Ignore, retryOf: {name: v1.34.4},
			approved: {upgrade: true, groups: [canary, db]}, ignoreChecks: [{id: etcd-single, comment: a test cluster}, {id: bare-pod, comment: tests}]}`},

		{"NodeUpgrade", "{}"},
		{"NodeUpgrade", "spec: {release: None}"},
		{"NodeUpgrade", "spec: {upgrade: {name: u, uid: 1-2}, type: Reboot, release: Node}"},
		{"NodeUpgrade", "spec: {upgrade: {name: u, uid: 1-2}, type: Minor, version: v1.35.0-rc.1, release: ControlPlane, kubeadm: Apply, method: Reboot, etcdSnapshotPolicy: Required, expectedSeconds: 0, image: " + image + ", " + everyPace + "}"},
		{"NodeUpgrade", `abandoned: {comment: the board is dead, time: "2026-11-22T01:00:00Z"}`},

		{"UpgradeRecord", record("")},
		{"UpgradeRecord", record(`, type: Minor, fromVersion: v1.34.4, version: v1.35.4, reason: KubeadmFailed, message: m, createdBy: coordinator, triggerTime: "2026-11-22T01:00:00Z",
			etcdSnapshot: {node: cp1, path: /x, digest: "` + digest + `", creationTime: "2026-11-22T01:00:00Z"}, ignoreChecks: [{id: kured, comment: it is off}], digests: [{architecture: amd64, digest: "` + digest + `"}],
			counts: {total: 1, done: 0, active: 0, waiting: 0, blocked: 1, unsupported: 0}, nodes: [{name: a}, {name: b, from: v1.34.4, to: v1.35.4, startTime: "2026-11-22T01:00:00Z",
			endTime: "2026-11-22T02:00:00Z", attempts: 2, componentsSeconds: 60, rebootSeconds: 90, restartSeconds: 10, softRebootSeconds: 20, methodMessage: systemd is 252, reason: KubeadmFailed,
			steps: [{step: Kubeadm, startTime: "2026-11-22T01:00:00.000000Z", endTime: "2026-11-22T01:01:00.000000Z"}]}]`)},
		{"NodeInventory", `gatheredTime: "2026-11-22T01:00:00Z"`},
	}
	for _, row := range rows {
		if _, err := dryRun(client, object(t, row.kind, row.text)); err != nil {
			t.Errorf("%s {%s} is refused: %v", row.kind, row.text, err)
		}
	}
}

// TestLargestStrategyIsAccepted checks that a strategy at all limits does not exceed the API
// server's cost limit for validation rules.
func TestLargestStrategyIsAccepted(t *testing.T) {
	long := func(prefix string, i, length int) string {
		name := fmt.Sprintf("%s%d", prefix, i)
		return name + strings.Repeat("x", length-len(name))
	}
	selector := func() map[string]any {
		labels, expressions, values := map[string]any{}, []any{}, []any{}
		for i := range 32 {
			values = append(values, long("v", i, 63))
		}
		for i := range 8 {
			key := strings.Repeat(strings.Repeat("d", 61)+".", 4) + long("p", i, 5) + "/" + long("k", i, 63)
			labels[key] = values[i]
			expressions = append(expressions, map[string]any{"key": key, "operator": "NotIn", "values": values[:4]})
		}
		return map[string]any{"matchLabels": labels, "matchExpressions": expressions}
	}
	pace := func(group map[string]any) map[string]any {
		var rules []any
		for i := range 8 {
			rules = append(rules, map[string]any{"name": long("r", i, 63), "behavior": "Skip", "podSelector": selector()})
		}
		group["drain"] = map[string]any{"rules": rules}
		return group
	}
	var groups []any
	for i := range 30 {
		groups = append(groups, pace(map[string]any{"name": long("g", i, 63), "nodeSelector": selector(), "maxUnavailable": "100%"}))
	}
	u := object(t, "ClusterUpgrade", "spec: {version: v1.34.4}")
	u.Object["spec"].(map[string]any)["strategy"] = pace(map[string]any{"groups": groups})
	if _, err := dryRun(server(t), u); err != nil {
		t.Error(err)
	}
}

// named gives the object a name of its own.
func named(name, text string) string {
	if text == "{}" {
		return "metadata: {name: " + name + "}"
	}
	return "metadata: {name: " + name + "}\n" + text
}

// record returns a valid UpgradeRecord with more fields.
func record(more string) string {
	return `{spec: {upgrade: {name: u, uid: 1-2}, outcome: Failed, endTime: "2026-11-22T02:00:00Z", piece: 1, pieces: 1` + more + "}}"
}
