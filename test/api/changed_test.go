package api_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestChangesOfSpec(t *testing.T) {
	const patch, reboot = "spec: {type: Patch, version: v1.34.4}", "spec: {type: Reboot}"
	const some = "spec: {version: v1.34.4, retryOf: {name: a}, nodeSelector: {matchLabels: {pool: gpu}}}"
	const fixed = "cannot be changed; create another ClusterUpgrade"
	rows := []struct{ name, was, change, field, words string }{
		{"another version", patch, `{"spec":{"version":"v1.34.5"}}`, "spec.version", "cannot be changed, as its images are fixed"},
		{"no version", patch, `{"spec":{"version":null}}`, "spec.version", "cannot be changed"},
		{"another type", patch, `{"spec":{"type":"Minor"}}`, "spec.type", fixed},
		{"no type", patch, `{"spec":{"type":null}}`, "spec.type", fixed},
		{"a type of late", "spec: {version: v1.34.4}", `{"spec":{"type":"Minor"}}`, "spec.type", fixed},
		{"a reboot of more nodes", reboot, `{"spec":{"rebootPolicy":"Always"}}`, "spec.rebootPolicy", "cannot be changed, as the boots that it ends"},
		{"a reboot's version", reboot, `{"spec":{"version":"v1.34.4"}}`, "spec.version", "cannot be changed"},
		{"other nodes", some, `{"spec":{"nodeSelector":{"matchLabels":{"pool":"db"}}}}`, "spec.nodeSelector", fixed},
		{"more nodes", some, `{"spec":{"nodeSelector":{"matchLabels":null}}}`, "spec.nodeSelector", fixed},
		{"every node", some, `{"spec":{"nodeSelector":null}}`, "spec.nodeSelector", fixed},
		{"some nodes", patch, `{"spec":{"nodeSelector":{"matchLabels":{"pool":"db"}}}}`, "spec.nodeSelector", fixed},
		{"a retry of another", some, `{"spec":{"retryOf":{"name":"b"}}}`, "spec.retryOf", fixed},
		{"a retry of none", some, `{"spec":{"retryOf":null}}`, "spec.retryOf", fixed},
		{"a retry of late", patch, `{"spec":{"retryOf":{"name":"b"}}}`, "spec.retryOf", fixed},
		{"suspend", patch, `{"spec":{"suspend":true}}`, "", ""},
		{"the strategy", patch, `{"spec":{"strategy":{"maxUnavailable":"20%"}}}`, "", ""},
		{"the start", reboot, `{"spec":{"startTime":"2026-12-24T18:00:00Z"}}`, "", ""},
		{"windows", patch, `{"spec":{"windowPolicy":"Ignore"}}`, "", ""},
		{"checks", patch, `{"spec":{"ignoreChecks":[{"id":"etcd-single","comment":"a"}]}}`, "", ""},
		{"an approval", some, `{"spec":{"approved":{"upgrade":true,"groups":["a"]}}}`, "", ""},
		{"labels", some, `{"metadata":{"labels":{"a":"b"}}}`, "", ""},
	}
	client := server(t)
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			u := object(t, "ClusterUpgrade", named("changed", row.was))
			create(t, client, u)
			defer remove(t, client, u)
			_, err := client.Resource(resources["ClusterUpgrade"]).Patch(context.Background(), "changed", types.MergePatchType, []byte(row.change), metav1.PatchOptions{})
			check(t, row.name, err, row.field, row.words)
		})
	}
}

func TestWrongStatusIsRefused(t *testing.T) {
	const reboot, policy = "spec: {type: Reboot}", "metadata: {name: cluster}"
	rows := []struct{ kind, spec, status, field string }{
		{"MaintenanceSchedule", "spec: {}", `{"state":"Ajar"}`, "status.state"},
		{"MaintenanceSchedule", "spec: {}", `{"untilTime":"soon"}`, "status.untilTime"},
		{"UpgradePolicy", policy, `{"offered":[{"version":"v1.34.4"}]}`, "status.offered[0].firstSeenTime"},
		{"UpgradePolicy", policy, `{"upgrade":{"name":"u"}}`, "status.upgrade.uid"},
		{"UpgradePolicy", policy, `{"images":[{"architecture":"x86-64","url":"http://a/b","digest":"` + digest + `"}]}`, "status.images[0].architecture"},
		{"ClusterUpgrade", reboot, `{"outcome":"Fine"}`, "status.outcome"},
		{"ClusterUpgrade", reboot, `{"findings":[{"id":"a","level":"Bad","message":"m"}]}`, "status.findings[0].level"},
		{"ClusterUpgrade", reboot, `{"findings":[{"id":"a","level":"Warn","message":"m","object":{"kind":"Pod"}}]}`, "status.findings[0].object.name"},
		{"ClusterUpgrade", reboot, `{"images":[{"architecture":"amd64","url":"http://a/b","digest":"sha256:x"}]}`, "status.images[0].digest"},
		{"ClusterUpgrade", reboot, `{"active":[{"name":"a","step":"is dancing"}]}`, "status.active[0].step"},
		{"ClusterUpgrade", reboot, `{"blocked":[{"name":"a","reason":"not a code"}]}`, "status.blocked[0].reason"},
		{"ClusterUpgrade", reboot, `{"strategy":{"settleSeconds":-1}}`, "status.strategy.settleSeconds"},
		{"NodeUpgrade", "{}", `{"step":"is dancing"}`, "status.step"},
		{"NodeUpgrade", "{}", `{"step":"dancing"}`, "status.step"},
		{"NodeUpgrade", "{}", `{"conditions":[{"type":"UpToDate","status":"False","reason":"not a code","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}`, "status.conditions[0].reason"},
		{"NodeUpgrade", "{}", `{"steps":[{"step":"Dancing!","startTime":"2026-01-01T00:00:00.000000Z"}]}`, "status.steps[0].step"},
		{"NodeUpgrade", "{}", `{"retry":{"attempts":"two"}}`, "status.retry.attempts"},
		{"NodeUpgrade", "{}", `{"upgrade":"u"}`, "status.upgrade"},
	}
	client := server(t)
	for _, row := range rows {
		u := object(t, row.kind, row.spec)
		create(t, client, u)
		_, err := client.Resource(resources[row.kind]).Patch(context.Background(), u.GetName(), types.MergePatchType, []byte(`{"status":`+row.status+`}`), metav1.PatchOptions{}, "status")
		check(t, row.kind+" "+row.status, err, row.field, "")
		remove(t, client, u)
	}
}

// TestStepOfNewerAgentIsAccepted checks that an unknown step is accepted: while this project is
// upgraded an agent may be newer than the CRDs, in the middle of its node's upgrade.
func TestStepOfNewerAgentIsAccepted(t *testing.T) {
	client := server(t)
	u := object(t, "NodeUpgrade", named("newer", "{}"))
	create(t, client, u)
	defer remove(t, client, u)
	status := `{"status":{"observedGeneration":1,"step":"Teleporting2","steps":[{"step":"Teleporting2","startTime":"2026-01-01T00:00:00.000000Z"}],
		"conditions":[{"type":"UpToDate","status":"False","reason":"TeleporterFailed","message":"m","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`
	if _, err := client.Resource(resources["NodeUpgrade"]).Patch(context.Background(), "newer", types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status"); err != nil {
		t.Error(err)
	}
}
